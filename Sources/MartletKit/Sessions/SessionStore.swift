public import Foundation

/// Keeps the session between starts of the app.
///
/// Several processes may share one store, for example an app and its extensions.
public protocol SessionStore: Sendable {
    /// Nil if there is none.
    func load() throws -> Session?
    func save(_ session: Session) throws
    func clear() throws
}

/// Forgets the session when the process ends. For tests and programs.
public final class MemorySessionStore: SessionStore {
    private let session = Locked<Session?>(nil)

    public init() {}

    public func load() -> Session? { session.withLock { $0 } }
    public func save(_ session: Session) { self.session.withLock { $0 = session } }
    public func clear() { session.withLock { $0 = nil } }
}

/// A file that only its owner may read (mode 0600).
public struct FileSessionStore: SessionStore {
    private let url: URL

    public init(url: URL) { self.url = url }

    public func load() throws -> Session? {
        guard FileManager.default.fileExists(atPath: url.path) else { return nil }
        // A damaged file is no session; the user signs in again.
        return try? JSON(parsing: Data(contentsOf: url)).decoded(as: Session.self)
    }

    public func save(_ session: Session) throws {
        let folder = url.deletingLastPathComponent()
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        // The file has its mode before it has its content, and the old one stays until the new one is complete.
        let draft = folder.appendingPathComponent(".\(url.lastPathComponent).\(UUID().uuidString)")
        let created = FileManager.default.createFile(
            atPath: draft.path, contents: try JSON(encoding: session).data, attributes: [.posixPermissions: 0o600])
        guard created else { throw MartletError(.sessionStoreFailed, "Could not write \(draft.path).") }
        guard rename(draft.path, url.path) == 0 else {
            try? FileManager.default.removeItem(at: draft)
            throw MartletError(.sessionStoreFailed, "Could not replace \(url.path).")
        }
    }

    public func clear() throws {
        guard FileManager.default.fileExists(atPath: url.path) else { return }
        try FileManager.default.removeItem(at: url)
    }
}

enum DefaultSessionStore {
    static func make(appKey: String) -> any SessionStore {
        #if canImport(Security)
        return KeychainSessionStore(account: appKey)
        #else
        // The key without its secret-looking part would be ambiguous, so the whole key names the file.
        let home = FileManager.default.homeDirectoryForCurrentUser
        let folder = ProcessInfo.processInfo.environment["XDG_DATA_HOME"].map { URL(fileURLWithPath: $0) }
        return FileSessionStore(
            url: (folder ?? home.appendingPathComponent(".local/share"))
                .appendingPathComponent("martlet").appendingPathComponent("\(appKey).json"))
        #endif
    }
}

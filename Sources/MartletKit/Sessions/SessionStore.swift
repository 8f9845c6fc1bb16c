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

/// Keeps the session in memory, until the process ends. For tests and command-line programs.
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
        // A damaged file counts as no session: the user signs in again.
        return try? JSON(parsing: Data(contentsOf: url)).decoded(as: Session.self)
    }

    public func save(_ session: Session) throws {
        do {
            try LocalFolder(url: url.deletingLastPathComponent())
                .write(JSON(encoding: session).data, to: url.lastPathComponent)
        } catch let error as MartletError where error.code == .fileFailed {
            throw MartletError(.sessionStoreFailed, error.message, underlyingError: error.underlyingError)
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
        return FileSessionStore(url: LocalFolder.standard(appKey: appKey).appendingPathExtension("json"))
        #endif
    }
}

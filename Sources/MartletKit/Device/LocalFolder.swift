package import Foundation

/// A folder for the files that the client keeps between starts. A file is replaced as a whole: after a crash, it has
/// either the old or the new content.
package struct LocalFolder: Sendable {
    static let maximumFileSize = 32 << 20

    let url: URL

    package init(url: URL) { self.url = url }

    /// The default folder for an app's data.
    static func standard(appKey: String) -> URL {
        #if os(Linux)
        let variable = ProcessInfo.processInfo.environment["XDG_DATA_HOME"].map { URL(fileURLWithPath: $0) }
        let base = variable ?? FileManager.default.homeDirectoryForCurrentUser.appendingPathComponent(".local/share")
        #else
        let folders = FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask)
        let base = folders.first ?? FileManager.default.temporaryDirectory
        #endif
        return base.appendingPathComponent("martlet").appendingPathComponent(appKey)
    }

    package func subfolder(_ name: String) -> LocalFolder { LocalFolder(url: url.appendingPathComponent(name)) }

    func path(of name: String) -> String { url.appendingPathComponent(name).path }

    /// Nil if the file does not exist, cannot be read or is too large.
    package func read(_ name: String) -> Data? {
        let path = path(of: name)
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: path),
            let size = attributes[.size] as? Int, size <= Self.maximumFileSize
        else { return nil }
        return FileManager.default.contents(atPath: path)
    }

    /// Also nil if the file is not JSON: damaged files count as missing.
    package func readJSON(_ name: String) -> JSON? { read(name).flatMap { try? JSON(parsing: $0) } }

    package func write(_ data: Data, to name: String) throws {
        do {
            try create()
            let draft = url.appendingPathComponent(".\(name).\(UUID().uuidString)")
            // Removes an incomplete file if the disk is full.
            defer { try? FileManager.default.removeItem(at: draft) }
            guard
                FileManager.default.createFile(
                    atPath: draft.path, contents: data, attributes: [.posixPermissions: 0o600])
            else { throw MartletError(.fileFailed, "Could not write \(draft.path).") }
            guard rename(draft.path, path(of: name)) == 0 else {
                throw MartletError(.fileFailed, "Could not replace \(path(of: name)).")
            }
        } catch let error as MartletError {
            throw error
        } catch {
            throw MartletError(
                .fileFailed, "Could not write \(path(of: name)): \(error.localizedDescription)", underlyingError: error)
        }
    }

    func create() throws {
        guard !FileManager.default.fileExists(atPath: url.path) else { return }
        try FileManager.default.createDirectory(
            at: url, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        #if canImport(Darwin)
        // A backup would give the same installation to two devices.
        var folder = url
        var values = URLResourceValues()
        values.isExcludedFromBackup = true
        try? folder.setResourceValues(values)
        #endif
    }

    package func remove(_ name: String) { try? FileManager.default.removeItem(atPath: path(of: name)) }

    /// The files with their sizes in bytes and when they were written. Unfinished files are left out.
    package var files: [(name: String, size: Int, modified: Date)] {
        names.compactMap { name in
            guard let attributes = try? FileManager.default.attributesOfItem(atPath: path(of: name)),
                let size = attributes[.size] as? Int, let modified = attributes[.modificationDate] as? Date
            else { return nil }
            return (name, size, modified)
        }
    }

    /// The names of the files, sorted. Unfinished files are left out.
    package var names: [String] {
        let all = (try? FileManager.default.contentsOfDirectory(atPath: url.path)) ?? []
        return all.filter { !$0.hasPrefix(".") }.sorted()
    }
}

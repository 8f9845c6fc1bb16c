import Foundation
import MartletFiles
import NIOCore

/// Caches parts of debug files for one processor on the local disk, where programs can read them. The least recently
/// used are evicted first.
///
/// Each process has its own folder in the directory; folders of dead processes are removed.
actor DebugFileCache {
    private struct Entry {
        var sizeInBytes: Int
        var users = 0
        var lastUse = ContinuousClock.now
    }

    private let backend: any FileBackend
    private let directory: String
    private let folder: String
    private let maximumSizeInBytes: Int
    private var entries: [UUID: Entry] = [:]
    private var fetches: [UUID: Task<Void, any Error>] = [:]
    private var isReady = false

    init(backend: any FileBackend, directory: String, maximumSizeInBytes: Int) {
        self.backend = backend
        self.directory = directory
        self.maximumSizeInBytes = maximumSizeInBytes
        folder = "\(directory)/\(getpid())-\(UInt32.random(in: 0 ... .max))"
    }

    /// The folder of this process, created on first use.
    func prepared() throws -> String {
        guard !isReady else { return folder }
        try makeFolder(folder)
        removeOthers()
        isReady = true
        return folder
    }

    /// Lends a part as a file.
    ///
    /// - Throws: `FileError`, errors of the file system, and what `body` throws.
    func withFile<Result: Sendable>(of part: StoredPart, _ body: @Sendable (String) async throws -> Result) async throws
        -> Result
    {
        guard part.range.count <= maximumSizeInBytes else { throw FileError.tooLarge(limitInBytes: maximumSizeInBytes) }
        let path = "\(try prepared())/\(part.id.uuidString.lowercased())"
        while entries[part.id] == nil {
            let fetch = fetches[part.id] ?? startFetch(of: part, to: path)
            try await fetch.value
        }
        entries[part.id]?.users += 1
        defer {
            entries[part.id]?.users -= 1
            entries[part.id]?.lastUse = .now
            makeRoom(for: 0)
        }
        return try await body(path)
    }

    /// Removes this process's folder.
    func clear() {
        try? FileManager.default.removeItem(atPath: folder)
        entries = [:]
        isReady = false
    }

    private func startFetch(of part: StoredPart, to path: String) -> Task<Void, any Error> {
        makeRoom(for: part.range.count)
        let task = Task {
            defer { fetches[part.id] = nil }
            do {
                try await fetch(part, to: path)
                entries[part.id] = Entry(sizeInBytes: part.range.count)
            } catch {
                try? FileManager.default.removeItem(atPath: path)
                throw error
            }
        }
        fetches[part.id] = task
        return task
    }

    private nonisolated func fetch(_ part: StoredPart, to path: String) async throws {
        guard FileManager.default.createFile(atPath: path, contents: nil, attributes: [.posixPermissions: 0o600]),
            let file = FileHandle(forWritingAtPath: path)
        else { throw FileError.unavailable(cause: "no file in the symbol cache") }
        defer { try? file.close() }
        try await backend.read(part.blob, in: part.range) { try file.write(contentsOf: Data($0.readableBytesView)) }
    }

    /// Evicts unused files until there is room, or none is left.
    private func makeRoom(for size: Int) {
        var total = entries.values.reduce(size) { $0 + $1.sizeInBytes }
        for (id, entry) in entries.filter({ $0.value.users == 0 }).sorted(by: { $0.value.lastUse < $1.value.lastUse }) {
            guard total > maximumSizeInBytes else { return }
            try? FileManager.default.removeItem(atPath: "\(folder)/\(id.uuidString.lowercased())")
            entries[id] = nil
            total -= entry.sizeInBytes
        }
    }

    private func removeOthers() {
        for name in (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? [] {
            guard let number = name.split(separator: "-").first.flatMap({ pid_t($0) }), number > 0, number != getpid()
            else { continue }
            if kill(number, 0) != 0, errno == ESRCH {
                try? FileManager.default.removeItem(atPath: "\(directory)/\(name)")
            }
        }
    }

    private func makeFolder(_ path: String) throws {
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw FileError.unavailable(cause: "no folder for debug files: \(error)")
        }
    }
}

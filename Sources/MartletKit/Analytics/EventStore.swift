import Foundation

/// Events that wait on disk: files of one event a line, oldest first. Each file is sent as one batch.
///
/// The caller holds a lock.
struct EventStore {
    static let maximumEventSize = 32 << 10
    /// Leaves room for the rest of a body of 1 MiB.
    private static let maximumBatchSize = 900 << 10

    private let folder: LocalFolder
    private let maximumSize: Int
    private let maximumCount: Int
    /// The files, oldest first, with their sizes.
    private var files: [(name: String, size: Int)] = []
    private var next = 1
    /// Whether more events may be appended to the last file.
    private var isOpen = false
    private(set) var countInOpenFile = 0

    /// Events of earlier starts are in closed files.
    init(_ folder: LocalFolder, maximumSize: Int, maximumCount: Int) {
        self.folder = folder
        self.maximumSize = maximumSize
        self.maximumCount = max(1, min(maximumCount, 1_000))
        for name in folder.names where name.hasSuffix(".events") {
            let attributes = try? FileManager.default.attributesOfItem(atPath: folder.path(of: name))
            files.append((name, attributes?[.size] as? Int ?? 0))
            next = max(next, (Int(name.dropLast(7)) ?? 0) + 1)
        }
    }

    /// Appends the event. The event survives the end of the process.
    ///
    /// - Returns: How many files were dropped to make room.
    mutating func append(_ line: Data) throws -> Int {
        if !isOpen || (files.last?.size ?? 0) + line.count > Self.maximumBatchSize { try begin() }
        let path = folder.path(of: files[files.count - 1].name)
        guard let handle = FileHandle(forWritingAtPath: path) else {
            isOpen = false
            throw MartletError(.fileFailed, "Could not open \(path).")
        }
        defer { try? handle.close() }
        try handle.seekToEnd()
        try handle.write(contentsOf: line + [UInt8(ascii: "\n")])
        files[files.count - 1].size += line.count + 1
        countInOpenFile += 1
        if countInOpenFile >= maximumCount { close() }
        return makeRoom()
    }

    /// Ends the batch: further events go into another file.
    mutating func close() {
        isOpen = false
        countInOpenFile = 0
    }

    /// The oldest closed batch. Incomplete lines are left out.
    func oldest() -> (name: String, events: [JSON])? {
        guard let first = files.first, !(isOpen && files.count == 1) else { return nil }
        let lines = (folder.read(first.name) ?? Data()).split(separator: UInt8(ascii: "\n"))
        return (first.name, lines.compactMap { try? JSON(parsing: Data($0)) })
    }

    mutating func remove(_ name: String) {
        files.removeAll { $0.name == name }
        folder.remove(name)
    }

    mutating func removeAll() {
        for file in files { folder.remove(file.name) }
        files = []
        close()
    }

    private mutating func begin() throws {
        let digits = String(next)
        let name = String(repeating: "0", count: max(0, 12 - digits.count)) + digits + ".events"
        try folder.write(Data(), to: name)
        next += 1
        files.append((name, 0))
        isOpen = true
        countInOpenFile = 0
    }

    private mutating func makeRoom() -> Int {
        var dropped = 0
        while files.count > 1, files.reduce(0, { $0 + $1.size }) > maximumSize {
            remove(files[0].name)
            dropped += 1
        }
        return dropped
    }
}

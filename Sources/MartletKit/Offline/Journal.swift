import Foundation

/// An append-only file of JSON lines, each with a checksum. It has one owner at a time.
///
/// A line exists as a whole or not at all: an incomplete line that a crash has left at the end is cut off.
///
/// Why not SQLite: a query by its JSON functions took 39 ms over 10,000 objects, so objects have to be in memory
/// anyway. A log is then sufficient. It stored the same objects in a third of SQLite's time, and apps need no
/// library.
final class Journal {
    static let maximumSize = 128 << 20

    /// The line that ends the content written by ``replace(_:)``.
    private static let mark: JSON = "compacted"

    private let path: String
    private let folder: LocalFolder
    private let name: String
    private var lock: Int32
    private var file: Int32 = -1
    private(set) var size = 0
    /// The file's size when its content was last replaced; 0 if it never was.
    private(set) var compactedSize = 0

    /// - Throws: ``MartletError/Code/offlineStoreInUse`` if another client has it open.
    init(_ name: String, in folder: LocalFolder) throws {
        self.name = name
        self.folder = folder
        path = folder.path(of: name)
        try folder.create()
        lock = open(folder.path(of: "." + name + ".lock"), O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard lock >= 0 else { throw Self.failure("open", path) }
        guard flock(lock, LOCK_EX | LOCK_NB) == 0 else {
            closeFiles()
            throw MartletError(.offlineStoreInUse, "Another client has \(path) open.")
        }
    }

    deinit { closeFiles() }

    /// Closes the file. Later calls throw.
    func closeFiles() {
        if file >= 0 { close(file) }
        if lock >= 0 { close(lock) }
        (file, lock) = (-1, -1)
    }

    /// Passes each line to `body`. An incomplete line at the end is cut off.
    ///
    /// - Returns: Whether lines in the middle could not be read: their content is lost.
    func read(_ body: (JSON) -> Void) throws -> Bool {
        var isDamaged = false
        var end = 0
        let isNew = !FileManager.default.fileExists(atPath: path)
        let data = try contents()
        for line in data.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            guard !line.isEmpty else { continue }
            if let json = Self.parse(line), line.endIndex < data.endIndex {
                end = line.endIndex + 1
                if json == Self.mark { compactedSize = end } else { body(json) }
            } else if line.endIndex + 1 < data.endIndex {
                isDamaged = true
            }
        }
        try openFile()
        guard ftruncate(file, off_t(end)) == 0 else { throw Self.failure("truncate", path) }
        size = end
        if isNew { try syncFolders() }
        return isDamaged
    }

    private func contents() throws -> Data {
        guard FileManager.default.fileExists(atPath: path) else { return Data() }
        let attributes = try? FileManager.default.attributesOfItem(atPath: path)
        // The journal never writes such a large file, so it counts as missing.
        guard (attributes?[.size] as? Int ?? 0) <= Self.maximumSize * 2 else { return Data() }
        return FileManager.default.contents(atPath: path) ?? Data()
    }

    /// Appends a line. With `durably`, the line survives a loss of power; otherwise only the end of the process.
    func append(_ json: JSON, durably: Bool) throws {
        guard file >= 0 else { throw MartletError(.fileFailed, "\(path) is closed.") }
        let line = Self.line(json)
        guard size + line.count <= Self.maximumSize else {
            throw MartletError(.offlineStoreFull, "\(path) would be larger than \(Self.maximumSize) bytes.")
        }
        guard Self.write(line, to: file), !durably || Self.sync(file) else {
            let failure = Self.failure("write", path)
            // A part of a line in the middle would damage the file.
            if ftruncate(file, off_t(size)) != 0 { closeFiles() }
            throw failure
        }
        size += line.count
    }

    /// Replaces the content, all or nothing.
    func replace(_ lines: [JSON]) throws {
        guard file >= 0 else { throw MartletError(.fileFailed, "\(path) is closed.") }
        var data = Data()
        for line in lines + [Self.mark] { data.append(Self.line(line)) }
        let draft = folder.path(of: "." + name + ".draft")
        unlink(draft)
        let new = open(draft, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
        guard new >= 0 else { throw Self.failure("open", draft) }
        // The old file stays in use until the new one is complete, on disk and in its place.
        guard Self.write(data, to: new), Self.sync(new), rename(draft, path) == 0 else {
            let failure = Self.failure("replace", path)
            close(new)
            unlink(draft)
            throw failure
        }
        close(file)
        file = new
        (size, compactedSize) = (data.count, data.count)
        try syncFolders()
    }

    /// Returns once the file's name would survive a loss of power.
    private func syncFolders() throws {
        for url in [folder.url, folder.url.deletingLastPathComponent()] {
            let folder = open(url.path, O_RDONLY | O_CLOEXEC)
            guard folder >= 0 else { throw Self.failure("open", url.path) }
            defer { close(folder) }
            guard fsync(folder) == 0 else { throw Self.failure("write", url.path) }
        }
    }

    private func openFile() throws {
        guard lock >= 0 else { throw MartletError(.fileFailed, "\(path) is closed.") }
        file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw Self.failure("open", path) }
    }
}

extension Journal {
    private static func failure(_ verb: String, _ path: String) -> MartletError {
        MartletError(.fileFailed, "Could not \(verb) \(path): \(String(cString: strerror(errno))).")
    }

    /// The checksum in 16 digits, a blank, the text.
    private static func line(_ json: JSON) -> Data {
        let text = json.data
        var line = Data(digits(checksum(text)).utf8)
        line.append(UInt8(ascii: " "))
        line.append(text)
        line.append(UInt8(ascii: "\n"))
        return line
    }

    private static func parse(_ line: Data) -> JSON? {
        guard line.count > 17 else { return nil }
        let text = Data(line.dropFirst(17))
        guard String(decoding: line.prefix(16), as: UTF8.self) == digits(checksum(text)) else { return nil }
        return try? JSON(parsing: text)
    }

    private static func digits(_ number: UInt64) -> String {
        let text = String(number, radix: 16)
        return String(repeating: "0", count: 16 - text.count) + text
    }

    /// FNV-1a: against accidents, not against attackers.
    private static func checksum(_ data: Data) -> UInt64 {
        data.withUnsafeBytes { bytes in
            var hash: UInt64 = 0xcbf2_9ce4_8422_2325
            for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
            return hash
        }
    }

    /// Returns once the file's content would survive a loss of power.
    private static func sync(_ file: Int32) -> Bool {
        #if canImport(Darwin)
        // On these systems, `fsync` leaves the content in the drive's cache. Not all file systems support
        // `F_FULLFSYNC`.
        if fcntl(file, F_FULLFSYNC) == 0 { return true }
        #endif
        return fsync(file) == 0
    }

    private static func write(_ data: Data, to file: Int32) -> Bool {
        data.withUnsafeBytes { bytes in
            var rest = bytes[...]
            while !rest.isEmpty {
                let written = Foundation.write(file, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                if written < 0, errno == EINTR { continue }
                guard written > 0 else { return false }
                rest = rest.dropFirst(written)
            }
            return true
        }
    }
}

import Foundation
import Glibc
import SystemPackage

/// A folder of segments, locked by one process for its lifetime: `<directory>/<uuid>/`, with `lock` and
/// `<number>.segment`.
///
/// `@unchecked Sendable`: the descriptor is only closed by `deinit`.
final class SpoolFolder: @unchecked Sendable {
    let id: UUID
    let path: String
    let marks: DigestionMarks
    private let lock: Int32

    private init(id: UUID, path: String, lock: Int32) {
        self.id = id
        self.path = path
        self.lock = lock
        marks = DigestionMarks(path: path)
    }

    deinit { close(lock) }

    /// Creates a folder. It is locked before it gets its final name, so that no other process takes it for an abandoned
    /// one.
    static func make(in directory: String) throws -> SpoolFolder {
        let id = UUID()
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let (new, path) = (
            "\(directory)/new-\(id.uuidString.lowercased())", "\(directory)/\(id.uuidString.lowercased())"
        )
        guard mkdir(new, 0o700) == 0 else { throw SpoolError.system("mkdir") }
        guard let lock = try locked(new, O_CREAT) else { throw SpoolError.system("flock") }
        guard rename(new, path) == 0 else {
            close(lock)
            throw SpoolError.system("rename")
        }
        try SpoolFile.synchronize(directory: directory)
        return SpoolFolder(id: id, path: path, lock: lock)
    }

    /// Locks and returns the folders whose processes are gone.
    static func abandoned(in directory: String) -> [SpoolFolder] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        for name in names where name.hasPrefix("new-") { removeUnfinished(directory + "/" + name) }
        return names.sorted().compactMap { name in
            let path = directory + "/" + name
            guard let id = UUID(uuidString: name), let lock = try? locked(path, 0) else { return nil }
            return SpoolFolder(id: id, path: path, lock: lock)
        }
    }

    /// Removes a folder whose process died before giving it its final name.
    private static func removeUnfinished(_ path: String) {
        let attributes = try? FileManager.default.attributesOfItem(atPath: path)
        guard let modified = attributes?[.modificationDate] as? Date, modified.timeIntervalSinceNow < -3_600 else {
            return
        }
        unlink(path + "/lock")
        rmdir(path)
    }

    /// The descriptor of the folder's lock; nil if another process holds it or has just removed the folder.
    private static func locked(_ path: String, _ flags: Int32) throws -> Int32? {
        let descriptor = open(path + "/lock", O_RDWR | O_CLOEXEC | flags, 0o600)
        guard descriptor >= 0 else { throw SpoolError.system("open") }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0, let held = try? Stat(FileDescriptor(rawValue: descriptor)),
            let named = try? Stat(FilePath(path + "/lock")), held.inode == named.inode
        else {
            close(descriptor)
            return nil
        }
        return descriptor
    }

    func path(of segment: Int) -> String {
        path + "/" + String(repeating: "0", count: max(0, 16 - "\(segment)".count)) + "\(segment).segment"
    }

    /// The numbers of the segments, in ascending order.
    func segments() -> [Int] {
        ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? [])
            .compactMap { name in name.hasSuffix(".segment") ? Int(name.dropLast(8)) : nil }.sorted()
    }

    /// Removes the segments before `segment` and returns their size in bytes.
    @discardableResult
    func remove(before segment: Int) -> Int {
        var size = 0
        for number in segments() where number < segment {
            let segmentSize = sizeInBytes(of: number)
            if unlink(path(of: number)) == 0 { size += segmentSize }
        }
        return size
    }

    /// The size of all segments.
    var sizeInBytes: Int {
        segments().reduce(0) { $0 + sizeInBytes(of: $1) }
    }

    /// The size of a segment; 0 if it is gone.
    private func sizeInBytes(of segment: Int) -> Int {
        (try? Stat(FilePath(path(of: segment)))).map { Int($0.size) } ?? 0
    }

    /// Removes the folder with its contents and returns the size of its segments in bytes.
    @discardableResult
    func discard() -> Int {
        let size = remove(before: .max)
        DigestionMarks.remove(from: path)
        unlink(path + "/lock")
        rmdir(path)
        return size
    }
}

/// Why a spool operation failed.
enum SpoolError: Error, CustomStringConvertible {
    case full
    case overloaded
    case tooLarge
    case unavailable(cause: String)

    /// The current `errno` as an error. Contains no path.
    static func system(_ call: String) -> SpoolError {
        .unavailable(cause: "\(call): \(String(cString: strerror(errno)))")
    }

    var description: String {
        switch self {
        case .full: "the spool is full"
        case .overloaded: "too many bytes are waiting to be written"
        case .tooLarge: "a record has more than \(SpoolRecord.maximumLength) bytes"
        case .unavailable(let cause): "the spool is not available: \(cause)"
        }
    }
}

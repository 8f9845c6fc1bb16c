import Foundation
import Glibc
import Synchronization

/// A file of answers from push services that are not yet written to PostgreSQL. If the process dies, the next instance
/// on this machine writes them, so that only deliveries in flight are sent again.
///
/// Best effort: entries that the disk does not take are lost, and nothing waits for the disk. Data survives a crash of
/// the process but not a loss of power. The writer keeps the file locked and clears it when PostgreSQL has all entries.
final class DeliveryJournal: Sendable {
    /// Above this size the file is rewritten with the pending results only. Below it, the file is truncated once none
    /// are pending.
    static let defaultSizeInBytes = 1 << 20
    static let maximumSizeInBytes = 16 << 20
    static let suffix = ".journal"
    private static let maximumJournalsPerScan = 16

    private struct State {
        /// -1 before `begin` and after `end`.
        var descriptor: Int32 = -1
        var path = ""
        var size = 0
        /// The last line was written incompletely, so nothing may follow it.
        var isTorn = false

        mutating func write(_ bytes: [UInt8]) {
            guard descriptor >= 0, !isTorn, !bytes.isEmpty, size + bytes.count <= DeliveryJournal.maximumSizeInBytes
            else { return }
            isTorn = Glibc.write(descriptor, bytes, bytes.count) != bytes.count
            size += bytes.count
        }
    }

    private let directory: String
    private let state = Mutex(State())

    /// - Parameter directory: Created if missing.
    init(in directory: String) {
        self.directory = directory
    }

    /// Creates and locks the file before it gets its final name, so that no one mistakes it for an abandoned journal.
    ///
    /// - Throws: `POSIXError`, `CocoaError`.
    func begin() throws {
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let name = directory + "/" + UUID().uuidString.lowercased()
        let descriptor = open(name, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0, rename(name, name + Self.suffix) == 0 else {
            let code = POSIXErrorCode(rawValue: errno) ?? .EIO
            unlink(name)
            close(descriptor)
            throw POSIXError(code)
        }
        state.withLock { $0 = State(descriptor: descriptor, path: name + Self.suffix) }
    }

    /// - Parameter result: Must already be queued for writing; otherwise `clear` may lose it.
    func record(_ result: DeliveryResult) {
        guard let line = result.line else { return }
        state.withLock { $0.write(line) }
    }

    /// Removes the results that PostgreSQL already has.
    ///
    /// - Parameter rest: Returns the results that PostgreSQL does not have; nil if there are more than `atMost`.
    func clear(except rest: (_ atMost: Int) -> [DeliveryResult]?) {
        state.withLock { state in
            guard state.size > 0, let rest = rest(state.size < Self.defaultSizeInBytes ? 0 : .max),
                ftruncate(state.descriptor, 0) == 0
            else { return }
            (state.size, state.isTorn) = (0, false)
            state.write(rest.compactMap(\.line).flatMap(\.self))
        }
    }

    /// - Parameter isWritten: Whether PostgreSQL has all entries. The file is then deleted.
    func end(isWritten: Bool) {
        state.withLock { state in
            guard state.descriptor >= 0 else { return }
            if isWritten { unlink(state.path) }
            close(state.descriptor)
            state.descriptor = -1
        }
    }

    deinit { end(isWritten: false) }

    /// The abandoned journals of writers that have died.
    func leftoverJournals() -> [LeftoverJournal] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        var left: [LeftoverJournal] = []
        for name in names where name.hasSuffix(Self.suffix) && left.count < Self.maximumJournalsPerScan {
            if let journal = LeftoverJournal.open(directory + "/" + name) { left.append(journal) }
        }
        return left
    }
}

/// An abandoned journal, locked by the instance that found it.
final class LeftoverJournal: Sendable {
    private let path: String
    private let descriptor: Int32

    private init(path: String, descriptor: Int32) {
        (self.path, self.descriptor) = (path, descriptor)
    }

    deinit { close(descriptor) }

    /// Nil if it has a live writer or was already processed.
    fileprivate static func open(_ path: String) -> LeftoverJournal? {
        let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0, access(path, F_OK) == 0 else {
            close(descriptor)
            return nil
        }
        return LeftoverJournal(path: path, descriptor: descriptor)
    }

    /// The results in the journal. Malformed lines, such as an incomplete last one, are skipped.
    func results() throws -> [DeliveryResult] {
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: false)
        guard let data = try file.read(upToCount: DeliveryJournal.maximumSizeInBytes),
            let end = data.lastIndex(of: UInt8(ascii: "\n"))
        else { return [] }
        return data[..<end].split(separator: UInt8(ascii: "\n")).compactMap { DeliveryResult(line: $0) }
    }

    func discard() { unlink(path) }
}

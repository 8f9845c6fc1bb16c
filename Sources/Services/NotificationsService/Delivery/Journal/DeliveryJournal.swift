import Foundation
import Glibc
import Synchronization

/// What push services have answered and PostgreSQL does not know yet, in a file of this copy's own: after a death the
/// next one on this machine writes it down, so that only what was under way is sent again.
///
/// A help and no more: what the disk does not take is missing, and nothing waits for the disk, as what was written
/// survives the process though not a loss of power. The file is locked for as long as its writer lives, and cleared
/// when PostgreSQL knows what is in it.
final class DeliveryJournal: Sendable {
    /// Beyond which it is made smaller although there is something in it that is not known yet.
    static let usualSizeInBytes = 1 << 20
    static let maximumSizeInBytes = 16 << 20
    static let suffix = ".journal"
    private static let maximumLeftAtATime = 16

    private struct State {
        /// -1: it has not begun, or has ended.
        var descriptor: Int32 = -1
        var path = ""
        var size = 0
        /// A line is torn: nothing can be behind it.
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

    /// - Parameter directory: made if it is not there.
    init(in directory: String) {
        self.directory = directory
    }

    /// The file gets its name when it is locked already, so that nobody takes it for one that was left.
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

    /// - Parameter result: already among those that wait to be written, or else `clear` may lose it.
    func note(_ result: DeliveryResult) {
        guard let line = result.line else { return }
        state.withLock { $0.write(line) }
    }

    /// Leaves out what PostgreSQL knows by now.
    ///
    /// - Parameter rest: what it does not know; nil: that is more than so many.
    func clear(but rest: (_ atMost: Int) -> [DeliveryResult]?) {
        state.withLock { state in
            guard state.size > 0, let rest = rest(state.size < Self.usualSizeInBytes ? 0 : .max),
                ftruncate(state.descriptor, 0) == 0
            else { return }
            (state.size, state.isTorn) = (0, false)
            state.write(rest.compactMap(\.line).flatMap(\.self))
        }
    }

    /// - Parameter isKnown: PostgreSQL knows all that is in it.
    func end(isKnown: Bool) {
        state.withLock { state in
            guard state.descriptor >= 0 else { return }
            if isKnown { unlink(state.path) }
            close(state.descriptor)
            state.descriptor = -1
        }
    }

    deinit { end(isKnown: false) }

    /// Those that are left of writers that are gone.
    func left() -> [LeftJournal] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        var left: [LeftJournal] = []
        for name in names where name.hasSuffix(Self.suffix) && left.count < Self.maximumLeftAtATime {
            if let journal = LeftJournal.open(directory + "/" + name) { left.append(journal) }
        }
        return left
    }
}

/// A journal whose writer is gone, locked by whoever found it.
final class LeftJournal: Sendable {
    private let path: String
    private let descriptor: Int32

    private init(path: String, descriptor: Int32) {
        (self.path, self.descriptor) = (path, descriptor)
    }

    deinit { close(descriptor) }

    /// Nil: somebody writes it, or has dealt with it.
    fileprivate static func open(_ path: String) -> LeftJournal? {
        let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0, access(path, F_OK) == 0 else {
            close(descriptor)
            return nil
        }
        return LeftJournal(path: path, descriptor: descriptor)
    }

    /// A line that is none, as a torn last one, is left out.
    func results() throws -> [DeliveryResult] {
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: false)
        guard let data = try file.read(upToCount: DeliveryJournal.maximumSizeInBytes),
            let end = data.lastIndex(of: UInt8(ascii: "\n"))
        else { return [] }
        return data[..<end].split(separator: UInt8(ascii: "\n")).compactMap { DeliveryResult(line: $0) }
    }

    func discard() { unlink(path) }
}

import Foundation
import Glibc
import Synchronization

/// Marks in a spool's folder the records that are being digested. Marks that remain when another process takes over the
/// spool belong to records that were being digested when the previous process died.
///
/// `digesting` has slots of 16 bytes: segment and end of a record, or zeros. `deaths` has a line `segment end count`
/// for each record that was being digested at a death. Nothing is synchronised to disk: the marks only have to survive
/// a crash of the process, not of the machine.
final class DigestionMarks: Sendable {
    /// If the process died this many times while digesting a record, the record is not digested again.
    static let maximumDeaths = 2

    private struct State {
        var descriptor: Int32?
        /// Whether each slot of `digesting` is in use.
        var slots: [Bool] = []
        var deaths: [SpoolPosition: Int] = [:]
    }

    private let path: String
    private let state = Mutex(State())

    /// - Parameter path: The path of the spool's folder.
    init(path: String) {
        self.path = path
    }

    deinit { state.withLock { state in if let descriptor = state.descriptor { close(descriptor) } } }

    /// How many processes died while digesting the record.
    ///
    /// - Parameter end: The position after the record in the spool.
    func deaths(of end: SpoolPosition) -> Int { state.withLock { $0.deaths[end] ?? 0 } }

    /// Counts a death for each record that the previous process left marked.
    func recover() {
        state.withLock { state in
            state.deaths = Self.deaths(in: path)
            let remaining = Self.remaining(in: path)
            for end in remaining { state.deaths[end, default: 0] += 1 }
            guard !remaining.isEmpty else { return }
            let lines = state.deaths.map { "\($0.key.segment) \($0.key.offset) \($0.value)\n" }.joined()
            // Write the counts before removing the marks: a crash in between counts twice instead of not at all.
            try? Data(lines.utf8).write(to: URL(fileURLWithPath: path + "/deaths"), options: .atomic)
            unlink(path + "/digesting")
        }
    }

    /// Marks the record as being digested and returns the slot that `end(_:)` clears.
    func begin(_ end: SpoolPosition) -> Int {
        state.withLock { state in
            let slot = state.slots.firstIndex(of: false) ?? state.slots.count
            if slot == state.slots.count { state.slots.append(true) } else { state.slots[slot] = true }
            write(end, at: slot, &state)
            return slot
        }
    }

    func end(_ slot: Int) {
        state.withLock { state in
            state.slots[slot] = false
            write(SpoolPosition(segment: 0, offset: 0), at: slot, &state)
        }
    }

    /// If this fails, as on a full disk, the record stays unmarked and digestion continues.
    private func write(_ position: SpoolPosition, at slot: Int, _ state: inout State) {
        if state.descriptor == nil {
            let descriptor = open(path + "/digesting", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
            if descriptor >= 0 { state.descriptor = descriptor }
        }
        guard let descriptor = state.descriptor else { return }
        withUnsafeBytes(of: (Int64(position.segment).bigEndian, Int64(position.offset).bigEndian)) { bytes in
            _ = pwrite(descriptor, bytes.baseAddress, bytes.count, off_t(slot * bytes.count))
        }
    }

    private static func remaining(in path: String) -> [SpoolPosition] {
        let bytes = Array((try? Data(contentsOf: URL(fileURLWithPath: path + "/digesting"))) ?? Data())
        func number(_ start: Int) -> Int { bytes[start..<(start + 8)].reduce(0) { $0 << 8 | Int($1) } }
        return stride(from: 0, to: bytes.count - bytes.count % 16, by: 16).map {
            SpoolPosition(segment: number($0), offset: number($0 + 8))
        }
        .filter { $0 > .start }
    }

    private static func deaths(in path: String) -> [SpoolPosition: Int] {
        let text = (try? String(contentsOfFile: path + "/deaths", encoding: .utf8)) ?? ""
        let counts = text.split(separator: "\n").compactMap { line -> (SpoolPosition, Int)? in
            let numbers = line.split(separator: " ").compactMap { Int($0) }
            return numbers.count == 3 ? (SpoolPosition(segment: numbers[0], offset: numbers[1]), numbers[2]) : nil
        }
        return Dictionary(counts) { max($0, $1) }
    }

    /// Must be called before the folder is removed.
    static func remove(from path: String) {
        for name in ["digesting", "deaths"] { unlink("\(path)/\(name)") }
    }
}

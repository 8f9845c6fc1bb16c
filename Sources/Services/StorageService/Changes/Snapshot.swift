/// PostgreSQL's `pg_snapshot`: which transactions had ended when it was taken. `xmin:xmax:xip,…`
///
/// Everything that it does not see is new to its owner, including changes of a transaction that began much earlier and
/// committed late.
struct Snapshot: Sendable, Hashable {
    let text: String
    private let minimum: UInt64
    private let running: [UInt64]

    /// Nil if PostgreSQL would not accept the text.
    init?(_ text: some StringProtocol) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 3, let minimum = Self.number(parts[0]), let maximum = Self.number(parts[1]), minimum > 0,
            minimum <= maximum
        else { return nil }
        var running: [UInt64] = []
        for part in parts[2].split(separator: ",", omittingEmptySubsequences: false) where !parts[2].isEmpty {
            guard let number = Self.number(part), number >= running.last ?? minimum, number < maximum else {
                return nil
            }
            running.append(number)
        }
        self.text = String(text)
        self.minimum = minimum
        self.running = running
    }

    /// The same snapshot with every transaction above `last` unseen, which is safe to keep.
    ///
    /// If PostgreSQL crashes, transactions whose log records were not yet on disk are lost, and their numbers are
    /// assigned again. A follower that counted such a number as seen would miss the changes that are later written
    /// under it. A transaction that is visible to others has its commit on disk, and recovery continues above every
    /// number on disk. Therefore no number up to `last` is assigned again.
    ///
    /// - Parameter last: The latest transaction of which this snapshot sees a change; nil if it sees none. Transactions
    ///   above it that had ended have written no change for this follower, so no change is delivered twice.
    func durable(upTo last: UInt64?) -> Snapshot {
        let end = (last ?? 0) + 1
        let running = running.filter { $0 < end }.map(String.init).joined(separator: ",")
        // Cannot fail, because this text is always valid.
        return Snapshot("\(min(minimum, end)):\(end):\(running)") ?? self
    }

    private static func number(_ text: some StringProtocol) -> UInt64? {
        // `UInt64` would accept a sign and leading zeros.
        guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else { return nil }
        return UInt64(text).flatMap { $0 <= UInt64(Int64.max) ? $0 : nil }
    }
}

/// PostgreSQL's `pg_snapshot`: which transactions had ended when it was taken. `xmin:xmax:xip,…`
///
/// What it does not see is what is new to its owner, also when it belongs to a transaction that began long ago and
/// committed late.
struct Snapshot: Sendable, Hashable {
    let text: String
    private let minimum: UInt64
    private let running: [UInt64]

    /// Nil when the text is not what PostgreSQL would take.
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

    /// The same snapshot with every transaction above `last` unseen: what a follower may keep.
    ///
    /// A crash of PostgreSQL loses what its log on disk did not have yet, and the numbers of those transactions are
    /// given out again. A follower that counts such a number as seen would pass over what is written under it next. A
    /// transaction that others can see has its commit on disk, and recovery goes on above every number it finds there:
    /// no number up to `last` comes again.
    ///
    /// - Parameter last: the latest transaction of which this snapshot sees a change; nil: it sees none. Later
    ///   transactions that had ended wrote nothing that is followed, so nothing is told twice.
    func durable(upTo last: UInt64?) -> Snapshot {
        let end = (last ?? 0) + 1
        let running = running.filter { $0 < end }.map(String.init).joined(separator: ",")
        // No text of ours is refused.
        return Snapshot("\(min(minimum, end)):\(end):\(running)") ?? self
    }

    private static func number(_ text: some StringProtocol) -> UInt64? {
        // `UInt64` would take a sign and leading zeros.
        guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else { return nil }
        return UInt64(text).flatMap { $0 <= UInt64(Int64.max) ? $0 : nil }
    }
}

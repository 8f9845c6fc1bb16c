/// PostgreSQL's `pg_snapshot`: which transactions had ended when it was taken. `xmin:xmax:xip,…`
///
/// What it does not see is what is new to its owner, also when it belongs to a transaction that began long ago and committed late.
struct Snapshot: Sendable, Hashable {
    let text: String

    /// Nil when the text is not what PostgreSQL would take.
    init?(_ text: some StringProtocol) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 3, let minimum = Self.number(parts[0]), let maximum = Self.number(parts[1]), minimum > 0,
            minimum <= maximum
        else { return nil }
        var last = minimum
        for part in parts[2].split(separator: ",", omittingEmptySubsequences: false) where !parts[2].isEmpty {
            guard let running = Self.number(part), running >= last, running < maximum else { return nil }
            last = running
        }
        self.text = String(text)
    }

    private static func number(_ text: some StringProtocol) -> UInt64? {
        // `UInt64` would take a sign and leading zeros.
        guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else { return nil }
        return UInt64(text).flatMap { $0 <= UInt64(Int64.max) ? $0 : nil }
    }
}

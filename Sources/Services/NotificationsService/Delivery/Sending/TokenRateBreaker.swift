import Foundation

/// Keeps tokens from being deleted when most likely the credential is wrong, not the tokens. If more than a fifth of at
/// least 50 answers within a minute are `BadDeviceToken`, sandbox and production are probably mixed up.
///
/// Rejected tokens wait here until enough answers are known, at most a minute.
struct TokenRateBreaker {
    static let reason = "BadDeviceToken"
    static let sentence =
        "Too many tokens are bad (BadDeviceToken): sandbox and production are most likely mixed up. No tokens were deleted."
    static let minimumAnswers = 50
    static let maximumShare = 0.2
    static let window: TimeInterval = 60
    private static let bucketLength: TimeInterval = 10
    private static let maximumWaiting = 10_000

    private struct Bucket {
        var number: Int
        var answers = 0
        var bad = 0
    }

    private struct Record {
        var buckets: [Bucket] = []
        var waiting: [(token: GoneToken, until: Date)] = []
        /// After the breaker has tripped, answers to earlier messages still arrive and are ignored until this time.
        var ignoresUntil = Date.distantPast

        var answers: Int { buckets.reduce(0) { $0 + $1.answers } }
        var bad: Int { buckets.reduce(0) { $0 + $1.bad } }
    }

    private var records: [Int32: Record] = [:]

    /// - Parameter bad: The token, if APNs rejected it.
    /// - Returns: Whether the breaker trips, so that the credential of the space must be suspended.
    mutating func record(_ space: Int32, bad: GoneToken?, at now: Date) -> Bool {
        // Start counting for a space only at its first bad token.
        guard bad != nil || records[space] != nil else { return false }
        let number = Int(now.timeIntervalSinceReferenceDate / Self.bucketLength)
        var record = records[space] ?? Record()
        record.buckets.removeAll { Double(number - $0.number) * Self.bucketLength >= Self.window }
        if record.buckets.last?.number != number { record.buckets.append(Bucket(number: number)) }
        record.buckets[record.buckets.count - 1].answers += 1
        if let bad {
            record.buckets[record.buckets.count - 1].bad += 1
            if now >= record.ignoresUntil, record.waiting.count < Self.maximumWaiting {
                record.waiting.append((bad, now + Self.window))
            }
        }
        let trips =
            record.answers >= Self.minimumAnswers && Double(record.bad) > Self.maximumShare * Double(record.answers)
        records[space] = trips ? Record(ignoresUntil: now + Self.window) : record
        return trips
    }

    /// Removes and returns the tokens that are now known to be bad themselves.
    mutating func take(at now: Date) -> [GoneToken] {
        var taken: [GoneToken] = []
        for (space, record) in records {
            let isKnown = record.answers >= Self.minimumAnswers
            taken += record.waiting.filter { isKnown || $0.until <= now }.map(\.token)
            let rest = isKnown ? [] : record.waiting.filter { $0.until > now }
            let last = record.buckets.last?.number ?? 0
            let isOver =
                Double(Int(now.timeIntervalSinceReferenceDate / Self.bucketLength) - last) * Self.bucketLength
                >= Self.window
            if rest.isEmpty, isOver, record.ignoresUntil <= now {
                records[space] = nil
            } else {
                records[space]?.waiting = rest
            }
        }
        return taken
    }
}

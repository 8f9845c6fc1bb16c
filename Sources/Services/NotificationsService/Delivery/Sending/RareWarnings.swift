import Foundation

/// What lasts is told once, and again every few minutes: the first of its kind gets a line, the next ones are counted
/// into the one after.
struct RareWarnings {
    static let interval: TimeInterval = 300
    private static let maximumKinds = 1_000

    private struct Kind {
        var told: Date
        var untold = 0
    }

    private var kinds: [String: Kind] = [:]

    /// - Returns: how often it has happened since the last line; nil: nothing is to be said now.
    mutating func note(_ kind: String, at now: Date) -> Int? {
        if let known = kinds[kind], now < known.told + Self.interval {
            kinds[kind]?.untold += 1
            return nil
        }
        if kinds.count >= Self.maximumKinds { kinds = kinds.filter { now < $0.value.told + Self.interval } }
        // More kinds than that at a time are not all told.
        guard kinds.count < Self.maximumKinds else { return nil }
        let count = (kinds[kind]?.untold ?? 0) + 1
        kinds[kind] = Kind(told: now)
        return count
    }
}

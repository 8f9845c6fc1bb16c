import Foundation

/// Limits the logging of persistent problems. The first event of a kind is logged at once; later ones are counted and
/// reported in the next line, after `interval`.
struct WarningLimiter {
    static let interval: TimeInterval = 300
    private static let maximumKinds = 1_000

    private struct Kind {
        var lastLogged: Date
        var suppressed = 0
    }

    private var kinds: [String: Kind] = [:]

    /// - Returns: The number of events since the last line; nil if nothing is to be logged now.
    mutating func record(_ kind: String, at now: Date) -> Int? {
        if let known = kinds[kind], now < known.lastLogged + Self.interval {
            kinds[kind]?.suppressed += 1
            return nil
        }
        if kinds.count >= Self.maximumKinds { kinds = kinds.filter { now < $0.value.lastLogged + Self.interval } }
        // With more kinds than this at a time, new ones are not logged.
        guard kinds.count < Self.maximumKinds else { return nil }
        let count = (kinds[kind]?.suppressed ?? 0) + 1
        kinds[kind] = Kind(lastLogged: now)
        return count
    }
}

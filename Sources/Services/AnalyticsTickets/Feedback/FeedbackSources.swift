import Foundation
import MartletPostgres
import Synchronization

/// Counts feedback by address in the current hour, so that one sender cannot use up the limit of the whole space. Kept
/// in memory only, and discarded after the hour.
final class FeedbackSources: Sendable {
    /// With more addresses than this, all counts restart.
    private static let maximumSources = 20_000

    private struct Key: Hashable {
        var space: Int32
        var source: String
    }

    private struct Counts {
        var hour = 0
        var used: [Key: Int] = [:]
    }

    private let counts = Mutex(Counts())

    /// Counts one message. Returns false if the address has reached the limit.
    func take(_ address: String, in space: Space, upTo limit: Int, at now: Date) -> Bool {
        counts.withLock { counts in
            let hour = Int(now.timeIntervalSince1970 / 3_600)
            if counts.hour != hour || counts.used.count >= Self.maximumSources { counts = Counts(hour: hour) }
            let key = Key(space: space.id, source: Self.network(address))
            guard counts.used[key, default: 0] < limit else { return false }
            counts.used[key, default: 0] += 1
            return true
        }
    }

    /// The address, or for IPv6 its network, which usually belongs to a single household.
    private static func network(_ address: String) -> String {
        guard address.contains(":") else { return address }
        return address.split(separator: ":", omittingEmptySubsequences: false).prefix(4).joined(separator: ":")
    }
}

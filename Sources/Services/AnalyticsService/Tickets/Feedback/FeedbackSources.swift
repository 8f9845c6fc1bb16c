import Foundation
import MartletPostgres
import Synchronization

/// How much feedback came from each address in this hour, so that one person's does not use up what everybody may say.
/// Forgotten with the hour.
final class FeedbackSources: Sendable {
    /// Beyond, the counts begin anew.
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

    /// Counts one; false: there were as many as may be.
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

    /// Of an IPv6 address the network, all of which is one household's.
    private static func network(_ address: String) -> String {
        guard address.contains(":") else { return address }
        return address.split(separator: ":", omittingEmptySubsequences: false).prefix(4).joined(separator: ":")
    }
}

import Foundation
import MartletAPI
import MartletSentry
import Synchronization

/// Limits what an app's environment may send per minute. Counted in memory; `CrashQuotaSharing` regularly adds the
/// counts of the service's other instances.
final class CrashQuota: Sendable {
    struct Limits: Sendable {
        var errors = 6_000
        var sessions = 60_000
        var attachments = 600
        var feedback = 600
    }

    /// Categories that share a limit.
    enum Group: String, Sendable {
        case errors, sessions, attachments, feedback

        init?(_ category: DataCategory) {
            switch category {
            case .error, .default, .security: self = .errors
            case .session: self = .sessions
            case .attachment: self = .attachments
            case .feedback: self = .feedback
            // Items that are always dropped need no limit.
            default: return nil
            }
        }

        var categories: [DataCategory] {
            switch self {
            case .errors: [.error, .default, .security]
            case .sessions: [.session]
            case .attachments: [.attachment]
            case .feedback: [.feedback]
            }
        }
    }

    struct Key: Hashable, Sendable {
        var appID: String
        var environment: AppEnvironment
        var group: Group
    }

    private struct Count {
        var own = 0
        /// The part of `own` already shared with the other instances.
        var shared = 0
        var others = 0
    }

    private struct Counts {
        var minute = 0
        var used: [Key: Count] = [:]
    }

    private let limits: Limits
    private let now: @Sendable () -> Date
    private let counts = Mutex(Counts())

    init(_ limits: Limits, now: @escaping @Sendable () -> Date) {
        self.limits = limits
        self.now = now
    }

    /// Takes one unit of the category's quota. If none is left, returns the limit with the seconds until the next
    /// minute.
    func take(_ category: DataCategory, _ appID: String, _ environment: AppEnvironment) -> RateLimit? {
        guard let group = Group(category) else { return nil }
        let time = now().timeIntervalSince1970
        let isLeft = counts.withLock { counts in
            let minute = Int(time / 60)
            if counts.minute != minute { counts = Counts(minute: minute) }
            let key = Key(appID: appID, environment: environment, group: group)
            let count = counts.used[key, default: Count()]
            guard count.own + count.others < limit(group) else { return false }
            counts.used[key, default: Count()].own += 1
            return true
        }
        if isLeft { return nil }
        let seconds = 60 - Int(time.truncatingRemainder(dividingBy: 60))
        return RateLimit(seconds: max(1, seconds), categories: group.categories, reason: "quota")
    }

    private func limit(_ group: Group) -> Int {
        switch group {
        case .errors: limits.errors
        case .sessions: limits.sessions
        case .attachments: limits.attachments
        case .feedback: limits.feedback
        }
    }

    /// Units not yet shared, with their minute since 1970: the largest counts, up to `maximumCount`.
    func unshared(upTo maximumCount: Int) -> (minute: Int, counts: [(key: Key, count: Int)]) {
        counts.withLock { counts in
            let new = counts.used.compactMap { key, count in
                count.own > count.shared ? (key: key, count: count.own - count.shared) : nil
            }
            return (
                counts.minute,
                new.count <= maximumCount ? new : Array(new.sorted { $0.count > $1.count }.prefix(maximumCount))
            )
        }
    }

    /// Records that counts of a minute were shared, and the resulting totals of all instances.
    func apply(_ shared: [(key: Key, count: Int)], _ totals: [Key: Int], of minute: Int) {
        counts.withLock { counts in
            guard counts.minute == minute else { return }
            for (key, count) in shared {
                guard let total = totals[key], var used = counts.used[key] else { continue }
                used.shared += count
                used.others = max(0, total - used.shared)
                counts.used[key] = used
            }
        }
    }
}

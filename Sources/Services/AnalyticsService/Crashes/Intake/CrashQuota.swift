import Foundation
import MartletAPI
import MartletSentry
import Synchronization

/// How much an app's environment may send in a minute. Counted by each copy of the service for itself.
final class CrashQuota: Sendable {
    struct Limits: Sendable {
        var errors = 6_000
        var sessions = 60_000
        var attachments = 600
        var feedback = 600
    }

    /// What is counted together.
    private enum Group: CaseIterable {
        case errors, sessions, attachments, feedback

        init?(_ category: DataCategory) {
            switch category {
            case .error, .default, .security: self = .errors
            case .session: self = .sessions
            case .attachment: self = .attachments
            case .feedback: self = .feedback
            // What is dropped in any case needs no limit.
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

    private struct Key: Hashable {
        var appID: String
        var environment: AppEnvironment
        var group: Group
    }

    private struct Counts {
        var minute = 0
        var used: [Key: Int] = [:]
    }

    private let limits: Limits
    private let now: @Sendable () -> Date
    private let counts = Mutex(Counts())

    init(_ limits: Limits, now: @escaping @Sendable () -> Date = { Date() }) {
        self.limits = limits
        self.now = now
    }

    /// Takes one of the category, or says for how long there are no more.
    func take(_ category: DataCategory, _ appID: String, _ environment: AppEnvironment) -> RateLimit? {
        guard let group = Group(category) else { return nil }
        let time = now().timeIntervalSince1970
        let isLeft = counts.withLock { counts in
            let minute = Int(time / 60)
            if counts.minute != minute { counts = Counts(minute: minute) }
            let key = Key(appID: appID, environment: environment, group: group)
            guard counts.used[key, default: 0] < limit(group) else { return false }
            counts.used[key, default: 0] += 1
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
}

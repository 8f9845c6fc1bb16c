import Foundation
import Logging
import MartletAPI
import MartletBackground
import MartletCore
import MartletHTTP
import MartletJobs
import MartletPostgres
import Metrics
import ServiceLifecycle

/// Passes every change of a public profile on to storage, which keeps profiles as the collection `_User`.
///
/// At least once and, for each user, in order: storage ignores versions that are not newer than its own. While storage
/// does not answer, changes wait in `auth.user_changes`, one row for each changed user.
struct PublishUsers: Service {
    private static let interval: Duration = .seconds(2)
    private static let timeout: Duration = .seconds(20)
    /// The maximum total size of the profiles in one call; a larger profile is sent in a separate call.
    private static let maximumSizeInBytes = 1 << 20
    /// The largest number of waiting changes that is reported.
    private static let maximumCounted = 100_000

    let changes: UserChangeStore
    let calls: ServiceCalls
    let storage: ServiceAddress
    let logger: Logger
    private let waiting = Gauge(label: "martlet_auth_user_changes_waiting")

    init(changes: UserChangeStore, calls: ServiceCalls, storage: ServiceAddress, logger: Logger) {
        (self.changes, self.calls, self.storage, self.logger) = (changes, calls, storage, logger)
    }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            await NotifiedLoop(every: Self.interval, jitter: 0.9...1.1, retries: .milliseconds(100)...Self.interval)
                .run(on: changes.postgres.listen("martlet_user_changes")) {
                    let isDone = await attempt(
                        "Could not pass changes of users on to storage; retrying.", logger: logger
                    ) {
                        try await publish()
                    }
                    // Also after a failure, because changes wait while storage does not answer.
                    return await attempt("Could not count the changes of users that wait.", logger: logger) {
                        waiting.record(Double(try await changes.waiting(upTo: Self.maximumCounted)))
                    } && isDone
                }
        }
    }

    /// Passes all changes that are due on to storage.
    ///
    /// - Throws: The last failure. A refusal for one app does not delay the changes of others.
    private func publish() async throws {
        var failure: (any Error)?
        var count = UserDocuments.maximumUsers
        while count == UserDocuments.maximumUsers {
            let claimed = try await changes.claim(upTo: UserDocuments.maximumUsers)
            count = claimed.count
            for (space, users) in Dictionary(grouping: claimed, by: \.space) {
                do {
                    try await publish(users.map(\.user), of: space)
                } catch let refusal as ServiceCalls.Failure {
                    failure = refusal
                }
            }
        }
        if let failure { throw failure }
    }

    private func publish(_ users: [UserDocuments.User], of space: AppSpace) async throws {
        for portion in Self.portions(of: users) {
            let documents = UserDocuments(app: space.appID, environment: space.environment, users: Array(portion))
            _ = try await calls.post(
                "/internal/users/documents", documents, to: storage, upTo: 64 << 10, within: Self.timeout)
            try await changes.remove(documents.users, in: space)
        }
    }

    private static func portions(of users: [UserDocuments.User]) -> [ArraySlice<UserDocuments.User>] {
        var portions: [ArraySlice<UserDocuments.User>] = []
        var (start, size) = (0, 0)
        for (index, user) in users.enumerated() {
            let own = user.stored?.profile.utf8.count ?? 0
            if size + own > maximumSizeInBytes, index > start {
                portions.append(users[start..<index])
                (start, size) = (index, 0)
            }
            size += own
        }
        return portions + [users[start...]]
    }
}

/// Passes all existing users on to storage, once after the upgrade that introduced `_User`.
struct PublishAllUsers: JobHandler {
    static let kind = "users.publish"
    static let timeLimit: Duration = .seconds(24 * 3_600)
    static let retries = JobRetries(
        maximumAttempts: Int(Int32.max), firstDelay: .seconds(1), maximumDelay: .seconds(300))
    private static let usersPerStep = 1_000

    struct Parameters: Codable, Sendable {}

    let changes: UserChangeStore

    func run(_ parameters: Parameters, _ job: RunningJob) async throws -> JobNoResult {
        let total = try await changes.numberOfUsers()
        var (done, last): (Int, UUID?) = (0, nil)
        var count = Self.usersPerStep
        while count == Self.usersPerStep {
            (count, last) = try await changes.addUsers(after: last, limit: Self.usersPerStep)
            done += count
            try await job.report(
                JobProgress(done: done, total: max(done, total), message: "users"),
                isImportant: count < Self.usersPerStep)
        }
        return JobNoResult()
    }
}

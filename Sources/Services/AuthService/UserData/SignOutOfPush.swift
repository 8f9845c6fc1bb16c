import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletJobs
import MartletPostgres

/// Notifies the notifications service of a user's ended sessions, so that devices that are signed out no longer get the
/// user's push.
///
/// A trigger of `auth.sessions` stores the job in the transaction that ends the sessions, whatever the cause: signing
/// out, a new password, a disabled, deleted or handed over account, a stolen token, or expiry. It is retried without
/// limit.
struct SignOutOfPush: JobHandler {
    static let kind = "users.sign-out"
    static let retries = JobRetries(
        maximumAttempts: Int(Int32.max), firstDelay: .seconds(1), maximumDelay: .seconds(300))
    static let timeLimit: Duration = .seconds(300)
    /// The number of sessions per call; a transaction seldom ends as many sessions of one user.
    static let sessionsPerCall = 1_000

    struct Parameters: Codable, Sendable {
        var user: UUID
        var sessions: [UUID]
        /// Whether access tokens of the sessions may still be valid. A client could register a device with such a token
        /// in the meantime, so the job runs once more after the tokens have expired.
        var isFresh: Bool
    }

    let postgres: PostgresClient
    let jobs: JobQueue
    let calls: ServiceCalls
    /// Nil if no service sends push.
    let notifications: ServiceAddress?

    /// The body of `POST /internal/users/sign-out`.
    private struct Ended: Encodable {
        var app: String
        var environment: AppEnvironment
        var user: String
        var sessions: [String]
    }

    func run(_ parameters: Parameters, _ job: RunningJob) async throws -> JobNoResult {
        // Devices of an account that is being deleted are removed as a whole by `EraseUser`, while their owner is still
        // known.
        guard let notifications, let space = try await space(of: parameters.user) else { return JobNoResult() }
        for start in stride(from: 0, to: parameters.sessions.count, by: Self.sessionsPerCall) {
            try job.check()
            let sessions = parameters.sessions[start..<min(start + Self.sessionsPerCall, parameters.sessions.count)]
            let ended = Ended(
                app: space.appID, environment: space.environment, user: parameters.user.uuidString.lowercased(),
                sessions: sessions.map { $0.uuidString.lowercased() })
            _ = try await calls.post(
                "/internal/users/sign-out", ended, to: notifications, upTo: 64 << 10, within: .seconds(10))
        }
        if parameters.isFresh { try await enqueueSecondRun(parameters, job) }
        return JobNoResult()
    }

    /// Enqueues the second run and finishes the first, in one transaction.
    private func enqueueSecondRun(_ parameters: Parameters, _ job: RunningJob) async throws {
        var parameters = parameters
        parameters.isFresh = false
        try await postgres.withTransaction { [parameters] transaction in
            try await jobs.enqueue(Self.self, parameters, JobOptions(delay: EraseUserAgain.delay), in: transaction)
            try await job.finish(JobNoResult(), in: transaction)
        }
    }

    private func space(of user: UUID) async throws -> AppSpace? {
        guard
            let row = try await postgres.query(
                "SELECT app_id, environment FROM auth.users WHERE id = \(user) AND NOT deleting"
            ).first,
            let environment = AppEnvironment(rawValue: try row.decode(1))
        else { return nil }
        return AppSpace(appID: try row.decode(0), environment: environment)
    }
}

import Foundation
import MartletAPI
import MartletHTTP
import MartletJobs
import MartletPostgres

/// Tells notifications which sessions of a user have ended, so that nobody gets the user's push on devices where they
/// are signed in no longer.
///
/// The job is stored by a trigger of `auth.sessions`, in the transaction that ends them, whatever does: signing out, a
/// new password, an account that is disabled, deleted or handed over, a stolen token, time. It is never given up.
struct SignOutOfPush: JobHandler {
    static let kind = "users.sign-out"
    static let retries = JobRetries(
        maximumAttempts: Int(Int32.max), firstDelay: .seconds(1), maximumDelay: .seconds(300))
    static let timeLimit: Duration = .seconds(300)
    /// What one call takes; a transaction seldom ends as many sessions of one user.
    static let sessionsPerCall = 1_000

    struct Parameters: Codable, Sendable {
        var user: UUID
        var sessions: [UUID]
        /// An access token of theirs may be good still, with which a device may be signed in meanwhile: it is said once
        /// more when none is.
        var isFresh: Bool
    }

    let postgres: PostgresClient
    let jobs: JobQueue
    let calls: ServiceCalls
    /// Nil: nobody sends push.
    let notifications: ServiceAddress?

    /// The body of `POST /internal/users/sign-out`.
    private struct Ended: Encodable {
        var app: String
        var environment: AppEnvironment
        var user: String
        var sessions: [String]
    }

    func run(_ parameters: Parameters, _ job: RunningJob) async throws -> JobNoResult {
        // Of an account that is being deleted `EraseUser` takes the devices away as a whole, as long as it can be told
        // whose they are.
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
        if parameters.isFresh { try await sayAgain(parameters, job) }
        return JobNoResult()
    }

    /// Stores the second look with the end of the first.
    private func sayAgain(_ parameters: Parameters, _ job: RunningJob) async throws {
        var parameters = parameters
        parameters.isFresh = false
        try await postgres.withTransaction { [parameters] transaction in
            try await jobs.enqueue(Self.self, parameters, JobOptions(delay: EraseUserAgain.delay), in: transaction)
            try await job.finish(JobNoResult(), in: transaction)
        }
    }

    private func space(of user: UUID) async throws -> UserSpace? {
        guard
            let row = try await postgres.query(
                "SELECT app_id, environment FROM auth.users WHERE id = \(user) AND NOT deleting"
            ).first,
            let environment = AppEnvironment(rawValue: try row.decode(1))
        else { return nil }
        return UserSpace(appID: try row.decode(0), environment: environment)
    }
}

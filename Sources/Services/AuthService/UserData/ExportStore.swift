import Foundation
import HTTPTypes
import MartletAPI
import MartletCore
import MartletJobs
import MartletPostgres

/// Exports of users' data: at most one per user, the newest.
struct ExportStore: Sendable {
    /// The minimum time between two exports that a user requests.
    private static let interval: Duration = .seconds(86_400)
    /// How long a finished export can be downloaded, which is how long its job is kept.
    private static let retentionInDays: Int32 = 7

    let postgres: PostgresClient
    let jobs: JobQueue

    var spool: Spool { Spool(postgres: postgres, schema: AuthService.name) }

    /// Starts an export that replaces the previous one.
    ///
    /// - Parameter isLimited: Whether the previous export must be at least a day old unless it failed.
    /// - Throws: `user-not-found`, `conflict` while an export is in progress, `too-many-requests` with the seconds to
    ///   wait.
    func start(of user: UUID, isLimited: Bool, in space: AppSpace) async throws {
        try await postgres.withTransaction { transaction in
            // Serializes exports and the deletion of the same user.
            let found = try await transaction.query(
                "SELECT FROM auth.users AS u WHERE id = \(user) AND \(UserStore.isIn(space)) FOR NO KEY UPDATE")
            guard !found.isEmpty else { throw ServiceError(.userNotFound) }
            let former = try await transaction.query(
                """
                SELECT j.finished IS NULL, j.state = 'failed',
                    ceil(extract(epoch FROM e.started - now()) + \(Int64(Self.interval.components.seconds)))::bigint
                FROM auth.exports AS e JOIN auth.jobs AS j ON j.id = e.job WHERE e.user_id = \(user)
                """)
            if let row = former.first {
                let (isRunning, hasFailed, seconds): (Bool, Bool, Int64) = (
                    try row.decode(0), try row.decode(1), try row.decode(2)
                )
                guard !isRunning else { throw ServiceError(.conflict, "An export is in progress.") }
                guard !isLimited || hasFailed || seconds <= 0 else {
                    throw ServiceError(
                        .tooManyRequests, "A user can request one export a day.",
                        retryAfter: Int(seconds))
                }
                try await transaction.execute(
                    "DELETE FROM auth.jobs WHERE id = (SELECT job FROM auth.exports WHERE user_id = \(user))")
            }
            let job = try await jobs.enqueue(
                ExportUser.self, UserDataSubject(user, in: space),
                JobOptions(scope: space.jobScope, lane: "export " + space.jobScope, uniqueKey: user.uuidString),
                in: transaction
            )
            guard let job else { throw ServiceError(.conflict, "An export is in progress.") }
            try await transaction.execute("INSERT INTO auth.exports (user_id, job) VALUES (\(user), \(job))")
        }
    }

    /// The user's export as JSON; nil if there is none.
    func find(of user: UUID, in space: AppSpace) async throws -> String? {
        try await postgres.query(
            """
            SELECT jsonb_build_object(
                'id', j.id, 'state', j.state, 'sizeInBytes', f.size,
                'progress', jsonb_build_object('done', j.done, 'total', j.total, 'at', CASE WHEN j.finished IS NULL THEN j.message END),
                'error', CASE WHEN j.state = 'failed' THEN jsonb_build_object('code', j.error_code, 'detail', j.error_detail) END,
                'created', \(PostgresQuery.rfc3339("j.created")), 'finished', \(PostgresQuery.rfc3339("j.finished")),
                'expires', to_char((j.finished + make_interval(days => \(Self.retentionInDays))) AT TIME ZONE 'UTC',
                    'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))::text
            FROM auth.exports AS e JOIN auth.users AS u ON u.id = e.user_id JOIN auth.jobs AS j ON j.id = e.job
                LEFT JOIN auth.job_files AS f ON f.job = j.id AND f.complete
            WHERE e.user_id = \(user) AND \(UserStore.isIn(space))
            """
        ).first?.decode(0)
    }

    /// The archive, if it is complete.
    func file(of user: UUID, in space: AppSpace) async throws -> Spool.File? {
        guard let job = try await job(of: user, in: space) else { return nil }
        return try await jobs.job(job, scope: space.jobScope)?.state == .done ? try await spool.file(of: job) : nil
    }

    /// Cancels the user's export and deletes its file. Returns false if there is none.
    func cancel(of user: UUID, in space: AppSpace) async throws -> Bool {
        guard let job = try await job(of: user, in: space) else { return false }
        _ = try await jobs.cancel(job, scope: space.jobScope)
        // A job that is still running fails at its next write.
        try await spool.deleteFiles(of: job)
        return true
    }

    private func job(of user: UUID, in space: AppSpace) async throws -> UUID? {
        try await postgres.query(
            """
            SELECT e.job FROM auth.exports AS e JOIN auth.users AS u ON u.id = e.user_id WHERE e.user_id = \(user) AND \(UserStore.isIn(space))
            """
        ).first?.decode(0)
    }
}

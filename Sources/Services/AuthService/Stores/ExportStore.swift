import Foundation
import HTTPTypes
import MartletAPI
import MartletHTTP
import MartletJobs
import MartletPostgres

/// What users had gathered of their data: one export each, the newest.
struct ExportStore: Sendable {
    /// Between two that a user asks for.
    private static let interval: Duration = .seconds(86_400)
    /// How long a finished one can be fetched: as long as its job is kept.
    private static let keptDays: Int32 = 7

    let postgres: PostgresClient
    let jobs: JobQueue

    var spool: Spool { Spool(postgres: postgres, schema: AuthService.name) }

    /// Starts an export in place of the one before.
    ///
    /// - Parameter isLimited: one that did not fail has to be a day old.
    /// - Throws: `user-not-found`, `conflict` while one is under way, `too-many-requests` with the seconds to wait.
    func start(of user: UUID, isLimited: Bool, in space: UserSpace) async throws {
        try await postgres.withTransaction { transaction in
            // Starts and deletions of one user wait for each other here.
            let found = try await transaction.query(
                "SELECT FROM auth.users AS u WHERE id = \(user) AND \(UserStore.isIn(space)) FOR NO KEY UPDATE")
            guard !found.isEmpty else { throw HTTPProblem(.userNotFound) }
            let former = try await transaction.query(
                """
                SELECT j.finished IS NULL, j.state = 'failed',
                    ceil(extract(epoch FROM e.started - now()) + \(Int64(Self.interval.components.seconds)))::bigint
                FROM auth.exports AS e JOIN auth.jobs AS j ON j.id = e.job WHERE e.user_id = \(user)
                """)
            if let row = former.first {
                let (isUnderWay, hasFailed, seconds): (Bool, Bool, Int64) = (
                    try row.decode(0), try row.decode(1), try row.decode(2)
                )
                guard !isUnderWay else { throw HTTPProblem(.conflict, "An export is under way.") }
                guard !isLimited || hasFailed || seconds <= 0 else {
                    throw HTTPProblem(.tooManyRequests, "One export a day.", headers: [.retryAfter: String(seconds)])
                }
                try await transaction.execute(
                    "DELETE FROM auth.jobs WHERE id = (SELECT job FROM auth.exports WHERE user_id = \(user))")
            }
            let job = try await jobs.enqueue(
                ExportUser.self, UserDataSubject(user, in: space),
                JobOptions(scope: space.text, lane: "export " + space.text, uniqueKey: user.uuidString), in: transaction
            )
            guard let job else { throw HTTPProblem(.conflict, "An export is under way.") }
            try await transaction.execute("INSERT INTO auth.exports (user_id, job) VALUES (\(user), \(job))")
        }
    }

    /// The user's export as JSON; nil when there is none.
    func find(of user: UUID, in space: UserSpace) async throws -> String? {
        try await postgres.query(
            """
            SELECT jsonb_build_object(
                'id', j.id, 'state', j.state, 'sizeInBytes', f.size,
                'progress', jsonb_build_object('done', j.done, 'total', j.total, 'at', CASE WHEN j.finished IS NULL THEN j.message END),
                'error', CASE WHEN j.state = 'failed' THEN jsonb_build_object('code', j.error_code, 'detail', j.error_detail) END,
                'created', \(PostgresQuery.rfc3339("j.created")), 'finished', \(PostgresQuery.rfc3339("j.finished")),
                'expires', to_char((j.finished + make_interval(days => \(Self.keptDays))) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))::text
            FROM auth.exports AS e JOIN auth.users AS u ON u.id = e.user_id JOIN auth.jobs AS j ON j.id = e.job
                LEFT JOIN auth.job_files AS f ON f.job = j.id AND f.complete
            WHERE e.user_id = \(user) AND \(UserStore.isIn(space))
            """
        ).first?.decode(0)
    }

    /// The archive, when it is complete.
    func file(of user: UUID, in space: UserSpace) async throws -> Spool.File? {
        guard let job = try await job(of: user, in: space) else { return nil }
        return try await jobs.job(job, scope: space.text)?.state == .done ? try await spool.file(of: job) : nil
    }

    /// Cancels the user's export and takes away what it has gathered; false when there is none.
    func cancel(of user: UUID, in space: UserSpace) async throws -> Bool {
        guard let job = try await job(of: user, in: space) else { return false }
        _ = try await jobs.cancel(job, scope: space.text)
        // One that runs still fails at its next portion.
        try await spool.deleteFiles(of: job)
        return true
    }

    private func job(of user: UUID, in space: UserSpace) async throws -> UUID? {
        try await postgres.query(
            """
            SELECT e.job FROM auth.exports AS e JOIN auth.users AS u ON u.id = e.user_id WHERE e.user_id = \(user) AND \(UserStore.isIn(space))
            """
        ).first?.decode(0)
    }
}

import Foundation
import MartletPostgres

/// A job on which a worker holds a lease.
struct ClaimedJob: Sendable {
    let id: UUID
    let lease: UUID
    let kind: String
    let scope: String
    let parameters: PostgresJSON
    let attempt: Int
    let maximumAttempts: Int
}

/// The statements of workers. Each write to a running job checks the lease, so a worker that lost it changes nothing.
extension JobQueue {
    /// Claims up to `limit` due jobs, ordered by priority and age. Two workers never get the same job.
    func claim(kinds: [String], limit: Int, lease: Duration) async throws -> [ClaimedJob] {
        do {
            return try await claimOnce(kinds: kinds, limit: limit, lease: lease)
        } catch let error as PostgresError where error.isUniqueViolation {
            // Two jobs of one lane were claimed at once, here or by another worker. Claim one at a time until it
            // succeeds.
            for _ in 0..<limit {
                do {
                    return try await claimOnce(kinds: kinds, limit: 1, lease: lease)
                } catch let error as PostgresError where error.isUniqueViolation {}
            }
            return []
        }
    }

    private func claimOnce(kinds: [String], limit: Int, lease: Duration) async throws -> [ClaimedJob] {
        let rows = try await postgres.query(
            """
            UPDATE \(table) SET state = 'running', attempt = attempt + 1, lease = gen_random_uuid(),
                leased_until = now() + make_interval(secs => \(lease.inSeconds)), started = coalesce(started, now())
            WHERE id = ANY (ARRAY(
                SELECT id FROM \(table) AS waiting
                WHERE state = 'waiting' AND due <= now() AND kind = ANY (\(kinds))
                    AND (lane IS NULL OR NOT EXISTS (
                        SELECT FROM \(table) AS other WHERE other.lane = waiting.lane AND other.state = 'running'))
                ORDER BY priority DESC, due, id LIMIT \(limit) FOR UPDATE SKIP LOCKED))
            RETURNING id, lease, kind, scope, parameters, attempt, maximum_attempts
            """)
        return try rows.map {
            ClaimedJob(
                id: try $0.decode(0), lease: try $0.decode(1), kind: try $0.decode(2), scope: try $0.decode(3),
                parameters: try $0.decode(4), attempt: try $0.decode(5), maximumAttempts: try $0.decode(6))
        }
    }

    /// Renews leases. Returns those still held, and whether cancellation was requested.
    func renew(_ leases: [UUID], lease: Duration) async throws -> [UUID: Bool] {
        let rows = try await postgres.query(
            """
            UPDATE \(table) SET leased_until = now() + make_interval(secs => \(lease.inSeconds))
            WHERE state = 'running' AND lease = ANY (\(leases)) RETURNING lease, cancel_requested
            """,
            // An answer that arrives when the lease has almost expired is useless.
            timeout: lease / 3)
        return try Dictionary(uniqueKeysWithValues: rows.map { (try $0.decode(0), try $0.decode(1)) })
    }

    /// Returns jobs of dead workers to the queue and fails those that exceeded their attempts. Returns how many.
    ///
    /// The delay grows with each attempt, because the job itself may crash its worker (a poison job).
    func rescue() async throws -> Int {
        let rows = try await postgres.query(
            """
            WITH rescued AS (
                UPDATE \(table) SET lease = NULL, leased_until = NULL,
                    state = CASE WHEN cancel_requested THEN 'cancelled' WHEN attempt >= maximum_attempts THEN 'failed'
                        ELSE 'waiting' END,
                    finished = CASE WHEN cancel_requested OR attempt >= maximum_attempts THEN now() END,
                    due = now() + make_interval(secs => CASE WHEN attempt < 2 THEN 0 ELSE least(300, 2.0 ^ least(attempt, 10)) END),
                    error_code = 'worker-lost', error_detail = 'The process that ran the job went away.'
                WHERE id = ANY (ARRAY(
                    SELECT id FROM \(table) WHERE state = 'running' AND leased_until < now()
                    ORDER BY leased_until LIMIT 100 FOR UPDATE SKIP LOCKED))
                RETURNING id)
            SELECT count(*), pg_notify(\(channel), '') FROM rescued HAVING count(*) > 0
            """)
        return try rows.first?.decode(0) ?? 0
    }

    /// Deletes up to 1,000 jobs that finished longer than `retention` ago. Returns how many.
    func prune(retention: Duration) async throws -> Int {
        try await postgres.execute(
            """
            DELETE FROM \(table) WHERE id = ANY (ARRAY(
                SELECT id FROM \(table) WHERE finished < now() - make_interval(secs => \(retention.inSeconds))
                ORDER BY finished LIMIT 1000 FOR UPDATE SKIP LOCKED))
            """)
    }

    func report(_ progress: JobProgress, _ job: ClaimedJob) async throws -> Bool? {
        let rows = try await postgres.query(
            """
            UPDATE \(table) SET done = \(progress.done), total = \(progress.total), message = \(progress.message)
            WHERE id = \(job.id) AND lease = \(job.lease) RETURNING cancel_requested
            """)
        return try rows.first?.decode(0)
    }

    func completion(_ job: ClaimedJob, _ result: PostgresJSON) -> PostgresQuery {
        """
        UPDATE \(table) SET state = 'done', finished = now(), lease = NULL, leased_until = NULL, result = \(result),
            done = coalesce(total, done), error_code = NULL, error_detail = NULL
        WHERE id = \(job.id) AND lease = \(job.lease)
        """
    }

    /// - Parameter delay: The delay before the next attempt; nil fails the job for good.
    func fail(_ job: ClaimedJob, _ failure: JobFailure, retryIn delay: Duration?) async throws {
        guard let delay else {
            return try await end(job, state: "failed", failure)
        }
        try await postgres.execute(
            """
            UPDATE \(table) SET lease = NULL, leased_until = NULL, error_code = \(failure.code), error_detail = \(failure.detail),
                due = now() + make_interval(secs => \(delay.inSeconds)),
                state = CASE WHEN cancel_requested THEN 'cancelled' ELSE 'waiting' END,
                finished = CASE WHEN cancel_requested THEN now() END
            WHERE id = \(job.id) AND lease = \(job.lease)
            """)
    }

    func end(_ job: ClaimedJob, state: String, _ failure: JobFailure? = nil) async throws {
        try await postgres.execute(
            """
            UPDATE \(table) SET state = \(state), finished = now(), lease = NULL, leased_until = NULL,
                error_code = \(failure?.code), error_detail = \(failure?.detail), result = \(failure?.report.map { PostgresJSON($0) })
            WHERE id = \(job.id) AND lease = \(job.lease)
            """)
    }

    /// Gives the lease back without counting the attempt.
    func release(_ job: ClaimedJob, delay: Duration = .zero) async throws {
        _ = try await postgres.query(
            """
            WITH released AS (
                UPDATE \(table) SET lease = NULL, leased_until = NULL, attempt = attempt - 1,
                    due = now() + make_interval(secs => \(delay.inSeconds)),
                    state = CASE WHEN cancel_requested THEN 'cancelled' ELSE 'waiting' END,
                    finished = CASE WHEN cancel_requested THEN now() END
                WHERE id = \(job.id) AND lease = \(job.lease) RETURNING id)
            SELECT pg_notify(\(channel), '') FROM released
            """)
    }
}

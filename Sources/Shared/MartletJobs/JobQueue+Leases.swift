import Foundation
import MartletPostgres

/// A job that a worker has a lease on.
struct ClaimedJob: Sendable {
    let id: UUID
    let lease: UUID
    let kind: String
    let scope: String
    let parameters: PostgresJSON
    let attempt: Int
    let maximumAttempts: Int
}

/// What workers write. Everything for a running job names its lease: a worker that lost it changes nothing.
extension JobQueue {
    /// Takes up to `limit` jobs that are due, the most important and oldest first. No job is ever given to two workers.
    func claim(kinds: [String], limit: Int, lease: Duration) async throws -> [ClaimedJob] {
        do {
            return try await claimOnce(kinds: kinds, limit: limit, lease: lease)
        } catch let error as PostgresError where error.isUniqueViolation {
            // Two jobs of one lane, in this claim or in one at the same time: one by one, until it goes well or there
            // is nothing.
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

    /// Renews leases; returns those still held, and whether cancellation was asked for.
    func renew(_ leases: [UUID], lease: Duration) async throws -> [UUID: Bool] {
        let rows = try await postgres.query(
            """
            UPDATE \(table) SET leased_until = now() + make_interval(secs => \(lease.inSeconds))
            WHERE state = 'running' AND lease = ANY (\(leases)) RETURNING lease, cancel_requested
            """,
            // What comes back when the lease is nearly over comes too late.
            timeout: lease / 3)
        return try Dictionary(uniqueKeysWithValues: rows.map { (try $0.decode(0), try $0.decode(1)) })
    }

    /// Gives the jobs of workers that died to others; those that did so too often fail. Returns how many.
    ///
    /// A job that takes its worker down with it (a poison job) rests longer each time.
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

    /// Deletes jobs that finished longer than `retention` ago, 1,000 at most. Returns how many.
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

    /// - Parameter delay: until the next attempt; nil: there is none.
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

    /// Gives the lease back; the attempt does not count.
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

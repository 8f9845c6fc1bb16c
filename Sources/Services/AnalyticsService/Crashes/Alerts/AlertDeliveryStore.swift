import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletJobs
import MartletPostgres

/// What alerts told or will tell: a row for each firing, and a job that tells it.
struct AlertDeliveryStore: Sendable {
    enum State: String, Sendable, CaseIterable {
        case waiting, done, dead
    }

    static let keptDays = 30
    /// A delivery that waits for longer has lost its job.
    static let maximumWaitDays = 2

    let postgres: PostgresClient
    let queue: JobQueue

    /// Stores a delivery and the job for it.
    func add(_ body: String, of alert: UUID, space: Int32, in transaction: PostgresTransaction) async throws {
        guard let id = UUID(uuidString: UUIDv7.make()) else { throw HTTPProblem(.internalError) }
        try await transaction.execute(
            "INSERT INTO analytics.crash_alert_deliveries (id, space, alert, body) VALUES (\(id), \(space), \(alert), \(body))")
        _ = try await enqueue(id, in: transaction)
    }

    /// Nil: there is a job for it still.
    private func enqueue(_ id: UUID, in transaction: PostgresTransaction) async throws -> UUID? {
        try await queue.enqueue(DeliverAlert.self, .init(delivery: id), JobOptions(uniqueKey: id.uuidString), in: transaction)
    }

    /// The newest first, each with its id, of those before `before`.
    func list(of alert: UUID, _ state: State?, before: UUID?, limit: Int, in space: Space) async throws -> [(id: UUID, json: String)] {
        let states: PostgresQuery = state.map { "AND d.state = \($0.rawValue)" } ?? ""
        let behind: PostgresQuery = before.map { "AND (d.created, d.id) < (SELECT created, id FROM analytics.crash_alert_deliveries WHERE id = \($0))" } ?? ""
        return try await postgres.query(
            """
            SELECT d.id, \(Self.json) FROM analytics.crash_alert_deliveries AS d WHERE d.alert = \(alert) AND d.space = \(space.id) \(states) \(behind)
            ORDER BY d.created DESC, d.id DESC LIMIT \(limit)
            """
        ).map { (try $0.decode(0), try $0.decode(1)) }
    }

    /// Has a dead delivery tried again, from the first attempt on; the delivery as it is then. Of mail those are mailed who were not. Nil: the alert has none with this id.
    ///
    /// - Throws: `conflict` for one that is not dead.
    func retry(_ id: UUID, of alert: UUID, in space: Space) async throws -> String? {
        try await postgres.withTransaction { transaction in
            let rows = try await transaction.query(
                "SELECT state FROM analytics.crash_alert_deliveries WHERE id = \(id) AND alert = \(alert) AND space = \(space.id) FOR UPDATE")
            guard let row = rows.first else { return nil }
            guard try row.decode(0, as: String.self) == State.dead.rawValue, try await enqueue(id, in: transaction) != nil else {
                throw HTTPProblem(.conflict, "It has been delivered, or is still being tried.")
            }
            return try await transaction.query(
                """
                UPDATE analytics.crash_alert_deliveries AS d SET state = 'waiting', attempts = 0, created = now(), finished = NULL,
                    readers = (SELECT jsonb_agg(CASE WHEN r ->> 'state' IN ('failed', 'skipped')
                        THEN (r - 'reason') || jsonb_build_object('state', 'waiting', 'again', coalesce((r ->> 'again')::integer, 0) + 1) ELSE r END)
                        FROM jsonb_array_elements(d.readers) AS r)
                WHERE id = \(id)
                RETURNING \(Self.json)
                """)[0].decode(0)
        }
    }

    // MARK: For the job

    struct Attempt: Sendable {
        var alert: UUID
        var body: String
        /// With this one.
        var number: Int
        /// Of mail.
        var readers: [AlertReader]
    }

    /// Begins an attempt; nil: there is nothing to deliver any more.
    func begin(_ id: UUID) async throws -> Attempt? {
        try await postgres.query(
            """
            UPDATE analytics.crash_alert_deliveries SET attempts = attempts + 1 WHERE id = \(id) AND state = 'waiting' RETURNING alert, body, attempts, readers
            """
        ).first.map { row in
            let readers = try row.decode(3, as: PostgresJSON?.self).map { try JSONDecoder().decode([AlertReader].self, from: Data($0.bytes)) }
            return Attempt(alert: try row.decode(0), body: try row.decode(1), number: try row.decode(2), readers: readers ?? [])
        }
    }

    /// Notes what came of an attempt.
    func note(_ outcome: AlertOutcome, of id: UUID, _ state: State) async throws {
        try await postgres.execute(
            """
            UPDATE analytics.crash_alert_deliveries SET state = \(state.rawValue), status = \(outcome.status.map { Int32($0) }), error = \(outcome.failure),
                readers = coalesce(\(try outcome.readers.map { readers in PostgresJSON(Array(try JSONEncoder().encode(readers))) }), readers), finished = CASE WHEN \(state != .waiting) THEN now() END
            WHERE id = \(id) AND state = 'waiting'
            """)
    }

    /// Forgets what is old, and gives up what nobody will try.
    func prune() async throws {
        try await postgres.execute(
            "DELETE FROM analytics.crash_alert_deliveries WHERE created < now() - make_interval(days => \(Int32(Self.keptDays)))")
        try await postgres.execute(
            """
            UPDATE analytics.crash_alert_deliveries SET state = 'dead', finished = now(), error = coalesce(error, 'It was not tried in time.')
            WHERE state = 'waiting' AND created < now() - make_interval(days => \(Int32(Self.maximumWaitDays)))
            """)
    }

    /// Of the row `d`.
    private static let json: PostgresQuery = """
        jsonb_build_object(
            'id', d.id, 'state', d.state, 'attempts', d.attempts, 'status', d.status, 'error', d.error, 'created', \(PostgresQuery.rfc3339("d.created")),
            'finished', \(PostgresQuery.rfc3339("d.finished")), 'readers', d.readers, 'body', d.body::jsonb)::text
        """
}

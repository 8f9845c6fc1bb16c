import Foundation
import MartletAPI
import MartletCore
import MartletJobs
import MartletPostgres

/// Past and pending deliveries of alerts: one row per firing, and a job that delivers it.
///
/// For mail, the column `readers` has the recipients (`AlertRecipient`). Its member `again` counts retries by a call.
struct AlertDeliveryStore: Sendable {
    enum State: String, Sendable, CaseIterable {
        case waiting, done, dead
    }

    static let retentionInDays = 30
    /// A delivery that has waited longer is assumed to have lost its job.
    static let maximumWaitDays = 2

    let postgres: PostgresClient
    let queue: JobQueue

    /// Stores a delivery and enqueues its job.
    func add(_ body: String, of alert: UUID, space: Int32, in transaction: PostgresTransaction) async throws {
        guard let id = UUID(uuidString: UUIDv7.make()) else { throw ServiceError(.internalError) }
        try await transaction.execute(
            "INSERT INTO analytics.crash_alert_deliveries (id, space, alert, body) VALUES (\(id), \(space), \(alert), \(body))"
        )
        _ = try await enqueue(id, in: transaction)
    }

    /// Nil if the delivery already has a job.
    private func enqueue(_ id: UUID, in transaction: PostgresTransaction) async throws -> UUID? {
        try await queue.enqueue(
            DeliverAlert.self, .init(delivery: id), JobOptions(uniqueKey: id.uuidString), in: transaction)
    }

    /// Deliveries created before `before`, newest first, each with its id.
    func list(of alert: UUID, _ state: State?, before: UUID?, limit: Int, in space: Space) async throws -> [(
        id: UUID, json: String
    )] {
        let states: PostgresQuery = state.map { "AND d.state = \($0.rawValue)" } ?? ""
        let cursorCondition: PostgresQuery =
            before.map {
                "AND (d.created, d.id) < (SELECT created, id FROM analytics.crash_alert_deliveries WHERE id = \($0))"
            } ?? ""
        return try await postgres.query(
            """
            SELECT d.id, \(Self.json) FROM analytics.crash_alert_deliveries AS d WHERE d.alert = \(alert)
                AND d.space = \(space.id) \(states) \(cursorCondition)
            ORDER BY d.created DESC, d.id DESC LIMIT \(limit)
            """
        ).map { (try $0.decode(0), try $0.decode(1)) }
    }

    /// Retries a dead delivery, starting again at the first attempt, and returns its new state. Mail goes only to
    /// recipients who have not received it. Nil if the alert has no delivery with this id.
    ///
    /// - Throws: `conflict` if the delivery is not dead.
    func retry(_ id: UUID, of alert: UUID, in space: Space) async throws -> String? {
        try await postgres.withTransaction { transaction in
            let rows = try await transaction.query(
                "SELECT state FROM analytics.crash_alert_deliveries WHERE id = \(id) AND alert = \(alert) AND space = \(space.id) FOR UPDATE"
            )
            guard let row = rows.first else { return nil }
            guard try row.decode(0, as: String.self) == State.dead.rawValue,
                try await enqueue(id, in: transaction) != nil
            else {
                throw ServiceError(
                    .conflict, "The delivery has succeeded or is still being retried; only a dead one can be retried.")
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
        /// This attempt's number, from 1.
        var number: Int
        /// The recipients, for mail.
        var recipients: [AlertRecipient]
    }

    /// Begins an attempt; nil if there is nothing left to deliver.
    func begin(_ id: UUID) async throws -> Attempt? {
        try await postgres.query(
            """
            UPDATE analytics.crash_alert_deliveries SET attempts = attempts + 1 WHERE id = \(id) AND state = 'waiting' RETURNING alert, body, attempts, readers
            """
        ).first.map { row in
            let recipients = try row.decode(3, as: PostgresJSON?.self).map {
                try JSONDecoder().decode([AlertRecipient].self, from: Data($0.bytes))
            }
            return Attempt(
                alert: try row.decode(0), body: try row.decode(1), number: try row.decode(2),
                recipients: recipients ?? [])
        }
    }

    /// Records the outcome of an attempt.
    func record(_ outcome: AlertOutcome, of id: UUID, _ state: State) async throws {
        try await postgres.execute(
            """
            UPDATE analytics.crash_alert_deliveries SET state = \(state.rawValue), status = \(outcome.status.map { Int32($0) }), error = \(outcome.failure),
                readers = coalesce(\(try outcome.recipients.map { PostgresJSON(Array(try JSONEncoder().encode($0))) }), readers),
                finished = CASE WHEN \(state != .waiting) THEN now() END
            WHERE id = \(id) AND state = 'waiting'
            """)
    }

    /// Deletes old deliveries, and marks deliveries that have lost their job as dead.
    func prune() async throws {
        try await postgres.execute(
            "DELETE FROM analytics.crash_alert_deliveries WHERE created < now() - make_interval(days => \(Int32(Self.retentionInDays)))"
        )
        try await postgres.execute(
            """
            UPDATE analytics.crash_alert_deliveries SET state = 'dead', finished = now(),
                error = coalesce(error, 'The delivery was not attempted in time.')
            WHERE state = 'waiting' AND created < now() - make_interval(days => \(Int32(Self.maximumWaitDays)))
            """)
    }

    /// The JSON of the row `d`.
    private static let json: PostgresQuery = """
        jsonb_build_object(
            'id', d.id, 'state', d.state, 'attempts', d.attempts, 'status', d.status, 'error', d.error, 'created', \(PostgresQuery.rfc3339("d.created")),
            'finished', \(PostgresQuery.rfc3339("d.finished")), 'readers', d.readers, 'body', d.body::jsonb)::text
        """
}

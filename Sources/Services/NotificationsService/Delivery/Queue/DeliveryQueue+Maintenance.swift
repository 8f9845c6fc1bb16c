import Foundation
import MartletPostgres

extension DeliveryQueue {
    /// The maximum number of rows changed by one statement.
    static let pageLength = 5_000

    /// Releases the deliveries of dead instances. They may have been sent already, so they are sent again with the same
    /// `apns-id` and collapse id, and the device shows them once. Deliveries of an at-most-once message become
    /// `unknown`.
    ///
    /// - Returns: The number of released deliveries.
    func rescue() async throws -> Int {
        try await postgres.query(
            """
            WITH lost AS MATERIALIZED (
                SELECT d.ctid AS place FROM notifications.deliveries AS d WHERE d.state = 'sending' AND d.leased_until < now()
                ORDER BY d.leased_until LIMIT \(Self.pageLength) FOR UPDATE SKIP LOCKED),
            back AS (
                UPDATE notifications.deliveries AS d SET leased_until = NULL, due = now(), updated = now(), reason = 'lease-expired',
                    state = CASE WHEN d.attempts >= \(Verdict.maximumAttempts) OR (m.content ->> 'atMostOnce')::boolean THEN 'unknown' ELSE 'queued' END
                FROM notifications.messages AS m WHERE d.ctid = ANY (ARRAY(SELECT place FROM lost)) AND m.id = d.message
                RETURNING d.message, d.variant, d.state),
            counted AS (\(Self.counting("back")))
            SELECT count(*) FROM back
            """
        ).first?.decode(0) ?? 0
    }

    /// Broken credentials that are due for a retry with one message. Each is returned to one instance only. The
    /// interval to the next retry grows with the time since the failure, from one minute to a quarter of an hour.
    func trials() async throws -> [Trial] {
        try await postgres.query(
            """
            WITH open AS MATERIALIZED (
                SELECT c.space, c.kind, q.message FROM notifications.credentials AS c
                CROSS JOIN LATERAL (
                    SELECT m.id AS message FROM notifications.messages AS m
                    CROSS JOIN LATERAL (
                        SELECT FROM notifications.deliveries AS d
                        WHERE d.message = m.id AND d.service = c.kind AND d.state = 'queued' AND d.due <= now() LIMIT 1) AS d
                    WHERE m.space = c.space AND m.state IN ('planning', 'sending') AND NOT m.is_paused AND m.due <= now() AND m.expires > now()
                    ORDER BY m.due LIMIT 1) AS q
                WHERE c.broken IS NOT NULL AND c.next_try <= now() AND c.kind <> 'smtp'
                ORDER BY c.next_try LIMIT \(Self.maximumTrials) FOR UPDATE OF c SKIP LOCKED)
            UPDATE notifications.credentials AS c
            SET next_try = now() + least(greatest(now() - c.broken, interval '1 minute'), interval '15 minutes')
            FROM open AS o WHERE c.space = o.space AND c.kind = o.kind RETURNING o.message, c.kind
            """, timeout: .seconds(10)
        ).compactMap { row in
            let (message, service) = (try row.decode(0, as: UUID.self), PushService(rawValue: try row.decode(1)))
            return service.map { Trial(message: message, service: $0) }
        }
    }

    private static let maximumTrials = 20

    /// A message of which one delivery may be sent with a broken credential.
    struct Trial: Sendable {
        var message: UUID
        var service: PushService
    }

    /// Ends the queued deliveries of cancelled, failed and expired messages.
    ///
    /// - Returns: The number of rows; fewer than `pageLength` means that none are left for now.
    func close() async throws -> Int {
        try await postgres.query(
            """
            WITH closing AS MATERIALIZED (
                SELECT id, state IN ('cancelled', 'failed') AS is_cancelled FROM notifications.messages
                WHERE NOT is_settled AND (state IN ('cancelled', 'failed') OR expires <= now())),
            rows AS MATERIALIZED (
                SELECT q.place FROM closing AS c CROSS JOIN LATERAL (
                    SELECT d.ctid AS place FROM notifications.deliveries AS d WHERE d.message = c.id AND d.state = 'queued'
                    LIMIT \(Self.pageLength) FOR UPDATE SKIP LOCKED) AS q
                LIMIT \(Self.pageLength)),
            closed AS (
                UPDATE notifications.deliveries AS d SET state = CASE WHEN c.is_cancelled THEN 'cancelled' ELSE 'failed' END,
                    reason = CASE WHEN NOT c.is_cancelled THEN 'expired' END, updated = now()
                FROM closing AS c WHERE d.ctid = ANY (ARRAY(SELECT place FROM rows)) AND c.id = d.message
                RETURNING d.message, d.variant, d.state),
            counted AS (\(Self.counting("closed")))
            SELECT count(*) FROM closed
            """
        ).first?.decode(0) ?? 0
    }

    /// Finishes messages that are fully planned and have no delivery queued or in flight.
    ///
    /// - Returns: The number of messages.
    func finish() async throws -> Int {
        try await postgres.execute(
            """
            UPDATE notifications.messages AS m SET is_settled = TRUE, finished = coalesce(m.finished, now()),
                state = CASE WHEN m.state IN ('planning', 'sending') AND m.is_planned THEN 'sent'
                    WHEN m.state IN ('scheduled', 'planning', 'sending') THEN 'failed' ELSE m.state END,
                problem = CASE WHEN m.state IN ('scheduled', 'planning', 'sending') AND NOT m.is_planned THEN 'It was paused until it had expired.'
                    ELSE m.problem END
            WHERE NOT m.is_settled AND (m.state IN ('sent', 'cancelled', 'failed') OR (m.state IN ('planning', 'sending') AND m.is_planned)
                    OR (m.is_paused AND m.expires <= now()))
                AND NOT EXISTS (SELECT FROM notifications.deliveries AS d WHERE d.message = m.id AND d.state = 'queued')
                AND m.id NOT IN (SELECT d.message FROM notifications.deliveries AS d WHERE d.state = 'sending')
            """)
    }

    /// Fails messages that this version cannot read and that no other version has sent for the given time. `close` then
    /// cancels their queued deliveries.
    ///
    /// - Returns: The number of messages.
    func failUnreadable(_ messages: [UUID], after time: Duration) async throws -> Int {
        try await postgres.execute(
            """
            UPDATE notifications.messages AS m SET state = 'failed', finished = now(), problem = \(UnreadableMessage().sentence), is_paused = FALSE,
                is_resuming = FALSE
            WHERE m.id = ANY (\(messages)) AND m.finished IS NULL AND NOT EXISTS (
                SELECT FROM notifications.deliveries AS d WHERE d.message = m.id AND d.state <> 'queued'
                    AND d.updated > now() - \(time.inMicroseconds) * interval '1 microsecond')
            """, timeout: .seconds(60))
    }

    /// The messages that exist and are not finished.
    func unfinished(_ messages: [UUID]) async throws -> [UUID] {
        try await postgres.query(
            "SELECT id FROM notifications.messages WHERE id = ANY (\(messages)) AND finished IS NULL"
        ).map { try $0.decode(0) }
    }

    /// The messages that must not be sent now: paused, expired, or no longer being sent.
    func stopped(_ messages: [UUID]) async throws -> [UUID] {
        try await postgres.query(
            """
            SELECT id FROM notifications.messages
            WHERE id = ANY (\(messages)) AND (is_paused OR state NOT IN ('planning', 'sending') OR expires <= now())
            """
        ).map { try $0.decode(0) }
    }
}

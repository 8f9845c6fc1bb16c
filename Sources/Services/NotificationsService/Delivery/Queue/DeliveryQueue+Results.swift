import Foundation
import MartletPostgres

extension DeliveryQueue {
    /// Writes the results of deliveries and counts them. Deliveries that this instance no longer owns are not changed.
    ///
    /// Safe to repeat when it is unknown whether the first call succeeded.
    func write(_ results: [DeliveryResult], within limit: Duration) async throws {
        var ended: [Ended] = []
        var again: [Retry] = []
        for result in results {
            switch result.verdict {
            case .ended(let end, let reason, let receipt):
                ended.append(Ended(result: result, end: end, reason: reason, receipt: receipt))
            case .again(let delay, let reason, let counts):
                again.append(Retry(result: result, delay: delay, reason: reason, counts: counts))
            }
        }
        if !ended.isEmpty { try await write(ended, within: limit) }
        if !again.isEmpty { try await write(again, within: limit) }
    }

    private struct Ended {
        var result: DeliveryResult
        var end: DeliveryEnd
        var reason: String?
        var receipt: String?
    }

    private struct Retry {
        var result: DeliveryResult
        var delay: Duration
        var reason: String
        var counts: Bool
    }

    private func write(_ ended: [Ended], within limit: Duration) async throws {
        try await postgres.execute(
            """
            WITH w AS (
                SELECT * FROM unnest(\(ended.map(\.result.message)), \(ended.map(\.result.installation)), \(ended.map(\.result.attempt)),
                    \(ended.map(\.result.claim)), \(ended.map(\.end.rawValue)), \(ended.map { $0.reason ?? "" }), \(ended.map { $0.receipt ?? "" }))
                    AS w (message, installation, attempt, claim, state, reason, receipt)),
            ended AS (
                UPDATE notifications.deliveries AS d SET state = w.state, reason = nullif(w.reason, ''), receipt = nullif(w.receipt, ''),
                    leased_until = NULL, updated = now()
                FROM w WHERE \(Self.isOurs)
                RETURNING d.message, d.variant, d.state)
            \(Self.counting("ended"))
            """, timeout: limit)
    }

    /// A release that does not count restores the number of attempts.
    private func write(_ again: [Retry], within limit: Duration) async throws {
        try await postgres.execute(
            """
            UPDATE notifications.deliveries AS d SET state = 'queued', due = now() + w.delay * interval '1 microsecond', leased_until = NULL,
                reason = nullif(w.reason, ''), attempts = d.attempts - (1 - w.counts), updated = now()
            FROM unnest(\(again.map(\.result.message)), \(again.map(\.result.installation)), \(again.map(\.result.attempt)),
                \(again.map(\.result.claim)), \(again.map(\.delay.inMicroseconds)), \(again.map(\.reason)), \(again.map { $0.counts ? 1 : 0 }))
                AS w (message, installation, attempt, claim, delay, reason, counts)
            WHERE \(Self.isOurs)
            """, timeout: limit)
    }

    /// Matches the delivery of `w` if this instance still owns it. `coalesce` makes the planner use the primary key:
    /// the partial index on `sending` looks cheap, but would be scanned in full for each row.
    private static let isOurs: PostgresQuery = """
        d.message = w.message AND d.installation = w.installation AND d.attempts = w.attempt AND d.claims = w.claim
            AND coalesce(d.state, '') = 'sending'
        """

    /// Adds the rows of a query part (`message, variant, state`) to the counts. The fixed order prevents deadlocks
    /// between instances.
    static func counting(_ part: StaticString) -> PostgresQuery {
        """
        INSERT INTO notifications.delivery_counts AS c (message, variant, accepted, failed, unknown, cancelled)
        SELECT message, variant, count(*) FILTER (WHERE state = 'accepted'), count(*) FILTER (WHERE state = 'failed'),
            count(*) FILTER (WHERE state = 'unknown'), count(*) FILTER (WHERE state = 'cancelled')
        FROM \(unescaped: part) WHERE state NOT IN ('queued', 'sending') GROUP BY message, variant ORDER BY message, variant
        ON CONFLICT (message, variant) DO UPDATE SET accepted = c.accepted + excluded.accepted, failed = c.failed + excluded.failed,
            unknown = c.unknown + excluded.unknown, cancelled = c.cancelled + excluded.cancelled
        """
    }

    /// Extends the leases of deliveries that take long. Skips locked rows, whose results are most likely being written.
    ///
    /// - Returns: The renewed deliveries. The others are being written or belong to another instance.
    func renew(_ deliveries: some Collection<InFlightDeliveries.Entry>, lease: Duration, within limit: Duration)
        async throws -> [InFlightDeliveries.Key]
    {
        try await postgres.query(
            """
            WITH ours AS MATERIALIZED (
                SELECT d.ctid AS place FROM unnest(\(deliveries.map(\.message)), \(deliveries.map(\.installation)), \(deliveries.map(\.attempt)),
                    \(deliveries.map(\.claim))) AS w (message, installation, attempt, claim)
                JOIN notifications.deliveries AS d ON \(Self.isOurs) FOR UPDATE OF d SKIP LOCKED)
            UPDATE notifications.deliveries AS d SET leased_until = now() + \(lease.inMicroseconds) * interval '1 microsecond'
            WHERE d.ctid = ANY (ARRAY(SELECT place FROM ours)) RETURNING d.push_id, d.claims
            """, timeout: limit
        ).map { InFlightDeliveries.Key(pushID: try $0.decode(0), claim: try $0.decode(1)) }
    }
}

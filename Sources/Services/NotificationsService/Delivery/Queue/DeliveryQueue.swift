import Foundation
import MartletPostgres

/// The queue of deliveries, shared by all instances of the service.
///
/// State: `queued` → `sending` under a lease → `accepted`, `failed`, `unknown`, or `queued` again. Each claim
/// increments the delivery's claim number, which never decreases. Only the owner of the latest claim writes a result.
struct DeliveryQueue: Sendable {
    /// Notified when deliveries are queued, or when messages resume, stop or end.
    static let channel = "notifications_deliveries"
    static let maximumWork = 100
    private static let claimLimit: Duration = .seconds(10)

    let postgres: PostgresClient

    /// A message with due deliveries for one push service.
    struct Work: Sendable, Equatable {
        var message: UUID
        var lane: DeliveryLane
        /// The services that may deliver them.
        var services: [PushService]
    }

    /// The work that is due: the oldest message of each space first, in turns between spaces. Skips services whose
    /// credential is broken. If all credentials of a space are broken, also skips deliveries without a service.
    ///
    /// Takes one index lookup per message and service; deliveries due later or for other services are not read.
    ///
    /// - Parameter messages: Messages to leave out.
    func work(except messages: [UUID] = []) async throws -> [Work] {
        try await postgres.query(
            """
            SELECT id, space, service, good FROM (
                SELECT m.id, m.space, m.due, s.service, k.good, row_number() OVER (PARTITION BY m.space ORDER BY m.due, m.id, s.service) AS turn
                FROM notifications.messages AS m
                CROSS JOIN LATERAL (
                    SELECT count(*) AS total, coalesce(array_agg(kind) FILTER (WHERE broken IS NULL), '{}') AS good,
                        coalesce(array_agg(kind) FILTER (WHERE broken IS NOT NULL), '{}') AS broken
                    FROM notifications.credentials WHERE space = m.space AND kind <> 'smtp') AS k
                CROSS JOIN unnest(\([""] + PushService.allCases.map(\.rawValue))) AS s (service)
                CROSS JOIN LATERAL (
                    SELECT FROM notifications.deliveries AS d
                    WHERE d.message = m.id AND d.service = s.service AND d.state = 'queued' AND d.due <= now() LIMIT 1) AS q
                WHERE m.state IN ('planning', 'sending') AND NOT m.is_paused AND m.due <= now() AND m.expires > now()
                    AND m.id <> ALL (\(messages))
                    AND CASE s.service WHEN '' THEN k.total = 0 OR k.good <> '{}' ELSE NOT s.service = ANY (k.broken) END) AS w
            ORDER BY turn, due LIMIT \(Self.maximumWork)
            """
        ).map { row in
            let lane = DeliveryLane(space: try row.decode(1), service: PushService(rawValue: try row.decode(2)))
            let good = try row.decode(3, as: [String].self).compactMap { PushService(rawValue: $0) }
            return Work(message: try row.decode(0), lane: lane, services: lane.service.map { [$0] } ?? good)
        }
    }

    /// Claims due deliveries for the duration of the lease. Skips those that another instance is claiming, and paused
    /// messages.
    ///
    /// The same statement increments or sets badges, once per delivery however often it is sent.
    func claim(_ shares: [ClaimShare], lease: Duration) async throws -> [ClaimedDelivery] {
        let query =
            shares.allSatisfy { $0.badge == nil } ? Self.plainClaim(shares, lease) : Self.badgeClaim(shares, lease)
        return try await postgres.query(query, timeout: Self.claimLimit).map { try ClaimedDelivery($0) }
    }

    /// Updates the rows by `ctid`, as found when locking them. Otherwise the planner may scan the whole table for a
    /// thousand rows.
    private static func plainClaim(_ shares: [ClaimShare], _ lease: Duration) -> PostgresQuery {
        """
        WITH picked AS MATERIALIZED (\(picked(shares))), c AS (
            UPDATE notifications.deliveries AS d SET state = 'sending', attempts = d.attempts + 1, claims = d.claims + 1, updated = now(),
                leased_until = now() + \(lease.inMicroseconds) * interval '1 microsecond'
            WHERE d.ctid = ANY (ARRAY(SELECT place FROM picked))
            RETURNING d.message, d.installation, d.space, d.service, d.variant, d.attempts, d.claims, d.push_id, d.badge)
        SELECT \(ClaimedDelivery.columns), \(Device.columns) FROM c
        LEFT JOIN notifications.installations AS i ON i.space = c.space AND i.id = c.installation
        """
    }

    /// Numbers each delivery when several messages go to one installation. Installations are locked in a fixed order to
    /// prevent deadlocks between instances.
    private static func badgeClaim(_ shares: [ClaimShare], _ lease: Duration) -> PostgresQuery {
        """
        WITH picked AS MATERIALIZED (\(picked(shares))), wanted AS (
            SELECT space, installation, count(*) FILTER (WHERE raises)::integer AS count, max(fixed) AS fixed FROM picked
            WHERE raises OR fixed IS NOT NULL GROUP BY space, installation),
        locked AS MATERIALIZED (
            SELECT i.space, i.id, w.count, w.fixed FROM wanted AS w JOIN notifications.installations AS i ON i.space = w.space AND i.id = w.installation
            WHERE w.count > 0 OR i.badge <> w.fixed ORDER BY i.space, i.id FOR UPDATE OF i),
        changed AS (
            UPDATE notifications.installations AS i SET badge = least(coalesce(l.fixed, i.badge) + l.count, 99999)
            FROM locked AS l WHERE i.space = l.space AND i.id = l.id RETURNING i.space, i.id, i.badge - l.count AS before),
        numbered AS (
            SELECT p.place, CASE WHEN p.raises THEN r.before + row_number() OVER (PARTITION BY p.space, p.installation, p.raises ORDER BY p.message) END AS badge
            FROM picked AS p LEFT JOIN changed AS r ON r.space = p.space AND r.id = p.installation),
        c AS (
            UPDATE notifications.deliveries AS d SET state = 'sending', attempts = d.attempts + 1, claims = d.claims + 1, updated = now(),
                leased_until = now() + \(lease.inMicroseconds) * interval '1 microsecond', badge = coalesce(d.badge, n.badge)
            FROM numbered AS n WHERE d.ctid = n.place AND d.ctid = ANY (ARRAY(SELECT place FROM picked))
            RETURNING d.message, d.installation, d.space, d.service, d.variant, d.attempts, d.claims, d.push_id, d.badge)
        SELECT \(ClaimedDelivery.columns), \(Device.columns) FROM c
        LEFT JOIN notifications.installations AS i ON i.space = c.space AND i.id = c.installation
        """
    }

    /// `raises`: the delivery needs its own badge number and has none yet. `fixed`: the badge that its first attempt
    /// sets.
    private static func picked(_ shares: [ClaimShare]) -> PostgresQuery {
        """
        SELECT q.place, q.message, q.space, q.installation, s.badge = -1 AND q.badge IS NULL AS raises,
            CASE WHEN s.badge >= 0 AND q.attempts = 0 THEN s.badge END AS fixed
        FROM unnest(\(shares.map(\.message)), \(shares.map { $0.service?.rawValue ?? "" }), \(shares.map(\.limit)), \(shares.map { number($0.badge) }))
            AS s (message, service, room, badge)
        JOIN notifications.messages AS m ON m.id = s.message AND m.state IN ('planning', 'sending') AND NOT m.is_paused AND m.expires > now()
        CROSS JOIN LATERAL (
            SELECT d.ctid AS place, d.message, d.space, d.installation, d.badge, d.attempts FROM notifications.deliveries AS d
            WHERE d.message = s.message AND d.service = s.service AND d.state = 'queued' AND d.due <= now()
            ORDER BY d.due LIMIT s.room FOR UPDATE SKIP LOCKED) AS q
        """
    }

    private static func number(_ badge: MessageBadge?) -> Int {
        switch badge {
        case .increment: -1
        case .number(let number): number
        case nil: -2
        }
    }
}

extension Duration {
    /// For SQL intervals.
    var inMicroseconds: Int { Int(components.seconds) * 1_000_000 + Int(components.attoseconds / 1_000_000_000_000) }
}

import Foundation
import MartletCore
import MartletPostgres

/// The results of a message's deliveries.
struct DeliveryRecords: Sendable {
    static let states = ["queued", "sending"] + DeliveryEnd.allCases.map(\.rawValue)
    static let exportHeader = CSVLine.text(columns)
    private static let columns = [
        "installation", "state", "variant", "attempts", "badge", "due", "updated", "receipt", "reason", "opened",
    ]

    let postgres: PostgresClient

    /// - Returns: Whether the message exists in the space.
    func hasMessage(_ message: UUID, in space: Space) async throws -> Bool {
        !(try await postgres.query("SELECT FROM notifications.messages WHERE id = \(message) AND space = \(space.id)"))
            .isEmpty
    }

    /// Deliveries as JSON, ordered by installation, starting after `after`.
    func list(of message: UUID, state: String?, after: UUID?, limit: Int) async throws -> [(
        installation: UUID, json: String
    )] {
        try await postgres.query(
            """
            SELECT d.installation, json_strip_nulls(json_build_object('installation', d.installation, 'state', d.state, 'variant', d.variant,
                'attempts', d.attempts, 'badge', d.badge, 'due', \(PostgresQuery.rfc3339("d.due")), 'updated', \(PostgresQuery.rfc3339("d.updated")),
                'pushId', d.push_id, 'receipt', d.receipt, 'reason', d.reason, 'opened', \(PostgresQuery.rfc3339("d.opened"))))::text
            FROM notifications.deliveries AS d WHERE \(Self.condition(message, state, after)) ORDER BY d.installation LIMIT \(limit)
            """
        ).map { (try $0.decode(0), try $0.decode(1)) }
    }

    /// Deliveries as CSV lines, ordered by installation, starting after `after`.
    func exportLines(of message: UUID, state: String?, after: UUID?, limit: Int) async throws -> (
        text: String, last: UUID?
    ) {
        let rows = try await postgres.query(
            """
            SELECT d.installation, ARRAY[d.installation::text, d.state, d.variant::text, d.attempts::text, coalesce(d.badge::text, ''),
                \(PostgresQuery.rfc3339("d.due")), \(PostgresQuery.rfc3339("d.updated")), coalesce(d.receipt, ''), coalesce(d.reason, ''),
                coalesce(\(PostgresQuery.rfc3339("d.opened")), '')]
            FROM notifications.deliveries AS d WHERE \(Self.condition(message, state, after)) ORDER BY d.installation LIMIT \(limit)
            """)
        let lines = try rows.map { CSVLine.text((try $0.decode(1, as: [String].self)).map { Optional($0) }) }
        return (lines.joined(), try rows.last?.decode(0))
    }

    /// Records that the app was opened from the message. Only the first time counts.
    ///
    /// - Returns: False if the message was not sent to the installation.
    func recordOpened(_ message: UUID, by installation: UUID, in space: Space) async throws -> Bool {
        try await postgres.query(
            """
            WITH found AS (
                SELECT message, variant, opened IS NULL AS is_first FROM notifications.deliveries
                WHERE message = \(message) AND installation = \(installation) AND space = \(space.id) FOR UPDATE),
            noted AS (
                UPDATE notifications.deliveries AS d SET opened = now() FROM found AS f
                WHERE f.is_first AND d.message = f.message AND d.installation = \(installation) RETURNING d.message, d.variant),
            counted AS (
                INSERT INTO notifications.delivery_counts AS c (message, variant, opened) SELECT message, variant, 1 FROM noted
                ON CONFLICT (message, variant) DO UPDATE SET opened = c.opened + 1)
            SELECT count(*) > 0 FROM found
            """
        ).first?.decode(0) ?? false
    }

    /// The counts by variant, in order. Deliveries that are queued or in flight are not included.
    func counts(of message: UUID) async throws -> [DeliveryCounts] {
        try await postgres.query(
            """
            SELECT variant, accepted, failed, unknown, cancelled, opened FROM notifications.delivery_counts WHERE message = \(message) ORDER BY variant
            """
        ).map { row in
            DeliveryCounts(
                variant: try row.decode(0), accepted: try row.decode(1), failed: try row.decode(2),
                unknown: try row.decode(3), cancelled: try row.decode(4),
                opened: try row.decode(5))
        }
    }

    private static func condition(_ message: UUID, _ state: String?, _ after: UUID?) -> PostgresQuery {
        var condition: PostgresQuery = "d.message = \(message)"
        if let state { condition += " AND d.state = \(state)" }
        if let after { condition += " AND d.installation > \(after)" }
        return condition
    }
}

/// The outcomes of a message's deliveries for one variant.
struct DeliveryCounts: Sendable, Equatable {
    var variant: Int
    var accepted: Int
    var failed: Int
    var unknown: Int
    var cancelled: Int
    var opened: Int
}

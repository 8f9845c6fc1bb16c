import Foundation
import MartletAPI
import MartletCore
import MartletPostgres

/// Decides which alerts fire. Any number of instances may run it concurrently: each firing and its delivery are stored
/// in one transaction.
struct AlertFiring: Sendable {
    private static let maximumChanges = 200
    private static let maximumDue = 100
    /// Maximum number of issues listed in a message. The message also contains the total number of issues.
    static let maximumIssues = 20

    let postgres: PostgresClient
    let deliveries: AlertDeliveryStore
    let rateInterval: Duration

    /// Queues unannounced changes of issues for the alerts that match them. Returns whether there may be more.
    func announce() async throws -> Bool {
        let count = try await postgres.query(
            """
            WITH changes AS (
                SELECT id, space, issue, kind, at, details FROM analytics.issue_history WHERE NOT is_announced
                ORDER BY id LIMIT \(Self.maximumChanges) FOR UPDATE SKIP LOCKED),
            marked AS (UPDATE analytics.issue_history AS h SET is_announced = TRUE FROM changes WHERE h.id = changes.id RETURNING h.id),
            queued AS (
                INSERT INTO analytics.crash_alert_happenings (alert, history, issue)
                SELECT a.id, c.id, c.issue FROM changes AS c JOIN analytics.issues AS i ON i.id = c.issue AND i.deleted IS NULL
                JOIN analytics.crash_alerts AS a ON a.space = c.space AND a.enabled AND a.created <= c.at
                    AND a.kind = CASE c.kind WHEN 'created' THEN 'newIssue' WHEN 'regressed' THEN 'regression' END
                WHERE (a.levels = '{}' OR i.level = ANY (a.levels)) AND (a.releases = '{}' OR EXISTS (
                    SELECT FROM analytics.releases AS r
                    WHERE r.space = c.space AND (r.name = ANY (a.releases) OR r.version = ANY (a.releases))
                        AND CASE WHEN c.details ? 'release' THEN r.name = c.details ->> 'release' ELSE r.id = i.first_release END))
                ON CONFLICT DO NOTHING)
            SELECT count(*) FROM marked
            """)[0].decode(0, as: Int.self)
        return count == Self.maximumChanges
    }

    /// Claims the alerts that are due. Another instance will not claim a rate again until `rateInterval` has passed.
    func due() async throws -> [UUID] {
        let seconds = Double(rateInterval.components.seconds) + Double(rateInterval.components.attoseconds) / 1e18
        return try await postgres.query(
            """
            UPDATE analytics.crash_alerts SET looked = now() WHERE id = ANY (ARRAY(
                SELECT a.id FROM analytics.crash_alerts AS a
                WHERE a.enabled AND (a.fired IS NULL OR a.fired + make_interval(secs => a.pause_seconds) <= now()) AND CASE
                    WHEN a.kind IN ('newIssue', 'regression') THEN EXISTS (SELECT FROM analytics.crash_alert_happenings AS h WHERE h.alert = a.id)
                    ELSE a.looked <= now() - make_interval(secs => \(seconds)) END
                ORDER BY a.looked LIMIT \(Self.maximumDue) FOR UPDATE SKIP LOCKED))
            RETURNING id
            """
        ).map { try $0.decode(0) }
    }

    /// Fires an alert if its condition holds, and stores the delivery in the same transaction.
    func fire(_ id: UUID) async throws {
        try await postgres.withTransaction { transaction in
            let rows = try await transaction.query(
                """
                SELECT \(FiringAlert.columns) FROM analytics.crash_alerts AS a JOIN analytics.spaces AS s ON s.id = a.space
                WHERE a.id = \(id) AND a.enabled AND (a.fired IS NULL OR a.fired + make_interval(secs => a.pause_seconds) <= now())
                FOR UPDATE OF a SKIP LOCKED
                """)
            guard let row = rows.first else { return }
            let alert = try FiringAlert(row)
            guard let reason = try await alert.reason(transaction) else { return }
            try await transaction.execute("UPDATE analytics.crash_alerts SET fired = now() WHERE id = \(id)")
            try await deliveries.add(
                alert.message(reason, try await alert.issues(reason, transaction)), of: id, space: alert.space,
                in: transaction)
        }
    }
}

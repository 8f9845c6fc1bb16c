import Logging
import MartletAPI
import MartletBackground
import MartletPostgres

/// Adds this instance's counts to those of the others and reads the totals, with one statement a second while reports
/// arrive.
///
/// Instances can exceed the quota by the number of reports that the other instances received in the last second. While
/// PostgreSQL is unavailable, each instance has the full quota.
struct CrashQuotaSharing: PeriodicWork {
    private static let maximumCount = 1_000

    let postgres: PostgresClient
    let quota: CrashQuota
    let logger: Logger
    let interval: Duration = .seconds(1)

    func work() async throws {
        let (minute, shared) = quota.unshared(upTo: Self.maximumCount)
        guard !shared.isEmpty else { return }
        let rows = try await postgres.query(
            """
            INSERT INTO analytics.crash_quotas AS c (space, kind, minute, used)
            SELECT s.id, q.kind, \(minute), q.used
            FROM unnest(\(shared.map(\.key.appID)), \(shared.map(\.key.environment.rawValue)),
                \(shared.map(\.key.group.rawValue)), \(shared.map(\.count)))
                AS q (app_id, environment, kind, used)
            JOIN analytics.spaces AS s ON s.app_id = q.app_id AND s.environment = q.environment
            ORDER BY s.id, q.kind
            ON CONFLICT (space, kind) DO UPDATE SET minute = greatest(c.minute, EXCLUDED.minute),
                used = CASE WHEN c.minute = EXCLUDED.minute THEN c.used WHEN c.minute > EXCLUDED.minute THEN c.used - EXCLUDED.used ELSE 0 END + EXCLUDED.used
            RETURNING (SELECT app_id FROM analytics.spaces WHERE id = c.space), (SELECT environment FROM analytics.spaces WHERE id = c.space),
                c.kind, c.minute, c.used
            """)
        var totals: [CrashQuota.Key: Int] = [:]
        for row in rows where try row.decode(3, as: Int.self) == minute {
            guard let environment = AppEnvironment(rawValue: try row.decode(1)),
                let group = CrashQuota.Group(rawValue: try row.decode(2))
            else { continue }
            totals[CrashQuota.Key(appID: try row.decode(0), environment: environment, group: group)] = try row.decode(4)
        }
        quota.apply(shared, totals, of: minute)
    }
}

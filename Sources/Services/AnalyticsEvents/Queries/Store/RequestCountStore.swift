import Foundation
import MartletAPI
import MartletPostgres

/// Counts of the gateways' requests: by minute for two weeks, then by hour for 13 months.
struct RequestCountStore: Sendable {
    /// Longer than gateways may send a report again, so that none is counted twice.
    static let daysOfMinutes = 14
    static let retentionDays = 396
    /// Stands for all gateways in the counts of an hour.
    private static let allGateways = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))

    let postgres: PostgresClient

    /// Adds a gateway's counts of one minute. Idempotent: counts that are already there stay.
    func add(_ report: RequestCounts) async throws {
        try await postgres.execute(
            """
            INSERT INTO analytics.request_counts (minute, gateway, service, status_class, count, microseconds)
            SELECT \(report.minute), \(report.gateway), service, status_class, count, microseconds FROM unnest(
                \(report.counts.map(\.service)), \(report.counts.map(\.statusClass)), \(report.counts.map(\.count)),
                \(report.counts.map { Int($0.microseconds) })) AS counts (service, status_class, count, microseconds)
            ON CONFLICT DO NOTHING
            """)
    }

    struct Row: Sendable {
        let start: Date
        let service: String
        let statusClass: Int
        let count: Int
        let microseconds: Int
    }

    /// Counts by interval (whole minutes, from midnight UTC), service and first digit of the status.
    func list(from: Date, to: Date, intervalInMinutes: Int) async throws -> [Row] {
        let rows = try await postgres.query(
            """
            SELECT to_timestamp(floor(extract(epoch FROM minute) / \(intervalInMinutes * 60)) * \(intervalInMinutes * 60)) AS start, service,
                status_class, sum(count)::bigint, sum(microseconds)::bigint
            FROM analytics.request_counts WHERE minute >= \(from) AND minute < \(to) GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
            """)
        return try rows.map {
            Row(
                start: try $0.decode(0), service: try $0.decode(1), statusClass: try $0.decode(2),
                count: try $0.decode(3), microseconds: try $0.decode(4))
        }
    }

    /// Replaces old counts of minutes with those of their hour, at most a day of them, and deletes what is too old.
    ///
    /// Copies may run it at the same time: only the one that deletes a row adds it to its hour.
    func prune() async throws {
        try await postgres.execute(
            """
            WITH due AS (
                SELECT least(min(minute) + interval '1 day', now() - make_interval(days => \(Self.daysOfMinutes)::int)) AS until
                FROM analytics.request_counts WHERE gateway <> \(Self.allGateways)
            ), old AS (
                DELETE FROM analytics.request_counts WHERE minute < (SELECT until FROM due) AND gateway <> \(Self.allGateways)
                RETURNING *
            )
            INSERT INTO analytics.request_counts AS c (minute, gateway, service, status_class, count, microseconds)
            SELECT date_trunc('hour', minute, 'UTC'), \(Self.allGateways), service, status_class, sum(count), sum(microseconds)
            FROM old GROUP BY 1, 3, 4 ORDER BY 1, 3, 4
            ON CONFLICT (minute, gateway, service, status_class)
                DO UPDATE SET count = c.count + excluded.count, microseconds = c.microseconds + excluded.microseconds
            """, timeout: .seconds(60))
        try await postgres.execute(
            "DELETE FROM analytics.request_counts WHERE minute < now() - make_interval(days => \(Self.retentionDays)::int)"
        )
    }
}

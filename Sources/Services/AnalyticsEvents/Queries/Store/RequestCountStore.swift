import Foundation
import MartletAPI
import MartletPostgres

/// Counts of the gateways' requests by minute.
struct RequestCountStore: Sendable {
    static let retentionDays = 90

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

    func prune() async throws {
        try await postgres.execute(
            "DELETE FROM analytics.request_counts WHERE minute < now() - make_interval(days => \(Self.retentionDays)::int)"
        )
    }
}

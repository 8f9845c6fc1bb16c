import Foundation
import MartletPostgres

/// The history of the server's resource use: averages and maxima by interval, at several resolutions.
struct StatusStore: Sendable {
    /// How long the sampling copy may pause before another copy takes over.
    static let leaseInSeconds = 150.0

    let postgres: PostgresClient
    var timeLimit = ServerHealth.timeLimit

    /// Adds a value to each series, at every resolution. Series that do not exist are ignored.
    ///
    /// If several copies add values in one interval, all values have the same weight.
    func add(_ values: [String: Double], at time: Date) async throws {
        let valid = values.filter { StatusGroup.allSeries.contains($0.key) && $0.value.isFinite }
        guard !valid.isEmpty else { return }
        let names = valid.keys.sorted()
        let texts = names.map { String(valid[$0] ?? 0) }
        // All copies lock the rows in the same order, so they cannot deadlock.
        try await postgres.execute(
            """
            INSERT INTO auth.status_samples (resolution, series, start, count, sum, maximum)
            SELECT r.seconds, v.series, to_timestamp(floor(extract(epoch FROM \(time)) / r.seconds) * r.seconds), 1,
                v.value::float8, v.value::float8
            FROM unnest(\(StatusResolution.all.map(\.seconds))) AS r (seconds),
                unnest(\(names), \(texts)) AS v (series, value)
            ORDER BY 1, 2
            ON CONFLICT (resolution, series, start) DO UPDATE SET count = status_samples.count + 1,
                sum = status_samples.sum + excluded.sum, maximum = greatest(status_samples.maximum, excluded.maximum)
            """)
    }

    struct Row: Sendable {
        var series: String
        var start: Date
        var average: Double
        var maximum: Double
    }

    /// The rows of a group from `from` to `to`, which is exclusive.
    func rows(of group: StatusGroup, from: Date, to: Date, at resolution: StatusResolution) async throws -> [Row] {
        try await postgres.query(
            """
            SELECT series, start, sum / count, maximum FROM auth.status_samples
            WHERE resolution = \(resolution.seconds) AND series = ANY (\(group.series)) AND start >= \(from)
                AND start < \(to)
            """
        ).map {
            Row(
                series: try $0.decode(0), start: try $0.decode(1), average: try $0.decode(2),
                maximum: try $0.decode(3))
        }
    }

    /// Deletes rows that are older than the retention of their resolution.
    func prune(at time: Date) async throws {
        try await postgres.execute(
            """
            DELETE FROM auth.status_samples AS s
            USING unnest(\(StatusResolution.all.map(\.seconds)), \(StatusResolution.all.map(\.days))) AS r (seconds, days)
            WHERE s.resolution = r.seconds AND s.start < \(time) - make_interval(days => r.days::int)
            """)
    }

    /// Takes or renews the lease for sampling the database and the jobs. Returns false if another copy holds the lease.
    func lease(to copy: UUID) async throws -> Bool {
        try await postgres.execute(
            """
            INSERT INTO auth.status_lease AS l (number, holder, until)
            VALUES (1, \(copy), now() + make_interval(secs => \(Self.leaseInSeconds)))
            ON CONFLICT (number) DO UPDATE SET holder = excluded.holder, until = excluded.until
                WHERE l.holder = excluded.holder OR l.until < now()
            """) == 1
    }

    struct DatabaseFigures: Sendable {
        /// Transactions since the statistics began.
        var committed: Int
        var rolledBack: Int
        /// Sessions that wait for a lock.
        var locked: Int
        /// The age of the oldest open transaction in seconds.
        var oldest: Double
        /// The share of dead rows in percent.
        var dead: Double
    }

    func databaseFigures() async throws -> DatabaseFigures? {
        let rows = try await postgres.query(
            "SELECT committed, rolled_back, locked, oldest, dead FROM auth.database_figures()",
            timeout: timeLimit)
        return try rows.first.map {
            DatabaseFigures(
                committed: try $0.decode(0), rolledBack: try $0.decode(1), locked: try $0.decode(2),
                oldest: try $0.decode(3), dead: try $0.decode(4))
        }
    }
}

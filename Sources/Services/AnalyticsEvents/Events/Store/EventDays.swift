import Foundation
import Logging
import MartletBackground
import MartletPostgres
import ServiceLifecycle

/// Creates the daily partitions ahead of time, and drops the partitions that no space keeps any more. Every instance
/// does this, because repeating the statements has no effect.
struct EventDays: Service {
    private static let interval: Duration = .seconds(1_800)
    private static let retry: Duration = .seconds(10)
    private static let daysAhead = 3
    private static let rowsPerStatement = 20_000

    let postgres: PostgresClient
    let salts: Salts
    let logger: Logger

    func run() async throws {
        await cancelWhenGracefulShutdown {
            await NotifiedLoop(every: Self.interval, retries: Self.retry...Self.retry).run {
                await attempt("Could not create or drop days of events; retrying in ten seconds.", logger: logger) {
                    try await makeAhead()
                    try await sweep()
                }
            }
        }
    }

    func makeAhead() async throws {
        try await postgres.execute(
            """
            SELECT analytics.make_events_day((now() AT TIME ZONE 'UTC')::date + ahead)
            FROM generate_series(0, \(Self.daysAhead)::integer) AS ahead
            """)
    }

    /// Deletes events that are older than their space keeps them: whole partitions that no space needs, and rows of
    /// single spaces in the others. Also deletes the traits of spaces whose privacy is strict now.
    func sweep() async throws {
        try await salts.expire()
        try await postgres.execute(
            """
            UPDATE analytics.people AS p SET traits = '{}', traits_at = '-infinity' FROM analytics.settings AS s
            WHERE s.privacy = 'strict' AND p.space = s.space AND p.traits <> '{}'
            """, timeout: .seconds(120))
        let days = try await postgres.query(
            """
            SELECT day::text FROM analytics.events_days() AS day
            WHERE day < (now() AT TIME ZONE 'UTC')::date - greatest(\(SpaceSettings().retentionDays), (SELECT max(retention_days) FROM analytics.settings))::integer
                AND day < (now() AT TIME ZONE 'UTC')::date - 1
            """)
        for day in days {
            try await postgres.execute(
                "SELECT analytics.drop_events_day(\(try day.decode(0, as: String.self))::text::date)")
        }
        for row in try await postgres.query(
            """
            SELECT s.id, k.keep::text FROM analytics.spaces AS s LEFT JOIN analytics.settings AS t ON t.space = s.id,
                LATERAL (SELECT (now() AT TIME ZONE 'UTC')::date - coalesce(t.retention_days, \(SpaceSettings().retentionDays)::integer) AS keep) AS k
            WHERE s.swept < k.keep
            """)
        {
            try await sweep(space: try row.decode(0), before: try row.decode(1))
        }
        try await BlockStore.forgetDays(postgres)
    }

    /// Deletes a space's events of the days before `day`.
    ///
    /// - Parameter day: Such as `2026-11-22`.
    private func sweep(space: Int32, before day: String) async throws {
        let days = try await postgres.query(
            """
            SELECT day::text FROM analytics.events_days() AS day, analytics.spaces AS s
            WHERE s.id = \(space) AND day >= s.swept AND day < \(day)::text::date
            """)
        for row in days {
            try await delete(space, on: try row.decode(0))
        }
        try await postgres.execute(
            "UPDATE analytics.spaces SET swept = \(day)::text::date WHERE id = \(space) AND swept < \(day)::text::date")
    }

    /// Deletes a space's events of one day. Each statement also scans the rows that earlier ones deleted, so the events
    /// of a large day are deleted hour by hour.
    private func delete(_ space: Int32, on day: String) async throws {
        guard
            try await Self.delete("space = \(space)", on: day, limit: Self.rowsPerStatement, postgres)
                == Self.rowsPerStatement
        else { return }
        let start = EventTime.date(day) ?? .distantPast
        for hour in 0..<24 {
            let first = start + TimeInterval(hour * 3_600)
            let condition: PostgresQuery = "space = \(space) AND received >= \(first) AND received < \(first + 3_600)"
            while try await Self.delete(condition, on: day, limit: Self.rowsPerStatement, postgres)
                == Self.rowsPerStatement
            {}
        }
    }

    /// Deletes up to `limit` events that were received on a day; returns their number.
    static func delete(_ condition: PostgresQuery, on day: String, limit: Int, _ postgres: PostgresClient) async throws
        -> Int
    {
        var statement: PostgresQuery = """
            DELETE FROM analytics.events WHERE \(isOn(day)) AND ctid = ANY (ARRAY(
                SELECT ctid FROM analytics.events WHERE \(isOn(day)) AND \(condition) LIMIT \(limit)))
            """
        // Planned for this day, so that the partitions of other days are not opened.
        statement.isPrepared = false
        return try await postgres.execute(statement, timeout: .seconds(120))
    }

    /// A condition that selects one partition.
    ///
    /// - Parameter day: Such as `2026-11-22`.
    static func isOn(_ day: String) -> PostgresQuery {
        // Computed here, not in SQL: given two constants, PostgreSQL can choose the partition when it plans.
        let start = EventTime.date(day) ?? .distantPast
        return "received >= \(start) AND received < \(start + 86_400)"
    }
}

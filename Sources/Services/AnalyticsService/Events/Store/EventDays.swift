import Foundation
import Logging
import MartletPostgres
import ServiceLifecycle

/// Makes the days' partitions ahead of time, and lets those go that nobody keeps any more. Every copy does it; it is
/// harmless to repeat.
struct EventDays: Service {
    private static let interval: Duration = .seconds(1_800)
    private static let retry: Duration = .seconds(10)
    private static let ahead = 3
    private static let rowsPerStatement = 20_000

    let postgres: PostgresClient
    let salts: Salts
    let logger: Logger

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                var pause = Self.interval
                do {
                    try await makeAhead()
                    try await sweep()
                } catch {
                    logger.warning(
                        "Days of events could not be made or dropped yet.", metadata: ["error.cause": "\(error)"])
                    pause = Self.retry
                }
                try? await Task.sleep(for: pause)
            }
        }
    }

    func makeAhead() async throws {
        try await postgres.execute(
            """
            SELECT analytics.make_events_day((now() AT TIME ZONE 'UTC')::date + ahead) FROM generate_series(0, \(Self.ahead)::integer) AS ahead
            """)
    }

    /// Deletes what is older than its space keeps it: whole days that are of no use to any space, and the others' rows
    /// in between. Where privacy is strict now, what `identify` said before.
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

    /// - Parameter day: `2026-11-22`
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

    /// Each statement looks at what the ones before have left dead: many rows go hour by hour, so that it is not much.
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

    /// Deletes events that were received on a day; returns how many.
    static func delete(_ condition: PostgresQuery, on day: String, limit: Int, _ postgres: PostgresClient) async throws
        -> Int
    {
        var statement: PostgresQuery = """
            DELETE FROM analytics.events WHERE \(isOn(day)) AND ctid = ANY (ARRAY(
                SELECT ctid FROM analytics.events WHERE \(isOn(day)) AND \(condition) LIMIT \(limit)))
            """
        // Planned for the day, so that other days are not even opened.
        statement.isPrepared = false
        return try await postgres.execute(statement, timeout: .seconds(120))
    }

    /// - Parameter day: `2026-11-22`
    static func isOn(_ day: String) -> PostgresQuery {
        // Two constants: of texts PostgreSQL would not know before it runs which partition it is.
        let start = EventTime.date(day) ?? .distantPast
        return "received >= \(start) AND received < \(start + 86_400)"
    }
}

import Foundation
import MartletPostgres

extension RollUpStore {
    private struct Change {
        let space: Int32
        let timeZone: String
        /// Of `received`.
        let first: Date
        let last: Date
        /// The first of which all events are there, in the new time zone: what happened on it was received later. Every day, when none are gone.
        let firstDay: Int
    }

    /// Makes the days of spaces anew whose time zone is another one now, from the events that are there. Days before them stay as they are.
    func followTimeZones() async throws {
        while try await followTimeZone() {}
    }

    /// One space in one transaction: until then, its days are told in the former time zone. False: there is none, or another copy is at it.
    private func followTimeZone() async throws -> Bool {
        try await postgres.withTransaction { transaction in
            try await Self.prepare(transaction)
            guard let change = try await Self.nextChange(transaction) else { return false }
            try await transaction.execute(
                """
                INSERT INTO analytics.rolled_spaces (space, time_zone) VALUES (\(change.space), \(change.timeZone))
                ON CONFLICT (space) DO UPDATE SET time_zone = excluded.time_zone
                """)
            try await transaction.execute(
                "DELETE FROM analytics.days WHERE space = \(change.space) AND day >= \(change.firstDay)", timeout: Self.timeout)
            try await transaction.execute(
                "DELETE FROM analytics.people_sets WHERE space = \(change.space) AND dimension < 100 AND slot >= \(change.firstDay)", timeout: Self.timeout)
            var start = change.first
            while start <= change.last {
                let end = start.addingTimeInterval(86_400)
                try await Self.takeAgain(change.space, start, end, from: change.firstDay, transaction)
                try await Self.countDays(transaction)
                try await Self.addPeople(transaction, withHours: false)
                try await transaction.execute("TRUNCATE analytics.batch")
                start = end
            }
            return true
        }
    }

    private static func nextChange(_ transaction: PostgresTransaction) async throws -> Change? {
        let rows = try await transaction.query(
            """
            SELECT s.space, s.time_zone, first, reached, CASE WHEN sp.created >= first THEN -1000000
                ELSE (first AT TIME ZONE s.time_zone)::date - date '1970-01-01'
                    + (first AT TIME ZONE s.time_zone <> date_trunc('day', first AT TIME ZONE s.time_zone))::int END
            FROM (SELECT reached, coalesce((SELECT min(day) FROM analytics.events_days() AS day)::timestamptz, now()) AS first
                    FROM analytics.rollups FOR UPDATE SKIP LOCKED) AS done
                CROSS JOIN analytics.settings AS s JOIN analytics.spaces AS sp ON sp.id = s.space LEFT JOIN analytics.rolled_spaces AS z ON z.space = s.space
            WHERE s.time_zone <> coalesce(z.time_zone, 'UTC') AND isfinite(reached) LIMIT 1
            """)
        guard let row = rows.first else { return nil }
        return Change(space: try row.decode(0), timeZone: try row.decode(1), first: try row.decode(2), last: try row.decode(3), firstDay: try row.decode(4))
    }

    /// Fills the batch with what is rolled up already of a day of `received`.
    private static func takeAgain(
        _ space: Int32, _ start: Date, _ end: Date, from day: Int, _ transaction: PostgresTransaction
    ) async throws {
        try await transaction.execute(
            """
            INSERT INTO analytics.batch (at, person, space, name, release, os, device, configuration, country, kind)
            SELECT e.at, coalesce(p.account, e.person), e.space, e.name, e.release, e.os, e.device, e.configuration, e.country, e.kind
            FROM (SELECT reached, seen, pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS top FROM analytics.rollups) AS done
                CROSS JOIN analytics.events AS e LEFT JOIN analytics.people AS p ON p.space = e.space AND p.person = e.person AND p.account <> 0
                JOIN analytics.rolled_spaces AS z ON z.space = e.space
            WHERE e.space = \(space) AND e.received >= \(start) AND e.received < \(end) AND e.received <= done.reached
                AND (e.at AT TIME ZONE z.time_zone)::date - date '1970-01-01' >= \(day)
                AND (e.received <= done.reached - make_interval(secs => \(Double(longestInsert))) OR pg_visible_in_snapshot(
                    (done.top - ((done.top - e.xmin::text::bigint) & 4294967295))::text::xid8, done.seen))
            """, timeout: timeout)
    }

    /// Removes what is older than the events of its space may become, and sessions that no late event changes any more.
    func prune() async throws {
        try await postgres.execute(
            """
            DELETE FROM analytics.sessions WHERE ctid = ANY (ARRAY(
                SELECT ctid FROM analytics.sessions WHERE ended < now() - make_interval(days => \(Self.openSessionDays)::int) LIMIT 100000))
            """, timeout: Self.timeout)
        let old: PostgresQuery = "floor(extract(epoch FROM now()) / 86400)::int - coalesce((SELECT retention_days FROM analytics.settings AS g WHERE g.space = s.id), 395)"
        for table in ["hours", "days", "people_sets", "session_quarters"] {
            let slot: PostgresQuery
            switch table {
            case "hours": slot = "t.hour / 24"
            case "days": slot = "t.day"
            case "people_sets": slot = "CASE WHEN t.dimension = 100 THEN t.slot / 24 ELSE t.slot END"
            default: slot = "t.quarter / 96"
            }
            guard let name = PostgresIdentifier(schema: "analytics", name: table) else { continue }
            try await postgres.execute(
                """
                DELETE FROM \(name) AS t USING analytics.spaces AS s WHERE t.space = s.id AND \(slot) < \(old)
                """, timeout: Self.timeout)
        }
    }
}

import Foundation
import MartletPostgres

/// Rebuilds days from the stored events after a space has changed its time zone. Days whose events are gone stay as
/// they are.
///
/// The work is done in steps like those of the roll-up, which continues in between. Until all steps are done
/// (`again_to`), the space's days are not used for answers. A rebuild takes about as long as rolling the events up did.
extension RollUpStore {
    private struct Change {
        let space: Int32
        let timeZone: String
        /// The range of `received` that is stored and rolled up.
        let first: Date
        let reached: Date
        /// The first day, in the new time zone, for which all events are still stored. If no events are gone, it is
        /// before every day.
        let firstDay: Int
    }

    /// Performs one step.
    ///
    /// - Returns: false if there is nothing to rebuild, or another instance works.
    func followTimeZone() async throws -> Bool {
        try await postgres.withTransaction { transaction in
            try await Self.prepare(transaction)
            if let change = try await Self.nextChange(transaction) {
                try await Self.begin(change, transaction)
                return true
            }
            return try await Self.continueRebuilding(transaction)
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
        return Change(
            space: try row.decode(0), timeZone: try row.decode(1), first: try row.decode(2), reached: try row.decode(3),
            firstDay: try row.decode(4))
    }

    /// Switches to the new time zone: events rolled up from now on are counted by it. Counts the last minute before the
    /// watermark at once, while the snapshot still tells which of its events had been rolled up.
    private static func begin(_ change: Change, _ transaction: PostgresTransaction) async throws {
        let rest = change.reached.addingTimeInterval(-Double(longestInsert))
        let isAll = rest <= change.first
        try await transaction.execute(
            """
            INSERT INTO analytics.rolled_spaces AS z (space, time_zone, again_from, again_to, again_day)
            VALUES (\(change.space), \(change.timeZone), \(isAll ? nil : change.first), \(isAll ? nil : rest), \(change.firstDay))
            ON CONFLICT (space) DO UPDATE SET
                time_zone = excluded.time_zone, again_from = excluded.again_from, again_to = excluded.again_to, again_day = excluded.again_day
            """)
        try await transaction.execute(
            "DELETE FROM analytics.days WHERE space = \(change.space) AND day >= \(change.firstDay)", timeout: timeout)
        try await transaction.execute(
            "DELETE FROM analytics.people_sets WHERE space = \(change.space) AND dimension < 100 AND slot >= \(change.firstDay)",
            timeout: timeout)
        try await countAgain(
            """
            e.space = \(change.space) AND e.received >= \(isAll ? change.first : rest) AND e.received <= done.reached
                AND (e.received < done.reached - make_interval(secs => \(Double(longestInsert))) OR NOT done.is_same OR \(wasVisible))
            """, transaction)
    }

    /// Rebuilds the next hours of some space; false if nothing is left to do.
    private static func continueRebuilding(_ transaction: PostgresTransaction) async throws -> Bool {
        let rows = try await transaction.query(
            """
            UPDATE analytics.rolled_spaces AS z SET again_to = nullif(step.start, z.again_from), again_from = CASE WHEN step.start > z.again_from THEN z.again_from END
            FROM (
                SELECT space, again_to AS stop, greatest(again_from, again_to - make_interval(secs => \(Double(longestStep)))) AS start
                FROM analytics.rolled_spaces, (SELECT FROM analytics.rollups FOR UPDATE SKIP LOCKED) AS mine
                WHERE again_to IS NOT NULL ORDER BY space LIMIT 1) AS step
            WHERE z.space = step.space RETURNING z.space, step.start, step.stop
            """)
        guard let row = rows.first else { return false }
        let space: Int32 = try row.decode(0), start: Date = try row.decode(1), stop: Date = try row.decode(2)
        try await countAgain("e.space = \(space) AND e.received >= \(start) AND e.received < \(stop)", transaction)
        return true
    }

    /// Counts the selected events again, but only by day.
    private static func countAgain(_ condition: PostgresQuery, _ transaction: PostgresTransaction) async throws {
        let count = try await transaction.execute(
            """
            WITH done AS MATERIALIZED (\(done))
            INSERT INTO analytics.batch (at, person, space, name, release, os, device, configuration, country, kind)
            SELECT \(batched) FROM done CROSS JOIN analytics.events AS e JOIN analytics.rolled_spaces AS z ON z.space = e.space
            WHERE \(condition) AND (e.at AT TIME ZONE z.time_zone)::date - date '1970-01-01' >= z.again_day
            """, timeout: timeout)
        guard count > 0 else { return }
        try await plan(for: count, transaction)
        try await countDays(transaction)
        try await addPeople(transaction, withHours: false)
        try await transaction.execute("TRUNCATE analytics.batch")
    }
}

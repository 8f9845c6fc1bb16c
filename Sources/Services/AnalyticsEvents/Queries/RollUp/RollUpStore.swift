import Foundation
import MartletPostgres

/// Adds events to the roll-ups, each exactly once.
///
/// Events are taken in the order of `received`, which is the start of the transaction that wrote them, by the
/// database's clock. They are counted in the buckets of `at`. A transaction may commit up to `longestInsert` after its
/// start. Each step therefore looks at the events of that time again, and takes those that were not visible in the
/// previous step's snapshot. So no event is missed or counted twice, whatever the order of commits.
struct RollUpStore: Sendable {
    /// In seconds. `PostgresClient` gives up after 30 seconds, PostgreSQL after 35.
    static let longestInsert = 60
    /// Maximum range of `received` in one step, in seconds.
    static let longestStep = 6 * 3600
    /// How many days a session can still be changed by late events.
    static let openSessionDays = 35
    static let timeout: Duration = .seconds(600)
    /// Up to this number of events, persons are looked up one by one.
    private static let nestedLoopLimit = 2_000

    let postgres: PostgresClient

    struct Step: Sendable {
        let events: Int
        /// Whether all stored events are rolled up.
        let isLast: Bool
    }

    /// Rolls up the next events; nil if another instance works.
    func step() async throws -> Step? {
        try await postgres.withTransaction { transaction in
            try await Self.prepare(transaction)
            let rows = try await transaction.query(
                """
                SELECT range.first, range.last, range.last >= now() FROM (
                    -- A step that began earlier but locked the row later must not move the watermark back.
                    SELECT first, greatest(first, least(now(), first + make_interval(secs => \(Double(Self.longestStep))))) AS last FROM (
                        SELECT CASE WHEN isfinite(reached) THEN reached ELSE coalesce((SELECT min(day) FROM analytics.events_days() AS day)::timestamptz, now()) END
                            AS first FROM analytics.rollups FOR UPDATE SKIP LOCKED) AS begun) AS range
                """)
            guard let row = rows.first else { return nil }
            let first: Date = try row.decode(0), last: Date = try row.decode(1)
            let events = try await Self.take(first, last, transaction)
            if events > 0 {
                try await Self.plan(for: events, transaction)
                try await Self.numberPeople(transaction)
                try await Self.countHours(transaction)
                try await Self.countDays(transaction)
                try await Self.addPeople(transaction)
                try await Self.recordStarts(transaction)
                try await Self.mergeSessions(transaction)
                try await transaction.execute("TRUNCATE analytics.batch")
            }
            return Step(events: events, isLast: try row.decode(2))
        }
    }

    static func prepare(_ transaction: PostgresTransaction) async throws {
        try await transaction.execute("SET LOCAL work_mem = '64MB'")
    }

    /// Chooses joins by the size of the batch, which has no statistics. For many events, looking up persons one by one
    /// is the slowest plan; for few events, reading all persons is.
    static func plan(for events: Int, _ transaction: PostgresTransaction) async throws {
        if events > nestedLoopLimit { try await transaction.execute("SET LOCAL enable_nestloop = off") }
    }

    /// Identifies the history to which transaction ids belong. A restore changes the history; after that, events before
    /// the watermark are not looked at again.
    private static let epoch: PostgresQuery =
        "(\(PostgresQuery.recoveryTimeline) || '/' || 'analytics.rollups'::regclass::oid)"

    /// The watermark, up to which events are rolled up, and the snapshot of the last step.
    static let done: PostgresQuery =
        """
        SELECT reached, seen, epoch = \(epoch) AS is_same, pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS top FROM analytics.rollups
        """

    /// Whether the last step's snapshot showed the event. `xmin` has only the lower 32 bits of the transaction id.
    static let wasVisible: PostgresQuery =
        "pg_visible_in_snapshot((done.top - ((done.top - e.xmin::text::bigint) & 4294967295))::text::xid8, done.seen)"

    /// The columns of an event for the batch. If the person has been linked to an account, the account takes the
    /// person's place.
    static let batched: PostgresQuery =
        """
        e.at, coalesce((SELECT p.account FROM analytics.people AS p WHERE p.space = e.space AND p.person = e.person AND p.account <> 0), e.person),
        e.space, e.name, e.release, e.os, e.device, e.configuration, e.country, e.kind
        """

    /// Fills the batch and moves the watermark; returns the number of events.
    private static func take(_ first: Date, _ last: Date, _ transaction: PostgresTransaction) async throws -> Int {
        let rows = try await transaction.query(
            """
            WITH done AS MATERIALIZED (\(done)),
            taken AS (
                INSERT INTO analytics.batch (at, person, space, name, release, os, device, configuration, country, kind)
                SELECT \(batched) FROM analytics.events AS e CROSS JOIN done
                WHERE e.received > \(first)::timestamptz - make_interval(secs => \(Double(longestInsert))) AND e.received <= \(last)
                    AND (e.received > done.reached OR done.is_same AND NOT \(wasVisible))
                RETURNING 1)
            UPDATE analytics.rollups SET reached = \(last), seen = pg_current_snapshot(), epoch = \(epoch) RETURNING (SELECT count(*) FROM taken)
            """, timeout: timeout)
        return try rows.first?.decode(0) ?? 0
    }

    /// Numbers persons who have no number yet. An account gets the number of its device, because both are the same
    /// person.
    private static func numberPeople(_ transaction: PostgresTransaction) async throws {
        try await transaction.execute(
            """
            WITH new AS (
                SELECT b.space, b.person, min(b.at) AS at FROM analytics.batch AS b
                WHERE b.person <> 0 AND NOT EXISTS (
                    SELECT FROM analytics.person_numbers AS n WHERE n.space = b.space AND n.person = b.person)
                GROUP BY b.space, b.person),
            known AS (
                SELECT new.space, new.person, min(n.number) AS number FROM new
                    JOIN analytics.people AS p ON p.space = new.space AND p.account = new.person
                    JOIN analytics.person_numbers AS n ON n.space = p.space AND n.person = p.person
                GROUP BY new.space, new.person),
            counted AS (
                SELECT space, (SELECT max(number) FROM analytics.person_starts AS s WHERE s.space = spaces.space) AS last
                FROM (SELECT DISTINCT space FROM new) AS spaces)
            INSERT INTO analytics.person_numbers (space, person, number)
            SELECT space, person, coalesce(known.number, (coalesce(last, -1)
                + row_number() OVER (PARTITION BY space, known.number IS NULL ORDER BY at, person))::int)
            FROM new LEFT JOIN known USING (space, person) LEFT JOIN counted USING (space)
            """, timeout: timeout)
    }
}

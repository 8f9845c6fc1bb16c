import Foundation
import MartletPostgres

/// Writes events. An event is stored once, however often it is sent.
struct EventStore: Sendable {
    let postgres: PostgresClient
    let now: @Sendable () -> Date

    /// Inserts events that are not there yet and whose person has not opted out. Not atomic: after an error some events
    /// may be stored. Idempotent.
    ///
    /// The key is unique within a day's partition only. A repeated message may have been stored on an earlier day, but
    /// not before the event happened. Events of earlier days are therefore also looked up in the partitions since then.
    ///
    /// - Parameter isRepeated: Whether the rows may have been stored a moment ago.
    func insert(_ rows: [EventRow], isRepeated: Bool = false) async throws {
        let now = now()
        // An hour of tolerance for clocks that differ. Repeated rows are always looked up.
        let today = Self.day(of: now) + (isRepeated ? 86_400 : 3_600)
        // Sorted, so that two statements with the same messages do not deadlock.
        let rows = rows.sorted { $0.key < $1.key }
        try await insertMakingDays(rows.filter { $0.earliest >= today }, since: nil)
        let late = rows.filter { $0.earliest < today }
        guard let earliest = late.map(\.earliest).min() else { return }
        try await insertMakingDays(late, since: min(Self.day(of: earliest), Self.day(of: now) - 86_400))
    }

    /// The start of a UTC day.
    private static func day(of date: Date) -> Date {
        Date(timeIntervalSince1970: (date.timeIntervalSince1970 / 86_400).rounded(.down) * 86_400)
    }

    private func insertMakingDays(_ rows: [EventRow], since: Date?) async throws {
        guard !rows.isEmpty else { return }
        do {
            try await postgres.execute(Self.statement(rows, since: since))
        } catch let error as PostgresError where error.isMissingDay {
            try await postgres.execute("SELECT analytics.make_events_day((now() AT TIME ZONE 'UTC')::date)")
            try await postgres.execute(Self.statement(rows, since: since))
        }
    }

    /// - Parameter since: The first day whose events are searched for repeated messages; nil searches only today's
    ///   partition.
    static func statement(_ rows: [EventRow], since: Date?) -> PostgresQuery {
        var statement: PostgresQuery = """
            INSERT INTO analytics.events
                (received, at, person, key, space, name, release, os, device, configuration, variants, country, kind, properties)
            SELECT now(), least(now(), timestamptz 'epoch' + e.at * interval '1 microsecond'),
                coalesce((SELECT p.account FROM analytics.people AS p
                    WHERE p.space = e.space::integer AND p.person = e.person AND p.account <> 0), e.person),
                e.key, e.space, e.name, e.release, e.os, e.device, e.configuration, e.variants, e.country, e.kind, e.properties::jsonb
            FROM unnest(
                \(rows.map { Int($0.at.timeIntervalSince1970 * 1_000_000) }), \(rows.map { Int($0.subject.person) }),
                \(rows.map { Int($0.subject.account) }), \(rows.map { Int($0.subject.device) }), \(rows.map { Int($0.key) }), \(rows.map(\.space)),
                \(rows.map(\.kind.rawValue)), \(rows.map(\.name)), \(rows.map(\.release)), \(rows.map(\.os)), \(rows.map(\.device)),
                \(rows.map(\.configuration)), \(rows.map(\.variants)), \(rows.map(\.country)), \(rows.map(\.properties))
            ) AS e (at, person, account, machine, key, space, kind, name, release, os, device, configuration, variants, country, properties)
            WHERE NOT EXISTS (
                SELECT FROM analytics.people AS p WHERE p.space = e.space::integer AND p.person IN (e.account, e.machine) AND p.opted_out IS NOT NULL
                OFFSET 0)
            """
        if let since {
            // The statement is not prepared, so the parameter is a constant to the planner and the partitions of other
            // days are not opened.
            statement += """

                AND NOT EXISTS (
                    SELECT FROM analytics.events AS b WHERE b.key = e.key AND b.received >= \(since)
                        AND b.received < date_trunc('day', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'
                    OFFSET 0)
                """
            statement.isPrepared = false
        }
        return statement + " ON CONFLICT DO NOTHING"
    }
}

extension PostgresError {
    /// Whether the day's partition is missing. PostgreSQL has no separate error code for that.
    fileprivate var isMissingDay: Bool { sqlState == "23514" && constraint == nil }
}

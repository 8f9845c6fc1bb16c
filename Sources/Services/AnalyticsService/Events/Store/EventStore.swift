import Foundation
import MartletPostgres

/// Writes events. Each is there once, however often it comes.
struct EventStore: Sendable {
    let postgres: PostgresClient

    /// Adds those that are not there yet and whose person has not opted out. After an error some may be there: it is
    /// harmless to repeat.
    ///
    /// A day's partition has each message once. One that comes again may have come on a day before, though not before
    /// it happened: those that happened before today are looked for there, too.
    ///
    /// - Parameter isRepeated: whether all may be there already, of a moment ago.
    func insert(_ rows: [EventRow], isRepeated: Bool = false, now: Date = Date()) async throws {
        // An hour for clocks that differ.
        let today = Self.day(of: now) + (isRepeated ? 86_400 : 3_600)
        // In an order, so that two statements with the same messages do not wait for each other.
        let rows = rows.sorted { $0.key < $1.key }
        try await insertMakingDays(rows.filter { $0.earliest >= today }, since: nil)
        let late = rows.filter { $0.earliest < today }
        guard let earliest = late.map(\.earliest).min() else { return }
        try await insertMakingDays(late, since: min(Self.day(of: earliest), Self.day(of: now) - 86_400))
    }

    /// When a day began, by UTC.
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

    /// - Parameter since: from which day on to look for them in what is there; nil: only today.
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
            // The parameter stands for a constant while it is planned, as it is not prepared: other days are not even
            // opened.
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
    /// Whether there is no partition for the day. PostgreSQL has no code of its own for it.
    fileprivate var isMissingDay: Bool { sqlState == "23514" && constraint == nil }
}

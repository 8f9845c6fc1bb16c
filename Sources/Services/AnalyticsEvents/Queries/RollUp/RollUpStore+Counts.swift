import MartletPostgres

/// Adds the batch to the counts of events and the sets of persons. Of all the tables, only `days` and the sets by day
/// depend on the time zone.
extension RollUpStore {
    static func countHours(_ transaction: PostgresTransaction) async throws {
        try await transaction.execute(
            """
            INSERT INTO analytics.hours (space, dimension, hour, value, events)
            SELECT space, \(dimension), hour, \(value), count(*) FROM (
                SELECT space, floor(extract(epoch FROM at) / 3600)::int AS hour, kind IN (2, 3) AS screen, name, release, os, device, country, configuration
                FROM analytics.batch) AS b
            GROUP BY GROUPING SETS ((space, hour), (space, hour, screen, name), (space, hour, release), (space, hour, os), (space, hour, device),
                (space, hour, country), (space, hour, configuration))
            HAVING grouping(name) = 1 OR name <> 0
            ON CONFLICT (space, dimension, hour, value) DO UPDATE SET events = hours.events + excluded.events
            """, timeout: timeout)
    }

    static func countDays(_ transaction: PostgresTransaction) async throws {
        try await transaction.execute(
            """
            INSERT INTO analytics.days (space, dimension, name, day, value, events)
            SELECT space, dimension, name, day, value, events FROM (
                SELECT space, \(dimension) AS dimension, CASE WHEN grouping(screen) = 0 THEN 0 ELSE coalesce(name, 0) END AS name, day, \(value) AS value,
                    count(*) AS events
                FROM (
                    SELECT b.space, \(day) AS day, kind IN (2, 3) AS screen, name, release, os, device, country, configuration
                    FROM analytics.batch AS b LEFT JOIN analytics.rolled_spaces AS z ON z.space = b.space) AS b
                GROUP BY GROUPING SETS ((space, day), (space, day, screen, name), (space, day, release), (space, day, os), (space, day, device),
                    (space, day, country), (space, day, configuration), (space, day, name, release), (space, day, name, os),
                    (space, day, name, device), (space, day, name, country), (space, day, name, configuration))
                HAVING grouping(name) = 1 OR name <> 0) AS counts
            ON CONFLICT (space, dimension, name, day, value) DO UPDATE SET events = days.events + excluded.events
            """, timeout: timeout)
    }

    /// - Parameter withHours: false when rebuilding days, because hours do not depend on the time zone.
    static func addPeople(_ transaction: PostgresTransaction, withHours: Bool = true) async throws {
        try await transaction.execute(
            """
            INSERT INTO analytics.people_sets (space, dimension, slot, value, chunk, members)
            SELECT space, dimension, slot, value, number >> 14, bit_or(set_bit(B'0'::bit(16384), number & 16383, 1)) FROM (
                SELECT space, CASE WHEN grouping(hour) = 0 THEN 100 ELSE \(dimension) END AS dimension,
                    CASE WHEN grouping(hour) = 0 THEN hour ELSE day END AS slot, \(value) AS value, number
                FROM (
                    SELECT b.space, floor(extract(epoch FROM at) / 3600)::int AS hour, \(day) AS day, kind IN (2, 3) AS screen, name, release, os, device,
                        country, configuration, n.number
                    FROM analytics.batch AS b JOIN analytics.person_numbers AS n ON n.space = b.space AND n.person = b.person
                        LEFT JOIN analytics.rolled_spaces AS z ON z.space = b.space) AS b
                GROUP BY GROUPING SETS ((space, hour, number), (space, day, number), (space, day, screen, name, number), (space, day, release, number),
                    (space, day, os, number), (space, day, device, number), (space, day, country, number), (space, day, configuration, number))
                HAVING grouping(name) = 1 OR name <> 0) AS members
            WHERE dimension <> 100 OR \(withHours)
            GROUP BY 1, 2, 3, 4, 5
            ON CONFLICT (space, dimension, slot, value, chunk) DO UPDATE SET members = people_sets.members | excluded.members
            """, timeout: timeout)
    }

    /// Records when persons were first seen. A late event may move this back.
    static func recordStarts(_ transaction: PostgresTransaction) async throws {
        try await transaction.execute(
            """
            INSERT INTO analytics.person_starts (space, number, first_at)
            SELECT b.space, n.number, min(b.at)
            FROM analytics.batch AS b JOIN analytics.person_numbers AS n ON n.space = b.space AND n.person = b.person
            GROUP BY b.space, n.number
            ON CONFLICT (space, number) DO UPDATE SET first_at = excluded.first_at WHERE excluded.first_at < person_starts.first_at
            """, timeout: timeout)
    }

    /// The day of an event in its space's time zone.
    private static let day: PostgresQuery = "(b.at AT TIME ZONE coalesce(z.time_zone, 'UTC'))::date - date '1970-01-01'"

    /// The `Dimension` of a row, derived from its grouping set.
    private static let dimension: PostgresQuery =
        """
        CASE WHEN grouping(release) = 0 THEN 3 WHEN grouping(os) = 0 THEN 4 WHEN grouping(device) = 0 THEN 5 WHEN grouping(country) = 0 THEN 6
            WHEN grouping(configuration) = 0 THEN 7 WHEN grouping(screen) = 0 THEN CASE WHEN screen THEN 2 ELSE 1 END ELSE 0 END
        """
    private static let value: PostgresQuery =
        """
        CASE WHEN grouping(release) = 0 THEN release WHEN grouping(os) = 0 THEN os WHEN grouping(device) = 0 THEN device
            WHEN grouping(country) = 0 THEN country WHEN grouping(configuration) = 0 THEN configuration WHEN grouping(screen) = 0 THEN name ELSE 0 END
        """
}

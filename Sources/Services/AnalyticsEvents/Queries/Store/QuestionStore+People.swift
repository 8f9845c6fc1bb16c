import MartletPostgres

extension QuestionStore {
    /// The number of persons seen in an interval, and how many of them were new.
    struct Presence: Sendable, Equatable {
        var active = 0
        var new = 0
    }

    /// Presence in each interval, and in the whole span.
    func presence(in span: Span) async throws -> (intervals: [Presence], total: Presence) {
        var intervals = [Presence](repeating: Presence(), count: span.labels.count)
        var total = Presence()
        let active = CountQuestion(withPeople: true)
        for row in try await counts(active, in: span) where intervals.indices.contains(row.interval) {
            intervals[row.interval].active = row.people ?? 0
        }
        total.active = try await counts(active, in: span.whole).first?.people ?? 0
        let rows = try await postgres.query(
            """
            SELECT width_bucket(first_at, (SELECT array_agg(to_timestamp(s) ORDER BY s) FROM unnest(\(span.bounds)) AS s)) - 1, count(*)
            FROM analytics.person_starts WHERE space = \(span.space.id) AND first_at >= \(span.start) AND first_at < \(span.end) GROUP BY 1
            """)
        for row in rows {
            let interval: Int = try row.decode(0)
            if intervals.indices.contains(interval) { intervals[interval].new = try row.decode(1) }
        }
        total.new = intervals.map(\.new).reduce(0, +)
        return (intervals, total)
    }

    struct Sessions: Sendable, Equatable {
        var sessions = 0
        var microseconds = 0

        /// Nil if there were no sessions.
        var averageSeconds: Double? { sessions > 0 ? Double(microseconds) / Double(sessions) / 1_000_000 : nil }
    }

    /// Sessions by the interval in which they began, counted as a whole.
    func sessions(in span: Span) async throws -> [Sessions] {
        var intervals = [Sessions](repeating: Sessions(), count: span.labels.count)
        let rows = try await postgres.query(
            """
            SELECT width_bucket(quarter, \(span.quarters)) - 1, sum(sessions)::bigint, sum(microseconds)::bigint FROM analytics.session_quarters
            WHERE space = \(span.space.id) AND quarter >= \(span.quarters.first) AND quarter < \(span.quarters.last) GROUP BY 1
            """)
        for row in rows {
            let interval: Int = try row.decode(0)
            if intervals.indices.contains(interval) {
                intervals[interval] = Sessions(sessions: try row.decode(1), microseconds: try row.decode(2))
            }
        }
        return intervals
    }

    struct Retention: Sendable, Equatable {
        /// Index of the interval in which the persons were new.
        let cohort: Int
        /// Number of intervals after the cohort's own, which is 0.
        let period: Int
        let people: Int
    }

    /// For the persons new in each interval, how many were seen in it and in later intervals.
    ///
    /// Only for spans made of rolled-up days.
    func retention(in span: Span) async throws -> [Retention] {
        let rows = try await postgres.query(
            """
            -- Groups by words of 64 bits first, because numbers assigned on one day are adjacent.
            WITH words AS (
                SELECT width_bucket((first_at AT TIME ZONE \(span.timeZone))::date - date '1970-01-01', \(span.days)) AS cohort, number >> 14 AS chunk,
                    (number >> 6) & 255 AS word, bit_or(1::bigint << (63 - (number & 63))) AS bits
                FROM analytics.person_starts WHERE space = \(span.space.id) AND first_at >= \(span.start) AND first_at < \(span.end) GROUP BY 1, 2, 3),
            cohorts AS MATERIALIZED (
                SELECT cohort, chunk, bit_or(bits::bit(64)::bit(16384) >> (word * 64)) AS members FROM words GROUP BY 1, 2),
            active AS MATERIALIZED (
                SELECT width_bucket(slot, \(span.days)) AS place, chunk, bit_or(members) AS members FROM analytics.people_sets
                WHERE space = \(span.space.id) AND dimension = 0 AND slot >= \(span.days.first) AND slot < \(span.days.last) GROUP BY 1, 2)
            SELECT cohort - 1, place - cohort, sum(bit_count(cohorts.members & active.members))::bigint
            FROM cohorts JOIN active USING (chunk) WHERE place >= cohort GROUP BY 1, 2 ORDER BY 1, 2
            """)
        return try rows.map { Retention(cohort: try $0.decode(0), period: try $0.decode(1), people: try $0.decode(2)) }
    }
}

extension Span {
    /// The same span as a single interval.
    var whole: Span {
        Span(
            space: space, interval: .none, timeZone: timeZone, from: from, to: to,
            bounds: [bounds.first ?? 0, bounds.last ?? 0],
            days: [days.first ?? 0, days.last ?? 0], labels: [from], asOf: asOf, rolledTimeZone: rolledTimeZone)
    }
}

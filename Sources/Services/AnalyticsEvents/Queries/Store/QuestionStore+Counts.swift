import MartletPostgres

extension QuestionStore {
    /// Counts ordered by the rank of the value, then interval. Zero counts have no row.
    func counts(_ question: CountQuestion, in span: Span) async throws -> [CountRow] {
        let source = question.source(span)
        guard source != .events else { return try await rawCounts(question, in: span) }
        let slots = source == .days ? span.days : span.hours
        let (rows, values) = try await rolledCounts(question, slots, source, in: span)
        guard question.withPeople else { return rows }
        let people = try await rolledPeople(question, slots, source, of: values, in: span)
        return rows.map { row in
            var row = row
            row.people = people[Cell(interval: row.interval, rank: row.rank)] ?? 0
            return row
        }
    }

    private struct Cell: Hashable {
        let interval: Int
        let rank: Int?
    }

    /// Counts from roll-ups.
    private func rolledCounts(
        _ question: CountQuestion, _ slots: [Int], _ source: CountQuestion.Source, in span: Span
    ) async throws -> (rows: [CountRow], values: [Int]) {
        let slot: PostgresQuery = source == .days ? "day" : "hour"
        let table: PostgresQuery = source == .days ? "analytics.days" : "analytics.hours"
        let name: PostgresQuery =
            source == .days ? "AND name = \(question.isNamed ? Self.term(question.event, in: span.space) : "0")" : ""
        let rows = try await postgres.query(
            """
            WITH found AS (
                SELECT width_bucket(\(slot), \(slots)) - 1 AS interval, \(question.group == .none ? "0" : "value" as PostgresQuery) AS value,
                    sum(events)::bigint AS events
                FROM \(table)
                WHERE space = \(span.space.id) AND dimension = ANY (\(question.dimensions)) AND \(slot) >= \(slots.first) AND \(slot) < \(slots.last) \(name)
                    \(Self.only(question, in: span.space))
                GROUP BY 1, 2),
            placed AS (
                SELECT totals.*, t.text, dense_rank() OVER (ORDER BY total DESC, t.text NULLS FIRST, value) AS place
                FROM (SELECT *, sum(events) OVER (PARTITION BY value) AS total FROM found) AS totals LEFT JOIN analytics.terms AS t ON t.id = value)
            SELECT interval, CASE WHEN place <= \(question.limit) THEN place END, min(CASE WHEN place <= \(question.limit) THEN text END),
                sum(events)::bigint, min(CASE WHEN place <= \(question.limit) THEN value END)
            FROM placed GROUP BY 1, 2 ORDER BY 2 NULLS LAST, 1
            """)
        var values: [Int] = []
        let counts = try rows.map { row in
            let rank: Int? = try row.decode(1)
            if let rank, rank > values.count { values.append(try row.decode(4)) }
            return CountRow(
                interval: try row.decode(0), rank: rank, value: try row.decode(2), events: try row.decode(3))
        }
        return (counts, values)
    }

    private func rolledPeople(
        _ question: CountQuestion, _ slots: [Int], _ source: CountQuestion.Source, of values: [Int], in span: Span
    ) async throws -> [Cell: Int] {
        let dimensions = source == .hours ? [Int(Dimension.hour.rawValue)] : question.dimensions
        let rows = try await postgres.query(
            """
            SELECT interval, place, sum(bit_count(members))::bigint FROM (
                SELECT width_bucket(slot, \(slots)) - 1 AS interval,
                    \(question.group == .none ? "1" : "array_position(\(values), value::bigint)" as PostgresQuery) AS place, chunk, bit_or(members) AS members
                FROM analytics.people_sets
                WHERE space = \(span.space.id) AND dimension = ANY (\(dimensions)) AND slot >= \(slots.first) AND slot < \(slots.last)
                    \(Self.only(question, in: span.space))
                GROUP BY 1, 2, 3) AS sets
            GROUP BY 1, 2
            """)
        var people: [Cell: Int] = [:]
        for row in rows { people[Cell(interval: try row.decode(0), rank: try row.decode(1))] = try row.decode(2) }
        return people
    }

    /// Restricts rows to the event if their values are names of events.
    private static func only(_ question: CountQuestion, in space: Space) -> PostgresQuery {
        question.event == nil || question.isNamed ? "" : "AND value = \(term(question.event, in: space))"
    }

    /// A subquery for the term of an event's name.
    static func term(_ name: String?, in space: Space) -> PostgresQuery {
        "(SELECT id FROM analytics.terms WHERE space = \(space.id) AND kind = \(TermKind.name.rawValue) AND text = \(name))"
    }
}

extension CountQuestion {
    /// Whether the values of a group are counted among the events of one name.
    fileprivate var isNamed: Bool { event != nil && group != .none }

    /// The dimensions of the roll-up's rows.
    fileprivate var dimensions: [Int] {
        switch group {
        case .dimension(let dimension): [Int(dimension.rawValue)]
        default: (event == nil ? [.all] : [Dimension.event, .screen]).map { Int($0.rawValue) }
        }
    }
}

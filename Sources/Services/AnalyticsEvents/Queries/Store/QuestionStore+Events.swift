import Foundation
import MartletPostgres

/// Questions that only the events themselves, or blocks of them, can answer.
extension QuestionStore {
    /// `at` is never later than `received`. A day of tolerance, because clocks may have been set.
    static let clockTolerance: TimeInterval = 86_400

    func rawCounts(_ question: CountQuestion, in span: Span) async throws -> [CountRow] {
        if let rows = try await blockCounts(question, in: span) { return rows }
        return try await eventCounts(question, in: span)
    }

    func eventCounts(_ question: CountQuestion, in span: Span) async throws -> [CountRow] {
        let who: PostgresQuery = question.withPeople ? Self.who : "NULL::bigint"
        let rows = try await raw(
            """
            WITH found AS MATERIALIZED (
                SELECT width_bucket(e.at, (SELECT array_agg(to_timestamp(s) ORDER BY s) FROM unnest(\(span.bounds)) AS s)) - 1 AS interval,
                    \(Self.value(question.group)) AS value, \(who) AS who, count(*) AS events
                FROM \(Self.source(withPeople: question.withPeople))
                WHERE \(Self.within(span)) \(Self.narrowed(question, in: span.space))
                GROUP BY 1, 2, 3),
            named AS (SELECT interval, \(Self.text(question.group)) AS text, who, events FROM found),
            placed AS (
                SELECT *, dense_rank() OVER (ORDER BY total DESC, text COLLATE "C" NULLS FIRST) AS place
                FROM (SELECT *, sum(events) OVER (PARTITION BY text) AS total FROM named) AS totals)
            SELECT interval, CASE WHEN place <= \(question.limit) THEN place END, min(CASE WHEN place <= \(question.limit) THEN text END),
                sum(events)::bigint, count(DISTINCT who)
            FROM placed GROUP BY 1, 2 ORDER BY 2 NULLS LAST, 1
            """)
        return try rows.map { row in
            CountRow(
                interval: try row.decode(0), rank: try row.decode(1), value: try row.decode(2),
                events: try row.decode(3),
                people: question.withPeople ? try row.decode(4) as Int : nil)
        }
    }

    /// Events as `e`, joined with the accounts that persons are linked to as `p`.
    static func source(withPeople: Bool) -> PostgresQuery {
        guard withPeople else { return "analytics.events AS e" }
        return """
            analytics.events AS e LEFT JOIN analytics.people AS p ON p.space = e.space AND p.person = e.person AND p.account <> 0
            """
    }

    /// The person of an event, an account if it is linked to one; NULL for nobody.
    static let who: PostgresQuery = "coalesce(p.account, nullif(e.person, 0))"

    static func within(_ span: Span) -> PostgresQuery {
        """
        e.space = \(span.space.id) AND e.at >= \(span.start) AND e.at < \(span.end)
            AND e.received >= \(span.start.addingTimeInterval(-clockTolerance))
        """
    }

    private static func narrowed(_ question: CountQuestion, in space: Space) -> PostgresQuery {
        var query = PostgresQuery()
        if let event = question.event { query += "AND e.name = \(term(event, in: space))" }
        if case .dimension(let dimension) = question.group, !dimension.isAttribute {
            query +=
                dimension == .screen
                ? " AND e.kind IN (2, 3) AND e.name <> 0" : " AND e.kind NOT IN (2, 3) AND e.name <> 0"
        }
        for filter in question.filters { query += " AND " + matches(filter, in: space) }
        return query
    }

    /// The value of an event; NULL for none. Terms are compared by number.
    private static func value(_ group: CountQuestion.Group) -> PostgresQuery {
        if case .property(let path) = group { return "left(e.properties #>> \(path), 255)" }
        return column(group)?.column ?? "NULL::text"
    }

    /// The text of a value.
    private static func text(_ group: CountQuestion.Group) -> PostgresQuery {
        column(group) == nil ? "value" : "(SELECT t.text FROM analytics.terms AS t WHERE t.id = value)"
    }

    private static func matches(_ filter: CountQuestion.Filter, in space: Space) -> PostgresQuery {
        guard let term = column(filter.group) else { return "\(value(filter.group)) = \(filter.value)" }
        return """
            \(term.column) = (
                SELECT id FROM analytics.terms WHERE space = \(space.id) AND kind = \(term.kind.rawValue) AND text = \(filter.value))
            """
    }

    /// The column of an event that holds the group's term; nil if the group has none.
    private static func column(_ group: CountQuestion.Group) -> (column: PostgresQuery, kind: TermKind)? {
        switch group {
        case .none, .property: nil
        case .variants: ("e.variants", .variants)
        case .dimension(.release): ("e.release", .release)
        case .dimension(.os): ("e.os", .os)
        case .dimension(.device): ("e.device", .device)
        case .dimension(.country): ("e.country", .country)
        case .dimension(.configuration): ("e.configuration", .configuration)
        case .dimension: ("e.name", .name)
        }
    }
}

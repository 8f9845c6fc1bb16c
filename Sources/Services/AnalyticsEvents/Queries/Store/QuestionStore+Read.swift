import Foundation
import MartletPostgres

/// Asks for single events, page by page.
struct EventPageQuestion: Sendable {
    static let maximumLimit = 1_000

    /// The start of the range of `received`.
    var from: Date
    var to: Date
    var event: String?
    /// The 64 bits of a person.
    var person: Int64?
    var limit: Int
    var after: EventCursor?
}

extension QuestionStore {
    struct StoredEvent: Sendable {
        let cursor: EventCursor
        let cells: [AnswerTable.Cell]
        /// JSON.
        let properties: String
    }

    /// The cells of an event before its properties.
    static let eventColumns = [
        "id", "received", "at", "type", "name", "person", "release", "os", "device", "configuration", "variants",
        "country",
    ]

    func events(_ question: EventPageQuestion, in space: Space) async throws -> [StoredEvent] {
        var narrowed = PostgresQuery()
        if let event = question.event { narrowed += "AND e.name = \(Self.term(event, in: space))" }
        if let person = question.person { narrowed += " AND e.person = \(person)" }
        if let after = question.after {
            narrowed +=
                " AND (e.received, e.key) > ('epoch'::timestamptz + \(after.received) * interval '1 microsecond', \(after.key))"
        }
        let rows = try await raw(
            """
            SELECT (extract(epoch FROM e.received) * 1000000)::bigint, e.key, lpad(to_hex(e.key), 16, '0'), \(PostgresQuery.rfc3339("e.received")),
                \(PostgresQuery.rfc3339("e.at")), e.kind, \(Self.text("e.name")), CASE WHEN e.person <> 0 THEN lpad(to_hex(e.person), 16, '0') END,
                \(Self.text("e.release")), \(Self.text("e.os")), \(Self.text("e.device")), \(Self.text("e.configuration")), \(Self.text("e.variants")),
                \(Self.text("e.country")), e.properties::text
            FROM (
                SELECT * FROM analytics.events AS e
                WHERE e.space = \(space.id) AND e.received >= \(question.from) AND e.received < \(question.to) \(narrowed)
                ORDER BY e.received, e.key LIMIT \(question.limit)) AS e
            ORDER BY e.received, e.key
            """)
        return try rows.map { row in
            let kind: Int = try row.decode(5)
            var cells: [AnswerTable.Cell] = []
            for column in 2...13 {
                cells.append(
                    column == 5 ? .of(EventKind(rawValue: kind)?.name) : .of(try row.decode(column, as: String?.self)))
            }
            return StoredEvent(
                cursor: EventCursor(received: try row.decode(0), key: try row.decode(1)), cells: cells,
                properties: try row.decode(14))
        }
    }

    private static func text(_ column: PostgresQuery) -> PostgresQuery {
        "(SELECT t.text FROM analytics.terms AS t WHERE t.id = \(column))"
    }
}

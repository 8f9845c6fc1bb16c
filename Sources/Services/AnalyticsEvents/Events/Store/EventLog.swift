import Foundation
import MartletPostgres

/// Reads events as they were sent, page by page.
struct EventLog: Sendable {
    let postgres: PostgresClient

    struct Page: Sendable {
        var events: [String]
        var next: EventCursor?
    }

    /// A row of `analytics.events AS e` as a JSON object: the event's properties, and the columns of the row, which
    /// replace properties of the same name.
    static var json: PostgresQuery {
        """
        (e.properties || jsonb_strip_nulls(jsonb_build_object(
            'kind', (ARRAY['track', 'screen', 'page', 'identify', 'group', 'alias'])[e.kind],
            'type', \(term("e.name")), 'release', \(term("e.release")), 'os', \(term("e.os")), 'device', \(term("e.device")),
            'configVersion', \(term("e.configuration")), 'experiments', \(term("e.variants")), 'country', \(term("e.country"))))
        || jsonb_build_object(
            '_id', lpad(to_hex(e.key), 16, '0'), 'timeStamp', \(PostgresQuery.rfc3339("e.at")), 'created', \(PostgresQuery.rfc3339("e.received")),
            'updated', \(PostgresQuery.rfc3339("e.received")), 'deleted', null, '_version', 1))
        """
    }

    private static func term(_ column: StaticString) -> PostgresQuery {
        "(SELECT t.text FROM analytics.terms AS t WHERE t.id = \(unescaped: column))"
    }

    /// The events received from `from` until before `to`, latest first.
    func page(of space: Space, from: Date, to: Date, after cursor: EventCursor?, limit: Int) async throws -> Page {
        var statement: PostgresQuery = """
            SELECT \(Self.json)::text, (extract(epoch FROM e.received) * 1000000)::bigint, e.key FROM (
                SELECT * FROM analytics.events AS e
                WHERE e.received >= \(from) AND e.received < \(to) AND e.space = \(space.id)
                    AND (e.received, e.key) < (coalesce(timestamptz 'epoch' + \(cursor?.received) * interval '1 microsecond', 'infinity'), \(cursor?.key ?? .max))
                ORDER BY e.received DESC, e.key DESC LIMIT \(limit + 1)) AS e
            ORDER BY e.received DESC, e.key DESC
            """
        statement.isPrepared = false
        let rows = try await postgres.query(statement)
        let events = try rows.prefix(limit).map { try $0.decode(0, as: String.self) }
        guard rows.count > limit, limit > 0 else { return Page(events: events) }
        let last = rows[limit - 1]
        return Page(events: events, next: EventCursor(received: try last.decode(1), key: try last.decode(2)))
    }
}

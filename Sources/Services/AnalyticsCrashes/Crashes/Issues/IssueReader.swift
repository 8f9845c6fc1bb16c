import Foundation
import MartletAPI
import MartletCore
import MartletPostgres

/// Reads issues for people and clients.
struct IssueReader: Sendable {
    let postgres: PostgresClient

    /// A page of issues as JSON objects, each with its cursor.
    func list(
        _ filter: IssueFilter, by order: IssueOrder, after cursor: ListCursor?, limit: Int, in space: Space
    ) async throws -> [(json: String, cursor: ListCursor)] {
        try await page(Self.json, as: String.self, filter, order, cursor, limit, space).map { (json: $0, cursor: $1) }
    }

    /// A page of issues as table cells in the order of `columns`.
    func rows(
        _ filter: IssueFilter, by order: IssueOrder, after cursor: ListCursor?, limit: Int, in space: Space
    ) async throws -> [(cells: [String?], cursor: ListCursor)] {
        try await page(Self.cells, as: [String?].self, filter, order, cursor, limit, space).map {
            (cells: $0, cursor: $1)
        }
    }

    /// A page of the selected values, each with its cursor.
    func page<Element: PostgresDecodable>(
        _ selection: PostgresQuery, as _: Element.Type, _ filter: IssueFilter, _ order: IssueOrder,
        _ cursor: ListCursor?, _ limit: Int, _ space: Space
    ) async throws -> [(Element, ListCursor)] {
        let cursorCondition: PostgresQuery =
            cursor.map { "AND (\(order.column), i.id) < (\(order.value($0.value)), \($0.id))" } ?? ""
        return try await postgres.query(
            """
            SELECT \(selection), \(order.number), i.id \(Self.source) WHERE \(filter.condition(in: space)) \(cursorCondition)
            ORDER BY \(order.column) DESC, i.id DESC LIMIT \(limit)
            """
        ).map { row in
            (try row.decode(0), ListCursor(order: order.rawValue, value: try row.decode(1), id: try row.decode(2)))
        }
    }

    static let columns = [
        "number", "title", "culprit", "kind", "platform", "level", "state", "events", "users", "firstSeen", "lastSeen",
        "firstRelease",
        "lastRelease", "resolvedIn", "assignee",
    ]

    /// The id of the issue that now has this number; the number of a merged issue leads to the one it was merged into.
    ///
    /// - Throws: `issue-not-found`.
    func find(_ number: Int32, in space: Space) async throws -> Int64 {
        let rows = try await postgres.query(
            """
            SELECT i.id FROM analytics.issues AS i WHERE i.space = \(space.id) AND i.deleted IS NULL AND i.id = coalesce(
                (SELECT m.issue FROM analytics.merged_issues AS m WHERE m.space = \(space.id) AND m.number = \(number)),
                (SELECT n.id FROM analytics.issues AS n WHERE n.space = \(space.id) AND n.number = \(number)))
            """)
        guard let row = rows.first else { throw ServiceError(.issueNotFound) }
        return try row.decode(0)
    }

    /// The issue as a JSON object.
    ///
    /// - Throws: `issue-not-found`.
    func read(_ id: Int64, in space: Space) async throws -> String {
        guard let json = try await read([id], in: space).first else { throw ServiceError(.issueNotFound) }
        return json
    }

    /// The existing issues among these as JSON objects, ordered by number.
    func read(_ ids: [Int64], in space: Space) async throws -> [String] {
        try await postgres.query(
            """
            SELECT \(Self.json) \(Self.source)
            WHERE i.space = \(space.id) AND i.deleted IS NULL AND i.id = ANY (\(ids.map { Int($0) })) ORDER BY i.number
            """
        ).map { try $0.decode(0) }
    }

    /// The entries of an issue's history before `before`, newest first.
    func history(of issue: Int64, before: Int64, limit: Int) async throws -> [(id: Int64, json: String)] {
        try await postgres.query(
            """
            SELECT id, jsonb_build_object('id', id, 'time', \(PostgresQuery.rfc3339("at")), 'kind', kind, 'author', author, 'details', details)::text
            FROM analytics.issue_history WHERE issue = \(issue) AND id < \(before) ORDER BY id DESC LIMIT \(limit)
            """
        ).map { (try $0.decode(0), try $0.decode(1)) }
    }

    // MARK: SQL

    static let source: PostgresQuery = """
        FROM analytics.issues AS i
        LEFT JOIN analytics.releases AS fr ON fr.id = i.first_release
        LEFT JOIN analytics.releases AS lr ON lr.id = i.last_release
        LEFT JOIN analytics.releases AS rr ON rr.id = i.resolved_in
        """

    /// The JSON of the row in `source`.
    static let json: PostgresQuery = """
        jsonb_build_object(
            'number', i.number, 'title', i.title, 'culprit', i.culprit, 'kind', i.kind, 'platform', i.platform,
            'level', \(CrashLevel.name(of: "i.level")), 'state', \(IssueState.expression), 'changed', \(PostgresQuery.rfc3339("i.changed")),
            'resolvedIn', rr.name, 'regressed', \(PostgresQuery.rfc3339("i.regressed")), 'ignoredUntil', \(PostgresQuery.rfc3339("i.ignored_until")),
            'ignoredUntilEvents', i.ignored_until_events, 'ignoredUntilUsers', i.ignored_until_users, 'assignee', i.assignee,
            'firstSeen', \(PostgresQuery.rfc3339("i.first_seen")), 'lastSeen', \(PostgresQuery.rfc3339("i.last_seen")),
            'firstRelease', fr.name, 'lastRelease', lr.name, 'events', i.events, 'users', i.users)::text
        """

    private static let cells: PostgresQuery = """
        ARRAY[i.number::text, i.title, i.culprit, i.kind, i.platform, \(CrashLevel.name(of: "i.level")), \(IssueState.expression),
            i.events::text, i.users::text, \(PostgresQuery.rfc3339("i.first_seen")), \(PostgresQuery.rfc3339("i.last_seen")), fr.name, lr.name, rr.name,
            i.assignee]
        """
}

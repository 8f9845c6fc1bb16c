import Foundation
import MartletAPI
import MartletCore
import MartletPostgres

/// Message templates by name.
struct TemplateStore: Sendable {
    /// The limit per space.
    static let maximumCount = 500

    let postgres: PostgresClient

    /// The content of a template, filled with a message's values.
    ///
    /// - Parameter variables: An object of strings, numbers and booleans.
    /// - Throws: `template-not-found`, `invalid-body` that names a variable without a value.
    func content(of name: String, variables: JSONValue?, in space: Space) async throws -> MessageContent {
        let values = try MessageTemplate.values(variables)
        return try await template(name, in: space).content(values)
    }

    /// - Throws: `template-not-found`.
    func template(_ name: String, in space: Space) async throws -> MessageTemplate {
        let rows = try await postgres.query(
            "SELECT content, variables FROM notifications.templates WHERE space = \(space.id) AND name = \(name)")
        guard let row = rows.first else {
            throw ServiceError(.templateNotFound, "There is no template \(name).", field: "template")
        }
        return MessageTemplate(stored: try row.json(0), variables: try row.decode(1))
    }

    func list(in space: Space) async throws -> [String] {
        try await postgres.query(
            """
            SELECT name, variables, author, version, \(.rfc3339("updated")) FROM notifications.templates WHERE space = \(space.id)
            ORDER BY name LIMIT \(Self.maximumCount)
            """
        ).map { row in
            JSONValue.object(try Self.members(row)).text
        }
    }

    /// The template as JSON; nil if there is none.
    func find(_ name: String, in space: Space) async throws -> JSONValue? {
        try await postgres.query(
            """
            SELECT name, variables, author, version, \(.rfc3339("updated")), content FROM notifications.templates
            WHERE space = \(space.id) AND name = \(name)
            """
        ).first.map { .object(try Self.members($0) + [.init("content", try $0.json(5))]) }
    }

    private static func members(_ row: PostgresRow) throws -> [JSONValue.Member] {
        [
            .init("name", .string(try row.decode(0))),
            .init("variables", .array(try row.decode(1, as: [String].self).map { .string($0) })),
            .init("author", .string(try row.decode(2))),
            .init("version", .number("\(try row.decode(3, as: Int.self))")),
            .init("updated", .string(try row.decode(4))),
        ]
    }

    /// - Throws: `limit-exceeded` when there are too many.
    func replace(_ name: String, with template: MessageTemplate, by author: String, in space: Space) async throws {
        let isStored =
            try await postgres.execute(
                """
                INSERT INTO notifications.templates AS t (space, name, content, variables, author)
                SELECT \(space.id), \(name), \(template.json.text)::json, \(template.variables), \(author)
                WHERE (SELECT count(*) FROM notifications.templates AS o WHERE o.space = \(space.id) AND o.name <> \(name)) < \(Self.maximumCount)
                ON CONFLICT (space, name) DO UPDATE SET content = excluded.content, variables = excluded.variables, author = excluded.author,
                    version = t.version + 1, updated = now()
                """) > 0
        guard isStored else {
            throw ServiceError(.limitExceeded, "There may be at most \(Self.maximumCount) templates.")
        }
    }

    func remove(_ name: String, in space: Space) async throws -> Bool {
        try await postgres.execute("DELETE FROM notifications.templates WHERE space = \(space.id) AND name = \(name)")
            > 0
    }
}

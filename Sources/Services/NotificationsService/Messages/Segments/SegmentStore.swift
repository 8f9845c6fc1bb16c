import Foundation
import MartletAPI
import MartletCore
import MartletPostgres

/// Named audiences. A message keeps the audience that its segment had when the message was created. The matching
/// installations are looked up when the message is planned.
struct SegmentStore: Sendable {
    /// The limit per space.
    static let maximumCount = 500

    let postgres: PostgresClient

    func list(in space: Space) async throws -> [String] {
        try await postgres.query(
            "\(Self.selection) WHERE space = \(space.id) ORDER BY name LIMIT \(Self.maximumCount)"
        ).map { try Self.json($0).text }
    }

    /// The segment as JSON; nil if there is none.
    func find(_ name: String, in space: Space) async throws -> JSONValue? {
        try await postgres.query("\(Self.selection) WHERE space = \(space.id) AND name = \(name)").first.map {
            try Self.json($0)
        }
    }

    /// - Parameter field: The body field that names the segment; nil if the path does.
    /// - Throws: `segment-not-found`.
    func audience(_ name: String, field: String? = "audience.segment", in space: Space) async throws -> Audience {
        let rows = try await postgres.query(
            "SELECT audience FROM notifications.segments WHERE space = \(space.id) AND name = \(name)")
        guard let row = rows.first else {
            throw ServiceError(.segmentNotFound, "There is no segment \(name).", field: field)
        }
        return try Audience(try row.json(0))
    }

    private static let selection: PostgresQuery =
        "SELECT name, audience, author, version, \(.rfc3339("updated")) FROM notifications.segments"

    private static func json(_ row: PostgresRow) throws -> JSONValue {
        .object([
            .init("name", .string(try row.decode(0))), .init("audience", try row.json(1)),
            .init("author", .string(try row.decode(2))),
            .init("version", .number("\(try row.decode(3, as: Int.self))")),
            .init("updated", .string(try row.decode(4))),
        ])
    }

    /// - Throws: `invalid-body` when the segment refers to another one; `limit-exceeded` when there are too many.
    func replace(_ name: String, with audience: Audience, by author: String, in space: Space) async throws {
        guard audience.segment == nil else {
            throw ServiceError(.invalidBody, "A segment cannot refer to another segment.", field: "audience.segment")
        }
        let isStored =
            try await postgres.execute(
                """
                INSERT INTO notifications.segments AS s (space, name, audience, author)
                SELECT \(space.id), \(name), \(audience.json.text)::json, \(author)
                WHERE (SELECT count(*) FROM notifications.segments AS o WHERE o.space = \(space.id) AND o.name <> \(name)) < \(Self.maximumCount)
                ON CONFLICT (space, name) DO UPDATE SET audience = excluded.audience, author = excluded.author, version = s.version + 1, updated = now()
                """) > 0
        guard isStored else {
            throw ServiceError(.limitExceeded, "There may be at most \(Self.maximumCount) segments.")
        }
    }

    func remove(_ name: String, in space: Space) async throws -> Bool {
        try await postgres.execute("DELETE FROM notifications.segments WHERE space = \(space.id) AND name = \(name)")
            > 0
    }
}

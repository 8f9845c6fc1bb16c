import Foundation
import MartletCore
import MartletPostgres

/// A message for display. If this version of the service cannot read it, only the plain columns are shown.
struct ShownMessage: Sendable {
    let id: UUID
    let planned: Int
    /// Nil if this version cannot read it.
    let message: Message?
    /// The members of an answer.
    let json: [JSONValue.Member]

    /// Reads `Message.columns`.
    init(_ row: PostgresRow) throws {
        id = try row.decode(0)
        planned = try row.decode(14)
        message = try? Message(row)
        json = try message?.json ?? Self.plain(row)
    }

    private static func plain(_ row: PostgresRow) throws -> [JSONValue.Member] {
        func text(_ column: Int) throws -> JSONValue {
            try row.decode(column, as: String?.self).map { .string($0) } ?? .null
        }
        func time(_ column: Int) throws -> JSONValue {
            try row.decode(column, as: Date?.self).map { .string($0.rfc3339) } ?? .null
        }
        var members: [JSONValue.Member] = [
            .init("id", .string(try row.decode(0, as: UUID.self).uuidString.lowercased())), .init("state", try text(8)),
            .init("isPaused", .bool(try row.decode(9))), .init("author", try text(2)),
            .init("content", try row.json(4)), .init("audience", try row.json(5)),
            .init("timing", try row.json(7)), .init("due", try time(10)), .init("expires", try time(11)),
            .init("planned", .number("\(try row.decode(14, as: Int.self))")),
            .init("isPlanned", .bool(try row.decode(13))), .init("created", try time(16)),
        ]
        for (name, value) in [("template", try text(3)), ("problem", try text(15)), ("finished", try time(17))]
        where value != .null {
            members.append(.init(name, value))
        }
        return members
    }
}

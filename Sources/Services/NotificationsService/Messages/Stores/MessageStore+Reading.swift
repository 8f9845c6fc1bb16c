import Foundation
import MartletCore
import MartletHTTP
import MartletPostgres

extension MessageStore {
    func find(_ id: UUID, in space: Int32) async throws -> Message? {
        try await postgres.query(Self.selection(id, in: space)).first.map { try Message($0) }
    }

    func shown(_ id: UUID, in space: Int32) async throws -> ShownMessage? {
        try await postgres.query(Self.selection(id, in: space)).first.map { try ShownMessage($0) }
    }

    func find(_ id: UUID, in space: Int32, _ transaction: PostgresTransaction) async throws -> Message? {
        try await transaction.query(Self.selection(id, in: space)).first.map { try Message($0) }
    }

    static func selection(_ id: UUID, in space: Int32) -> PostgresQuery {
        "SELECT \(Message.columns) FROM notifications.messages AS m WHERE m.id = \(id) AND m.space = \(space)"
    }

    /// The newest first.
    ///
    /// - Parameter before: continues behind this one.
    func list(in space: Space, state: Message.State?, before: UUID?, limit: Int) async throws -> [ShownMessage] {
        let state: PostgresQuery = state.map { "AND m.state = \($0.rawValue)" } ?? ""
        let place: PostgresQuery = before.map {
            "AND (m.created, m.id) < (SELECT b.created, b.id FROM notifications.messages AS b WHERE b.id = \($0) AND b.space = \(space.id))"
        } ?? ""
        return try await postgres.query(
            """
            SELECT \(Message.columns) FROM notifications.messages AS m WHERE m.space = \(space.id) \(state) \(place)
            ORDER BY m.created DESC, m.id DESC LIMIT \(limit)
            """
        ).map { try ShownMessage($0) }
    }
}

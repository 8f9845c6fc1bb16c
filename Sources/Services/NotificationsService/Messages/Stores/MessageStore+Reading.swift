import Foundation
import MartletAPI
import MartletCore
import MartletPostgres

extension MessageStore {
    func find(_ id: UUID, in space: Int32) async throws -> Message? {
        try await postgres.query(Self.selection(id, in: space)).first.map { try Message($0) }
    }

    func shown(_ id: UUID, in space: Int32) async throws -> ShownMessage? {
        try await postgres.query(Self.selection(id, in: space)).first.map { try ShownMessage($0) }
    }

    /// The message of an earlier order with the origin; nil if there is none.
    ///
    /// - Parameter digest: The digest of the request with an `Idempotency-Key`.
    /// - Throws: `idempotency-key-reused` when the digest differs.
    func known(_ origin: String, digest: [UInt8]? = nil, in space: Space) async throws -> ShownMessage? {
        let rows = try await postgres.query(
            "SELECT \(Message.columns), m.origin_digest FROM notifications.messages AS m WHERE m.space = \(space.id) AND m.origin = \(origin)"
        )
        guard let row = rows.first else { return nil }
        if let digest, try row.decode(Message.columnCount, as: [UInt8]?.self) != digest {
            throw ServiceError(.idempotencyKeyReused, field: "Idempotency-Key")
        }
        return try ShownMessage(row)
    }

    func find(_ id: UUID, in space: Int32, _ transaction: PostgresTransaction) async throws -> Message? {
        try await transaction.query(Self.selection(id, in: space)).first.map { try Message($0) }
    }

    static func selection(_ id: UUID, in space: Int32) -> PostgresQuery {
        "SELECT \(Message.columns) FROM notifications.messages AS m WHERE m.id = \(id) AND m.space = \(space)"
    }

    /// Messages, newest first.
    ///
    /// - Parameter before: Continues after this message.
    func list(in space: Space, state: Message.State?, before: UUID?, limit: Int) async throws -> [ShownMessage] {
        let state: PostgresQuery = state.map { "AND m.state = \($0.rawValue)" } ?? ""
        let place: PostgresQuery =
            before.map {
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

import Foundation
import MartletCore
import MartletHTTP
import MartletPostgres

extension MessageStore {
    func find(_ id: UUID, in space: Int32) async throws -> Message? {
        try await postgres.query(Self.selection(id, in: space)).first.map { try Message($0) }
    }

    func find(_ id: UUID, in space: Int32, _ transaction: PostgresTransaction) async throws -> Message? {
        try await transaction.query(Self.selection(id, in: space)).first.map { try Message($0) }
    }

    private static func selection(_ id: UUID, in space: Int32) -> PostgresQuery {
        "SELECT \(Message.columns) FROM notifications.messages AS m WHERE m.id = \(id) AND m.space = \(space)"
    }

    /// The newest first.
    ///
    /// - Parameter before: continues behind this one.
    func list(in space: Space, state: Message.State?, before: UUID?, limit: Int) async throws -> [Message] {
        let state: PostgresQuery = state.map { "AND m.state = \($0.rawValue)" } ?? ""
        let place: PostgresQuery = before.map {
            "AND (m.created, m.id) < (SELECT b.created, b.id FROM notifications.messages AS b WHERE b.id = \($0) AND b.space = \(space.id))"
        } ?? ""
        return try await postgres.query(
            """
            SELECT \(Message.columns) FROM notifications.messages AS m WHERE m.space = \(space.id) \(state) \(place)
            ORDER BY m.created DESC, m.id DESC LIMIT \(limit)
            """
        ).map { try Message($0) }
    }

    /// What became of a message: devices of each variant by state, and how many opened it.
    func counts(of message: UUID) async throws -> [VariantCounts] {
        try await postgres.query(
            """
            SELECT variant, count(*) FILTER (WHERE state = 'queued'), count(*) FILTER (WHERE state = 'sending'),
                count(*) FILTER (WHERE state = 'accepted'), count(*) FILTER (WHERE state = 'failed'), count(*) FILTER (WHERE state = 'unknown'),
                count(*) FILTER (WHERE state = 'cancelled'), count(opened)
            FROM notifications.deliveries WHERE message = \(message) GROUP BY variant ORDER BY variant
            """, timeout: .seconds(30)
        ).map { try VariantCounts($0) }
    }
}

/// Devices that got, or are to get, one variant of a message.
struct VariantCounts: Sendable, Equatable {
    static let names = ["queued", "sending", "accepted", "failed", "unknown", "cancelled", "opened"]

    let variant: Int
    /// In the order of `names`.
    private(set) var numbers: [Int]

    init(variant: Int = 0, numbers: [Int] = Array(repeating: 0, count: names.count)) {
        self.variant = variant
        self.numbers = numbers
    }

    fileprivate init(_ row: PostgresRow) throws {
        variant = try row.decode(0)
        numbers = try Self.names.indices.map { try row.decode($0 + 1) }
    }

    static func sum(_ counts: [VariantCounts]) -> VariantCounts {
        counts.reduce(VariantCounts()) { sum, one in VariantCounts(numbers: zip(sum.numbers, one.numbers).map { $0 + $1 }) }
    }

    var json: [JSONValue.Member] { zip(Self.names, numbers).map { .init($0, .number("\($1)")) } }
}

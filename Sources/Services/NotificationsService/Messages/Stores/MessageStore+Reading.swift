import Foundation
import MartletAPI
import MartletCore
import MartletPostgres

extension MessageStore {
    /// An app whose messages take longer to count gets no counts.
    private static let countingLimit: Duration = .seconds(10)

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

    /// The length of a step of `counts`.
    enum Interval: String, Sendable, CaseIterable {
        case day, month
    }

    /// JSON objects with the number of messages that were created in each step and of their deliveries by result. The
    /// last step is the current day or month (UTC); steps without messages are included.
    func counts(_ interval: Interval, steps: Int, in space: Space) async throws -> [String] {
        let step: PostgresQuery =
            switch interval {
            case .day: "interval '1 day'"
            case .month: "interval '1 month'"
            }
        return try await postgres.query(
            """
            WITH bounds AS (
                SELECT date_trunc(\(interval.rawValue), now() AT TIME ZONE 'UTC') - \(Int32(steps - 1)) * \(step) AS first,
                    date_trunc(\(interval.rawValue), now() AT TIME ZONE 'UTC') AS last),
            counted AS (
                SELECT date_trunc(\(interval.rawValue), m.created AT TIME ZONE 'UTC') AS step, count(*) AS messages,
                    sum(d.accepted) AS accepted, sum(d.failed) AS failed, sum(d.unknown) AS unknown, sum(d.opened) AS opened
                FROM bounds, notifications.messages AS m, LATERAL (
                    SELECT sum(accepted) AS accepted, sum(failed) AS failed, sum(unknown) AS unknown, sum(opened) AS opened
                    FROM notifications.delivery_counts AS c WHERE c.message = m.id) AS d
                WHERE m.space = \(space.id) AND m.created >= bounds.first AT TIME ZONE 'UTC' GROUP BY 1)
            SELECT jsonb_build_object(
                'from', to_char(s.step, 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), 'messages', coalesce(c.messages, 0),
                'accepted', coalesce(c.accepted, 0), 'failed', coalesce(c.failed, 0), 'unknown', coalesce(c.unknown, 0),
                'opened', coalesce(c.opened, 0))::text
            FROM bounds, generate_series(first, last, \(step)) AS s (step) LEFT JOIN counted AS c ON c.step = s.step ORDER BY s.step
            """, timeout: Self.countingLimit
        ).map { try $0.decode(0) }
    }
}

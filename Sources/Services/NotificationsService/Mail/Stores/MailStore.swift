import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletMail
import MartletPostgres

/// The mails of apps and their states.
struct MailStore: Sendable {
    enum End: String, Sendable {
        case sent, failed, skipped, suppressed
    }

    let postgres: PostgresClient
    let sealing: SealingKey

    // MARK: Ordering

    /// The mails of an earlier order with the origin, in the order of its recipients; nil if there was none.
    ///
    /// - Parameter digest: The digest of the request with an `Idempotency-Key`.
    /// - Throws: `idempotency-key-reused` when the digest differs.
    func known(_ origin: String, digest: Data?, in space: Space) async throws -> [UUID]? {
        try Self.known(try await postgres.query(Self.ordered(origin, in: space)), digest)
    }

    func known(_ origin: String, digest: Data?, in space: Space, _ transaction: PostgresTransaction) async throws
        -> [UUID]?
    {
        try Self.known(try await transaction.query(Self.ordered(origin, in: space)), digest)
    }

    private static func ordered(_ origin: String, in space: Space) -> PostgresQuery {
        "SELECT id, origin_digest FROM notifications.mails WHERE space = \(space.id) AND origin = \(origin) ORDER BY number"
    }

    private static func known(_ rows: PostgresRows, _ digest: Data?) throws -> [UUID]? {
        guard try rows.allSatisfy({ try $0.decode(1, as: Data?.self) == digest }) else {
            throw ServiceError(.idempotencyKeyReused, field: "Idempotency-Key")
        }
        return rows.isEmpty ? nil : try rows.map { try $0.decode(0) }
    }

    /// The number of mails ordered in the last hour and the last day.
    func counts(in space: Space, _ transaction: PostgresTransaction) async throws -> (hour: Int, day: Int) {
        let row = try await transaction.query(
            """
            SELECT count(*) FILTER (WHERE created > now() - interval '1 hour'), count(*)
            FROM notifications.mails WHERE space = \(space.id) AND created > now() - interval '1 day'
            """)[0]
        return (try row.decode(0), try row.decode(1))
    }

    /// - Parameter number: The index of the recipient in the order, from 0.
    func insert(
        _ order: MailOrder, to recipient: MailRecipient, number: Int, in space: Space,
        _ transaction: PostgresTransaction
    ) async throws -> UUID {
        let id = UUID(uuidString: UUIDv7.make()) ?? UUID()
        let (user, address): (String?, String?) =
            switch recipient {
            case .user(let id): (id, nil)
            case .address(let address): (nil, address.text)
            }
        try await transaction.execute(
            """
            INSERT INTO notifications.mails (id, space, author, origin, origin_digest, number, user_id, address, topic, template, content)
            VALUES (\(id), \(space.id), \(order.author.text), \(order.origin), \(order.originDigest), \(Int16(number)), \(user), \(address), \(order.topic), \(order.content.template),
                \(try sealing.seal(value: order.content, for: Self.label(id))))
            """)
        return id
    }

    // MARK: Reading

    struct Filter: Sendable {
        var state: String?
        var address: String?
        var user: String?
        /// Continues after this mail.
        var before: UUID?
    }

    /// JSON objects, newest first.
    func list(_ filter: Filter, limit: Int, in space: Space) async throws -> [(id: UUID, json: String)] {
        var conditions: PostgresQuery = "m.space = \(space.id) AND \(Self.isOfApp)"
        if let state = filter.state { conditions.append(" AND m.state = \(state)" as PostgresQuery) }
        if let address = filter.address { conditions.append(" AND m.address = \(address)" as PostgresQuery) }
        if let user = filter.user { conditions.append(" AND m.user_id = \(user)" as PostgresQuery) }
        if let before = filter.before { conditions.append(" AND m.id < \(before)" as PostgresQuery) }
        return try await postgres.query(
            "SELECT m.id, \(Self.json) FROM notifications.mails AS m WHERE \(conditions) ORDER BY m.id DESC LIMIT \(limit)"
        )
        .map { (try $0.decode(0), try $0.decode(1)) }
    }

    func read(_ id: UUID, in space: Space) async throws -> String? {
        try await postgres.query(
            "SELECT \(Self.json) FROM notifications.mails AS m WHERE m.space = \(space.id) AND m.id = \(id) AND \(Self.isOfApp)"
        ).first?.decode(0)
    }

    /// Excludes mail that other services send to staff, whose addresses the app must not see.
    private static let isOfApp: PostgresQuery = "NOT coalesce(starts_with(m.origin, 'service:'), FALSE)"

    static let json: PostgresQuery = """
        jsonb_build_object('id', m.id, 'to', m.address, 'user', m.user_id, 'topic', m.topic, 'template', m.template, 'state', m.state, 'reason', m.reason,
            'bounce', m.bounce, 'bounceReason', m.bounce_reason, 'bounced', \(PostgresQuery.rfc3339("m.bounced")),
            'attempts', m.attempts, 'author', m.author, 'created', \(PostgresQuery.rfc3339("m.created")), 'finished', \(PostgresQuery.rfc3339("m.finished")))::text
        """

    static func label(_ id: UUID) -> String { "mail \(id.uuidString)" }
}

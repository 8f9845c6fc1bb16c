import Foundation
import MartletCore
import MartletHTTP
import MartletMail
import MartletPostgres

/// A mail that waits to be written.
struct QueuedMail: Sendable {
    var id: UUID
    var space: Int32
    var recipient: MailRecipient
    var topic: String?
    /// Nil: it was sealed under another internal secret.
    var content: MailContent?
}

/// The mails of apps and what became of them.
struct MailStore: Sendable {
    enum End: String, Sendable {
        case sent, failed, skipped
    }

    let postgres: PostgresClient
    let sealing: SealingKey

    // MARK: Ordering

    /// What was ordered with an origin, in the order of its recipients.
    func known(_ origin: String, in space: Space, _ transaction: PostgresTransaction) async throws -> [(id: UUID, digest: Data?)] {
        try await transaction.query(
            "SELECT id, origin_digest FROM notifications.mails WHERE space = \(space.id) AND origin = \(origin) ORDER BY number"
        ).map { (try $0.decode(0), try $0.decode(1)) }
    }

    func countOfLastHour(in space: Space, _ transaction: PostgresTransaction) async throws -> Int {
        try await transaction.query(
            "SELECT count(*) FROM notifications.mails WHERE space = \(space.id) AND created > now() - interval '1 hour'")[0].decode(0)
    }

    /// - Parameter number: which of the order's recipients, from 0.
    func insert(_ order: MailOrder, to recipient: MailRecipient, number: Int, in space: Space, _ transaction: PostgresTransaction) async throws -> UUID {
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

    // MARK: Sending

    /// Nil: it has been sent, or given up, or is gone with the user.
    func queued(_ id: UUID) async throws -> QueuedMail? {
        try await postgres.query(
            "SELECT space, user_id, address, topic, content FROM notifications.mails WHERE id = \(id) AND state = 'queued'"
        ).first.flatMap { row in
            let (user, address): (String?, String?) = (try row.decode(1), try row.decode(2))
            let recipient: MailRecipient? = try user.map { .user($0) } ?? address.map { .address(try EmailAddress($0)) }
            return try recipient.map {
                QueuedMail(
                    id: id, space: try row.decode(0), recipient: $0, topic: try row.decode(3),
                    content: sealing.value(in: try row.decode(4), for: Self.label(id)))
            }
        }
    }

    /// Notes the address that a mail goes to.
    ///
    /// - Returns: how many the address has had of the app in the last hour; nil: the mail is queued no more.
    func begin(_ mail: QueuedMail, to address: String) async throws -> Int? {
        try await postgres.query(
            """
            UPDATE notifications.mails AS m SET address = \(address), attempts = attempts + 1 WHERE id = \(mail.id) AND state = 'queued'
            RETURNING (SELECT count(*) FROM notifications.mails AS o
                WHERE o.space = m.space AND o.address = \(address) AND o.state = 'sent' AND o.finished > now() - interval '1 hour')
            """
        ).first?.decode(0)
    }

    /// With the end the content is gone. Does nothing to a mail that has one.
    func finish(_ id: UUID, _ end: End, reason: String? = nil) async throws {
        try await postgres.execute(
            """
            UPDATE notifications.mails SET state = \(end.rawValue), reason = \(reason), content = NULL, finished = now()
            WHERE id = \(id) AND state = 'queued'
            """)
    }

    /// What hinders a mail that is tried again.
    func note(_ id: UUID, reason: String) async throws {
        try await postgres.execute("UPDATE notifications.mails SET reason = \(reason) WHERE id = \(id) AND state = 'queued'")
    }

    // MARK: Reading

    struct Filter: Sendable {
        var state: String?
        var address: String?
        var user: String?
        /// Behind this one.
        var before: UUID?
    }

    /// JSON objects, the newest first.
    func list(_ filter: Filter, limit: Int, in space: Space) async throws -> [(id: UUID, json: String)] {
        var conditions: PostgresQuery = "m.space = \(space.id)"
        if let state = filter.state { conditions.append(" AND m.state = \(state)" as PostgresQuery) }
        if let address = filter.address { conditions.append(" AND m.address = \(address)" as PostgresQuery) }
        if let user = filter.user { conditions.append(" AND m.user_id = \(user)" as PostgresQuery) }
        if let before = filter.before { conditions.append(" AND m.id < \(before)" as PostgresQuery) }
        return try await postgres.query("SELECT m.id, \(Self.json) FROM notifications.mails AS m WHERE \(conditions) ORDER BY m.id DESC LIMIT \(limit)")
            .map { (try $0.decode(0), try $0.decode(1)) }
    }

    func read(_ id: UUID, in space: Space) async throws -> String? {
        try await postgres.query("SELECT \(Self.json) FROM notifications.mails AS m WHERE m.space = \(space.id) AND m.id = \(id)").first?.decode(0)
    }

    static let json: PostgresQuery = """
        jsonb_build_object('id', m.id, 'to', m.address, 'user', m.user_id, 'topic', m.topic, 'template', m.template, 'state', m.state, 'reason', m.reason,
            'attempts', m.attempts, 'author', m.author, 'created', \(PostgresQuery.rfc3339("m.created")), 'finished', \(PostgresQuery.rfc3339("m.finished")))::text
        """

    private static func label(_ id: UUID) -> String { "mail \(id.uuidString)" }
}

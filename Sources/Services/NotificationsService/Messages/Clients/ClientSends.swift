import Foundation
import HTTPTypes
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// A message that a signed-in user wants to send to others.
struct ClientSend: Sendable {
    var template: String
    /// A JSON object.
    var variables: JSONValue
    /// The recipients' ids; empty if the message is for channels.
    var users: [String] = []
    var channels: [String] = []
    /// Taken from the request's token, never from its body.
    var sender: String
    var idempotencyKey: String?
    /// The digest of the request that came with the key.
    var digest: [UInt8]?
    /// Whether variables unknown to the template are ignored. A notification in the original TBAnalytics format has the
    /// same variables for every template.
    var allowsOtherVariables = false
}

/// Sends messages between users, as far as the app's rules allow.
struct ClientSends: Sendable {
    /// The variable that always contains the sender's id.
    static let senderVariable = "sender"

    let postgres: PostgresClient
    let messages: MessageStore
    let templates: TemplateStore
    let rules: ClientRuleStore
    let storage: StorageClient

    /// A request with a known key is neither checked nor sent again. Users who have blocked the sender do not get the
    /// message, and the sender does not learn of it.
    ///
    /// - Throws: `forbidden` when the rules do not allow the message, `too-many-requests`, `template-not-found`,
    ///   `invalid-body`, `idempotency-key-reused`, `unavailable`. Nothing is sent then.
    func send(_ send: ClientSend, in space: Space) async throws -> (message: Message, isNew: Bool) {
        let author = Author(text: "user:" + send.sender)
        let origin = send.idempotencyKey.map { "\(author.text):\($0)" }
        if let origin, let known = try await messages.known(origin, digest: send.digest, in: space)?.message {
            return (known, false)
        }
        let rule = try await rule(for: send, in: space)
        let content = try await content(send, in: space)
        let blockers = try await blockers(of: send.sender, in: space)
        let order = MessageOrder(
            content: content, audience: Self.audience(send, without: blockers), origin: origin,
            originDigest: send.digest,
            template: send.template, author: author)
        return try await postgres.withTransaction { transaction in
            // Serialize the messages of one user, so that each is counted.
            _ = try await transaction.query("SELECT pg_advisory_xact_lock(hashtext(\(author.text)), \(space.id))")
            if try await isNew(order, in: space, transaction) {
                try await count(order, rule.limit, in: space, transaction)
                try await countReceipts(send, rule.recipientLimit, in: space, transaction)
            }
            return try await messages.createOrFind(order, in: space, transaction)
        }
    }

    /// The audience of the message. The sender does not receive their own message to a channel.
    private static func audience(_ send: ClientSend, without blockers: [String]) -> Audience {
        guard send.channels.isEmpty else {
            let others = Set(blockers).union([send.sender])
            return Audience(channels: Array(Set(send.channels)).sorted(), exceptUsers: others.sorted())
        }
        let users = Set(send.users)
        return .users(users.sorted(), except: users.intersection(blockers).sorted())
    }

    /// The users who have blocked the sender.
    ///
    /// - Throws: `unavailable` if storage does not answer. Without its answer, the message could reach a user who has
    ///   blocked the sender.
    private func blockers(of sender: String, in space: Space) async throws -> [String] {
        do {
            return try await storage.blockers(of: sender, in: space)
        } catch let error where error is ServiceCalls.Failure || error is OutgoingFailure {
            throw ServiceError(.unavailable, "Storage is unavailable. Try again.", cause: "\(error)")
        }
    }

    private func rule(for send: ClientSend, in space: Space) async throws -> ClientRules.Rule {
        guard let rule = try await rules.find(in: space)?.rules[send.template] else {
            throw ServiceError(.forbidden, "Users of this app may not send this template.")
        }
        guard send.users.isEmpty != send.channels.isEmpty, send.users.allSatisfy(Self.isName) else {
            throw ServiceError(.invalidBody, "Name either users or channels, not both.", field: "audience.users")
        }
        if let channel = send.channels.first(where: { !ChannelName.isValid($0) || !rule.allows(channel: $0) }) {
            throw ServiceError(.forbidden, "Users may not send this template to the channel \(channel.prefix(64)).")
        }
        guard Set(send.users + send.channels).count <= rule.maximumRecipients else {
            throw ServiceError(
                .forbidden, "This template may be sent to at most \(rule.maximumRecipients) users or channels at once.")
        }
        guard rule.allows(send) else { throw ServiceError(.forbidden, "The app's rules do not allow this message.") }
        return rule
    }

    private static func isName(_ user: String) -> Bool {
        (1...Audience.maximumNameLength).contains(user.utf8.count) && !user.utf8.contains(0)
    }

    private func content(_ send: ClientSend, in space: Space) async throws -> MessageContent {
        var values = try MessageTemplate.values(send.variables)
        let template = try await templates.template(send.template, in: space)
        guard values[Self.senderVariable] == nil else {
            throw ServiceError(
                .invalidBody, "This variable is always the signed-in user and cannot be set.",
                field: "variables.\(Self.senderVariable)")
        }
        if !send.allowsOtherVariables {
            let names = try template.names.subtracting([Self.senderVariable])
            if let other = values.keys.sorted().first(where: { !names.contains($0) }) {
                let known =
                    names.isEmpty
                    ? "It has no variables." : "Its variables are \(names.sorted().joined(separator: ", "))."
                throw ServiceError(
                    .invalidBody, "The template \(send.template) has no variable \(other). \(known)",
                    field: "variables.\(other)")
            }
        }
        values[Self.senderVariable] = send.sender
        return try template.content(values)
    }

    private func isNew(_ order: MessageOrder, in space: Space, _ transaction: PostgresTransaction) async throws -> Bool
    {
        guard let origin = order.origin else { return true }
        return try await transaction.query(
            "SELECT 1 FROM notifications.messages WHERE space = \(space.id) AND origin = \(origin)"
        ).isEmpty
    }

    private func count(
        _ order: MessageOrder, _ limit: ClientRules.Limit, in space: Space, _ transaction: PostgresTransaction
    ) async throws {
        let rows = try await transaction.query(
            """
            SELECT count(*) FROM notifications.messages WHERE space = \(space.id) AND author = \(order.author.text) AND template = \(order.template)
                AND created > now() - make_interval(secs => \(Double(limit.seconds)))
            """)
        guard try rows[0].decode(0, as: Int.self) < limit.count else {
            throw ServiceError(
                .tooManyRequests, "You have reached the limit for these messages. Try again later.",
                retryAfter: limit.retryAfter)
        }
    }

    /// Counts the message for every recipient, or for none if one of them is over the limit. A period starts with the
    /// first message counted in it.
    private func countReceipts(
        _ send: ClientSend, _ limit: ClientRules.Limit, in space: Space, _ transaction: PostgresTransaction
    ) async throws {
        let recipients = Set(send.users.map { "user:" + $0 } + send.channels.map { "channel:" + $0 }).sorted()
        let start: PostgresQuery = "now() - make_interval(secs => \(Double(limit.seconds)))"
        let counted = try await transaction.execute(
            """
            INSERT INTO notifications.client_receipts AS r (space, template, recipient, since, count)
            SELECT \(space.id), \(send.template), recipient, now(), 1 FROM unnest(\(recipients)) AS q (recipient) ORDER BY recipient
            ON CONFLICT (space, recipient, template) DO UPDATE SET
                since = CASE WHEN r.since <= \(start) THEN excluded.since ELSE r.since END, count = CASE WHEN r.since <= \(start) THEN 1 ELSE r.count + 1 END
            WHERE r.since <= \(start) OR r.count < \(limit.count)
            """)
        guard counted == recipients.count else {
            throw ServiceError(
                .tooManyRequests, "One of the recipients has reached the limit for these messages. Try again later.",
                retryAfter: limit.retryAfter)
        }
    }
}

import Foundation
import HTTPTypes
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// What a signed-in user asks the server to send to others.
struct ClientSend: Sendable {
    var template: String
    /// An object.
    var variables: JSONValue
    /// To whom, by id.
    var users: [String]
    /// Of the token that came with the request, never of its body.
    var sender: String
    var idempotencyKey: String?
}

/// Messages of users to users, as far as the app's rules allow them.
struct ClientSends: Sendable {
    let postgres: PostgresClient
    let messages: MessageStore
    let templates: TemplateStore
    let rules: ClientRuleStore

    /// Of what was sent with the same key before nothing is sent or checked again.
    ///
    /// - Throws: `forbidden` for what the rules do not allow, `too-many-requests`, `template-not-found`, `invalid-body`; nothing is sent then.
    func send(_ send: ClientSend, in space: Space) async throws -> Message {
        let author = Author(text: "user:" + send.sender)
        let origin = send.idempotencyKey.map { "\(author.text):\($0)" }
        if let origin, let known = try await messages.known(origin, in: space)?.message { return known }
        let rule = try await rule(for: send, in: space)
        let content = try await templates.content(of: send.template, variables: send.variables, in: space)
        let order = MessageOrder(
            content: content, audience: .users(Array(Set(send.users)).sorted()), origin: origin, template: send.template, author: author)
        return try await postgres.withTransaction { transaction in
            // The messages of one user wait for each other, so that each is counted.
            _ = try await transaction.query("SELECT pg_advisory_xact_lock(hashtext(\(author.text)), \(space.id))")
            if try await isNew(order, in: space, transaction) { try await count(order, rule, in: space, transaction) }
            return try await messages.create(order, in: space, transaction)
        }
    }

    private func rule(for send: ClientSend, in space: Space) async throws -> ClientRules.Rule {
        guard let rule = try await rules.find(in: space)?.rules[send.template] else {
            throw HTTPProblem(.forbidden, "Users of this app may not send this.")
        }
        guard !send.users.isEmpty, send.users.allSatisfy({ (1...Audience.maximumNameLength).contains($0.utf8.count) }) else {
            throw HTTPProblem(.invalidBody, "Say to which users.", field: "users")
        }
        guard Set(send.users).count <= rule.maximumRecipients else {
            throw HTTPProblem(.forbidden, "This may go to at most \(rule.maximumRecipients) users at a time.")
        }
        guard rule.allows(send) else { throw HTTPProblem(.forbidden, "The app's rules do not allow this message.") }
        return rule
    }

    private func isNew(_ order: MessageOrder, in space: Space, _ transaction: PostgresTransaction) async throws -> Bool {
        guard let origin = order.origin else { return true }
        return try await transaction.query("SELECT 1 FROM notifications.messages WHERE space = \(space.id) AND origin = \(origin)").isEmpty
    }

    private func count(_ order: MessageOrder, _ rule: ClientRules.Rule, in space: Space, _ transaction: PostgresTransaction) async throws {
        let rows = try await transaction.query(
            """
            SELECT count(*) FROM notifications.messages WHERE space = \(space.id) AND author = \(order.author.text) AND template = \(order.template)
                AND created > now() - make_interval(secs => \(Double(rule.seconds)))
            """)
        guard try rows[0].decode(0, as: Int.self) < rule.count else {
            throw HTTPProblem(.tooManyRequests, "You have sent as many of these as you may for now.", headers: [.retryAfter: "\(min(rule.seconds, 3_600))"])
        }
    }
}

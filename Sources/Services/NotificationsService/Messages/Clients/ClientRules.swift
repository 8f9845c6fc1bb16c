import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletLogic
import MartletPostgres

/// What an app's signed-in users may send to each other: nothing but what stands here.
///
/// As JSON `{"templates":{"<template>":{"maximumRecipients":10,"when":<JsonLogic>,"limit":{"count":20,"seconds":3600}}}}`. Users choose no text of
/// their own: a template's variables are all that they say.
struct ClientRules: Sendable {
    static let maximumTemplates = 100
    /// Bytes of a condition.
    static let maximumConditionSize = 16 << 10

    struct Rule: Sendable {
        /// Users that one message may go to.
        var maximumRecipients: Int
        /// Over `{"sender","recipients","variables"}`; nil: always.
        var condition: JSONLogic?
        /// Messages of one user within so many seconds.
        var count: Int
        var seconds: Int
    }

    let rules: [String: Rule]
    let json: JSONValue

    /// - Throws: `invalid-body`.
    init(_ json: JSONValue) throws {
        let fields = try BodyFields(json, ["templates"])
        guard case .object(let members)? = fields["templates"], members.count <= Self.maximumTemplates else {
            throw HTTPProblem(.invalidBody, "This must be an object of at most \(Self.maximumTemplates) templates.", field: "templates")
        }
        self.json = json
        rules = Dictionary(try members.map { ($0.name, try Rule($0.value)) }) { $1 }
    }
}

extension ClientRules.Rule {
    fileprivate init(_ json: JSONValue) throws {
        let fields = try BodyFields(json, ["maximumRecipients", "when", "limit"])
        maximumRecipients = try fields.integer("maximumRecipients", in: 1...Audience.maximumDirect) ?? 1
        if let when = fields.object("when") {
            guard when.text.utf8.count <= ClientRules.maximumConditionSize else {
                throw HTTPProblem(.invalidBody, "A condition has at most \(ClientRules.maximumConditionSize) bytes.", field: "when")
            }
            do {
                condition = try JSONLogic(try LogicValue(json: when.text))
            } catch {
                throw HTTPProblem(.invalidBody, "This is not a JsonLogic condition: \(error).", field: "when")
            }
        }
        guard let limit = fields.object("limit") else { throw HTTPProblem(.invalidBody, "Say how often a user may send it.", field: "limit") }
        let numbers = try BodyFields(limit, ["count", "seconds"])
        guard let count = try numbers.integer("count", in: 1...10_000), let seconds = try numbers.integer("seconds", in: 1...31 * 86_400) else {
            throw HTTPProblem(.invalidBody, "A limit has count and seconds.", field: "limit")
        }
        (self.count, self.seconds) = (count, seconds)
    }

    /// Whether the condition holds; what cannot be worked out does not.
    func allows(_ send: ClientSend) -> Bool {
        guard let condition else { return true }
        let facts: JSONValue = .object([
            .init("sender", .string(send.sender)), .init("recipients", .array(send.users.map { .string($0) })), .init("variables", send.variables),
        ])
        guard let data = try? LogicValue(json: facts.text) else { return false }
        return (try? condition.evaluate(data).isTruthy) ?? false
    }
}

/// The app's rules, one document for each space.
struct ClientRuleStore: Sendable {
    let postgres: PostgresClient

    /// Nil: there are none, and users may send nothing.
    func find(in space: Space) async throws -> ClientRules? {
        try await postgres.query("SELECT rules FROM notifications.client_rules WHERE space = \(space.id)").first.map { try ClientRules(try $0.json(0)) }
    }

    func replace(_ rules: ClientRules, by author: String, in space: Space) async throws {
        try await postgres.execute(
            """
            INSERT INTO notifications.client_rules (space, rules, author) VALUES (\(space.id), \(rules.json.text)::json, \(author))
            ON CONFLICT (space) DO UPDATE SET rules = excluded.rules, author = excluded.author, updated = now()
            """)
    }
}

import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletLogic
import MartletPostgres

/// The messages that an app's signed-in users may send to each other. Everything else is forbidden.
///
///     {"templates":{"<template>":{"maximumRecipients":10,"channels":["event-*"],"when":<JsonLogic>,
///      "limit":{"count":20,"seconds":3600},"recipientLimit":{"count":20,"seconds":3600}}}}
///
/// Users cannot send free text, only the variables of a template.
struct ClientRules: Sendable {
    static let maximumTemplates = 100
    /// In bytes.
    static let maximumConditionSize = 16 << 10
    static let maximumChannels = 50
    /// The longest period of a limit.
    static let maximumSeconds = 31 * 86_400

    /// Allows `count` messages within `seconds`.
    struct Limit: Sendable {
        var count: Int
        var seconds: Int

        /// Asks the client to retry after the period, or after an hour if the period is longer.
        var retryAfter: Int { min(seconds, 3_600) }
    }

    struct Rule: Sendable {
        /// The maximum number of users or channels per message.
        var maximumRecipients: Int
        /// The channels that may be addressed: names, or prefixes followed by `*`. If empty, only users may be
        /// addressed.
        var channels: [String]
        /// A condition over `{"sender","recipients","channels","variables"}`; nil always holds.
        var condition: JSONLogic?
        /// Applies to each sender.
        var limit: Limit
        /// Applies to each user or channel that receives the message, across all senders.
        var recipientLimit: Limit
    }

    let rules: [String: Rule]
    let json: JSONValue

    /// - Throws: `invalid-body`.
    init(_ json: JSONValue) throws {
        let fields = try BodyFields(json, ["templates"])
        guard case .object(let members)? = fields["templates"], members.count <= Self.maximumTemplates else {
            throw ServiceError(
                .invalidBody, "Expected an object of at most \(Self.maximumTemplates) templates.",
                field: "templates")
        }
        self.json = json
        rules = Dictionary(try members.map { ($0.name, try Rule($0.value)) }) { $1 }
    }
}

extension ClientRules.Limit {
    /// - Throws: `invalid-body`.
    fileprivate init(_ json: JSONValue, _ name: String) throws {
        let numbers = try BodyFields(json, ["count", "seconds"])
        guard let count = try numbers.integer("count", in: 1...10_000),
            let seconds = try numbers.integer("seconds", in: 1...ClientRules.maximumSeconds)
        else {
            throw ServiceError(
                .invalidBody, "A limit must have count (1 to 10000) and seconds (at most 31 days).", field: name)
        }
        self.init(count: count, seconds: seconds)
    }
}

extension ClientRules.Rule {
    private static let defaultRecipientLimit = ClientRules.Limit(count: 20, seconds: 3_600)

    fileprivate init(_ json: JSONValue) throws {
        let fields = try BodyFields(json, ["maximumRecipients", "channels", "when", "limit", "recipientLimit"])
        maximumRecipients = try fields.integer("maximumRecipients", in: 1...Audience.maximumDirect) ?? 1
        channels = try fields.strings("channels", upTo: ClientRules.maximumChannels) ?? []
        for channel in channels
        where !ChannelName.isValid(channel.hasSuffix("*") ? String(channel.dropLast()) : channel) {
            throw ServiceError(
                .invalidBody, "Expected channel names, or prefixes followed by *. \(ChannelName.sentence)",
                field: "channels")
        }
        if let when = fields.object("when") {
            guard when.text.utf8.count <= ClientRules.maximumConditionSize else {
                throw ServiceError(
                    .invalidBody, "A condition may have at most \(ClientRules.maximumConditionSize) bytes.",
                    field: "when")
            }
            do {
                condition = try JSONLogic(try LogicValue(json: when.text))
            } catch {
                throw ServiceError(.invalidBody, "This is not a JsonLogic condition: \(error).", field: "when")
            }
        }
        guard let limit = fields.object("limit") else {
            throw ServiceError(
                .invalidBody, "This field is required: how often a user may send the message.", field: "limit")
        }
        self.limit = try ClientRules.Limit(limit, "limit")
        recipientLimit =
            try fields.object("recipientLimit").map { try ClientRules.Limit($0, "recipientLimit") }
            ?? Self.defaultRecipientLimit
    }

    /// Whether the condition holds. A condition that cannot be evaluated does not.
    func allows(_ send: ClientSend) -> Bool {
        guard let condition else { return true }
        func list(_ texts: [String]) -> JSONValue { .array(texts.map { .string($0) }) }
        let facts: JSONValue = .object([
            .init("sender", .string(send.sender)), .init("recipients", list(send.users)),
            .init("channels", list(send.channels)),
            .init("variables", send.variables),
        ])
        guard let data = try? LogicValue(json: facts.text) else { return false }
        return (try? condition.evaluate(data).isTruthy) ?? false
    }

    func allows(channel: String) -> Bool {
        channels.contains { $0.hasSuffix("*") ? channel.utf8.starts(with: $0.utf8.dropLast()) : channel == $0 }
    }
}

/// The app's client rules, one document per space.
struct ClientRuleStore: Sendable {
    let postgres: PostgresClient

    /// Nil if there are none; users may then send nothing.
    func find(in space: Space) async throws -> ClientRules? {
        try await postgres.query("SELECT rules FROM notifications.client_rules WHERE space = \(space.id)").first.map {
            try ClientRules(try $0.json(0))
        }
    }

    func replace(_ rules: ClientRules, by author: String, in space: Space) async throws {
        try await postgres.execute(
            """
            INSERT INTO notifications.client_rules (space, rules, author) VALUES (\(space.id), \(rules.json.text)::json, \(author))
            ON CONFLICT (space) DO UPDATE SET rules = excluded.rules, author = excluded.author, updated = now()
            """)
    }
}

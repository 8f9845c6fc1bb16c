import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// Tests disabled rules as well. Requires the right to change rules, because the answer contains data of objects.
///
/// A rule on changes takes `object` or `id`, and optionally `change` (by default the first of the rule's events),
/// `previous` and `actor`. A rule on alerts takes `alert`. A rule with a schedule takes nothing.
struct TestRule: Endpoint {
    static let route = Route(
        .post, "/notifications/rules/{name}/test", "testNotificationRule",
        "Reports what a rule would send and to whom, or why it would send nothing. Sends nothing.",
        callers: .manager(.update, .notifications),
        parameters: [
            .ruleName
        ],
        body: .json(
            .object(
                [
                    "object": .object.described("The object of the change."),
                    "id": .string.described("The id of a stored object, instead of `object`."),
                    "previous": .object,
                    "change": .oneOf("created", "updated", "deleted"),
                    "actor": .string.described("The user who makes the change."),
                    "alert": .object.described("The alert, for a rule on alerts."),
                ])),
        answers: [
            .answer(
                200,
                """
                `matches`, and `reason` if nothing would be sent. If the rule matches, also the recipients in `users`, \
                `channels`, `installations`, `except` and `audience`, and the result in `content`, `mail` and `webhook`.
                """, .json(.object))
        ],
        errors: [404: "The app has no such rule, or the object does not exist (`rule-not-found`, `object-not-found`)."])

    static let maximumSizeInBytes = 256 << 10

    let rules: Rules

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.notifications(may: .update, rules.spaces)
        let name = try context.rule
        let fields = try await BodyFields(
            request, ["object", "id", "previous", "change", "actor", "alert"], upTo: Self.maximumSizeInBytes,
            isOptional: true)
        guard let rule = try await rules.store.rule(name, in: space) else { throw ServiceError(.ruleNotFound) }
        let facts = try await facts(of: rule, fields, in: space)
        do {
            if let reason = try rule.condition.failure(facts) {
                return .json(#"{"matches":false,"reason":\#(JSONValue.quote(reason))}"#)
            }
            var action = RuleAction(cause: "test", rule: rule, at: rules.now())
            try await rules.actionBuilder.complete(
                &action, facts, RecipientLookUp(storage: rules.storage, space: space), in: space)
            try action.content?.check()
            return .json(Self.json(action))
        } catch let error where error is ServiceCalls.Failure || error is OutgoingFailure {
            throw ServiceError(.unavailable, "Storage is unavailable. Try again.", cause: "\(error)")
        } catch {
            guard let sentence = RuleActionBuilder.sentence(error) else { throw error }
            return .json(#"{"matches":true,"reason":\#(JSONValue.quote(sentence))}"#)
        }
    }

    private func facts(of rule: Rule, _ fields: BodyFields, in space: Space) async throws -> Facts {
        switch rule.trigger {
        case .schedule: return Facts([.init("at", .string(rules.now().formatted(.iso8601)))])
        case .alert: return Facts(alert: fields["alert"] ?? .object([]))
        case .change(let collection, let events):
            let event =
                try fields.string("change") ?? RuleTrigger.Event.allCases.first { events.contains($0) }?.rawValue ?? ""
            guard let event = RuleTrigger.Event(rawValue: event), events.contains(event) else {
                throw ServiceError(.invalidBody, "The rule does not act on this kind of change.", field: "change")
            }
            let object = try await object(of: collection, fields, in: space)
            let id = object["_id"] ?? .string("test")
            return Facts(
                change: .object([
                    .init("collection", .string(collection)), .init("id", id), .init("change", .string(event.rawValue)),
                    .init("at", .string(rules.now().formatted(.iso8601))), .init("actor", fields["actor"] ?? .null),
                    .init("object", event == .deleted ? .null : object),
                    .init("previous", fields["previous"] ?? (event == .created ? .null : object)),
                ]))
        }
    }

    private func object(of collection: String, _ fields: BodyFields, in space: Space) async throws -> JSONValue {
        if let object = fields["object"], case .object = object { return object }
        guard let id = try fields.string("id") else {
            throw ServiceError(.invalidBody, "Give either an object or the id of a stored object.", field: "object")
        }
        do {
            let found = try await rules.storage.lookUp(
                [.init(collection: collection, id: id, keys: nil)], [], in: space
            )
            .objects.first
            guard let found, found != .null else {
                throw ServiceError(.objectNotFound, "There is no \(collection)/\(id).")
            }
            return found
        } catch ServiceCalls.Failure.status(422, _), ServiceCalls.Failure.status(400, _) {
            throw ServiceError(.objectNotFound, "There is no \(collection)/\(id).")
        }
    }

    private static func json(_ action: RuleAction) -> String {
        func list(_ texts: [String]) -> String { "[" + texts.map(JSONValue.quote).joined(separator: ",") + "]" }
        let recipients = action.recipients
        var members = [
            #""matches":true,"users":\#(list(recipients.users)),"channels":\#(list(recipients.channels))"#,
            #""installations":\#(list(recipients.installations.map { $0.uuidString.lowercased() })),"except":\#(list(recipients.exceptUsers))"#,
        ]
        if recipients.isEmpty, action.webhookBody == nil, action.mail == nil {
            members.append(#""reason":"The rule has no recipients.""#)
        }
        if let audience = recipients.audience { members.append(#""audience":\#(audience.text)"#) }
        if let content = action.content { members.append(#""content":\#(content.json.text)"#) }
        if let mail = action.mail { members.append(#""mail":\#(json(mail).text)"#) }
        if let body = action.webhookBody { members.append(#""webhook":\#(body)"#) }
        return "{" + members.joined(separator: ",") + "}"
    }

    private static func json(_ mail: MailAction) -> JSONValue {
        let variables = mail.content.variables.sorted { $0.key < $1.key }.map {
            JSONValue.Member($0.key, .string($0.value))
        }
        var members: [JSONValue.Member] = [
            .init("users", .array(mail.users.map(JSONValue.string))), .init("variables", .object(variables)),
        ]
        for (name, text) in [
            ("template", mail.content.template), ("topic", mail.topic), ("language", mail.content.language),
            ("replyTo", mail.content.replyTo),
        ] {
            if let text { members.append(.init(name, .string(text))) }
        }
        return .object(members)
    }
}

import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

struct ListRules: Endpoint {
    static let route = Route(
        .get, "/notifications/rules", "listNotificationRules",
        "Lists the rules that send notifications automatically, ordered by name.",
        callers: .manager(.read, .notifications),
        answers: [
            .answer(200, "The rules.", .json(.object))
        ])

    let rules: Rules

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.notifications(may: .read, rules.spaces)
        return .page(try await rules.store.list(in: space))
    }
}

struct ReadRule: Endpoint {
    static let route = Route(
        .get, "/notifications/rules/{name}", "readNotificationRule", "Reads a rule. Its version is also in `ETag`.",
        callers: .manager(.read, .notifications),
        parameters: [
            .ruleName
        ],
        answers: [
            .answer(200, "The rule.", .json(.notificationRule))
        ],
        errors: [404: "The app has no such rule (`rule-not-found`)."])

    let rules: Rules

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.notifications(may: .read, rules.spaces)
        guard let (json, version) = try await rules.store.read(try context.rule, in: space) else {
            throw ServiceError(.ruleNotFound)
        }
        var response = Response.json(json)
        response.headers[.eTag] = EntityTag(text: String(version)).header
        return response
    }
}

/// Checks that everything the rule refers to exists before storing it. A replaced rule keeps its position and next due
/// time if it was enabled and its trigger is unchanged; otherwise it starts with new changes.
struct SetRule: Endpoint {
    static let route = Route(
        .put, "/notifications/rules/{name}", "setNotificationRule",
        "Creates or replaces a rule. A new rule acts only on events from now on.",
        callers: .managers([.create, .update], [.notifications]),
        parameters: [
            .ruleName,
            .header("If-Match", .string, "The version that the rule must have, such as `\"3\"`."),
            .header("If-None-Match", .oneOf("*"), "`*`: the call succeeds only if there is no rule with this name."),
        ],
        body: .json(.notificationRule),
        answers: [
            .answer(200, "The rule as stored, with `secret` if its webhook is new.", .json(.notificationRule)),
            .answer(201, "The rule, newly created.", .json(.notificationRule)),
        ],
        errors: [
            404: "The app has no such template (`template-not-found`).",
            412: "The rule does not meet `If-Match` or `If-None-Match` (`precondition-failed`).",
            501: "The rule sends mail, but neither the app nor the server has a mail server (`not-implemented`).",
        ])

    let rules: Rules

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let name = try context.rule
        let condition = try Precondition(request)
        let mustBeNew = try Precondition.mustBeNew(request)
        let (space, _) = try await context.notifications(may: .read, rules.spaces)
        let exists = try await rules.store.read(name, in: space) != nil
        let author = try context.author(may: exists ? .update : .create, .notifications)
        let rule = try Rule(name: name, try await request.json(upTo: Rule.maximumSizeInBytes))
        try await rules.check(rule, in: space)
        let end = try await rules.end(for: rule, in: space)
        let written = try await rules.store.write(
            rule, condition, mustBeNew: mustBeNew, end: end, by: author, in: space)
        let secret = written.secret.map { #","secret":"# + $0.withValue(JSONValue.quote) } ?? ""
        var response = Response.json(written.json.dropLast() + secret + "}")
        if written.secret != nil { response = response.notStored }
        response.status = written.isNew ? .created : .ok
        response.headers[.eTag] = EntityTag(text: String(written.version)).header
        return response
    }
}

struct DeleteRule: Endpoint {
    static let route = Route(
        .delete, "/notifications/rules/{name}", "deleteNotificationRule",
        "Deletes a rule. Messages it has sent remain.",
        callers: .manager(.delete, .notifications),
        parameters: [
            .ruleName,
            .header("If-Match", .string, "The version that the rule must have, such as `\"3\"`."),
        ],
        answers: [
            .answer(204, "The rule is deleted.")
        ],
        errors: [
            404: "The app has no such rule (`rule-not-found`).",
            412: "The rule does not have the version in `If-Match` (`precondition-failed`).",
        ])

    let rules: Rules

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.notifications(may: .delete, rules.spaces)
        try await rules.store.delete(try context.rule, try Precondition(request), in: space)
        return Response(status: .noContent)
    }
}

struct RotateRuleSecret: Endpoint {
    static let route = Route(
        .post, "/notifications/rules/{name}/secret", "rotateNotificationRuleSecret",
        "Replaces the secret of the rule's webhook. For one day, requests are also signed with the previous secret.",
        callers: .manager(.update, .notifications),
        parameters: [
            .ruleName
        ],
        answers: [
            .answer(200, "The new `secret`. It is not shown again.", .json(.object))
        ],
        errors: [404: "The app has no such rule (`rule-not-found`).", 409: "The rule has no webhook (`conflict`)."])

    let rules: Rules

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.notifications(may: .update, rules.spaces)
        let secret = try await rules.store.rotateSecret(of: try context.rule, in: space)
        return Response.json(#"{"secret":\#(secret.withValue(JSONValue.quote))}"#).notStored
    }
}

struct ListRuleRuns: Endpoint {
    static let route = Route(
        .get, "/notifications/rules/{name}/runs", "listNotificationRuleRuns",
        "Lists the latest runs of a rule and their outcomes, newest first.",
        callers: .manager(.read, .notifications),
        parameters: [
            .ruleName,
            .query("before", .integer, "The `next` value of the previous page."),
            .query("limit", .integer.range(1, 100).defaulting(to: 20)),
        ],
        answers: [
            .answer(200, "A page of runs, with `next` if there are more.", .json(.object))
        ],
        errors: [404: "The app has no such rule (`rule-not-found`)."])

    let rules: Rules

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.notifications(may: .read, rules.spaces)
        let limit = try context.integer("limit")
        let before = try request.uri.queryParameters["before"].map { text in
            guard let number = Int64(text) else {
                throw ServiceError(.invalidParameter, "Expected the id of a run.", field: "before")
            }
            return number
        }
        let name = try context.rule
        guard try await rules.store.read(name, in: space) != nil else { throw ServiceError(.ruleNotFound) }
        let runs = try await rules.store.runs(of: name, before: before, limit: limit + 1, in: space)
        let page = runs.prefix(limit)
        return .page(page.map(\.json), next: runs.count > limit ? page.last.map { String($0.id) } : nil)
    }
}

extension Rules {
    /// Checks that everything the rule refers to exists.
    ///
    /// - Throws: `template-not-found`; `invalid-body` that names the field.
    func check(_ rule: Rule, in space: Space) async throws {
        switch rule.content {
        case nil: break
        case .template(let name):
            guard try await actionBuilder.templates.find(name, in: space) != nil else {
                throw ServiceError(.templateNotFound, "There is no template \(name).", field: "template")
            }
        case .own(let json):
            _ = try MessageContent(json)
            if let sentence = Self.fault(in: json) { throw ServiceError(.invalidBody, sentence, field: "content") }
        }
        if let sentence = Self.fault(in: .object(rule.variables)) {
            throw ServiceError(.invalidBody, sentence, field: "variables")
        }
        if case .audience(let json) = rule.recipients.sources.first { _ = try Audience(json) }
        if let mail = rule.mail { try await check(mail, in: space) }
        if let url = rule.webhookURL { try await webhooks.sender.check(url, field: "webhook.url") }
    }

    /// - Throws: `not-implemented` when no mail can be sent, `template-not-found`, `invalid-body`.
    private func check(_ mail: RuleMail, in space: Space) async throws {
        guard try await actionBuilder.mail.senders.transport(of: space) != nil else { throw ServiceError.noMailServer }
        let name = mail.content.template ?? ""
        guard try await !actionBuilder.mail.templates.all(name, in: space).isEmpty else {
            throw ServiceError(.templateNotFound, "There is no mail template \(name).", field: "mail.template")
        }
        let variables = mail.content.variables.map { JSONValue.Member($0.key, .string($0.value)) }
        if let sentence = Self.fault(in: .object(variables)) {
            throw ServiceError(.invalidBody, sentence, field: "mail.variables")
        }
    }

    /// The fault in the placeholders of texts; nil if there is none.
    private static func fault(in json: JSONValue) -> String? {
        do {
            _ = try FilledText.fill(json, Facts([]))
            return nil
        } catch {
            return RuleActionBuilder.sentence(error)
        }
    }

    /// The end of storage's change log, for a rule on changes.
    ///
    /// - Throws: `unavailable` when storage does not answer.
    func end(for rule: Rule, in space: Space) async throws -> StorageClient.Page? {
        guard let collection = rule.trigger.collection, rule.isEnabled else { return nil }
        do {
            return try await storage.page(of: [collection], after: nil, waiting: 0, in: space)
        } catch ServiceCalls.Failure.status(400..<429, _) {
            throw ServiceError(.invalidBody, "There is no such collection.", field: "when.collection")
        } catch let error where error is ServiceCalls.Failure || error is OutgoingFailure {
            throw ServiceError(.unavailable, "Storage is unavailable. Try again.", cause: "\(error)")
        }
    }
}

extension ServiceContext {
    /// - Throws: `invalid-name`.
    var rule: String {
        get throws { try Rule.checked(parameters.get("name") ?? "") }
    }
}

import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletMail
import MartletPostgres

/// An action that a rule is about to take, with all data already loaded: one transaction can perform it.
struct RuleAction: Sendable {
    /// The cause of the action, the same whenever it is processed again: `change:<number>/<time>`, `tick:<time>`,
    /// `alert:<id>`.
    let cause: String
    let rule: Rule
    /// The time of the cause. Limits count by it, so that a backlog processed late is not mistaken for a flood.
    let at: Date
    /// `Collection/id`; nil if the action concerns no object.
    var object: String?
    var recipients = ActionRecipients()
    var content: MessageContent?
    /// The body for the webhook.
    var webhookBody: String?
    var mail: MailAction?
    /// Why the action fails; nil if it does not.
    var failure: String?
}

/// Builds actions from rules and facts.
struct RuleActionBuilder: Sendable {
    let templates: TemplateStore
    let mail: Mail
    let now: @Sendable () -> Date

    /// The action of a rule; nil if the rule does not apply to the facts.
    ///
    /// - Throws: `CancellationError`, `PostgresError` and the errors of `ServiceCalls.post`, which are worth a retry.
    ///   Faults of the rule itself are stored in the action.
    func action(
        _ rule: Rule, on facts: Facts, cause: String, at time: Date, object: String? = nil, _ lookUp: RecipientLookUp,
        in space: Space
    ) async throws -> RuleAction? {
        var action = RuleAction(cause: cause, rule: rule, at: time, object: object)
        do {
            guard try rule.condition.failure(facts) == nil else { return nil }
            try await complete(&action, facts, lookUp, in: space)
        } catch {
            guard let sentence = Self.sentence(error) else { throw error }
            action.failure = sentence
        }
        return action
    }

    /// - Throws: The errors of the parts, such as `RuleFailure` and `ServiceError`.
    func complete(_ action: inout RuleAction, _ facts: Facts, _ lookUp: RecipientLookUp, in space: Space) async throws {
        action.recipients = try await lookUp.recipients(action.rule.recipients, facts)
        if action.rule.content != nil { action.content = try await content(of: action.rule, facts, in: space) }
        if action.rule.webhookURL != nil { action.webhookBody = webhookBody(action.rule, facts, space) }
        action.mail = try await mail(of: action, facts, lookUp, in: space)
    }

    /// The reason for the rule's owner; nil for errors that are worth a retry.
    static func sentence(_ error: any Error) -> String? {
        switch error {
        case let failure as RuleFailure: failure.sentence
        case let error as TextTemplateError: error.sentence
        case let problem as ServiceError:
            [problem.field, problem.detail ?? problem.code.title].compactMap(\.self).joined(separator: ": ")
        case is CancellationError, is PostgresError, is ServiceCalls.Failure, is OutgoingFailure: nil
        default: "\(error)"
        }
    }

    private func content(of rule: Rule, _ facts: Facts, in space: Space) async throws -> MessageContent? {
        switch rule.content {
        case nil: return nil
        case .own(let json): return try MessageContent(try FilledText.fill(json, facts))
        case .template(let name):
            // Drop empty values, so that sections for them are left out.
            let variables = try rule.variables.compactMap { member -> JSONValue.Member? in
                let value = try FilledText.fill(member.value, facts)
                return value == .string("") ? nil : .init(member.name, value)
            }
            return try await templates.content(of: name, variables: .object(variables), in: space)
        }
    }

    /// The webhook body `{"type","timestamp","data"}`, as recommended by Standard Webhooks.
    private func webhookBody(_ rule: Rule, _ facts: Facts, _ space: Space) -> String {
        let type =
            switch rule.trigger {
            case .change: "rule.change"
            case .schedule: "rule.schedule"
            case .alert: "rule.alert"
            }
        return """
            {"type":"\(type)","timestamp":"\(now().formatted(.iso8601))","data":{"rule":\(JSONValue.quote(rule.name)),"app":\(JSONValue.quote(space.appID)),\
            "environment":"\(space.environment.rawValue)","facts":\(facts.json.text)}}
            """
    }
}

import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletMail
import MartletPostgres

/// What a rule is about to do, with everything that had to be asked for: what is left is one transaction.
struct RuleAct: Sendable {
    /// What made the rule act, the same whenever it is looked at again: `change:<number>/<time>`, `tick:<time>`,
    /// `alert:<id>`.
    let cause: String
    let rule: Rule
    /// When that was: how often a rule acts is counted by it, so that what waited while nobody looked is no flood.
    let at: Date
    /// `Collection/id`; nil: it is about none.
    var object: String?
    var recipients = ActRecipients()
    var content: MessageContent?
    /// What the webhook is told.
    var webhookBody: String?
    var mail: MailAct?
    /// Why it does not.
    var failure: String?
}

/// Makes acts of rules and facts.
struct RuleActionBuilder: Sendable {
    let templates: TemplateStore
    let mail: Mail

    /// Nil: the rule does not act on this.
    ///
    /// - Throws: `CancellationError`, as `ServiceCalls.post`, `PostgresError`: what is worth another attempt. What is
    ///   wrong with the rule is in the act.
    func act(
        _ rule: Rule, on facts: Facts, cause: String, at time: Date, object: String? = nil, _ lookUp: RecipientLookUp,
        in space: Space
    ) async throws -> RuleAct? {
        var act = RuleAct(cause: cause, rule: rule, at: time, object: object)
        do {
            guard try rule.condition.failure(facts) == nil else { return nil }
            try await complete(&act, facts, lookUp, in: space)
        } catch {
            guard let sentence = Self.sentence(error) else { throw error }
            act.failure = sentence
        }
        return act
    }

    /// - Throws: as the parts do; `RuleFailure`, `HTTPProblem` and so on.
    func complete(_ act: inout RuleAct, _ facts: Facts, _ lookUp: RecipientLookUp, in space: Space) async throws {
        act.recipients = try await lookUp.recipients(act.rule.recipients, facts)
        if act.rule.content != nil { act.content = try await content(of: act.rule, facts, in: space) }
        if act.rule.webhookURL != nil { act.webhookBody = Self.webhookBody(act.rule, facts, space) }
        act.mail = try await mail(of: act, facts, lookUp, in: space)
    }

    /// Nil for what may go better another time.
    static func sentence(_ error: any Error) -> String? {
        switch error {
        case let failure as RuleFailure: failure.sentence
        case let error as TextTemplateError: error.sentence
        case let problem as HTTPProblem:
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
            // What has nothing to show has no value: sections ask for that.
            let variables = try rule.variables.compactMap { member -> JSONValue.Member? in
                let value = try FilledText.fill(member.value, facts)
                return value == .string("") ? nil : .init(member.name, value)
            }
            return try await templates.content(of: name, variables: .object(variables), in: space)
        }
    }

    /// `{"type","timestamp","data"}`, as the Standard Webhooks scheme recommends.
    private static func webhookBody(_ rule: Rule, _ facts: Facts, _ space: Space) -> String {
        let type =
            switch rule.trigger {
            case .change: "rule.change"
            case .schedule: "rule.schedule"
            case .alert: "rule.alert"
            }
        return """
            {"type":"\(type)","timestamp":"\(Date().formatted(.iso8601))","data":{"rule":\(JSONValue.quote(rule.name)),"app":\(JSONValue.quote(space.appID)),\
            "environment":"\(space.environment.rawValue)","facts":\(facts.json.text)}}
            """
    }
}

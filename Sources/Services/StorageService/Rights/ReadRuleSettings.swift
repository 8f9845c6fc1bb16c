import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

struct ReadRuleSettings: Endpoint {
    static let route = Route(
        .get, "/rules/settings", "readRuleSettings",
        "Returns what clients may do in this environment where no rule says otherwise.",
        callers: .manager(.read, .storage),
        answers: [
            .answer(200, "The settings.", .json(.ruleSettings))
        ])

    let rules: RulesStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        .json(#"{"access":"\#(try await rules.access(in: context.space).rawValue)"}"#)
    }
}

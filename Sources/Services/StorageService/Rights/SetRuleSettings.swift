import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// Takes effect immediately in this copy of the service and within a second in the others. Streams that lose their
/// rights end.
struct SetRuleSettings: Endpoint {
    static let route = Route(
        .put, "/rules/settings", "setRuleSettings",
        "Sets what clients may do in this environment where no rule says otherwise.",
        callers: .manager(.update, .storage),
        details: """
            In a `closed` environment, an operation without a rule is granted to nobody but the master key, clients \
            cannot create collections, and a file without a list of readers or writers is the master key's. In an \
            `open` one, everyone who has the app may do what no rule restricts.
            """,
        body: .json(.ruleSettings),
        answers: [
            .answer(200, "The new settings.", .json(.ruleSettings))
        ],
        errors: [400: "`access` is neither `closed` nor `open` (`invalid-body`)."])

    let rules: RulesStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let access = try SpaceAccess(try await BodyFields(request, ["access"])["access"])
        try await rules.set(access, in: context.space)
        return .json(#"{"access":"\#(access.rawValue)"}"#)
    }
}

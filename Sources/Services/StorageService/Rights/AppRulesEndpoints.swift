import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

struct ReadAllRules: Endpoint {
    static let route = Route(
        .get, "/rules", "readAllRules", "Returns the rules of all collections, as one document.",
        callers: .manager(.read, .storage),
        answers: [
            .answer(200, "The rules. `base` identifies this state of them.", .json(.appRules))
        ])

    let rules: RulesStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        .json(try await rules.readAll(of: context.space).json.text)
    }
}

/// Takes effect like `SetRules`. What a plan shows is validated as if it were set.
struct SetAllRules: Endpoint {
    static let route = Route(
        .put, "/rules", "setAllRules", "Sets the rules of many collections, all or none.",
        callers: .manager(.update, .storage),
        parameters: [
            .query("plan", .flag, "Whether to only show what would change.")
        ],
        details: """
            Collections that are not named keep their rules; missing ones are created. Without `access`, the \
            environment stays as it is. With `base`, the rules are only set if nobody has changed any since they were \
            read.
            """,
        body: .json(.appRules, text: "The rules, at most 4 MiB."),
        answers: [
            .answer(200, "What has changed, or would change.", .json(.rulesPlan))
        ],
        errors: [
            400: "A rule is wrong; `field` names the place (`invalid-body`, `invalid-filter` and others).",
            412: "The rules have changed since `base` was read (`precondition-failed`).",
        ])

    let rules: RulesStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let isPlan = try ListQuery.flag("plan", in: request)
        let space = try context.space
        let new = try AppRules(try await request.json(upTo: AppRules.maximumSizeInBytes))
        let plan =
            isPlan
            ? try await rules.plan(new, of: space)
            : try await rules.set(new, of: space, by: context.principal.author)
        return .json(plan.json.text)
    }
}

import Hummingbird
import MartletAPI
import MartletHTTP

struct ListHookFailures: Endpoint {
    static let route = Route(
        .get, "/hooks/{name}/failures", "listHookFailures",
        "Lists the most recent failed calls of a hook or function, newest first.", callers: .manager(.read, .storage),
        parameters: [
            .hookName,
            .query("limit", .integer.range(1, 100).defaulting(to: 20)),
        ],
        answers: [
            .answer(
                200, "The recorded failures. At most one per second is recorded.",
                .json(
                    .object(
                        [
                            "count": .integer,
                            "data": .array(of: .hookFailure),
                        ], required: ["count", "data"])))
        ],
        errors: [404: "The app has no such hook (`hook-not-found`)."])

    let hooks: HookStore
    let ledger: HookLedger

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (name, space) = (try context.hookName, try context.space)
        let limit =
            try request.uri.queryParameters["limit"].map {
                try ListQuery.integer($0, "limit", in: 1...HookLedger.maximumFailures)
            }
            ?? 20
        _ = try await hooks.find(name, of: space)
        return try .list(try await ledger.failures(of: name, limit: limit, in: space))
    }
}

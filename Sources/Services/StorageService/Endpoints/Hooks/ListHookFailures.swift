import Hummingbird
import MartletHTTP

/// `GET /hooks/{name}/failures?limit=`: the last calls of a hook that failed, newest first; master key.
struct ListHookFailures: Endpoint {
    static let route = Route(
        .get, "/hooks/{name}/failures", "listHookFailures",
        "The last calls of a hook or function that failed, newest first.", callers: .server,
        parameters: [
            .path("name", .string, "A letter, then at most 62 letters, digits, `_` or `-`."),
            .query("limit", .integer.range(1, 100).defaulting(to: 20)),
        ],
        answers: [
            .answer(
                200, "At most one a second is kept.",
                .json(
                    .object(
                        [
                            "count": .integer,
                            "data": .array(of: .hookFailure),
                        ], required: ["count", "data"])))
        ],
        errors: [404: "There is no such hook (`hook-not-found`)."])

    let hooks: HookStore
    let ledger: HookLedger

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (name, space) = (try context.hookName, try context.managedSpace)
        let limit =
            try request.uri.queryParameters["limit"].map { try ListQuery.integer($0, "limit", in: 1...HookLedger.kept) }
            ?? 20
        _ = try await hooks.find(name, of: space)
        return try .list(try await ledger.failures(of: name, limit: limit, in: space))
    }
}

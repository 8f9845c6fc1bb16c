import Hummingbird
import MartletHTTP

/// `GET /hooks/{name}/failures?limit=`: the last calls of a hook that failed, newest first; master key.
struct ListHookFailures: Endpoint {
    let hooks: HookStore
    let ledger: HookLedger

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try request.allowParameters(["limit"])
        let (name, space) = (try context.hookName, try context.managedSpace)
        let limit =
            try request.uri.queryParameters["limit"].map { try ListQuery.integer($0, "limit", in: 1...HookLedger.kept) }
            ?? 20
        _ = try await hooks.find(name, of: space)
        return try .list(try await ledger.failures(of: name, limit: limit, in: space))
    }
}

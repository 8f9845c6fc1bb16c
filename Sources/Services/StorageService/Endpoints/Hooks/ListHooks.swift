import Hummingbird
import MartletHTTP

/// `GET /hooks`: the app's hooks, by name, without their secrets; master key.
struct ListHooks: Endpoint {
    let hooks: HookStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try request.allowParameters()
        return try .list(try await hooks.list(of: context.managedSpace).map(HookBody.init))
    }
}

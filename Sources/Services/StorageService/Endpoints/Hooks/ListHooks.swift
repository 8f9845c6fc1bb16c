import Hummingbird
import MartletHTTP

/// `GET /hooks`: the app's hooks, by name, without their secrets; master key.
struct ListHooks: Endpoint {
    static let route = Route(
        .get, "/hooks", "listHooks", "The app's hooks, by name, without their secrets.", callers: .server,
        answers: [
            .answer(200, "`{\"count\":n,\"data\":[<hook>]}`")
        ])

    let hooks: HookStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        return try .list(try await hooks.list(of: context.managedSpace).map(HookBody.init))
    }
}

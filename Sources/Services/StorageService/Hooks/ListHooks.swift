import Hummingbird
import MartletAPI
import MartletHTTP

struct ListHooks: Endpoint {
    static let route = Route(
        .get, "/hooks", "listHooks", "Lists the app's hooks by name, without their secrets.",
        callers: .manager(.read, .storage),
        answers: [
            .answer(200, "`count`, and the hooks in `data`.")
        ])

    let hooks: HookStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        return try .list(try await hooks.list(of: context.space).map(HookBody.init))
    }
}

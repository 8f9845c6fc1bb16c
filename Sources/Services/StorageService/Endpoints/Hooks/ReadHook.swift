import Hummingbird
import MartletHTTP

/// `GET /hooks/{name}`: a hook without its secret; master key.
struct ReadHook: Endpoint {
    let hooks: HookStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try request.allowParameters()
        let (name, space) = (try context.hookName, try context.managedSpace)
        return try .encoding(HookBody(try await hooks.find(name, of: space)))
    }
}

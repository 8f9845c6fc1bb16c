import Hummingbird
import MartletHTTP

/// `GET /hooks/{name}`: a hook without its secret; master key.
struct ReadHook: Endpoint {
    static let route = Route(
        .get, "/hooks/{name}", "readHook", "A hook, without its secret.", callers: .server,
        parameters: [
            .path("name", .string, "A letter, then at most 62 letters, digits, `_` or `-`.")
        ],
        answers: [
            .answer(200, "The hook.", .json(.hook))
        ],
        errors: [404: "There is no such hook (`hook-not-found`)."])

    let hooks: HookStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (name, space) = (try context.hookName, try context.managedSpace)
        return try .encoding(HookBody(try await hooks.find(name, of: space)))
    }
}

import Hummingbird
import MartletAPI
import MartletHTTP

struct ReadHook: Endpoint {
    static let route = Route(
        .get, "/hooks/{name}", "readHook", "Returns a hook, without its secret.", callers: .manager(.read, .storage),
        parameters: [
            .hookName
        ],
        answers: [
            .answer(200, "The hook.", .json(.hook))
        ],
        errors: [404: "The app has no such hook (`hook-not-found`)."])

    let hooks: HookStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (name, space) = (try context.hookName, try context.space)
        return try .encoding(HookBody(try await hooks.find(name, of: space)))
    }
}

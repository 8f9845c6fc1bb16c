import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

struct DeleteHook: Endpoint {
    static let route = Route(
        .delete, "/hooks/{name}", "deleteHook", "Deletes a hook and its outstanding deliveries.",
        callers: .manager(.delete, .storage),
        parameters: [
            .hookName
        ],
        answers: [
            .answer(204, "The hook is deleted.")
        ],
        errors: [404: "The app has no such hook (`hook-not-found`)."])

    let hooks: HookStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (name, space) = (try context.hookName, try context.space)
        guard try await hooks.delete(name, of: space) else { throw ServiceError(.hookNotFound) }
        return Response(status: .noContent)
    }
}

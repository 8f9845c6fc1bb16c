import Hummingbird
import MartletAPI
import MartletHTTP

/// `DELETE /hooks/{name}`: 204; what it was not told yet is given up. Master key.
struct DeleteHook: Endpoint {
    static let route = Route(
        .delete, "/hooks/{name}", "deleteHook", "Deletes a hook; what it was not told yet is given up.",
        callers: .server,
        parameters: [
            .path("name", .string, "A letter, then at most 62 letters, digits, `_` or `-`.")
        ],
        answers: [
            .answer(204, "The hook is gone.")
        ],
        errors: [404: "There is no such hook (`hook-not-found`)."])

    let hooks: HookStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (name, space) = (try context.hookName, try context.managedSpace)
        guard try await hooks.delete(name, of: space) else { throw HTTPProblem(.hookNotFound) }
        return Response(status: .noContent)
    }
}

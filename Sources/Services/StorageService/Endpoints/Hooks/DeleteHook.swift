import Hummingbird
import MartletAPI
import MartletHTTP

/// `DELETE /hooks/{name}`: 204; what it was not told yet is given up. Master key.
struct DeleteHook: Endpoint {
    let hooks: HookStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try request.allowParameters()
        let (name, space) = (try context.hookName, try context.managedSpace)
        guard try await hooks.delete(name, of: space) else { throw HTTPProblem(.hookNotFound) }
        return Response(status: .noContent)
    }
}

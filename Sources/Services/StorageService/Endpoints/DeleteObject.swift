import Hummingbird
import MartletAPI
import MartletHTTP

/// `DELETE /storage/{collection}/{id}`: deletes the object for good, 204. `If-Match` as in `ReplaceObject`.
struct DeleteObject: Endpoint {
    let objects: ObjectStore
    let rights: RightsStore
    let before: BeforeHooks

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try request.allowParameters()
        let (scope, id) = (try await context.scope(rights), try context.objectID)
        let precondition = try Precondition(request)
        _ = try await before.asked(.delete(id), in: scope)
        guard try await objects.delete(id, if: precondition, in: scope) else {
            throw HTTPProblem(.objectNotFound)
        }
        return Response(status: .noContent)
    }
}

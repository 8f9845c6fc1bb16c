import Hummingbird
import MartletAPI
import MartletHTTP

/// `POST /storage/remove/{collection}/{id}`: marks the object removed; `deleted=true` still reads it. `If-Match` as in `ReplaceObject`.
struct RemoveObject: Endpoint {
    let objects: ObjectStore
    let rights: RightsStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try request.allowParameters()
        let (scope, id) = (try await context.scope(rights), try context.objectID)
        guard let removed = try await objects.remove(id, if: try Precondition(request), in: scope) else {
            throw HTTPProblem(.objectNotFound)
        }
        return try .object(removed)
    }
}

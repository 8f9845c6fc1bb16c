import Hummingbird
import MartletAPI
import MartletHTTP

/// `DELETE /storage/{collection}/{id}`: deletes the object for good, 204. `If-Match` as in `ReplaceObject`.
struct DeleteObject: Endpoint {
    static let route = Route(
        .delete, "/storage/{collection}/{id}", "deleteObject", "Deletes the object for good.", callers: .client,
        parameters: [
            .path(
                "collection", .collectionName,
                "Name of a collection; not `all`, `query`, `remove`, `batch`, `aggregate` or `distinct`."),
            .path("id", .objectID),
        ],
        answers: [
            .answer(204, "The object is gone.")
        ],
        errors: [404: "There is no such object (`object-not-found`), in no or in this collection."])

    let objects: ObjectStore
    let rights: RightsStore
    let before: BeforeHooks

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (scope, id) = (try await context.scope(rights), try context.objectID)
        let precondition = try Precondition(request)
        _ = try await before.asked(.delete(id), in: scope)
        guard try await objects.delete(id, if: precondition, in: scope) else {
            throw HTTPProblem(.objectNotFound)
        }
        return Response(status: .noContent)
    }
}

import Hummingbird
import MartletAPI
import MartletHTTP
import NIOCore

/// `POST /storage/remove/{collection}/{id}`: marks the object removed; `deleted=true` still reads it. `If-Match` as in
/// `ReplaceObject`.
struct RemoveObject: Endpoint {
    static let route = Route(
        .post, "/storage/remove/{collection}/{id}", "removeObject", "Marks the object removed.", callers: .client,
        parameters: [
            .path(
                "collection", .collectionName,
                "Name of a collection; not `all`, `query`, `remove`, `batch`, `aggregate` or `distinct`."),
            .path("id", .objectID),
        ],
        details: """
            Reads leave it out unless they say `deleted=true`. A post with its `_id` brings it back. The call \
            takes no body.
            """,
        answers: [
            .answer(200, "The object as it is stored.", .json(.storedObject))
        ],
        errors: [
            404: "There is no such object (`object-not-found`), in no or in this collection.",
            412: "If-Match is not met.",
        ])

    let idempotency: Idempotency
    let rights: RightsStore
    let before: BeforeHooks

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (scope, id) = (try await context.scope(rights), try context.objectID)
        let precondition = try Precondition(request)
        if try await before.concern([.beforeDelete], in: scope) {
            if let earlier = try await idempotency.earlier(request, ByteBuffer(), in: scope) { return earlier }
            _ = try await before.asked(.remove(id), in: scope)
        }
        return try await idempotency.perform(request, ByteBuffer(), in: scope) { objects in
            guard let removed = try await objects.remove(id, if: precondition, in: scope) else {
                throw HTTPProblem(.objectNotFound)
            }
            return try .object(removed)
        }
    }
}

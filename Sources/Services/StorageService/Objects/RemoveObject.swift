import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import NIOCore

/// Respects `If-Match` as `ReplaceObject` does.
struct RemoveObject: Endpoint {
    static let route = Route(
        .post, "/storage/remove/{collection}/{id}", "removeObject", "Marks an object as removed.",
        callers: .clientOrStaff([.delete], .storage),
        parameters: [
            .collection,
            .path("id", .objectID),
            .ifMatch,
            .idempotencyKey,
        ],
        details: """
            Reads omit a removed object unless they have `deleted=true`. Storing an object with its `_id` restores \
            it. The request has no body.
            """,
        body: .json(.object, text: "Ignored.", isRequired: false),
        answers: [
            .answer(200, "The object as stored.", .json(.storedObject))
        ],
        errors: [
            404: "The object does not exist, or the caller may not see it (`object-not-found`).",
            412: "The entity tag does not match `If-Match` (`precondition-failed`).",
        ])

    let idempotency: Idempotency
    let rights: RightsStore
    let before: BeforeHooks

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (scope, id) = (try await context.scope(rights, for: [.delete]), try context.objectID)
        let precondition = try Precondition(request)
        if try await before.hasHook(for: [.beforeDelete], in: scope) {
            if let earlier = try await idempotency.earlier(request, ByteBuffer(), in: scope) { return earlier }
            _ = try await before.callHooks(for: .remove(id), in: scope)
        }
        return try await idempotency.perform(request, ByteBuffer(), in: scope) { objects in
            let current = try await context.refreshed(scope, rights)
            guard let removed = try await objects.remove(id, if: precondition, in: current) else {
                throw ServiceError(.objectNotFound)
            }
            return try .object(removed)
        }
    }
}

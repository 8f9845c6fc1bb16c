import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import NIOCore

/// Respects `If-Match` as `ReplaceObject` does.
struct DeleteObject: Endpoint {
    static let route = Route(
        .delete, "/storage/{collection}/{id}", "deleteObject", "Deletes an object permanently.",
        callers: .clientOrStaff([.delete], .storage),
        parameters: [
            .collection,
            .path("id", .objectID),
            .ifMatch,
            .idempotencyKey,
        ],
        answers: [
            .answer(204, "The object is deleted.")
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
            _ = try await before.callHooks(for: .delete(id), in: scope)
        }
        return try await idempotency.perform(request, ByteBuffer(), in: scope) { objects in
            let current = try await context.refreshed(scope, rights)
            guard try await objects.delete(id, if: precondition, in: current) else {
                throw ServiceError(.objectNotFound)
            }
            return Response(status: .noContent)
        }
    }
}

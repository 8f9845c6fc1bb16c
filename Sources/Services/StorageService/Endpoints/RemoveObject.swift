import Hummingbird
import MartletAPI
import MartletHTTP
import NIOCore

/// `POST /storage/remove/{collection}/{id}`: marks the object removed; `deleted=true` still reads it. `If-Match` as in
/// `ReplaceObject`.
struct RemoveObject: Endpoint {
    let idempotency: Idempotency
    let rights: RightsStore
    let before: BeforeHooks

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try request.allowParameters()
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

import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// Fields that are hidden from the caller keep their values. If the entity tag does not match `If-Match`, nothing is
/// written.
struct ReplaceObject: Endpoint {
    static let route = Route(
        .put, "/storage/{collection}/{id}", "replaceObject", "Replaces an object.",
        callers: .clientOrStaff([.update], .storage),
        parameters: [
            .collection,
            .path("id", .objectID),
            .ifMatch,
            .idempotencyKey,
        ],
        details:
            "The object must exist; a removed one is 404. If the body has an `_id`, it must be the one in the path.",
        body: .json(.document, text: "The object, at most 1 MiB."),
        answers: [
            .answer(200, "The object as stored.", .json(.storedObject))
        ],
        errors: [
            404: "The object does not exist, or the caller may not see it (`object-not-found`).",
            409: "Another object has the same values in a unique index (`conflict`).",
            412: "The entity tag does not match `If-Match` (`precondition-failed`).",
        ])

    let idempotency: Idempotency
    let rights: RightsStore
    let before: BeforeHooks

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (scope, id) = (try await context.scope(rights, for: [.update]), try context.objectID)
        let precondition = try Precondition(request)
        let body = try await request.wholeBody(upTo: Document.maximumSizeInBytes)
        let sent = try Document(body, replacing: id)
        let hasHook = try await before.hasHook(for: [.beforeSave], in: scope)
        if hasHook, let earlier = try await idempotency.earlier(request, body, in: scope) { return earlier }
        let document = hasHook ? try await before.documentToSave(.replace(id, sent), sent, in: scope) : sent
        return try await idempotency.perform(request, body, in: scope) { objects in
            let current = try await context.refreshed(scope, rights)
            guard let written = try await objects.replace(id, with: document, if: precondition, in: current) else {
                throw ServiceError(.objectNotFound)
            }
            return try .object(written)
        }
    }
}

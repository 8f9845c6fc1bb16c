import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// Also carries out the operations in the body. With `If-Match`, `upsert` has no effect.
struct ChangeObject: Endpoint {
    static let route = Route(
        .patch, "/storage/{collection}/{id}", "changeObject",
        "Sets the top-level fields in the body and keeps the others.", callers: .clientOrStaff([.update], .storage),
        parameters: [
            .collection,
            .path("id", .objectID),
            .query("upsert", .flag, "Whether to create the object if it does not exist."),
            .ifMatch,
            .idempotencyKey,
        ],
        details: "A null is stored as null; it does not remove the field.",
        body: .json(.document, text: "The object, at most 1 MiB."),
        answers: [
            .answer(200, "The object as stored.", .json(.storedObject)),
            .answer(201, "The created object (`upsert`).", .json(.storedObject)),
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
        let isUpsert = try ListQuery.flag("upsert", in: request)
        let body = try await request.wholeBody(upTo: Document.maximumSizeInBytes)
        let sent = try Document(body, replacing: id, allowingOperations: true)
        let hasHook = try await before.hasHook(for: [.beforeSave], in: scope)
        if hasHook, let earlier = try await idempotency.earlier(request, body, in: scope) { return earlier }
        let write = BeforeHooks.Write.change(id, sent, isUpsert: isUpsert && precondition == nil)
        let document = hasHook ? try await before.documentToSave(write, sent, in: scope) : sent
        return try await idempotency.perform(request, body, in: scope) { objects in
            let current = try await context.refreshed(scope, rights)
            if let written = try await objects.change(id, by: document, if: precondition, in: current) {
                return try .object(written)
            }
            guard isUpsert, precondition == nil else { throw ServiceError(.objectNotFound) }
            return try .object(
                try await objects.create(document, at: id, mustBeNew: true, in: current), status: .created)
        }
    }
}

import Hummingbird
import MartletAPI
import MartletHTTP

/// `PUT /storage/{collection}/{id}`: the body takes the place of the stored document; fields hidden from the asker
/// stay.
///
/// `If-Match` holds it back when the object has another entity tag, 412. Answers the object as it is stored.
struct ReplaceObject: Endpoint {
    static let route = Route(
        .put, "/storage/{collection}/{id}", "replaceObject", "Puts a new document in place of the stored one.",
        callers: .client,
        parameters: [
            .path(
                "collection", .collectionName,
                "Name of a collection; not `all`, `query`, `remove`, `batch`, `aggregate` or `distinct`."),
            .path("id", .objectID),
        ],
        details: "The object must exist and not be removed. The body may name the same `_id`.",
        body: .json(.document, text: "At most 1 MiB."),
        answers: [
            .answer(200, "The object as it is stored.", .json(.storedObject))
        ],
        errors: [
            404: "There is no such object (`object-not-found`), in no or in this collection.",
            409: "The name is taken, or a unique index forbids it (`conflict`).", 412: "If-Match is not met.",
        ])

    let idempotency: Idempotency
    let rights: RightsStore
    let before: BeforeHooks

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (scope, id) = (try await context.scope(rights), try context.objectID)
        let precondition = try Precondition(request)
        let body = try await request.wholeBody(upTo: Document.maximumSizeInBytes)
        let sent = try Document(body, replacing: id)
        let isAsked = try await before.concern([.beforeSave], in: scope)
        if isAsked, let earlier = try await idempotency.earlier(request, body, in: scope) { return earlier }
        let document = isAsked ? try await before.saving(.replace(id, sent), sent, in: scope) : sent
        return try await idempotency.perform(request, body, in: scope) { objects in
            guard let written = try await objects.replace(id, with: document, if: precondition, in: scope) else {
                throw HTTPProblem(.objectNotFound)
            }
            return try .object(written)
        }
    }
}

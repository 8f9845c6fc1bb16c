import Hummingbird
import MartletAPI
import MartletHTTP

/// `PATCH /storage/{collection}/{id}`: sets the fields in the body, carries out its operations and leaves the other
/// fields.
///
/// `If-Match` holds it back when the object has another entity tag, 412. Answers the object as it is stored.
/// With `upsert=true` an object that is not there is made, by the body and its operations, 201.
struct ChangeObject: Endpoint {
    static let route = Route(
        .patch, "/storage/{collection}/{id}", "changeObject",
        "Sets the top-level fields of the body and leaves the others.", callers: .client,
        parameters: [
            .path(
                "collection", .collectionName,
                "Name of a collection; not `all`, `query`, `remove`, `batch`, `aggregate` or `distinct`."),
            .path("id", .objectID),
            .query("upsert", .flag, "Whether an object that does not exist is created."),
        ],
        details: "A null is stored as null; this call removes no field.",
        body: .json(.document, text: "At most 1 MiB."),
        answers: [
            .answer(200, "The object as it is stored.", .json(.storedObject)),
            .answer(201, "The object was created (`upsert`).", .json(.storedObject)),
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
        let isUpsert = try request.uri.queryParameters["upsert"].map { try ListQuery.flag($0, "upsert") } ?? false
        let body = try await request.wholeBody(upTo: Document.maximumSizeInBytes)
        let sent = try Document(body, replacing: id, allowingOperations: true)
        let isAsked = try await before.concern([.beforeSave], in: scope)
        if isAsked, let earlier = try await idempotency.earlier(request, body, in: scope) { return earlier }
        let write = BeforeHooks.Write.change(id, sent, isUpsert: isUpsert && precondition == nil)
        let document = isAsked ? try await before.saving(write, sent, in: scope) : sent
        return try await idempotency.perform(request, body, in: scope) { objects in
            if let written = try await objects.change(id, by: document, if: precondition, in: scope) {
                return try .object(written)
            }
            guard isUpsert, precondition == nil else { throw HTTPProblem(.objectNotFound) }
            return try .object(try await objects.create(document, at: id, mustBeNew: true, in: scope), status: .created)
        }
    }
}

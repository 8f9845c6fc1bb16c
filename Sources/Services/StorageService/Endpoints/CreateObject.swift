import HTTPTypes
import Hummingbird
import MartletHTTP

/// `POST /storage/{collection}`: stores the object in the body, 201; with an `_id` that exists, replaces that one, 200.
///
/// Operations count from nothing. With `If-None-Match: *` an `_id` that exists is refused, 412. Answers the object as
/// it is stored.
struct CreateObject: Endpoint {
    static let route = Route(
        .post, "/storage/{collection}", "createObject", "Stores an object.", callers: .client,
        parameters: [
            .path(
                "collection", .collectionName,
                "Name of a collection; not `all`, `query`, `remove`, `batch`, `aggregate` or `distinct`.")
        ],
        details: """
            Makes the collection when it is not there. With an `_id` that exists, that object is replaced (and \
            brought back when it was removed); without an `_id` the server makes a UUID of version 7.
            """,
        body: .json(.document, text: "At most 1 MiB."),
        answers: [
            .answer(200, "The object replaced one with this `_id`.", .json(.storedObject)),
            .answer(201, "The object is new.", .json(.storedObject)),
        ],
        errors: [409: "The name is taken, or a unique index forbids it (`conflict`)."])

    let idempotency: Idempotency
    let rights: RightsStore
    let before: BeforeHooks

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let scope = try await context.scope(rights)
        let mustBeNew = try Precondition.mustBeNew(request)
        let body = try await request.wholeBody(upTo: Document.maximumSizeInBytes)
        let sent = try Document(body, allowingOperations: true)
        let isAsked = try await before.concern([.beforeSave], in: scope)
        if isAsked, let earlier = try await idempotency.earlier(request, body, in: scope) { return earlier }
        let document = isAsked ? try await before.saving(.create(sent, mustBeNew: mustBeNew), sent, in: scope) : sent
        return try await idempotency.perform(request, body, in: scope) { objects in
            let written = try await objects.create(document, mustBeNew: mustBeNew, in: scope)
            return try .object(written, status: written.isNew ? .created : .ok)
        }
    }
}

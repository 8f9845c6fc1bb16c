import HTTPTypes
import Hummingbird
import MartletHTTP

/// `POST /storage/all/{collection}`: stores an array of objects, all or none; ids as in `CreateObject`.
///
/// A `beforeSave` hook is asked about each, before anything is written.
///
/// Answers the envelope with the objects as they are stored, in the order sent.
struct CreateObjects: Endpoint {
    static let route = Route(
        .post, "/storage/all/{collection}", "createObjects", "Stores many objects, all or none.", callers: .client,
        parameters: [
            .path(
                "collection", .collectionName,
                "Name of a collection; not `all`, `query`, `remove`, `batch`, `aggregate` or `distinct`.")
        ],
        details: "Each as `createObject` stores one. Answers them in the order sent.",
        body: .json(.array(of: .document).maxItems(1_000), text: "At most 1,000 objects, 16 MiB together, 1 MiB each."),
        answers: [
            .page(201)
        ],
        errors: [409: "The name is taken, or a unique index forbids it (`conflict`)."])

    let idempotency: Idempotency
    let rights: RightsStore
    let before: BeforeHooks
    let envelope: Envelope

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let scope = try await context.scope(rights)
        var response = try await answer(to: request, scope)
        response.headers[.location] = "/storage/\(scope.collection.text)"
        return response
    }

    private func answer(to request: Request, _ scope: QueryScope) async throws -> Response {
        let body = try await request.wholeBody(upTo: Document.maximumBatchSizeInBytes)
        let isAsked = try await before.concern([.beforeSave], in: scope)
        if isAsked, let earlier = try await idempotency.earlier(request, body, in: scope) { return earlier }
        let documents = isAsked ? try await before.saving(body, in: scope) : try Documents(body)
        return try await idempotency.perform(request, body, in: scope) { objects in
            envelope.response(try await objects.createAll(documents, in: scope), of: scope.space, status: .created)
        }
    }
}

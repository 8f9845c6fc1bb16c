import HTTPTypes
import Hummingbird
import MartletAPI
import MartletHTTP

/// Calls `beforeSave` hooks for each object before anything is written.
struct CreateObjects: Endpoint {
    static let route = Route(
        .post, "/storage/all/{collection}", "createObjects", "Stores several objects, all or none.",
        callers: .clientOrStaff([.create], .storage),
        parameters: [
            .collection,
            .idempotencyKey,
        ],
        details: "Each object is stored as by `createObject`. The answer has the objects in the order of the request.",
        body: .json(
            .array(of: .document).maxItems(1_000), text: "Up to 1,000 objects, each of at most 1 MiB, 16 MiB in all."),
        answers: [
            .page(201)
        ],
        errors: [
            409: """
            Another object has the same values in a unique index, or an `_id` belongs to an object that the caller \
            may not see (`conflict`).
            """
        ])

    let idempotency: Idempotency
    let rights: RightsStore
    let before: BeforeHooks
    let envelope: Envelope

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let scope = try await context.scope(rights, for: [.create])
        var response = try await answer(to: request, context, scope)
        response.headers[.location] = "/storage/\(scope.collection.text)"
        return response
    }

    private func answer(
        to request: Request, _ context: ServiceContext, _ scope: QueryScope
    ) async throws -> Response {
        let body = try await request.wholeBody(upTo: Document.maximumBatchSizeInBytes)
        let hasHook = try await before.hasHook(for: [.beforeSave], in: scope)
        if hasHook, let earlier = try await idempotency.earlier(request, body, in: scope) { return earlier }
        let documents = hasHook ? try await before.documentsToSave(body, in: scope) : try Documents(body)
        return try await idempotency.perform(request, body, in: scope) { objects in
            let current = try await context.refreshed(scope, rights)
            let page = try await objects.createAll(documents, in: current)
            return envelope.response(page, of: scope.space, status: .created)
        }
    }
}

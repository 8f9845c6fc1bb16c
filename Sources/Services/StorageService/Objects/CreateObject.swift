import HTTPTypes
import Hummingbird
import MartletAPI
import MartletHTTP

/// Operations in the body apply to an empty object. `If-None-Match: *` refuses an `_id` that exists (412).
struct CreateObject: Endpoint {
    static let route = Route(
        .post, "/storage/{collection}", "createObject", "Stores an object.",
        callers: .clientOrStaff([.create], .storage),
        parameters: [
            .collection,
            .mustBeNew,
            .idempotencyKey,
        ],
        details: """
            Creates the collection if it does not exist. If an object with this `_id` exists, it is replaced, and \
            restored if it was removed. Without an `_id`, the server assigns a version 7 UUID.
            """,
        body: .json(.document, text: "The object, at most 1 MiB."),
        answers: [
            .answer(200, "The object as stored, in place of the earlier one with this `_id`.", .json(.storedObject)),
            .answer(201, "The new object as stored.", .json(.storedObject)),
        ],
        errors: [
            409: """
            Another object has the same values in a unique index, or the `_id` belongs to an object that the caller \
            may not see (`conflict`).
            """,
            412: "An object with this `_id` exists (`If-None-Match: *`; `precondition-failed`).",
        ])

    let idempotency: Idempotency
    let rights: RightsStore
    let before: BeforeHooks

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let scope = try await context.scope(rights, for: [.create])
        let mustBeNew = try Precondition.mustBeNew(request)
        let body = try await request.wholeBody(upTo: Document.maximumSizeInBytes)
        let sent = try Document(body, allowingOperations: true)
        let hasHook = try await before.hasHook(for: [.beforeSave], in: scope)
        if hasHook, let earlier = try await idempotency.earlier(request, body, in: scope) { return earlier }
        let write = BeforeHooks.Write.create(sent, mustBeNew: mustBeNew)
        let document = hasHook ? try await before.documentToSave(write, sent, in: scope) : sent
        return try await idempotency.perform(request, body, in: scope) { objects in
            let current = try await context.refreshed(scope, rights)
            let written = try await objects.create(document, mustBeNew: mustBeNew, in: current)
            return try .object(written, status: written.isNew ? .created : .ok)
        }
    }
}

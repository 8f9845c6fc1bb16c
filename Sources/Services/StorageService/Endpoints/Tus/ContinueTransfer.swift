import HTTPTypes
import Hummingbird
import MartletAPI
import MartletHTTP

/// `PATCH /files/tus/{id}` with `Upload-Offset`: takes the bytes that follow, 204 with the new offset. What arrived of
/// a body that broke off is kept. With the last byte the file is there, or the new version of it.
struct ContinueTransfer: Endpoint {
    static let route = Route(
        .patch, "/files/tus/{id}", "continueTransfer", "Takes the bytes that follow.", callers: .client,
        parameters: [
            .header("Tus-Resumable", .string, "1.0.0", isRequired: true),
            .header("Upload-Offset", .string, "Where the body begins.", isRequired: true),
        ],
        checksOwnQuery: true,
        body: .contents(.type("application/offset+octet-stream", .bytes)),
        answers: [
            .answer(204, "The new Upload-Offset.")
        ],
        errors: [409: "Another offset."])

    let uploads: TusUploads
    let rights: RightsStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try Tus.check(request)
        guard request.headers[.contentType] == "application/offset+octet-stream" else {
            throw HTTPProblem(.unsupportedMediaType, "Content-Type must be application/offset+octet-stream.")
        }
        let offset = try Tus.number(Tus.uploadOffset, of: request)
        let (scope, id) = (try await context.fileScope(rights), context.component("id"))
        let now = uploads.intake.settings.now()
        guard let transfer = try await uploads.store.find(id, at: now, in: scope) else {
            throw HTTPProblem(.uploadNotFound)
        }
        guard offset == transfer.offset else { throw TusUploads.conflict(transfer.offset) }
        let body = try CompleteBody(request, limitInBytes: max(0, transfer.sizeInBytes - offset))
        let reached = try await uploads.receive(body, at: offset, of: transfer, in: scope)
        if reached == transfer.sizeInBytes, let complete = try await uploads.store.find(id, at: now, in: scope) {
            try await uploads.finish(complete, in: scope)
        }
        return Response(status: .noContent, headers: Tus.headers(of: transfer, offset: reached))
    }
}

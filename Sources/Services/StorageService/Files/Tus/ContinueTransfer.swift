import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// If the connection breaks, the bytes that arrived are kept. The last byte completes the upload and creates the file
/// or its new version.
struct ContinueTransfer: Endpoint {
    static let route = Route(
        .patch, "/files/tus/{id}", "continueTransfer", "Appends bytes to a resumable upload.", callers: .client,
        parameters: [
            .header("Tus-Resumable", .string, "The protocol version: `1.0.0`.", isRequired: true),
            .header(
                "Upload-Offset", .string,
                "The offset of the body's first byte, which must be the number of bytes received so far.",
                isRequired: true),
        ],
        checksOwnQuery: true,
        body: .contents(.type("application/offset+octet-stream", .bytes)),
        answers: [
            .answer(204, "The bytes are stored. `Upload-Offset` has the new offset.")
        ],
        errors: [
            404: "There is no such upload (`upload-not-found`).", 409: "The upload is at another offset (`conflict`).",
        ])

    let uploads: TusUploads
    let rights: RightsStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try Tus.check(request)
        guard request.headers[.contentType] == "application/offset+octet-stream" else {
            throw ServiceError(.unsupportedMediaType, "Content-Type must be application/offset+octet-stream.")
        }
        let offset = try Tus.number(Tus.uploadOffset, of: request)
        let (scope, id) = (try await context.fileScope(rights), context.component("id"))
        let now = uploads.receiver.settings.now()
        guard let transfer = try await uploads.store.find(id, at: now, in: scope) else {
            throw ServiceError(.uploadNotFound)
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

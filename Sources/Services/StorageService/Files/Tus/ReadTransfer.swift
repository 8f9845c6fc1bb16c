import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// Completes an upload whose bytes have all arrived, if the request that brought the last bytes was interrupted before
/// it could.
struct ReadTransfer: Endpoint {
    static let route = Route(
        .head, "/files/tus/{id}", "readTransfer", "Returns how much of a resumable upload has arrived.",
        callers: .client,
        parameters: [
            .header("Tus-Resumable", .string, "The protocol version: `1.0.0`.", isRequired: true)
        ],
        checksOwnQuery: true,
        answers: [
            .answer(200, "The headers `Upload-Offset` and `Upload-Length`.")
        ],
        errors: [404: "There is no such upload (`upload-not-found`)."])

    let uploads: TusUploads
    let rights: RightsStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try Tus.check(request)
        let scope = try await context.fileScope(rights)
        let now = uploads.receiver.settings.now()
        guard let transfer = try await uploads.store.find(context.component("id"), at: now, in: scope) else {
            throw ErrorWithHeaders(ServiceError(.uploadNotFound), [Tus.resumable: Tus.version])
        }
        try await uploads.finish(transfer, in: scope)
        var headers = Tus.headers(of: transfer, offset: transfer.offset)
        headers[Tus.uploadLength] = String(transfer.sizeInBytes)
        return Response(status: .ok, headers: headers)
    }
}

import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// Keeps the file if the upload was complete.
struct DeleteTransfer: Endpoint {
    static let route = Route(
        .delete, "/files/tus/{id}", "deleteTransfer", "Cancels a resumable upload (tus 1.0, extension `termination`).",
        callers: .client,
        parameters: [
            .header("Tus-Resumable", .string, "The protocol version: `1.0.0`.", isRequired: true)
        ],
        checksOwnQuery: true,
        answers: [
            .answer(204, "The upload is deleted.")
        ],
        errors: [404: "There is no such upload (`upload-not-found`)."])

    let uploads: TusUploads
    let rights: RightsStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try Tus.check(request)
        guard try await uploads.store.remove(context.component("id"), in: try await context.fileScope(rights)) else {
            throw ServiceError(.uploadNotFound)
        }
        return Response(status: .noContent, headers: [Tus.resumable: Tus.version])
    }
}

import HTTPTypes
import Hummingbird
import MartletAPI
import MartletHTTP

/// `DELETE /files/tus/{id}` (tus termination): gives a resumable upload up, 204. A file that it has made stays.
struct DeleteTransfer: Endpoint {
    static let route = Route(
        .delete, "/files/tus/{id}", "deleteTransfer", "Gives a resumable upload up.", callers: .client,
        parameters: [
            .header("Tus-Resumable", .string, "1.0.0", isRequired: true)
        ],
        checksOwnQuery: true,
        answers: [
            .answer(204, "It is gone.")
        ])

    let uploads: TusUploads
    let rights: RightsStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try Tus.check(request)
        guard try await uploads.store.remove(context.component("id"), in: try await context.fileScope(rights)) else {
            throw HTTPProblem(.uploadNotFound)
        }
        return Response(status: .noContent, headers: [Tus.resumable: Tus.version])
    }
}

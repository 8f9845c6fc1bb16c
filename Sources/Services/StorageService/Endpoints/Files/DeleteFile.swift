import Hummingbird
import MartletAPI
import MartletHTTP

/// `DELETE /upload/{path…}`: deletes a file, 204; only the version of `If-Match` where that is given. Its history
/// stays.
struct DeleteFile: Endpoint {
    static let route = Route(
        .delete, "/upload/**", "deleteFile", "Deletes a file.", callers: .client,
        parameters: [
            .header("If-Match", .string, "Entity tags.")
        ],
        answers: [
            .answer(204, "It is gone.")
        ])

    let files: FileStore
    let rights: RightsStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (path, condition) = (try request.fileTarget().file, try request.fileCondition)
        guard try await files.remove(path, if: condition, in: try await context.fileScope(rights)) else {
            throw HTTPProblem(.fileNotFound)
        }
        return Response(status: .noContent)
    }
}

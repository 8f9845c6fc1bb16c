import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// Keeps the history of its uploads.
struct DeleteFile: Endpoint {
    static let route = Route(
        .delete, "/upload/**", "deleteFile", "Deletes a file.", callers: .clientOrStaff([.delete], .storage),
        parameters: [
            .header("If-Match", .string, "The entity tags of the versions that may be deleted, or `*`.")
        ],
        answers: [
            .answer(204, "The file is deleted.")
        ],
        errors: [404: "There is no such file (`file-not-found`)."])

    let files: FileStore
    let rights: RightsStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (path, condition) = (try request.fileTarget().file, try request.fileCondition)
        guard try await files.remove(path, if: condition, in: try await context.fileScope(rights)) else {
            throw ServiceError(.fileNotFound)
        }
        return Response(status: .noContent)
    }
}

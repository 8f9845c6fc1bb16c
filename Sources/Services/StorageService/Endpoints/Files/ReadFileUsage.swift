import Hummingbird
import MartletAPI
import MartletHTTP

/// `GET /files/usage` and `GET /admin/apps/{app}/storage/files`: what the environment's files come to, and their
/// limits; master key, or staff with the right in `storage`.
struct ReadFileUsage: Endpoint {
    let files: FileStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try request.allowParameters()
        _ = try context.author(may: .read, .storage)
        return try .encoding(try await files.usage(of: AppSpace(try context.principal)))
    }
}

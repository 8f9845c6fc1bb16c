import Hummingbird
import MartletAPI
import MartletHTTP

/// `GET /files/usage` and `GET /admin/apps/{app}/storage/files`: what the environment's files come to, and their
/// limits; master key, or staff with the right in `storage`.
struct ReadFileUsage: Endpoint {
    static let route = Route(
        .get, "/files/usage", "readFileUsage", "What the environment's files come to, and their limits.",
        callers: .manager(.read, .storage),
        answers: [
            .answer(200, "What the environment's files come to, and their limits.", .json(.fileUsage))
        ])
    static let readAppFileUsage = Route(
        .get, "/admin/apps/{app}/storage/files", "readAppFileUsage",
        "What the files of one of the app's environments come to, and their limits.",
        callers: .manager(.read, .storage),
        parameters: [
            .path("app", .string, "The app's id.")
        ],
        details: "Needs the right in storage.",
        answers: [
            .answer(200, "What the environment's files come to, and their limits.", .json(.fileUsage))
        ])

    let files: FileStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        _ = try context.author(may: .read, .storage)
        return try .encoding(try await files.usage(of: AppSpace(try context.principal)))
    }
}

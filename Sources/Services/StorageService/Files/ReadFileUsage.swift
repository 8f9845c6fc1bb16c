import Hummingbird
import MartletAPI
import MartletHTTP

struct ReadFileUsage: Endpoint {
    static let route = Route(
        .get, "/files/usage", "readFileUsage",
        "Returns the number and size of the environment's files, and their limits.",
        callers: .manager(.read, .storage),
        answers: [
            .answer(200, "The usage and the limits.", .json(.fileUsage))
        ])
    static let readAppFileUsage = Route(
        .get, "/admin/apps/{app}/storage/files", "readAppFileUsage",
        "Returns the number and size of the files in one of the app's environments, and their limits.",
        callers: .manager(.read, .storage),
        parameters: [
            .path("app", .string, "The app's id.")
        ],
        details: "Needs the right to read `storage`.",
        answers: [
            .answer(200, "The usage and the limits.", .json(.fileUsage))
        ])

    let files: FileStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        _ = try context.author(may: .read, .storage)
        return try .encoding(try await files.usage(of: AppSchema(try context.principal)))
    }
}

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

    let files: FileStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        return try .encoding(try await files.usage(of: AppSchema(try context.principal)))
    }
}

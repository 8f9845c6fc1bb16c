import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// Not open to the app itself, which could otherwise raise its own limits.
struct SetFileLimits: Endpoint {
    static let route = Route(
        .put, "/admin/apps/{app}/files/limits", "setFileLimits",
        "Limits the number and total size of the files in each of the app's environments.",
        callers: .staffOfApp(.update, .applications),
        parameters: [
            .path("app", .string, "The app's id.")
        ],
        details: """
            A limit that is null or absent is replaced by the server's. Existing files beyond a new limit are kept, \
            but no more can be stored. Needs the right to update `applications`.
            """,
        body: .json(
            .object(
                [
                    "maximumFiles": .integer.minimum(0).nullable,
                    "maximumBytes": .integer.minimum(0).nullable,
                ])),
        answers: [
            .answer(200, "The usage of the environment in the request, and the new limits.", .json(.fileUsage))
        ])

    private static let range = 0...(1 << 60)

    let files: FileStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let principal = try context.principal
        _ = try context.staff(may: .update, .applications, in: principal.appID)
        let body = try await BodyFields(request, ["maximumFiles", "maximumBytes"])
        let quota = FileQuota(
            maximumFiles: try body.integer("maximumFiles", in: Self.range),
            maximumBytes: try body.integer("maximumBytes", in: Self.range))
        for environment in [AppEnvironment.live, .test] {
            try await files.limit(try SpaceName(appID: principal.appID, environment: environment).space, to: quota)
        }
        return try .encoding(try await files.usage(of: AppSchema(principal)))
    }
}

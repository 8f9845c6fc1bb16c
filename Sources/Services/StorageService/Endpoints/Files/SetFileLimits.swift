import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// `PUT /admin/apps/{app}/storage/files` with `{"maximumFiles":n|null,"maximumBytes":n|null}`: the app's own limits, of
/// each of its environments, in place of the server's; 200 as `ReadFileUsage`. Staff with the right in `applications`,
/// not the app itself.
struct SetFileLimits: Endpoint {
    static let route = Route(
        .put, "/admin/apps/{app}/storage/files", "setFileLimits",
        "Limits the files of each of the app's environments; null or absent: the server's limit.",
        callers: .staffOfApp(.update, .applications),
        parameters: [
            .path("app", .string, "The app's id.")
        ],
        details: "Needs the right to update applications. Files beyond a new limit stay, and no more come.",
        body: .json(
            .object(
                [
                    "maximumFiles": .integer.minimum(0).nullable,
                    "maximumBytes": .integer.minimum(0).nullable,
                ])),
        answers: [
            .answer(200, "What the environment's files come to, and their limits.", .json(.fileUsage))
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
        return try .encoding(try await files.usage(of: AppSpace(principal)))
    }
}

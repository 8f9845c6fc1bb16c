import Hummingbird
import MartletHTTP

/// `GET /roles?after=&limit=`: `{"count":n,"data":[{"name","members"}]}`, by name; `members` is their number; master
/// key.
struct ListRoles: Endpoint {
    static let route = Route(
        .get, "/roles", "listRoles", "The app's roles with the number of their members, by name.", callers: .server,
        parameters: [
            .query("after", .string, "Names after this one."),
            .query("limit", .integer.range(1, 1_000).defaulting(to: 100)),
        ],
        answers: [
            .answer(200, "`{\"count\":n,\"data\":[{\"name\",\"members\"}]}`")
        ])

    let roles: RoleStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let page = try RolePage(request)
        return try .list(try await roles.list(page, of: context.managedSpace))
    }
}

import Hummingbird
import MartletAPI
import MartletHTTP

struct ListRoles: Endpoint {
    static let route = Route(
        .get, "/roles", "listRoles", "Lists the app's roles by name, each with the number of its members.",
        callers: .manager(.read, .users),
        parameters: [
            .query("after", .string, "The last name of the previous page."),
            .query("limit", .integer.range(1, 1_000).defaulting(to: 100)),
        ],
        answers: [
            .answer(200, "`count`, and in `data` the `name` and the number of `members` of each role.")
        ])

    let roles: RoleStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let page = try RolePage(request)
        return try .list(try await roles.list(page, of: context.space))
    }
}

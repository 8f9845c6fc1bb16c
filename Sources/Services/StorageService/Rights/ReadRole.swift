import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

struct ReadRole: Endpoint {
    static let route = Route(
        .get, "/roles/{role}", "readRole", "Returns a role with a page of its members, ordered by name.",
        callers: .manager(.read, .users),
        parameters: [
            .path("role", .string, "The role's name: 1 to 64 letters, digits, spaces, `_` or `-`."),
            .query("after", .string, "The last member of the previous page."),
            .query("limit", .integer.range(1, 1_000).defaulting(to: 100)),
        ],
        answers: [
            .answer(200, "`name`, and `members`: user ids and `role:<name>`.")
        ],
        errors: [404: "The app has no such role (`role-not-found`)."])

    let roles: RoleStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let page = try RolePage(request)
        guard let role = try await roles.find(try context.role, page, of: context.space) else {
            throw ServiceError(.roleNotFound)
        }
        return try .encoding(role)
    }
}

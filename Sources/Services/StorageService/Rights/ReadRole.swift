import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

struct ReadRole: Endpoint {
    static let route = Route(
        .get, "/roles/{role}", "readRole", "Returns a role with a page of its members, ordered by name.",
        callers: .clientOrStaff([.read], .users),
        parameters: [
            .role,
            .query("after", .string, "The last member of the previous page."),
            .query("limit", .integer.range(1, 1_000).defaulting(to: 100)),
        ],
        answers: [
            .answer(200, "`name`, and `members` and `managers`: users' ids and `role:<name>`.")
        ],
        errors: [
            403: "The caller is neither the app's server nor a manager of the role (`forbidden`).",
            404: "For the app's server: there is no such role (`role-not-found`).",
        ])

    let roles: RoleStore
    let rights: RightsStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (name, space) = (try context.role, try context.space)
        let caller = try await rights.callerOfRole(try context.principal, in: space)
        guard let role = try await roles.find(name, try RolePage(request), for: caller, of: space) else {
            throw ServiceError(.roleNotFound)
        }
        return try .encoding(role)
    }
}

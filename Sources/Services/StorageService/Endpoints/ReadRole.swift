import Hummingbird
import MartletAPI
import MartletHTTP

/// `GET /roles/{role}?after=&limit=`: `{"name","members":["<user id>","role:<name>"]}`, a page of members by name;
/// master key.
struct ReadRole: Endpoint {
    static let route = Route(
        .get, "/roles/{role}", "readRole", "A role and a page of its members.", callers: .server,
        parameters: [
            .path("role", .string, "1 to 64 letters, digits, spaces, `_` or `-`."),
            .query("after", .string, "Names after this one."),
            .query("limit", .integer.range(1, 1_000).defaulting(to: 100)),
        ],
        answers: [
            .answer(200, "`{\"name\",\"members\":[\"<user id>\",\"role:<name>\"]}`")
        ],
        errors: [404: "There is no such role (`role-not-found`)."])

    let roles: RoleStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let page = try RolePage(request)
        guard let role = try await roles.find(try context.role, page, of: context.managedSpace) else {
            throw HTTPProblem(.roleNotFound)
        }
        return try .encoding(role)
    }
}

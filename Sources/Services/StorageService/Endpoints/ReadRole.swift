import Hummingbird
import MartletAPI
import MartletHTTP

/// `GET /roles/{role}?after=&limit=`: `{"name","members":["<user id>","role:<name>"]}`, a page of members by name;
/// master key.
struct ReadRole: Endpoint {
    let roles: RoleStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try request.allowParameters(["after", "limit"])
        let page = try RolePage(request)
        guard let role = try await roles.find(try context.role, page, of: context.managedSpace) else {
            throw HTTPProblem(.roleNotFound)
        }
        return try .encoding(role)
    }
}

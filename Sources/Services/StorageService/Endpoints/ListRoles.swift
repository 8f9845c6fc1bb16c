import Hummingbird
import MartletHTTP

/// `GET /roles?after=&limit=`: `{"count":n,"data":[{"name","members"}]}`, by name; `members` is their number; master
/// key.
struct ListRoles: Endpoint {
    let roles: RoleStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try request.allowParameters(["after", "limit"])
        let page = try RolePage(request)
        return try .list(try await roles.list(page, of: context.managedSpace))
    }
}

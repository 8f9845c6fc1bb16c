import Hummingbird
import MartletAPI
import MartletHTTP

/// `PUT /roles/{role}` with `{"add"?:[…],"remove"?:[…]}`: makes the role when it is missing and changes who has it;
/// master key.
///
/// A member is a user's id or `role:<name>`, whose members have this role too, to any depth.
struct ChangeRole: Endpoint {
    let roles: RoleStore

    private struct Body: Decodable {
        var add: [String]?
        var remove: [String]?
    }

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try request.allowParameters()
        let (role, space) = (try context.role, try context.managedSpace)
        let body = try await request.decoded(Body.self, upTo: 1 << 20)
        let change = RoleStore.Change(
            add: try RoleStore.Change.checked(body.add ?? [], "add"),
            remove: try RoleStore.Change.checked(body.remove ?? [], "remove"))
        try await roles.change(role, by: change, of: space)
        return Response(status: .noContent)
    }
}

import Hummingbird
import MartletAPI
import MartletHTTP

/// A member is a user's id or `role:<name>`, whose members then have this role too, to any depth.
///
/// Atomic and idempotent.
struct ChangeRole: Endpoint {
    static let route = Route(
        .put, "/roles/{role}", "changeRole",
        "Adds and removes members of a role, and creates the role if it is missing.",
        callers: .manager(.update, .users),
        parameters: [
            .path("role", .string, "The role's name: 1 to 64 letters, digits, spaces, `_` or `-`.")
        ],
        body: .json(
            .object(
                [
                    "add": .array(of: .string).maxItems(1_000),
                    "remove": .array(of: .string).maxItems(1_000),
                ])),
        answers: [
            .answer(204, "The changes are in effect.")
        ])

    let roles: RoleStore

    private struct Body: Decodable {
        var add: [String]?
        var remove: [String]?
    }

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (role, space) = (try context.role, try context.space)
        let body = try await request.decoded(Body.self, upTo: 1 << 20)
        let change = RoleStore.Change(
            add: try RoleStore.Change.checked(body.add ?? [], "add"),
            remove: try RoleStore.Change.checked(body.remove ?? [], "remove"))
        try await roles.change(role, by: change, of: space)
        return Response(status: .noContent)
    }
}

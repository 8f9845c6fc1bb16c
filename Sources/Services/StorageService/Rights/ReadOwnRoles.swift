import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

struct ReadOwnRoles: Endpoint {
    static let route = Route(
        .get, "/auth/me/roles", "readOwnRoles",
        "Lists the signed-in user's roles by name, including those inherited through other roles.", callers: .client,
        answers: [
            .answer(
                200, "The names of the roles.",
                .json(
                    .object(
                        [
                            "count": .integer,
                            "data": .array(of: .string).maxItems(1_000),
                        ])))
        ])

    let rights: RightsStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        guard
            case .user(_, let roles) = try await rights.rights(of: try context.principal, in: try context.space)
                .identity
        else {
            throw ServiceError(.invalidToken, "Send an access token: Authorization: Bearer ….")
        }
        return try .list(roles)
    }
}

/// Answers `UserDataRequest` with `UserRoles`. For our own processes only.
struct ReadRolesOfUser: Endpoint {
    static let route = Route.betweenProcesses(.post, "/internal/users/roles")

    let rights: RightsStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let owner = try StoredUserData.Owner(try await request.decoded(UserDataRequest.self))
        guard let user = UserID(owner.id) else { throw ServiceError(.userNotFound) }
        return try .encoding(UserRoles(roles: try await rights.roles(of: user, in: owner.space)))
    }
}

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
        let space = try context.space
        guard case .user(let id, _) = try await rights.rights(of: try context.principal, in: space).identity,
            let user = UserID(id)
        else {
            throw ServiceError(.invalidToken, "Send an access token: Authorization: Bearer ….")
        }
        // Not from the cache, because the user may just have joined a role through another copy of the service.
        return try .list(try await rights.loadRoles(of: user, in: space))
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

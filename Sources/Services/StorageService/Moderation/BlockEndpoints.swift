import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// The app's rules determine what a block hides, by `$user.blocked` and `$user.blockedBy`.
struct BlockUser: Endpoint {
    static let route = Route(
        .put, "/auth/me/blocks/{user}", "blockUser", "Blocks another user for the signed-in user.", callers: .user,
        parameters: [.path("user", .string, "The other user's id.")],
        details: """
            The app's rules decide what the block hides. It takes effect in lists, streams and pushes by rules within \
            a second. A user can block at most 1,000 others. The answer does not reveal whether the other user exists.
            """,
        answers: [
            .answer(204, "The user is blocked, whether or not they were before.")
        ])

    let blocks: BlockStore
    let rights: RightsStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (caller, other) = (try await context.blocker(rights), try context.blockedUser)
        guard caller != other.text else {
            throw ServiceError(.invalidParameter, "Users cannot block themselves.", field: "user")
        }
        try await blocks.block(other, by: caller, in: try context.space)
        return Response(status: .noContent)
    }
}

struct UnblockUser: Endpoint {
    static let route = Route(
        .delete, "/auth/me/blocks/{user}", "unblockUser", "Unblocks another user for the signed-in user.",
        callers: .user,
        parameters: [.path("user", .string, "The other user's id.")],
        answers: [
            .answer(204, "The user is not blocked, whether or not they were before.")
        ])

    let blocks: BlockStore
    let rights: RightsStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (caller, other) = (try await context.blocker(rights), try context.blockedUser)
        try await blocks.unblock(other, by: caller, in: try context.space)
        return Response(status: .noContent)
    }
}

struct ListBlocks: Endpoint {
    static let route = Route(
        .get, "/auth/me/blocks", "listBlocks", "Lists the users whom the signed-in user has blocked, latest first.",
        callers: .user,
        answers: [
            .answer(
                200, "`count`, and in `data` each `user` with the time.",
                .json(
                    .object(
                        [
                            "count": .integer,
                            "data": .array(
                                of: .object(
                                    ["user": .string, "created": .string.format("date-time")],
                                    required: ["user", "created"])
                            ).maxItems(1_000),
                        ], required: ["count", "data"])))
        ])

    let blocks: BlockStore
    let rights: RightsStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try .list(try await blocks.blocks(of: try await context.blocker(rights), in: try context.space))
    }
}

/// Answers `UserDataRequest` with `UserBlockers`. For our own processes only.
struct ReadBlockersOfUser: Endpoint {
    static let route = Route.betweenProcesses(.post, "/internal/users/blockers")

    let blocks: BlockStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let owner = try StoredUserData.Owner(try await request.decoded(UserDataRequest.self))
        return try .encoding(UserBlockers(blockers: try await blocks.blockers(of: owner.id, in: owner.space)))
    }
}

extension ServiceContext {
    /// The signed-in user's id.
    ///
    /// - Throws: `invalid-token`; `forbidden` if the environment is closed to clients.
    fileprivate func blocker(_ rights: RightsStore) async throws -> String {
        let identity = try await rights.rights(of: try principal, in: try space).identity
        guard let user = identity.userID else { throw ServiceError(.invalidToken) }
        return user
    }

    fileprivate var blockedUser: UserID {
        get throws {
            let text = component("user")
            guard let user = UserID(text) else {
                throw ServiceError.unexpectedParameter("user", expected: "a user's id", found: text[...])
            }
            return user
        }
    }
}

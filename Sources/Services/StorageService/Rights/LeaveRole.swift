import Hummingbird
import MartletCore
import MartletHTTP

/// The user keeps the role if they also have it through another role.
struct LeaveRole: Endpoint {
    static let route = Route(
        .delete, "/roles/{role}/members/me", "leaveRole", "Removes the signed-in user from the role.", callers: .user,
        parameters: [.role],
        answers: [
            .answer(204, "The user is not a member, whether or not they were before.")
        ])

    let roles: RoleStore
    let rights: RightsStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (role, space) = (try context.role, try context.space)
        let caller = try await rights.callerOfRole(try context.principal, in: space)
        guard let user = caller.userID else { throw RoleManagement.refusal }
        try await roles.leave(role, user, of: space)
        return Response(status: .noContent)
    }
}

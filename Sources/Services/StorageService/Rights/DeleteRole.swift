import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// Lists of readers and writers keep the role's name, so they apply again if the role is created again.
struct DeleteRole: Endpoint {
    static let route = Route(
        .delete, "/roles/{role}", "deleteRole", "Deletes a role and removes it from all its members.",
        callers: .manager(.delete, .users),
        parameters: [.role],
        answers: [
            .answer(204, "The role is deleted.")
        ],
        errors: [404: "The app has no such role (`role-not-found`)."])

    let roles: RoleStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        guard try await roles.delete(try context.role, of: context.space) else {
            throw ServiceError(.roleNotFound)
        }
        return Response(status: .noContent)
    }
}

import Hummingbird
import MartletAPI
import MartletHTTP

/// `DELETE /roles/{role}`, 204: nobody has it any more; lists of readers and writers keep its name. Master key.
struct DeleteRole: Endpoint {
    static let route = Route(
        .delete, "/roles/{role}", "deleteRole", "Deletes a role; nobody has it any more.", callers: .server,
        parameters: [
            .path("role", .string, "1 to 64 letters, digits, spaces, `_` or `-`.")
        ],
        answers: [
            .answer(204, "The role is gone.")
        ],
        errors: [404: "There is no such role (`role-not-found`)."])

    let roles: RoleStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        guard try await roles.delete(try context.role, of: context.managedSpace) else {
            throw HTTPProblem(.roleNotFound)
        }
        return Response(status: .noContent)
    }
}

import Hummingbird
import MartletAPI
import MartletHTTP

/// `DELETE /roles/{role}`, 204: nobody has it any more; lists of readers and writers keep its name. Master key.
struct DeleteRole: Endpoint {
    let roles: RoleStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try request.allowParameters()
        guard try await roles.delete(try context.role, of: context.managedSpace) else {
            throw HTTPProblem(.roleNotFound)
        }
        return Response(status: .noContent)
    }
}

import Hummingbird
import MartletAPI
import MartletHTTP

/// `DELETE /auth/users/{id}`, for the app's own server; 204. Account, profile and sessions are gone at once.
struct DeleteUser: Endpoint {
    let users: UserStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        guard try await users.delete(try context.userID, in: try context.managedUserSpace) else { throw HTTPProblem(.userNotFound) }
        return Response(status: .noContent)
    }
}

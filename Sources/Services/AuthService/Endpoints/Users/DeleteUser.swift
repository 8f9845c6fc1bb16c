import Hummingbird
import MartletAPI
import MartletHTTP

/// `DELETE /auth/users/{id}`, for the app's own server; 204. Account, profile and sessions are gone at once, Apple is told soon
/// after.
struct DeleteUser: Endpoint {
    let users: UserStore
    let revocation: TokenRevocation

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, id) = (try context.managedUserSpace, try context.userID)
        guard try await users.delete(id, in: space, with: { try await revocation.begin(of: id, in: space, $0) }) else { throw HTTPProblem(.userNotFound) }
        return Response(status: .noContent)
    }
}

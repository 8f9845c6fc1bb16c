import Hummingbird
import MartletAPI
import MartletHTTP

/// `DELETE /auth/me` with `password`, which not everybody has; 204. Account, profile and sessions are gone at once, Apple is told soon after.
struct DeleteMe: Endpoint {
    let check: PasswordCheck
    let revocation: TokenRevocation

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, id) = (try context.userSpace, try context.signedInUser)
        let fields = try await BodyFields(request, ["password"])
        _ = try await check.confirm(try fields.secret("password"), of: id, in: space, session: try context.session)
        guard try await check.users.delete(id, in: space, with: { try await revocation.begin(of: id, in: space, $0) }) else { throw HTTPProblem(.userNotFound) }
        return Response(status: .noContent)
    }
}

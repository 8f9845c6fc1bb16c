import Hummingbird
import MartletAPI
import MartletHTTP

/// `PUT /auth/me/email` with `email` and `password`: another address, not verified yet. 200 with the user.
struct ChangeEmail: Endpoint {
    let check: PasswordCheck

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, id) = (try context.userSpace, try context.signedInUser)
        let fields = try await BodyFields(request, ["email", "password"])
        let email = try EmailAddress(try fields.requiredString("email"))
        _ = try await check.confirmPassword(try fields.secret("password"), of: id, in: space)
        try await check.attempts.begin(context.nameLimits(of: request))
        guard let user = try await check.users.change(id, UserChange(email: email), in: space) else { throw HTTPProblem(.userNotFound) }
        return .json(user)
    }
}

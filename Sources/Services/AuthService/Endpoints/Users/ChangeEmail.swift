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
        let account = try await check.confirm(try fields.secret("password"), of: id, in: space)
        guard account.passwordHash != nil else { throw HTTPProblem(.conflict, "An anonymous user has no password: upgrade first.") }
        try await check.attempts.begin(context.nameLimits(of: request))
        do {
            guard let user = try await check.users.change(id, UserChange(email: email), in: space) else { throw HTTPProblem(.userNotFound) }
            return .user(user)
        } catch let taken as UserTaken {
            throw HTTPProblem.taken(taken)
        }
    }
}

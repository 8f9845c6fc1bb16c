import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// `POST /auth/me/upgrade` with `userName` or `email` or both, and `password`: a user without a password gets what to sign in with, and keeps
/// id, sessions and all data. 200 with the user; 409 for who has a password already.
struct UpgradeMe: Endpoint {
    let check: PasswordCheck

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, id) = (try context.userSpace, try context.signedInUser)
        let fields = try await BodyFields(request, ["userName", "email", "password"])
        let (userName, email) = try fields.userNameOrEmail()
        var change = UserChange(userName: userName, email: email)
        let password = Secret(try fields.requiredString("password"))
        try PasswordPolicy.check(password, besides: [userName?.text, email?.text])
        guard let account = try await check.users.account(id, in: space) else { throw HTTPProblem(.userNotFound) }
        guard account.passwordHash == nil else { throw HTTPProblem(.conflict, "This user has a password.") }
        _ = try await check.confirm(nil, of: id, in: space, session: try context.session)
        try await check.attempts.begin(context.nameLimits(of: request))
        change.passwordHash = try await check.hasher.hash(password)
        guard let user = try await check.users.change(id, change, where: "password IS NULL", in: space) else {
            throw HTTPProblem(.conflict, "This user has a password.")
        }
        return .json(user)
    }
}

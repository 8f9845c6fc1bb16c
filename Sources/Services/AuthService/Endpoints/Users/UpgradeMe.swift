import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletMail
import MartletPostgres

/// `POST /auth/me/upgrade` with `userName` or `email` or both, and `password`: a user without a password gets what to
/// sign in with, and keeps id, sessions and all data. 200 with the user; 409 for who has a password already.
struct UpgradeMe: Endpoint {
    static let route = Route(
        .post, "/auth/me/upgrade", "upgradeMe", "Gives an anonymous user a name or address, and a password.",
        callers: .user,
        body: .json(
            .object(
                [
                    "userName": .string,
                    "email": .string.format("email"),
                    "password": .string.format("password").minLength(8),
                ]), isRequired: false),
        answers: [
            .answer(200, "Done.", .json(.user))
        ],
        errors: [409: "The name is taken, or a unique index forbids it (`conflict`)."])

    let check: PasswordCheck
    let mailing: Mailing

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, id) = (try context.userSpace, try context.signedInUser)
        let fields = try await BodyFields(request, ["userName", "email", "password", "language"])
        let (userName, email) = try fields.userNameOrEmail()
        var change = UserChange(userName: userName, email: email)
        let password = Secret(try fields.requiredString("password"))
        try PasswordPolicy.check(password, besides: [userName?.text, email?.text])
        let languages = try fields.languages(request)
        let settings = try await mailing.settings.current(in: space).settings
        guard let account = try await check.users.account(id, in: space) else { throw HTTPProblem(.userNotFound) }
        if email != nil || account.email == nil { try settings.check(email) }
        guard account.passwordHash == nil else { throw HTTPProblem(.conflict, "This user has a password.") }
        guard account.email == nil || email == nil || email?.text == account.email else {
            throw HTTPProblem(.conflict, "This user has an address: change it by auth/me/email.")
        }
        _ = try await check.confirm(nil, of: id, in: space, session: try context.session)
        try await check.attempts.begin(context.nameLimits(of: request))
        change.passwordHash = try await check.hasher.hash(password)
        guard
            let user = try await check.users.change(
                id, change, where: "password IS NULL AND u.email IS NOT DISTINCT FROM \(account.email)", in: space)
        else {
            throw HTTPProblem(.conflict, "This user has a password.")
        }
        await mailing.verify(email, of: id, settings, languages, in: space)
        return .json(user)
    }
}

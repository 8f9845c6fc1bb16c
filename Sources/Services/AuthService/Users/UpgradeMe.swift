import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletMail
import MartletPostgres

struct UpgradeMe: Endpoint {
    static let route = Route(
        .post, "/auth/me/upgrade", "upgradeMe", "Gives a user without a password a name or address, and a password.",
        callers: .user,
        details: """
            The user keeps the id, the sessions and all data. A user who already has another way to sign in must \
            have signed in within the last ten minutes.
            """,
        body: .json(
            .object(
                [
                    "userName": .string,
                    "email": .string.format("email"),
                    "password": .string.format("password").minLength(8),
                ])),
        answers: [
            .answer(200, "The changed user.", .json(.user))
        ],
        errors: [
            403: PasswordCheck.refusal,
            409: """
            The user already has a password or another address, or another user has this name or address \
            (`conflict`).
            """,
        ])

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
        guard let account = try await check.users.account(id, in: space) else { throw ServiceError(.userNotFound) }
        let settings = try await mailing.settings.current(in: space) { settings in
            if email != nil || account.email == nil { try settings.check(email) }
        }
        guard account.passwordHash == nil else { throw ServiceError(.conflict, "This user already has a password.") }
        guard account.email == nil || email == nil || email?.text == account.email else {
            throw ServiceError(.conflict, "This user already has another address; change it with PUT auth/me/email.")
        }
        _ = try await check.confirm(nil, of: id, in: space, session: try context.session)
        try await check.attempts.begin(context.nameLimits(of: request))
        change.passwordHash = try await check.hasher.hash(password)
        guard
            let user = try await check.users.change(
                id, change, where: "password IS NULL AND u.email IS NOT DISTINCT FROM \(account.email)", in: space)
        else {
            throw ServiceError(.conflict, "This user already has a password.")
        }
        await mailing.verify(email, of: id, settings, languages, in: space)
        return .json(user)
    }
}

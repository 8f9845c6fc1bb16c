import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletMail

/// `POST /auth/signup` with `userName` or `email` or both, `password`, and if wanted `profile`, `private`, `device`,
/// `invitation`, `language`; 201, signed in. Where the app demands verified addresses 202 with `{"user"}`, and logging
/// in is for after `POST /auth/email/verify/confirm`.
struct SignUp: Endpoint {
    static let route = Route(
        .post, "/auth/signup", "signUp", "Makes a user with a password, signed in.", callers: .client,
        details: "With `userName` or `email` or both.",
        body: .json(
            .object(
                [
                    "userName": .string,
                    "email": .string.format("email"),
                    "password": .string.format("password").minLength(8),
                    "profile": .object,
                    "private": .object,
                    "device": .string.maxLength(200),
                    "invitation": .string.described("Where the app asks for one."),
                    "language": .string.described("Of the mail that follows; else Accept-Language."),
                ]), isRequired: false),
        answers: [
            .answer(201, "Done.", .json(.signIn)),
            .answer(202, "Not signed in: the app demands a verified address. `user` is in the answer."),
        ],
        errors: [409: "The name is taken, or a unique index forbids it (`conflict`)."])

    let users: UserStore
    let attempts: AttemptStore
    let hasher: PasswordHasher
    let signIns: SignIns
    let mailing: Mailing

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try context.userSpace
        let fields = try await BodyFields(
            request, ["userName", "email", "password", "profile", "private", "device", "invitation", "language"])
        let (userName, email) = try fields.userNameOrEmail()
        var user = NewUser(userName: userName, email: email)
        let password = Secret(try fields.requiredString("password"))
        try PasswordPolicy.check(password, besides: [userName?.text, email?.text])
        user.profile = try fields.profile() ?? "{}"
        user.privateProfile = try fields.privateProfile() ?? "{}"
        user.invitation = try fields.string("invitation")
        let session = NewSession(device: try fields.device())
        let languages = try fields.languages(request)
        let settings = try await mailing.settings.current(in: space).settings
        try settings.checkSignUp(email: email, invitation: user.invitation)

        try await attempts.begin(context.nameLimits(of: request))
        user.passwordHash = try await hasher.hash(password)
        let made = try await users.create(
            user, session: session, needsVerifiedEmail: settings.requireVerifiedEmail, in: space)
        await mailing.verify(email, of: made.id, settings, languages, in: space)
        guard made.isSignedIn else { return .waitingForVerification(made.json) }
        return try signIns.answer(session.id, userID: made.id, user: made.json, in: space, status: .created)
    }
}

extension Response {
    /// 202 for a new user who signs in when the address is verified.
    static func waitingForVerification(_ user: String) -> Response {
        Response.json(ByteBuffer(string: #"{"user":\#(user)}"#), status: .accepted).notStored
    }
}

import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletMail

struct SignUp: Endpoint {
    static let route = Route(
        .post, "/auth/signup", "signUp", "Creates a user with a password, and signs the user in.", callers: .client,
        details: "Takes `userName`, `email` or both.",
        body: .json(
            .object(
                [
                    "userName": .string,
                    "email": .string.format("email"),
                    "password": .string.format("password").minLength(8),
                    "profile": .object,
                    "private": .object,
                    "device": .string.maxLength(200),
                    "invitation": .string.described("Required if the app's settings have `inviteOnly`."),
                    "language": .string.described(
                        """
                        The language of mail to the user (BCP 47). The default comes from `Accept-Language`.
                        """),
                ])),
        answers: [
            .answer(201, "The new user is signed in.", .json(.signIn)),
            .answer(
                202,
                """
                The user is created but not signed in, because the app requires a verified address. The body has \
                the `user`.
                """),
        ],
        errors: [409: "Another user has this name or address (`conflict`)."])

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
        let settings = try await mailing.settings.current(in: space) { [invitation = user.invitation] in
            try $0.checkSignUp(email: email, invitation: invitation)
        }

        try await attempts.begin(context.nameLimits(of: request))
        user.passwordHash = try await hasher.hash(password)
        let created = try await users.create(
            user, session: session, needsVerifiedEmail: settings.requireVerifiedEmail, in: space)
        await mailing.verify(email, of: created.id, settings, languages, in: space)
        guard created.isSignedIn else { return .waitingForVerification(created.json) }
        return try signIns.answer(session.id, userID: created.id, user: created.json, in: space, status: .created)
    }
}

extension Response {
    /// 202 for a new user who can sign in only after the address is verified.
    static func waitingForVerification(_ user: String) -> Response {
        Response.json(ByteBuffer(string: #"{"user":\#(user)}"#), status: .accepted).notStored
    }
}

import Hummingbird
import MartletHTTP

/// `POST /auth/anonymous` with `device`, `profile`, `private` if wanted; 201, signed in as a new user without name and
/// password.
///
/// Not where an app demands invitations or verified addresses. Whoever loses the refresh token has lost the account.
/// `POST /auth/me/upgrade` gives it a name and a password.
struct SignInAnonymously: Endpoint {
    static let route = Route(
        .post, "/auth/anonymous", "signInAnonymously", "Makes a user without name and password, signed in.",
        callers: .client,
        body: .json(
            .object(
                [
                    "profile": .object,
                    "private": .object,
                    "device": .string.maxLength(200),
                ]), isRequired: false),
        answers: [
            .answer(201, "Done.", .json(.signIn))
        ])

    let users: UserStore
    let attempts: AttemptStore
    let signIns: SignIns
    let settings: AppSettingsStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try context.userSpace
        let fields = try await BodyFields(request, ["device", "profile", "private"], isOptional: true)
        let user = NewUser(profile: try fields.profile() ?? "{}", privateProfile: try fields.privateProfile() ?? "{}")
        let session = NewSession(device: try fields.device())
        try await settings.current(in: space).settings.checkAnonymousSignUp()
        try await attempts.begin(context.nameLimits(of: request))
        let made = try await users.create(user, session: session, in: space)
        return try signIns.answer(session.id, userID: made.id, user: made.json, in: space, status: .created)
    }
}

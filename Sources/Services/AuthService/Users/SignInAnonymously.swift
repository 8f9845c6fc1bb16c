import Hummingbird
import MartletHTTP

struct SignInAnonymously: Endpoint {
    static let route = Route(
        .post, "/auth/anonymous", "signInAnonymously",
        "Creates a user without name and password, and signs the user in.",
        callers: .client,
        details: """
            If the app loses the refresh token, the account is lost too, unless the user has been given a name \
            and a password with `upgradeMe`.
            """,
        body: .json(
            .object(
                [
                    "profile": .object,
                    "private": .object,
                    "device": .string.maxLength(200),
                ]), isRequired: false),
        answers: [
            .answer(201, "The new user is signed in.", .json(.signIn))
        ],
        errors: [403: "The app requires an invitation or a verified address for signing up (`forbidden`)."])

    let users: UserStore
    let attempts: AttemptStore
    let signIns: SignIns
    let settings: AppSettingsStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try context.userSpace
        let fields = try await BodyFields(request, ["device", "profile", "private"], isOptional: true)
        let user = NewUser(profile: try fields.profile() ?? "{}", privateProfile: try fields.privateProfile() ?? "{}")
        let session = NewSession(device: try fields.device())
        _ = try await settings.current(in: space) { try $0.checkAnonymousSignUp() }
        try await attempts.begin(context.nameLimits(of: request))
        let created = try await users.create(user, session: session, in: space)
        return try signIns.answer(session.id, userID: created.id, user: created.json, in: space, status: .created)
    }
}

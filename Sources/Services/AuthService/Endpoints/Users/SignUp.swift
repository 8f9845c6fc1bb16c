import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// `POST /auth/signup` with `userName` or `email` or both, `password`, and if wanted `profile`, `private`, `device`; 201, signed in.
struct SignUp: Endpoint {
    let users: UserStore
    let attempts: AttemptStore
    let hasher: PasswordHasher
    let signIns: SignIns

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try context.userSpace
        let fields = try await BodyFields(request, ["userName", "email", "password", "profile", "private", "device"])
        let (userName, email) = try fields.userNameOrEmail()
        var user = NewUser(userName: userName, email: email)
        let password = Secret(try fields.requiredString("password"))
        try PasswordPolicy.check(password, besides: [userName?.text, email?.text])
        user.profile = try fields.profile() ?? "{}"
        user.privateProfile = try fields.privateProfile() ?? "{}"
        let session = NewSession(device: try fields.device())

        try await attempts.begin(context.nameLimits(of: request))
        user.passwordHash = try await hasher.hash(password)
        let made = try await users.create(user, session: session, in: space)
        return try signIns.answer(session.id, userID: made.id, user: made.json, in: space, status: .created)
    }
}

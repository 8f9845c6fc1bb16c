import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

struct ChangeMe: Endpoint {
    static let route = Route(
        .patch, "/auth/me", "changeMe", "Changes the signed-in user's name or profiles.",
        callers: .user,
        details: """
            Each field that is sent replaces the stored value. A change of `userName` requires `password` if the \
            user has one, and otherwise a sign-in within the last ten minutes.
            """,
        body: .json(
            .object(
                [
                    "userName": .string,
                    "password": .string.format("password").described(
                        "Required with `userName` if the user has a password."),
                    "profile": .object,
                    "private": .object,
                ])),
        answers: [
            .answer(200, "The changed user.", .json(.user))
        ],
        errors: [
            403: PasswordCheck.refusal, 409: "Another user has this name (`conflict`).",
        ])

    let check: PasswordCheck

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, id) = (try context.userSpace, try context.signedInUser)
        let fields = try await BodyFields(request, ["userName", "password", "profile", "private"])
        let change = UserChange(
            userName: try fields.userName(), profile: try fields.profile(), privateProfile: try fields.privateProfile())
        if change.userName != nil {
            // Users sign in with the name, so an access token alone must not be enough to change the name.
            _ = try await check.confirm(try fields.secret("password"), of: id, in: space, session: try context.session)
            try await check.attempts.begin(context.nameLimits(of: request))
        }
        guard let user = try await check.users.change(id, change, in: space) else { throw ServiceError(.userNotFound) }
        return .json(user)
    }
}

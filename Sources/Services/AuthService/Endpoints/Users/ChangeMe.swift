import Hummingbird
import MartletAPI
import MartletHTTP

/// `PATCH /auth/me` with `profile`, `private`, or `userName` and (where there is one) `password`; each takes the place
/// of what was there. 200 with the user.
struct ChangeMe: Endpoint {
    static let route = Route(
        .patch, "/auth/me", "changeMe", "Changes name or profiles; each takes the place of what was there.",
        callers: .user,
        body: .json(
            .object(
                [
                    "userName": .string,
                    "password": .string.format("password").described("With `userName`, where there is one."),
                    "profile": .object,
                    "private": .object,
                ]), isRequired: false),
        answers: [
            .answer(200, "Done.", .json(.user))
        ],
        errors: [409: "The name is taken, or a unique index forbids it (`conflict`)."])

    let check: PasswordCheck

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, id) = (try context.userSpace, try context.signedInUser)
        let fields = try await BodyFields(request, ["userName", "password", "profile", "private"])
        let change = UserChange(
            userName: try fields.userName(), profile: try fields.profile(), privateProfile: try fields.privateProfile())
        if change.userName != nil {
            // By the name they sign in, and who has the access token alone must not take it away.
            _ = try await check.confirm(try fields.secret("password"), of: id, in: space, session: try context.session)
            try await check.attempts.begin(context.nameLimits(of: request))
        }
        guard let user = try await check.users.change(id, change, in: space) else { throw HTTPProblem(.userNotFound) }
        return .json(user)
    }
}

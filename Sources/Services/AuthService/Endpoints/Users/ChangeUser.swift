import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// `PATCH /auth/users/{id}` with `userName`, `email`, `emailVerified`, `password`, `profile`, `private`, `disabled`,
/// for the app's own server. 200 with the user. A new password and disabling end all sessions.
struct ChangeUser: Endpoint {
    static let route = Route(
        .patch, "/auth/users/{id}", "changeUser", "Changes a user. A new password and disabling end all sessions.",
        callers: .server,
        parameters: [
            .path("id", .uuid)
        ],
        details: "Needs the master key.",
        body: .json(
            .object(
                [
                    "userName": .string,
                    "email": .string.format("email"),
                    "emailVerified": .boolean,
                    "password": .string.format("password").minLength(8),
                    "profile": .object,
                    "private": .object,
                    "disabled": .boolean,
                ]), isRequired: false),
        answers: [
            .answer(200, "Done.", .json(.user))
        ],
        errors: [409: "The name is taken, or a unique index forbids it (`conflict`)."])

    let users: UserStore
    let hasher: PasswordHasher

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, id) = (try context.managedUserSpace, try context.userID)
        let fields = try await BodyFields(
            request, ["userName", "email", "emailVerified", "password", "profile", "private", "disabled"])
        var change = UserChange(
            userName: try fields.userName(), email: try fields.email(),
            isEmailVerified: try fields.flag("emailVerified"),
            profile: try fields.profile(), privateProfile: try fields.privateProfile(),
            isDisabled: try fields.flag("disabled"))
        if let password = try fields.secret("password") {
            try PasswordPolicy.check(password)
            change.passwordHash = try await hasher.hash(password)
        }
        let ended = change.passwordHash != nil || change.isDisabled == true ? EndedSessions.all(butFor: nil) : .none
        let condition: PostgresQuery =
            change.isEmailVerified == true && change.email == nil ? "u.email IS NOT NULL" : "TRUE"
        if let user = try await users.change(id, change, where: condition, ending: ended, in: space) {
            return .json(user)
        }
        guard try await users.account(id, in: space) != nil else { throw HTTPProblem(.userNotFound) }
        throw HTTPProblem(.invalidBody, "There is no address.", field: "emailVerified")
    }
}

import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

struct ChangeUser: Endpoint {
    static let route = Route(
        .patch, "/auth/users/{id}", "changeUser", "Changes a user.",
        callers: .manager(.update, .users),
        parameters: [
            .path("id", .uuid)
        ],
        details: """
            Each field that is sent replaces the stored value. A new password, or `disabled: true`, ends all of \
            the user's sessions.
            """,
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
                ])),
        answers: [
            .answer(200, "The changed user.", .json(.user))
        ],
        errors: [
            404: "The app has no such user (`user-not-found`).",
            409: "Another user has this name or address (`conflict`).",
        ])

    let users: UserStore
    let hasher: PasswordHasher

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, id) = (try context.userSpace, try context.userID)
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
        let ended = change.passwordHash != nil || change.isDisabled == true ? EndedSessions.all(except: nil) : .none
        let condition: PostgresQuery =
            change.isEmailVerified == true && change.email == nil ? "u.email IS NOT NULL" : "TRUE"
        if let user = try await users.change(id, change, where: condition, ending: ended, in: space) {
            return .json(user)
        }
        guard try await users.account(id, in: space) != nil else { throw ServiceError(.userNotFound) }
        throw ServiceError(
            .invalidBody, "A user without an address cannot have a verified one.", field: "emailVerified")
    }
}

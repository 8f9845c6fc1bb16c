import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

struct ChangePassword: Endpoint {
    static let route = Route(
        .put, "/auth/me/password", "changePassword", "Changes the signed-in user's password.", callers: .user,
        details: "All other sessions of the user end.",
        body: .json(
            .object(
                [
                    "password": .string.format("password"),
                    "newPassword": .string.format("password").minLength(8),
                ])),
        answers: [
            .answer(204, "The password is changed.")
        ],
        errors: [409: "The user has no password, or a concurrent request changed it (`conflict`)."])

    let check: PasswordCheck
    let outbox: MailOutbox

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, id) = (try context.userSpace, try context.signedInUser)
        let fields = try await BodyFields(request, ["password", "newPassword"])
        let new = Secret(try fields.requiredString("newPassword"))
        try PasswordPolicy.check(new, field: "newPassword")
        let account = try await check.confirmPassword(try fields.secret("password"), of: id, in: space)
        let hash = try await check.hasher.hash(new)
        let isChanged =
            try await check.users.change(
                id, UserChange(passwordHash: hash), where: "password = \(account.passwordHash)",
                ending: .all(except: try context.session), in: space) != nil
        guard isChanged else { throw ServiceError(.conflict, "The password was changed by another request.") }
        if let email = account.email, account.isEmailVerified {
            await outbox.notifyOfNewPassword(to: email, of: id, in: space)
        }
        return Response(status: .noContent)
    }
}

import Hummingbird
import MartletAPI
import MartletHTTP
import MartletMail

/// `PUT /auth/me/email` with `email` and `password`, and `language` and `link` if wanted: 202, and a mail to the new
/// address, which is the user's after `ConfirmEmailChange`. Whether somebody has it already is not told. On a server
/// that sends no mail it is the user's at once, not verified: 200 with the user.
struct ChangeEmail: Endpoint {
    static let route = Route(
        .put, "/auth/me/email", "changeEmail",
        """
        Another address, after a code that is mailed to it; at once, and not verified, where the server \
        sends no mail.
        """, callers: .user,
        body: .json(
            .object(
                [
                    "email": .string.format("email"),
                    "password": .string.format("password"),
                ]), isRequired: false),
        answers: [
            .answer(202, "A mail to the new address is on its way."),
            .answer(200, "Done.", .json(.user)),
        ],
        errors: [409: "The name is taken, or a unique index forbids it (`conflict`)."])

    let check: PasswordCheck
    let mailing: Mailing

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, id) = (try context.userSpace, try context.signedInUser)
        let fields = try await BodyFields(request, ["email", "password", "language", "link"])
        let email = try fields.requiredEmail()
        let settings = try await mailing.settings.current(in: space).settings
        try settings.check(email)
        var order = MailOrder(.changeEmail, to: email.text, user: id, in: space)
        (order.languages, order.link) = (try fields.languages(request), try fields.link(settings))
        _ = try await check.confirmPassword(try fields.secret("password"), of: id, in: space)
        if try await mailing.outbox.isThere(in: space) {
            try await check.attempts.begin(context.mailLimits(to: email, of: request))
            try await mailing.outbox.place(order)
            return Response(status: .accepted)
        }
        try await check.attempts.begin(context.nameLimits(of: request))
        guard let user = try await check.users.change(id, UserChange(email: email), in: space) else {
            throw HTTPProblem(.userNotFound)
        }
        return .json(user)
    }
}

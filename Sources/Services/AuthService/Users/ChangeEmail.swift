import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletMail

struct ChangeEmail: Endpoint {
    static let route = Route(
        .put, "/auth/me/email", "changeEmail",
        "Changes the signed-in user's e-mail address.", callers: .user,
        details: """
            If mail can be sent, a code and a link are mailed to the new address, and it takes effect once one \
            of them is confirmed. The answer does not reveal whether another user has the address. If no mail \
            can be sent, the address changes at once and is unverified.
            """,
        body: .json(
            .object(
                [
                    "email": .string.format("email"),
                    "password": .string.format("password"),
                ])),
        answers: [
            .answer(202, "A mail to the new address has been queued."),
            .answer(200, "The user with the new, unverified address.", .json(.user)),
        ],
        errors: [
            409: """
            The user has no password; or, if no mail can be sent, another user has the address (`conflict`).
            """
        ])

    let check: PasswordCheck
    let mailing: Mailing

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, id) = (try context.userSpace, try context.signedInUser)
        let fields = try await BodyFields(request, ["email", "password", "language", "link"])
        let email = try fields.requiredEmail()
        let settings = try await mailing.settings.current(in: space) {
            try $0.check(email)
            _ = try fields.link($0)
        }
        var order = MailOrder(.changeEmail, to: email.text, user: id, in: space)
        (order.languages, order.link) = (try fields.languages(request), try fields.link(settings))
        _ = try await check.confirmPassword(try fields.secret("password"), of: id, in: space)
        if try await mailing.outbox.canSendMail(in: space) {
            try await check.attempts.begin(context.mailLimits(to: email, of: request))
            try await mailing.outbox.place(order)
            return Response(status: .accepted)
        }
        try await check.attempts.begin(context.nameLimits(of: request))
        guard let user = try await check.users.change(id, UserChange(email: email), in: space) else {
            throw ServiceError(.userNotFound)
        }
        return .json(user)
    }
}

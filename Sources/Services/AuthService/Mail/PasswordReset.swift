import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletMail

/// The answer and the work are the same whether or not a user has the address.
struct RequestPasswordReset: Endpoint {
    static let route = Route(
        .post, "/auth/password/reset", "requestPasswordReset",
        "Mails a code and a link for setting a new password.", callers: .client,
        details: "The answer does not reveal whether a user has the address.",
        body: .json(
            .object(
                [
                    "email": .string.format("email"),
                    "language": .string.described(
                        "The language of the mail (BCP 47). The default comes from `Accept-Language`."),
                    "link": .string.described("One of the app's `linkURLs`; by default the first."),
                ])),
        answers: [
            .answer(202, "The request is accepted. Mail is sent only if a user has the address.")
        ],
        errors: [501: "No mail server is configured (`not-implemented`)."])

    let attempts: AttemptStore
    let mailing: Mailing

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try await mailing.requestByAddress(.resetPassword, request, context, attempts)
    }
}

/// Does not sign the user in: signing in still requires the second factor.
struct ConfirmPasswordReset: Endpoint {
    static let route = Route(
        .post, "/auth/password/reset/confirm", "confirmPasswordReset",
        "Sets a new password with the code or link from a mail.", callers: .client,
        details: """
            Takes either `token`, or `email` and `mailCode`. The address is then verified, and all of the user's \
            sessions end.
            """,
        body: .json(
            .object(
                [
                    "token": .string.described("The token from the link."),
                    "email": .string.format("email"),
                    "mailCode": .string.described(
                        "The eight-digit code from the mail, instead of `token`. Requires `email`."),
                    "newPassword": .string.format("password").minLength(8),
                ])),
        answers: [
            .answer(204, "The new password is set.")
        ])

    let users: UserStore
    let attempts: AttemptStore
    let hasher: PasswordHasher
    let mailing: Mailing

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try context.userSpace
        let fields = try await BodyFields(request, ["token", "email", "mailCode", "newPassword"])
        let presented = try fields.presentedProof(of: fields.requiredEmail().text)
        let password = Secret(try fields.requiredString("newPassword"))
        try PasswordPolicy.check(password, field: "newPassword")
        let proof = try await ProofLimits(presented, request, context).find(
            presented, .resetPassword, mailing.proofs, attempts, in: space)
        let hash = try await hasher.hash(password)
        guard let user = try await users.resetPassword(to: hash, by: proof, in: space) else {
            throw ServiceError.proofRefused
        }
        await mailing.outbox.notifyOfNewPassword(to: proof.email, of: user, in: space)
        return Response(status: .noContent)
    }
}

extension Mailing {
    /// Orders mail to an address that any client may name.
    func requestByAddress(_ kind: MailKind, _ request: Request, _ context: ServiceContext, _ attempts: AttemptStore)
        async throws -> Response
    {
        let space = try context.userSpace
        let fields = try await BodyFields(request, ["email", "language", "link"])
        let email = try fields.requiredEmail()
        var order = MailOrder(kind, to: email.text, in: space)
        order.languages = try fields.languages(request)
        order.link = try fields.link(try await settings.current(in: space) { _ = try fields.link($0) })
        try await attempts.begin(context.mailLimits(to: email, of: request))
        try await outbox.place(order)
        return Response(status: .accepted)
    }
}

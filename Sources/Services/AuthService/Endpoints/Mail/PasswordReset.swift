import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletMail

/// `POST /auth/password/reset` with `email`, and `language` and `link` if wanted; 202, and a mail if somebody has the
/// address.
///
/// Answer and work are the same whether somebody has.
struct RequestPasswordReset: Endpoint {
    static let route = Route(
        .post, "/auth/password/reset", "requestPasswordReset",
        """
        Mails a code and a link to choose a new password. The answer does not say whether somebody has the \
        address.
        """, callers: .client,
        body: .json(
            .object(
                [
                    "email": .string.format("email"),
                    "language": .string.described("BCP 47; else Accept-Language."),
                    "link": .string.described("One of the app's linkURLs; else the first."),
                ]), isRequired: false),
        answers: [
            .answer(202, "A mail is on its way, if it is to be.")
        ],
        errors: [409: "The name is taken, or a unique index forbids it (`conflict`)."])

    let attempts: AttemptStore
    let mailing: Mailing

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try await mailing.requestByAddress(.resetPassword, request, context, attempts)
    }
}

/// `POST /auth/password/reset/confirm` with `token`, or `email` and `mailCode`, and `newPassword`; 204.
///
/// The address is verified with it, and all sessions end. It signs nobody in: that still asks for the second factor.
struct ConfirmPasswordReset: Endpoint {
    static let route = Route(
        .post, "/auth/password/reset/confirm", "confirmPasswordReset",
        "A new password, by what was mailed. All sessions end.", callers: .client,
        body: .json(
            .object(
                [
                    "token": .string.described("Of the link."),
                    "email": .string.format("email"),
                    "mailCode": .string.described("Eight digits, with `email`."),
                    "newPassword": .string.format("password").minLength(8),
                ]), isRequired: false),
        answers: [
            .answer(204, "Done.")
        ],
        errors: [409: "The name is taken, or a unique index forbids it (`conflict`)."])

    let users: UserStore
    let attempts: AttemptStore
    let hasher: PasswordHasher
    let mailing: Mailing

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try context.userSpace
        let fields = try await BodyFields(request, ["token", "email", "mailCode", "newPassword"])
        let shown = try fields.shownProof(of: fields.requiredEmail().text)
        let password = Secret(try fields.requiredString("newPassword"))
        try PasswordPolicy.check(password, field: "newPassword")
        let proof = try await ProofLimits(shown, request, context).find(
            shown, .resetPassword, mailing.proofs, attempts, in: space)
        let hash = try await hasher.hash(password)
        guard let user = try await users.resetPassword(to: hash, by: proof, in: space) else {
            throw HTTPProblem.proofRefused
        }
        await mailing.outbox.tell(.passwordChanged(to: proof.email, of: user, in: space))
        return Response(status: .noContent)
    }
}

extension Mailing {
    /// Orders what goes to an address that anybody may name.
    func requestByAddress(_ kind: MailKind, _ request: Request, _ context: ServiceContext, _ attempts: AttemptStore)
        async throws -> Response
    {
        let space = try context.userSpace
        let fields = try await BodyFields(request, ["email", "language", "link"])
        let email = try fields.requiredEmail()
        var order = MailOrder(kind, to: email.text, in: space)
        order.languages = try fields.languages(request)
        order.link = try fields.link(try await settings.current(in: space).settings)
        try await attempts.begin(context.mailLimits(to: email, of: request))
        try await outbox.place(order)
        return Response(status: .accepted)
    }
}

import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletMail

struct RequestEmailVerification: Endpoint {
    static let route = Route(
        .post, "/auth/email/verify", "requestEmailVerification",
        "Mails the signed-in user a code and a link that verify the address.", callers: .user,
        body: .json(
            .object(
                [
                    "language": .string.described(
                        "The language of the mail (BCP 47). The default comes from `Accept-Language`."),
                    "link": .string.described("One of the app's `linkURLs`; by default the first."),
                ]), isRequired: false),
        answers: [
            .answer(202, "The mail has been queued.")
        ],
        errors: [
            409: "The user has no address, or it is already verified (`conflict`).",
            501: "No mail server is configured (`not-implemented`).",
        ])

    let users: UserStore
    let attempts: AttemptStore
    let mailing: Mailing

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, id) = (try context.userSpace, try context.signedInUser)
        let fields = try await BodyFields(request, ["language", "link"], isOptional: true)
        guard let user = try await users.findForMail(id, in: space) else { throw ServiceError(.userNotFound) }
        guard let text = user.email, !user.isEmailVerified else {
            throw ServiceError(.conflict, "The user has no address, or it is already verified.")
        }
        var order = MailOrder(.verifyEmail, to: text, user: id, in: space)
        order.languages = try fields.languages(request)
        order.link = try fields.link(try await mailing.settings.current(in: space) { _ = try fields.link($0) })
        try await attempts.begin(context.mailLimits(to: EmailAddress(text), of: request))
        try await mailing.outbox.place(order)
        return Response(status: .accepted)
    }
}

struct ConfirmEmailVerification: Endpoint {
    static let route = Route(
        .post, "/auth/email/verify/confirm", "confirmEmailVerification",
        "Verifies an address with the code or link that was mailed to it.",
        callers: .client,
        details: """
            Takes either `token`, or `email` and `mailCode`. Needs no access token, because the link may be \
            opened on another device.
            """,
        body: .json(
            .object(
                [
                    "token": .string.described("The token from the link."),
                    "email": .string.format("email"),
                    "mailCode": .string.described(
                        "The eight-digit code from the mail, instead of `token`. Requires `email`."),
                ])),
        answers: [
            .answer(204, "The address is verified.")
        ])

    let users: UserStore
    let attempts: AttemptStore
    let proofs: MailProofStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try context.userSpace
        let fields = try await BodyFields(request, ["token", "email", "mailCode"])
        let presented = try fields.presentedProof(of: fields.requiredEmail().text)
        let proof = try await ProofLimits(presented, request, context).find(
            presented, .verifyEmail, proofs, attempts, in: space)
        guard try await users.verifyEmail(by: proof) else { throw ServiceError.proofRefused }
        return Response(status: .noContent)
    }
}

import Hummingbird
import MartletAPI
import MartletHTTP
import MartletMail

/// `POST /auth/email/verify` with `language` and `link` if wanted; 202, and a mail to the address of who is signed in.
/// 409 when there is none, or it is verified.
struct RequestEmailVerification: Endpoint {
    static let route = Route(
        .post, "/auth/email/verify", "requestEmailVerification",
        "Mails a code and a link to verify the address of who is signed in.", callers: .user,
        body: .json(
            .object(
                [
                    "language": .string.described("BCP 47; else Accept-Language."),
                    "link": .string.described("One of the app's linkURLs; else the first."),
                ]), isRequired: false),
        answers: [
            .answer(202, "A mail is on its way, if it is to be.")
        ],
        errors: [409: "The name is taken, or a unique index forbids it (`conflict`)."])

    let users: UserStore
    let attempts: AttemptStore
    let mailing: Mailing

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, id) = (try context.userSpace, try context.signedInUser)
        let fields = try await BodyFields(request, ["language", "link"], isOptional: true)
        guard let user = try await users.mailed(id, in: space) else { throw HTTPProblem(.userNotFound) }
        guard let text = user.email, !user.isEmailVerified else {
            throw HTTPProblem(.conflict, "There is no address to verify.")
        }
        var order = MailOrder(.verifyEmail, to: text, user: id, in: space)
        order.languages = try fields.languages(request)
        order.link = try fields.link(try await mailing.settings.current(in: space).settings)
        try await attempts.begin(context.mailLimits(to: EmailAddress(text), of: request))
        try await mailing.outbox.place(order)
        return Response(status: .accepted)
    }
}

/// `POST /auth/email/verify/confirm` with `token`, or with `email` and `mailCode`; 204. Needs no access token: the link
/// may be opened elsewhere.
struct ConfirmEmailVerification: Endpoint {
    static let route = Route(
        .post, "/auth/email/verify/confirm", "confirmEmailVerification", "Verifies an address by what was mailed.",
        callers: .client,
        body: .json(
            .object(
                [
                    "token": .string.described("Of the link."),
                    "email": .string.format("email"),
                    "mailCode": .string.described("Eight digits, with `email`."),
                ]), isRequired: false),
        answers: [
            .answer(204, "Done.")
        ],
        errors: [409: "The name is taken, or a unique index forbids it (`conflict`)."])

    let users: UserStore
    let attempts: AttemptStore
    let proofs: MailProofStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try context.userSpace
        let fields = try await BodyFields(request, ["token", "email", "mailCode"])
        let shown = try fields.shownProof(of: fields.requiredEmail().text)
        let proof = try await ProofLimits(shown, request, context).find(
            shown, .verifyEmail, proofs, attempts, in: space)
        guard try await users.verifyEmail(by: proof) else { throw HTTPProblem.proofRefused }
        return Response(status: .noContent)
    }
}

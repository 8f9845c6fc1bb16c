import Hummingbird
import MartletAPI
import MartletHTTP
import MartletMail

/// `POST /auth/email/verify` with `language` and `link` if wanted; 202, and a mail to the address of who is signed in.
/// 409 when there is none, or it is verified.
struct RequestEmailVerification: Endpoint {
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

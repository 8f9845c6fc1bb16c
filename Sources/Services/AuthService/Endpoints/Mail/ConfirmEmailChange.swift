import Foundation
import Hummingbird
import MartletAPI
import MartletHTTP

/// `POST /auth/email/change/confirm` with `token`, or with `mailCode` by the user who is signed in; 204. The new
/// address is the user's, and verified; the former one is told.
struct ConfirmEmailChange: Endpoint {
    static let route = Route(
        .post, "/auth/email/change/confirm", "confirmEmailChange",
        "Puts the new address in place, by what was mailed to it.", callers: .user,
        body: .json(
            .object(
                [
                    "token": .string.described("Of the link."),
                    "mailCode": .string.described("Eight digits, with `email`."),
                ]), isRequired: false),
        answers: [
            .answer(204, "Done.")
        ],
        errors: [409: "The name is taken, or a unique index forbids it (`conflict`)."])

    let users: UserStore
    let attempts: AttemptStore
    let mailing: Mailing

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try context.userSpace
        let fields = try await BodyFields(request, ["token", "mailCode"])
        let shown = try fields.shownProof(of: context.signedInUser.uuidString)
        let proof = try await ProofLimits(shown, request, context).find(
            shown, .changeEmail, mailing.proofs, attempts, in: space)
        guard let (user, former) = try await users.changeEmail(by: proof) else { throw HTTPProblem.proofRefused }
        if let former {
            var notice = MailOrder(.emailChanged, to: former, user: user, in: space)
            notice.values = ["newEmail": proof.email, "time": MailOrder.now]
            await mailing.outbox.tell(notice)
        }
        return Response(status: .noContent)
    }
}

import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

struct ConfirmEmailChange: Endpoint {
    static let route = Route(
        .post, "/auth/email/change/confirm", "confirmEmailChange",
        "Completes a change of a user's address.", callers: .client,
        details: """
            Takes either `token` or `mailCode` from the mail to the new address. The new address is then \
            verified, and the former address gets a notice.
            """,
        body: .json(
            .object(
                [
                    "token": .string.described("The token from the link."),
                    "mailCode": .string.described(
                        "The eight-digit code from the mail, instead of `token`; with it, the user must be signed in."),
                ])),
        answers: [
            .answer(204, "The address is changed and verified.")
        ],
        errors: [409: "Another user has this address by now (`conflict`)."])

    let users: UserStore
    let attempts: AttemptStore
    let mailing: Mailing

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try context.userSpace
        let fields = try await BodyFields(request, ["token", "mailCode"])
        let presented = try fields.presentedProof(of: context.signedInUser.uuidString)
        let proof = try await ProofLimits(presented, request, context).find(
            presented, .changeEmail, mailing.proofs, attempts, in: space)
        guard let (user, former) = try await users.changeEmail(by: proof) else { throw ServiceError.proofRefused }
        if let former {
            var notice = MailOrder(.emailChanged, to: former, user: user, in: space)
            notice.values = ["newEmail": proof.email, "time": mailing.outbox.time]
            await mailing.outbox.sendNotice(notice)
        }
        return Response(status: .noContent)
    }
}

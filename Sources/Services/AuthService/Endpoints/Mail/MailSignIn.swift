import Hummingbird
import MartletAPI
import MartletHTTP
import MartletMail

/// `POST /auth/login/mail` with `email`, and `language` and `link` if wanted; 202, and a mail with a code and a link to
/// sign in by.
///
/// Answer and work are the same whether somebody has the address.
struct RequestMailSignIn: Endpoint {
    static let route = Route(
        .post, "/auth/login/mail", "requestMailSignIn",
        """
        Mails a code and a link to sign in by. The answer does not say whether somebody has the address.
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
        try await mailing.requestByAddress(.signIn, request, context, attempts)
    }
}

/// `POST /auth/login/mail/confirm` with `token`, or `email` and `mailCode`, and if wanted `device`; 200, signed in, or
/// 201 with a new account where the app's settings allow that.
///
/// Who has a second factor also sends `code`; without one the answer is 401 `second-factor-required`, and the proof may
/// come again with it.
struct ConfirmMailSignIn: Endpoint {
    static let route = Route(
        .post, "/auth/login/mail/confirm", "confirmMailSignIn", "Signs in by what was mailed.", callers: .client,
        body: .json(
            .object(
                [
                    "token": .string.described("Of the link."),
                    "email": .string.format("email"),
                    "mailCode": .string.described("Eight digits, with `email`."),
                    "code": .string.described("Of the second factor."),
                    "device": .string,
                ]), isRequired: false),
        answers: [
            .answer(200, "Signed in.", .json(.signIn)),
            .answer(201, "Signed in, with a new account.", .json(.signIn)),
        ],
        errors: [409: "The name is taken, or a unique index forbids it (`conflict`)."])

    let users: UserStore
    let attempts: AttemptStore
    let completion: SignInCompletion
    let mailing: Mailing

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try context.userSpace
        let fields = try await BodyFields(request, ["token", "email", "mailCode", "code", "device"])
        let shown = try fields.shownProof(of: fields.requiredEmail().text)
        let code = try fields.string("code")
        let session = NewSession(device: try fields.device())
        let proof = try await ProofLimits(shown, request, context).find(
            shown, .signIn, mailing.proofs, attempts, in: space)
        let user = try await users.mailed(proof.email, in: space)
        // Whoever has the address by now, if the mail was not for somebody else.
        guard proof.userID == nil || proof.userID == user?.id else { throw HTTPProblem.proofRefused }
        guard let user else { return try await signUp(by: proof, session, in: space) }
        guard user.isEmailVerified else {
            // Somebody else may have made the account, and the second factor would be theirs: it goes with all they
            // could come in by.
            guard try await users.signIn(user.id, by: proof, in: space) else { throw HTTPProblem.proofRefused }
            return try await completion.signIn(user.id, code: nil, session: session, in: space) { true }
        }
        return try await completion.signIn(user.id, code: code, session: session, in: space) {
            try await users.signIn(user.id, by: proof, in: space)
        }
    }

    private func signUp(by proof: MailProof, _ session: NewSession, in space: UserSpace) async throws -> Response {
        let settings = try await mailing.settings.current(in: space).settings
        guard settings.allowsSignUpByMail(proof.email), try await mailing.proofs.take(proof) else {
            throw HTTPProblem.proofRefused
        }
        let user = NewUser(email: try EmailAddress(proof.email), isEmailVerified: true)
        let made = try await users.create(user, session: session, in: space)
        return try completion.signIns.answer(session.id, userID: made.id, user: made.json, in: space, status: .created)
    }
}

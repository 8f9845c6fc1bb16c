import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletMail

/// The answer and the work are the same whether or not a user has the address.
struct RequestMailSignIn: Endpoint {
    static let route = Route(
        .post, "/auth/login/mail", "requestMailSignIn",
        "Mails a code and a link for signing in.", callers: .client,
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
            .answer(202, "The request is accepted. Mail is sent only if it may lead to a sign-in.")
        ],
        errors: [501: "No mail server is configured (`not-implemented`)."])

    let attempts: AttemptStore
    let mailing: Mailing

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try await mailing.requestByAddress(.signIn, request, context, attempts)
    }
}

/// A request without the required second-factor code consumes nothing, so the same proof can be sent again with a code.
struct ConfirmMailSignIn: Endpoint {
    static let route = Route(
        .post, "/auth/login/mail/confirm", "confirmMailSignIn", "Signs in with the code or link from a mail.",
        callers: .client,
        details: """
            Takes either `token`, or `email` and `mailCode`. If the account has a second factor and `code` is \
            missing, the answer is 401 with `second-factor-required`, and the same call can be repeated with \
            `code`. If the app's settings have `signUpByMail`, an unknown address gets a new account.
            """,
        body: .json(
            .object(
                [
                    "token": .string.described("The token from the link."),
                    "email": .string.format("email"),
                    "mailCode": .string.described(
                        "The eight-digit code from the mail, instead of `token`. Requires `email`."),
                    "code": .string.described("A code from the authenticator app, or a recovery code."),
                    "device": .string,
                ])),
        answers: [
            .answer(200, "The user is signed in.", .json(.signIn)),
            .answer(201, "A new user is signed in.", .json(.signIn)),
        ],
        errors: [409: "Another request has just created an account with this address (`conflict`)."])

    let users: UserStore
    let attempts: AttemptStore
    let completion: SignInCompletion
    let mailing: Mailing

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try context.userSpace
        let fields = try await BodyFields(request, ["token", "email", "mailCode", "code", "device"])
        let presented = try fields.presentedProof(of: fields.requiredEmail().text)
        let code = try fields.string("code")
        let session = NewSession(device: try fields.device())
        let proof = try await ProofLimits(presented, request, context).find(
            presented, .signIn, mailing.proofs, attempts, in: space)
        let user = try await users.findForMail(proof.email, in: space)
        // A mail that was sent for another account does not sign in to the account that has the address now.
        guard proof.userID == nil || proof.userID == user?.id else { throw ServiceError.proofRefused }
        guard let user else { return try await signUp(by: proof, session, in: space) }
        guard user.isEmailVerified else {
            // Someone else may have created the account and set up its second factor. Signing in by the proof removes
            // that factor and every other way to sign in, so no code is required.
            guard try await users.signIn(user.id, by: proof, in: space) else { throw ServiceError.proofRefused }
            return try await completion.signIn(user.id, code: nil, session: session, in: space) { true }
        }
        return try await completion.signIn(user.id, code: code, session: session, in: space) {
            try await users.signIn(user.id, by: proof, in: space)
        }
    }

    private func signUp(by proof: MailProof, _ session: NewSession, in space: AppSpace) async throws -> Response {
        _ = try await mailing.settings.current(in: space) { settings in
            guard settings.allowsSignUpByMail(proof.email) else { throw ServiceError.proofRefused }
        }
        guard try await mailing.proofs.consume(proof) else { throw ServiceError.proofRefused }
        let user = NewUser(email: try EmailAddress(proof.email), isEmailVerified: true)
        let created = try await users.create(user, session: session, in: space)
        return try completion.signIns.answer(
            session.id, userID: created.id, user: created.json, in: space, status: .created)
    }
}

import Foundation
import Hummingbird
import Logging
import MartletAPI
import MartletCore
import MartletHTTP

/// `POST /auth/passkeys/options`: what an authenticator is asked to sign in with,
/// `PublicKeyCredentialRequestOptionsJSON`. The authenticator knows whom it has passkeys of: no name is asked for, and
/// the answer is the same for everybody.
struct OfferPasskeySignIn: Endpoint {
    static let route = Route(
        .post, "/auth/passkeys/options", "offerPasskeySignIn", "What an authenticator is asked to sign in with.",
        callers: .client,
        answers: [
            .answer(
                200, "Done.", .json(.object.described("`PublicKeyCredentialRequestOptionsJSON` (WebAuthn §5.1.9).")))
        ])

    let passkeys: PasskeyStore
    let attempts: AttemptStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try context.userSpace
        let party = try await passkeys.requiredParty(in: space)
        try await attempts.begin(context.challengeLimits(of: request))
        let challenge = try await passkeys.makeChallenge(for: .signIn, of: nil, in: space)
        return try Response.encoding(PasskeyRequestOptions(challenge: challenge, party: party)).notStored
    }
}

/// `POST /auth/passkeys/login` with `credential` as `navigator.credentials.get` returned it, and `code` and `device` if
/// wanted; 200, signed in.
///
/// A passkey that was opened by a fingerprint, a face or a PIN is two factors, and no `code` is asked for; one that was
/// only touched is one. Where the app demands verified addresses a good proof for an account without one is 403, and a
/// wrong `code` behind a good proof says so. All other refusals are the same, whether the passkey is unknown, the user
/// disabled, or anything of the proof wrong; the log says which.
struct LogInByPasskey: Endpoint {
    static let route = Route(
        .post, "/auth/passkeys/login", "logInByPasskey", "Signs in by a passkey.", callers: .client,
        body: .json(
            .object(
                [
                    "credential": .object.described("As `PublicKeyCredential.toJSON()` returns it."),
                    "code": .string,
                    "device": .string,
                ]), isRequired: false),
        answers: [
            .answer(200, "Done.", .json(.signIn))
        ])

    let users: UserStore
    let passkeys: PasskeyStore
    let attempts: AttemptStore
    let completion: SignInCompletion
    let settings: AppSettingsStore
    let logger: Logger

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try context.userSpace
        let fields = try await BodyFields(request, ["credential", "code", "device"])
        let credential = try PasskeyCredential(fields)
        let code = try fields.string("code")
        let session = NewSession(device: try fields.device())
        let party = try await passkeys.requiredParty(in: space)

        let address = try context.clientAddress(of: request).map { AttemptStore.Limit.address($0, in: space) }
        try await attempts.begin([address].compactMap(\.self))
        let (passkey, proof) = try await check(credential, for: party, in: space, context)
        let response: Response
        do {
            guard let account = try await users.account(passkey.userID, in: space), !account.isDisabled else {
                throw Self.refusal()
            }
            try await settings.current(in: space).settings.checkSignIn(isEmailVerified: account.isEmailVerified)
            response = try await completion.signIn(
                passkey.userID, code: code, hasTwoFactors: proof.isUserVerified, session: session, in: space
            ) {
                try await passkeys.use(proof, by: passkey, in: space)
            }
        } catch let problem as HTTPProblem where problem.code == .secondFactorRequired || problem.code == .forbidden {
            // The proof was good, and no code was looked at.
            try await attempts.succeed(account: nil, address: address)
            throw problem
        }
        try await attempts.succeed(account: nil, address: address)
        return response
    }

    /// The same whatever is wrong with the passkey or its account.
    private static func refusal(_ cause: String? = nil) -> HTTPProblem {
        HTTPProblem(
            .signInFailed, "This passkey opens no account here: ask for a new challenge, or sign in another way.",
            cause: cause)
    }

    private func check(
        _ credential: PasskeyCredential, for party: RelyingParty, in space: UserSpace, _ context: ServiceContext
    ) async throws -> (StoredPasskey, PasskeyCredential.Proof) {
        do {
            guard let passkey = try await passkeys.find(credential.id, in: space) else {
                throw PasskeyRefusal("The passkey is not known.")
            }
            let proof = try credential.proof(by: passkey, for: party)
            guard try await passkeys.isOpen(proof.challenge, in: space) else {
                throw PasskeyRefusal("The challenge is not open.")
            }
            if !proof.isCounted(after: passkey) {
                logger.warning(
                    "A passkey's count did not go up: there may be a copy of it. Signing in was refused.",
                    metadata: [
                        "app.id": "\(space.appID)", "user.id": "\(passkey.userID)", "passkey.id": "\(passkey.id)",
                        "request.id": "\(context.requestID)",
                    ])
                throw PasskeyRefusal("The count did not go up.")
            }
            return (passkey, proof)
        } catch let refusal as PasskeyRefusal {
            throw Self.refusal(refusal.reason)
        }
    }
}

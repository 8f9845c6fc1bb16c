import Foundation
import Hummingbird
import Logging
import MartletAPI
import MartletCore
import MartletHTTP

/// The answer has no list of credentials and is the same for every caller: the authenticator itself knows which
/// passkeys it has.
struct OfferPasskeySignIn: Endpoint {
    static let route = Route(
        .post, "/auth/passkeys/options", "offerPasskeySignIn", "Returns the options for signing in with a passkey.",
        callers: .client,
        details: "Pass them to `navigator.credentials.get`. No user name is needed.",
        answers: [
            .answer(
                200, "The options, with a challenge that can be used once within five minutes.",
                .json(.object.described("`PublicKeyCredentialRequestOptionsJSON` (WebAuthn §5.1.9).")))
        ],
        errors: [404: "The app has no settings for passkeys (`not-found`)."])

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

/// The refusal is the same whether the passkey is unknown, the user is disabled or any part of the proof is wrong; the
/// log has the cause.
struct LogInByPasskey: Endpoint {
    static let route = Route(
        .post, "/auth/passkeys/login", "logInByPasskey", "Signs in with a passkey.", callers: .client,
        details: """
            A passkey that was unlocked with a fingerprint, a face or a PIN counts as two factors and needs no \
            `code`. Otherwise, if the account has a second factor and `code` is missing, the answer is 401 with \
            `second-factor-required`.
            """,
        body: .json(
            .object(
                [
                    "credential": .object.described("The credential as returned by `PublicKeyCredential.toJSON()`."),
                    "code": .string,
                    "device": .string,
                ])),
        answers: [
            .answer(200, "The user is signed in.", .json(.signIn))
        ],
        errors: [
            403: "The app requires a verified address, and this account has none (`forbidden`).",
            404: "The app has no settings for passkeys (`not-found`).",
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
            _ = try await settings.current(in: space) {
                try $0.checkSignIn(isEmailVerified: account.isEmailVerified)
            }
            response = try await completion.signIn(
                passkey.userID, code: code, hasTwoFactors: proof.isUserVerified, session: session, in: space
            ) {
                try await passkeys.use(proof, by: passkey, in: space)
            }
        } catch let problem as ServiceError where problem.code == .secondFactorRequired || problem.code == .forbidden {
            // The proof was valid and no code was checked, so the attempt is no failure.
            try await attempts.succeed(account: nil, address: address)
            throw problem
        }
        try await attempts.succeed(account: nil, address: address)
        return response
    }

    /// The same refusal, whatever is wrong with the passkey or its account.
    private static func refusal(_ cause: String? = nil) -> ServiceError {
        ServiceError(
            .signInFailed,
            "This passkey could not be used to sign in; request new options and try again, or sign in another way.",
            cause: cause)
    }

    private func check(
        _ credential: PasskeyCredential, for party: RelyingParty, in space: AppSpace, _ context: ServiceContext
    ) async throws -> (StoredPasskey, PasskeyCredential.Proof) {
        do {
            guard let passkey = try await passkeys.find(credential.id, in: space) else {
                throw PasskeyRefusal("The passkey is unknown.")
            }
            let proof = try credential.proof(by: passkey, for: party)
            guard try await passkeys.isOpen(proof.challenge, in: space) else {
                throw PasskeyRefusal("The challenge is unknown, was used before or has expired.")
            }
            if !proof.hasValidCount(after: passkey) {
                logger.warning(
                    "A passkey's signature count did not increase, so there may be a copy of it; the sign-in was refused.",
                    metadata: [
                        "app.id": "\(space.appID)", "user.id": "\(passkey.userID)", "passkey.id": "\(passkey.id)",
                        "request.id": "\(context.requestID)",
                    ])
                throw PasskeyRefusal("The signature count did not increase.")
            }
            return (passkey, proof)
        } catch let refusal as PasskeyRefusal {
            throw Self.refusal(refusal.reason)
        }
    }
}

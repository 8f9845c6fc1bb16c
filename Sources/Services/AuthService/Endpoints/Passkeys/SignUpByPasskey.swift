import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletMail

/// `POST /auth/passkeys/signup/options` with `userName` or `email` or both: what an authenticator is asked to make,
/// `PublicKeyCredentialCreationOptionsJSON`. Whether somebody has the name is told by `SignUpByPasskey`.
struct OfferPasskeySignUp: Endpoint {
    static let route = Route(
        .post, "/auth/passkeys/signup/options", "offerPasskeySignUp",
        "What an authenticator is asked to make for a new user.", callers: .client,
        body: .json(
            .object(
                [
                    "userName": .string,
                    "email": .string.format("email"),
                ]), isRequired: false),
        answers: [
            .answer(
                200, "Done.", .json(.object.described("`PublicKeyCredentialCreationOptionsJSON` (WebAuthn §5.1.8).")))
        ])

    let passkeys: PasskeyStore
    let attempts: AttemptStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try context.userSpace
        let (userName, email) = try await BodyFields(request, ["userName", "email"]).userNameOrEmail()
        let party = try await passkeys.requiredParty(in: space)
        try await attempts.begin(context.challengeLimits(of: request))
        let user = NewUser().id
        let challenge = try await passkeys.makeChallenge(for: .signUp, of: user, in: space)
        let name = userName?.text ?? email?.text ?? party.name
        return try Response.encoding(PasskeyCreationOptions(challenge: challenge, party: party, user: user, name: name))
            .notStored
    }
}

/// `POST /auth/passkeys/signup` with `credential` as `navigator.credentials.create` returned it, `userName` or `email`
/// or both, and if wanted `name` (of the passkey), `profile`, `private`, `device`, `invitation`, `language`; 201,
/// signed in as a new user without a password. Where the app demands verified addresses 202 with `{"user"}`, as
/// `SignUp`.
///
/// After 409 for a name that somebody has, the same credential may come again with another.
struct SignUpByPasskey: Endpoint {
    static let route = Route(
        .post, "/auth/passkeys/signup", "signUpByPasskey", "Makes a user without a password, and signs them in.",
        callers: .client,
        body: .json(
            .object(
                [
                    "credential": .object.described("As `PublicKeyCredential.toJSON()` returns it."),
                    "userName": .string,
                    "email": .string.format("email"),
                    "name": .string.maxLength(100),
                    "profile": .object,
                    "private": .object,
                    "device": .string,
                    "invitation": .string,
                    "language": .string,
                ]), isRequired: false),
        answers: [
            .answer(201, "Done.", .json(.signIn)),
            .answer(
                202, "The app demands verified addresses: signing in is for after `email/verify/confirm`.",
                .json(
                    .object(
                        [
                            "user": .user
                        ]))),
        ],
        errors: [409: "The name is taken, or a unique index forbids it (`conflict`)."])

    let passkeys: PasskeyStore
    let attempts: AttemptStore
    let signIns: SignIns
    let mailing: Mailing

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try context.userSpace
        let fields = try await BodyFields(
            request,
            ["credential", "userName", "email", "name", "profile", "private", "device", "invitation", "language"])
        let (userName, email) = try fields.userNameOrEmail()
        let credential = try PasskeyCredential(fields)
        let name = try fields.passkeyName() ?? ""
        var user = NewUser(userName: userName, email: email)
        user.profile = try fields.profile() ?? "{}"
        user.privateProfile = try fields.privateProfile() ?? "{}"
        user.invitation = try fields.string("invitation")
        let session = NewSession(device: try fields.device())
        let languages = try fields.languages(request)
        let settings = try await mailing.settings.current(in: space).settings
        try settings.checkSignUp(email: email, invitation: user.invitation)
        let party = try await passkeys.requiredParty(in: space)
        try await attempts.begin(context.nameLimits(of: request))

        let (challenge, passkey) = try credential.tellingRefusal { try credential.registration(for: party) }
        guard let id = try await passkeys.newUser(of: challenge, in: space) else { throw HTTPProblem.closedChallenge }
        user.id = id
        let made = try await passkeys.signUp(
            user, passkey: passkey, name: name, challenge: challenge, session: session,
            needsVerifiedEmail: settings.requireVerifiedEmail, in: space)
        guard let made else { throw HTTPProblem.closedChallenge }
        await mailing.verify(email, of: id, settings, languages, in: space)
        guard made.isSignedIn else { return .waitingForVerification(made.json) }
        return try signIns.answer(session.id, userID: id, user: made.json, in: space, status: .created)
    }
}

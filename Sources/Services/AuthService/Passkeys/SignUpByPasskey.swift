import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletMail

/// Does not reveal whether a name is taken; `SignUpByPasskey` does.
struct OfferPasskeySignUp: Endpoint {
    static let route = Route(
        .post, "/auth/passkeys/signup/options", "offerPasskeySignUp",
        "Returns the options for creating a passkey for a new user.", callers: .client,
        details: "Pass them to `navigator.credentials.create`. Takes `userName`, `email` or both.",
        body: .json(
            .object(
                [
                    "userName": .string,
                    "email": .string.format("email"),
                ])),
        answers: [
            .answer(
                200, "The options, with a challenge that can be used once within five minutes.",
                .json(.object.described("`PublicKeyCredentialCreationOptionsJSON` (WebAuthn §5.1.8).")))
        ],
        errors: [404: "The app has no settings for passkeys (`not-found`)."])

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

/// Consumes the challenge only if the user is created: after a conflict of names, the same credential can be sent again
/// with another name.
struct SignUpByPasskey: Endpoint {
    static let route = Route(
        .post, "/auth/passkeys/signup", "signUpByPasskey",
        "Creates a user with a passkey instead of a password, and signs the user in.",
        callers: .client,
        details: """
            Takes `userName`, `email` or both; `name` is the name of the passkey. After a conflict of names, the \
            same credential can be sent again with another name.
            """,
        body: .json(
            .object(
                [
                    "credential": .object.described("The credential as returned by `PublicKeyCredential.toJSON()`."),
                    "userName": .string,
                    "email": .string.format("email"),
                    "name": .string.maxLength(100),
                    "profile": .object,
                    "private": .object,
                    "device": .string,
                    "invitation": .string,
                    "language": .string,
                ])),
        answers: [
            .answer(201, "The new user is signed in.", .json(.signIn)),
            .answer(
                202, "The user is created but not signed in, because the app requires a verified address.",
                .json(
                    .object(
                        [
                            "user": .user
                        ]))),
        ],
        errors: [
            404: "The app has no settings for passkeys (`not-found`).",
            409: "Another user has this name or address, or the passkey is already registered (`conflict`).",
        ])

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
        let settings = try await mailing.settings.current(in: space) { [invitation = user.invitation] in
            try $0.checkSignUp(email: email, invitation: invitation)
        }
        let party = try await passkeys.requiredParty(in: space)
        try await attempts.begin(context.nameLimits(of: request))

        let (challenge, passkey) = try credential.mappingRefusals { try credential.registration(for: party) }
        guard let id = try await passkeys.newUser(of: challenge, in: space) else { throw ServiceError.invalidChallenge }
        user.id = id
        let created = try await passkeys.signUp(
            user, passkey: passkey, name: name, challenge: challenge, session: session,
            needsVerifiedEmail: settings.requireVerifiedEmail, in: space)
        guard let created else { throw ServiceError.invalidChallenge }
        await mailing.verify(email, of: id, settings, languages, in: space)
        guard created.isSignedIn else { return .waitingForVerification(created.json) }
        return try signIns.answer(session.id, userID: id, user: created.json, in: space, status: .created)
    }
}

import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// Requires both factors, because the passkey will give access without password and code.
struct OfferPasskey: Endpoint {
    static let route = Route(
        .post, "/auth/me/passkeys/options", "offerPasskey",
        "Returns the options for creating a passkey for the signed-in user.",
        callers: .user,
        details: """
            Pass them to `navigator.credentials.create`. Requires `password` if the user has one, and otherwise \
            a sign-in within the last ten minutes. Also requires `code` if the user has a second factor.
            """,
        body: .json(
            .object(
                [
                    "password": .string.format("password"),
                    "code": .string,
                ]), isRequired: false),
        answers: [
            .answer(
                200, "The options, with a challenge that can be used once within five minutes.",
                .json(.object.described("`PublicKeyCredentialCreationOptionsJSON` (WebAuthn §5.1.8).")))
        ],
        errors: [
            403: PasswordCheck.refusal, 404: "The app has no settings for passkeys (`not-found`).",
        ])

    let check: PasswordCheck
    let secondFactors: SecondFactorStore
    let passkeys: PasskeyStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, user) = (try context.userSpace, try context.signedInUser)
        let fields = try await BodyFields(request, ["password", "code"], isOptional: true)
        let (password, code) = (try fields.secret("password"), try fields.string("code"))
        let party = try await passkeys.requiredParty(in: space)
        let account = try await check.confirm(password, of: user, in: space, session: try context.session)
        try await secondFactors.pass(code, of: .user(user, space))
        try await check.attempts.begin(context.challengeLimits(of: request))
        let existing = try await passkeys.descriptors(of: user, in: space)
        let challenge = try await passkeys.makeChallenge(for: .registration, of: user, in: space)
        let options = PasskeyCreationOptions(
            challenge: challenge, party: party, user: user, name: account.label ?? party.name, existing: existing)
        return try Response.encoding(options).notStored
    }
}

/// Does not require the password, because the challenge proves that `OfferPasskey` has checked it.
struct AddPasskey: Endpoint {
    static let route = Route(
        .post, "/auth/me/passkeys", "addPasskey", "Adds a passkey to the signed-in user.", callers: .user,
        body: .json(
            .object(
                [
                    "credential": .object.described("The credential as returned by `PublicKeyCredential.toJSON()`."),
                    "name": .string.maxLength(100),
                ])),
        answers: [
            .answer(201, "The passkey.", .json(.passkey))
        ],
        errors: [
            404: "The app has no settings for passkeys (`not-found`).",
            409: "The passkey is already registered, or the user has 20 passkeys (`conflict`).",
        ])

    let passkeys: PasskeyStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, user) = (try context.userSpace, try context.signedInUser)
        let fields = try await BodyFields(request, ["credential", "name"])
        let credential = try PasskeyCredential(fields)
        let name = try fields.passkeyName() ?? ""
        let party = try await passkeys.requiredParty(in: space)
        let (challenge, passkey) = try credential.mappingRefusals { try credential.registration(for: party) }
        let json = try await passkeys.add(
            passkey, name: name, challenge: challenge, of: user, session: try context.session, in: space)
        guard let json else { throw ServiceError.invalidChallenge }
        return .json(ByteBuffer(string: json), status: .created)
    }
}

struct ListPasskeys: Endpoint {
    static let route = Route(
        .get, "/auth/me/passkeys", "listPasskeys", "Lists the signed-in user's passkeys, oldest first.",
        callers: .user,
        answers: [
            .answer(
                200, "The passkeys.",
                .json(
                    .object(
                        [
                            "count": .integer,
                            "data": .array(of: .passkey),
                        ])))
        ])

    let passkeys: PasskeyStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        return .page(try await passkeys.list(of: try context.signedInUser, in: try context.userSpace))
    }
}

struct RenamePasskey: Endpoint {
    static let route = Route(
        .patch, "/auth/me/passkeys/{id}", "renamePasskey", "Renames one of the signed-in user's passkeys.",
        callers: .user,
        parameters: [
            .path("id", .uuid)
        ],
        body: .json(
            .object(
                [
                    "name": .string.maxLength(100)
                ])),
        answers: [
            .answer(200, "The renamed passkey.", .json(.passkey))
        ],
        errors: [404: "The user has no such passkey (`passkey-not-found`)."])

    let passkeys: PasskeyStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, user, id) = (try context.userSpace, try context.signedInUser, try context.passkeyID)
        guard let name = try await BodyFields(request, ["name"]).passkeyName() else {
            throw ServiceError(.invalidBody, "This field is required.", field: "name")
        }
        guard let json = try await passkeys.rename(id, to: name, of: user, in: space) else {
            throw ServiceError(.passkeyNotFound)
        }
        return .json(json)
    }
}

struct RemovePasskey: Endpoint {
    static let route = Route(
        .delete, "/auth/me/passkeys/{id}", "removePasskey",
        "Deletes one of the signed-in user's passkeys.", callers: .user,
        parameters: [
            .path("id", .uuid)
        ],
        details: "Requires `password` if the user has one, and otherwise a sign-in within the last ten minutes.",
        body: .json(
            .object(
                [
                    "password": .string.format("password")
                ]), isRequired: false),
        answers: [
            .answer(204, "The passkey is deleted.")
        ],
        errors: [
            403: PasswordCheck.refusal, 404: "The user has no such passkey (`passkey-not-found`).",
            409: "The passkey is the user's last way to sign in (`conflict`).",
        ])

    let check: PasswordCheck
    let passkeys: PasskeyStore
    let outbox: MailOutbox

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, user, id) = (try context.userSpace, try context.signedInUser, try context.passkeyID)
        let password = try await BodyFields(request, ["password"], isOptional: true).secret("password")
        _ = try await check.confirm(password, of: user, in: space, session: try context.session)
        let canSendMail = try await outbox.canSendMail(in: space)
        guard try await passkeys.remove(id, of: user, canSendMail: canSendMail, in: space) else {
            throw ServiceError(.passkeyNotFound)
        }
        return Response(status: .noContent)
    }
}

struct RemovePasskeys: Endpoint {
    static let route = Route(
        .delete, "/auth/users/{id}/passkeys", "removePasskeys",
        "Deletes all passkeys of a user.", callers: .manager(.update, .users),
        parameters: [
            .path("id", .uuid)
        ],
        details: """
            For a user whose authenticator is lost or stolen. A user who then has no other way to sign in needs \
            a password, which the app's server can set.
            """,
        answers: [
            .answer(204, "The user has no passkeys.")
        ],
        errors: [404: "The app has no such user (`user-not-found`)."])

    let users: UserStore
    let passkeys: PasskeyStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, id) = (try context.userSpace, try context.userID)
        guard try await users.account(id, in: space) != nil else { throw ServiceError(.userNotFound) }
        try await passkeys.removeAll(of: id, in: space)
        return Response(status: .noContent)
    }
}

extension ServiceContext {
    /// The passkey's id in the path. A malformed id is `passkey-not-found`.
    fileprivate var passkeyID: UUID {
        get throws { try uuid("id", else: .passkeyNotFound) }
    }

    /// The limits for requesting challenges.
    func challengeLimits(of request: Request) throws -> [AttemptStore.Limit] {
        let space = try userSpace
        return try clientAddress(of: request).map { [.challenges($0, in: space)] } ?? []
    }
}

extension BodyFields {
    /// The user's name for the passkey.
    func passkeyName() throws -> String? {
        let text = try string("name")
        if let length = text?.unicodeScalars.count, length > 100 {
            throw ServiceError(.invalidBody, "Expected at most 100 characters, found \(length).", field: "name")
        }
        return text
    }
}

extension PasskeyCredential {
    /// - Throws: `invalid-body` with the reason. Callers may see the reason, because the passkey is their own.
    func mappingRefusals<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let refusal as PasskeyRefusal {
            throw ServiceError(.invalidBody, refusal.reason, field: "credential")
        }
    }
}

extension ServiceError {
    static let invalidChallenge = ServiceError(
        .invalidBody, "The challenge belongs to another user, was used before or is older than five minutes.",
        field: "credential")
}

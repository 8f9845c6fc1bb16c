import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// `POST /auth/me/passkeys/options` with `password`, where there is one, and `code` of the second factor, where there
/// is one: what an authenticator is asked to make, `PublicKeyCredentialCreationOptionsJSON`.
///
/// A passkey opens the account without password and code, so it asks for both.
struct OfferPasskey: Endpoint {
    static let route = Route(
        .post, "/auth/me/passkeys/options", "offerPasskey", "What an authenticator is asked to make for the user.",
        callers: .user,
        body: .json(
            .object(
                [
                    "password": .string.format("password"),
                    "code": .string,
                ]), isRequired: false),
        answers: [
            .answer(
                200, "Done.", .json(.object.described("`PublicKeyCredentialCreationOptionsJSON` (WebAuthn §5.1.8).")))
        ])

    let check: PasswordCheck
    let secondFactor: SecondFactorCheck
    let passkeys: PasskeyStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, user) = (try context.userSpace, try context.signedInUser)
        let fields = try await BodyFields(request, ["password", "code"], isOptional: true)
        let (password, code) = (try fields.secret("password"), try fields.string("code"))
        let party = try await passkeys.requiredParty(in: space)
        let account = try await check.confirm(password, of: user, in: space, session: try context.session)
        try await secondFactor.pass(code, of: user, in: space)
        try await check.attempts.begin(context.challengeLimits(of: request))
        let existing = try await passkeys.descriptors(of: user, in: space)
        let challenge = try await passkeys.makeChallenge(for: .registration, of: user, in: space)
        let options = PasskeyCreationOptions(
            challenge: challenge, party: party, user: user, name: account.label ?? party.name, existing: existing)
        return try Response.encoding(options).notStored
    }
}

/// `POST /auth/me/passkeys` with `credential` as `navigator.credentials.create` returned it, and `name` if wanted; 201
/// with the passkey.
///
/// The challenge is proof enough of what `OfferPasskey` asked for. 409 when the passkey is registered already, for
/// whomever.
struct AddPasskey: Endpoint {
    static let route = Route(
        .post, "/auth/me/passkeys", "addPasskey", "Adds a passkey.", callers: .user,
        body: .json(
            .object(
                [
                    "credential": .object.described("As `PublicKeyCredential.toJSON()` returns it."),
                    "name": .string.maxLength(100),
                ]), isRequired: false),
        answers: [
            .answer(201, "Done.", .json(.passkey))
        ],
        errors: [409: "The name is taken, or a unique index forbids it (`conflict`)."])

    let passkeys: PasskeyStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, user) = (try context.userSpace, try context.signedInUser)
        let fields = try await BodyFields(request, ["credential", "name"])
        let credential = try PasskeyCredential(fields)
        let name = try fields.passkeyName() ?? ""
        let party = try await passkeys.requiredParty(in: space)
        let (challenge, passkey) = try credential.tellingRefusal { try credential.registration(for: party) }
        let json = try await passkeys.add(
            passkey, name: name, challenge: challenge, of: user, session: try context.session, in: space)
        guard let json else { throw HTTPProblem.closedChallenge }
        return .json(ByteBuffer(string: json), status: .created)
    }
}

/// `GET /auth/me/passkeys`: the user's passkeys, the oldest first.
struct ListPasskeys: Endpoint {
    static let route = Route(
        .get, "/auth/me/passkeys", "listPasskeys", "The user's passkeys.", callers: .user,
        answers: [
            .answer(
                200, "Done.",
                .json(
                    .object(
                        [
                            "count": .integer,
                            "data": .array(of: .passkey),
                        ])))
        ])

    let passkeys: PasskeyStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let list = try await passkeys.list(of: try context.signedInUser, in: try context.userSpace)
        return .json(#"{"count":\#(list.count),"data":[\#(list.joined(separator: ","))]}"#)
    }
}

/// `PATCH /auth/me/passkeys/{id}` with `name`; 200 with the passkey.
struct RenamePasskey: Endpoint {
    static let route = Route(
        .patch, "/auth/me/passkeys/{id}", "renamePasskey", "Names a passkey.", callers: .user,
        parameters: [
            .path("id", .uuid)
        ],
        body: .json(
            .object(
                [
                    "name": .string.maxLength(100)
                ]), isRequired: false),
        answers: [
            .answer(200, "Done.", .json(.passkey))
        ])

    let passkeys: PasskeyStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, user, id) = (try context.userSpace, try context.signedInUser, try context.passkeyID)
        guard let name = try await BodyFields(request, ["name"]).passkeyName() else {
            throw HTTPProblem(.invalidBody, "This field is required.", field: "name")
        }
        guard let json = try await passkeys.rename(id, to: name, of: user, in: space) else {
            throw HTTPProblem(.passkeyNotFound)
        }
        return .json(json)
    }
}

/// `DELETE /auth/me/passkeys/{id}` with `password`, where there is one; 204. 409 when the user could not sign in any
/// more.
struct RemovePasskey: Endpoint {
    static let route = Route(
        .delete, "/auth/me/passkeys/{id}", "removePasskey",
        "Deletes a passkey, unless nothing else is there to sign in by.", callers: .user,
        parameters: [
            .path("id", .uuid)
        ],
        body: .json(
            .object(
                [
                    "password": .string.format("password")
                ]), isRequired: false),
        answers: [
            .answer(204, "Done.")
        ],
        errors: [409: "The name is taken, or a unique index forbids it (`conflict`)."])

    let check: PasswordCheck
    let passkeys: PasskeyStore
    let outbox: MailOutbox

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, user, id) = (try context.userSpace, try context.signedInUser, try context.passkeyID)
        let password = try await BodyFields(request, ["password"], isOptional: true).secret("password")
        _ = try await check.confirm(password, of: user, in: space, session: try context.session)
        let isMailThere = try await outbox.isThere(in: space)
        guard try await passkeys.remove(id, of: user, isMailThere: isMailThere, in: space) else {
            throw HTTPProblem(.passkeyNotFound)
        }
        return Response(status: .noContent)
    }
}

/// `DELETE /auth/users/{id}/passkeys`, for the app's own server, when a user's authenticator is lost or stolen; 204.
/// Who then has nothing else to sign in by needs a password from the app's server (`ChangeUser`).
struct RemovePasskeys: Endpoint {
    static let route = Route(
        .delete, "/auth/users/{id}/passkeys", "removePasskeys",
        "Takes all of a user's passkeys away. Needs the master key.", callers: .server,
        parameters: [
            .path("id", .uuid)
        ],
        answers: [
            .answer(204, "Done.")
        ])

    let users: UserStore
    let passkeys: PasskeyStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, id) = (try context.managedUserSpace, try context.userID)
        guard try await users.account(id, in: space) != nil else { throw HTTPProblem(.userNotFound) }
        try await passkeys.removeAll(of: id, in: space)
        return Response(status: .noContent)
    }
}

extension ServiceContext {
    /// The passkey in the path. What is no id is none's.
    fileprivate var passkeyID: UUID {
        get throws { try uuid("id", else: .passkeyNotFound) }
    }

    /// What a challenge for somebody who is not signed in counts against.
    func challengeLimits(of request: Request) throws -> [AttemptStore.Limit] {
        let space = try userSpace
        return try clientAddress(of: request).map { [.challenges($0, in: space)] } ?? []
    }
}

extension BodyFields {
    /// What the user calls the passkey.
    func passkeyName() throws -> String? {
        let text = try string("name")
        guard text.map({ $0.unicodeScalars.count <= 100 }) ?? true else {
            throw HTTPProblem(.invalidBody, "This may have at most 100 characters.", field: "name")
        }
        return text
    }
}

extension PasskeyCredential {
    /// - Throws: `invalid-body` with the reason: who registers a passkey has made it, and can be told.
    func tellingRefusal<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let refusal as PasskeyRefusal {
            throw HTTPProblem(.invalidBody, refusal.reason, field: "credential")
        }
    }
}

extension HTTPProblem {
    static let closedChallenge = HTTPProblem(
        .invalidBody, "The challenge is not open: it is not yours, used up, or older than five minutes.",
        field: "credential")
}

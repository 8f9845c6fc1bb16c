import Hummingbird
import MartletAPI
import MartletHTTP

/// `GET /auth/passkeys/settings`, for the app's own server: what the app's passkeys are bound to; 404 when the app has
/// none.
struct ReadPasskeySettings: Endpoint {
    static let route = Route(
        .get, "/auth/passkeys/settings", "readPasskeySettings", "What the app's passkeys are bound to.",
        callers: .server,
        details: "Needs the master key.",
        answers: [
            .answer(200, "Done.", .json(.passkeySettings))
        ])

    let passkeys: PasskeyStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try .encoding(Settings(try await passkeys.requiredParty(in: try context.managedUserSpace)))
    }
}

/// `PUT /auth/passkeys/settings` with `rpId`, `rpName` and `origins`, for the app's own server; 200 with them.
///
/// Passkeys are bound to `rpId`: with another one those that were made before are of no use.
struct SetPasskeySettings: Endpoint {
    static let route = Route(
        .put, "/auth/passkeys/settings", "setPasskeySettings", "Binds the app's passkeys to a domain.",
        callers: .server,
        details: "Needs the master key.",
        body: .json(
            .object(
                [
                    "rpId": .string,
                    "rpName": .string.maxLength(64),
                    "origins": .array(of: .string).items(1, 20),
                ]), isRequired: false),
        answers: [
            .answer(200, "Done.", .json(.passkeySettings))
        ])

    let passkeys: PasskeyStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try context.managedUserSpace
        let party = try RelyingParty(try await BodyFields(request, ["rpId", "rpName", "origins"]))
        try await passkeys.setRelyingParty(party, in: space)
        return try .encoding(Settings(party))
    }
}

/// `DELETE /auth/passkeys/settings`, for the app's own server, 204. Passkeys stay, and open nothing until there are
/// settings again.
struct RemovePasskeySettings: Endpoint {
    static let route = Route(
        .delete, "/auth/passkeys/settings", "removePasskeySettings",
        "No passkey opens anything until there are settings again.", callers: .server,
        details: "Needs the master key.",
        answers: [
            .answer(204, "Done.")
        ])

    let passkeys: PasskeyStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        guard try await passkeys.removeRelyingParty(in: try context.managedUserSpace) else {
            throw HTTPProblem.noPasskeys
        }
        return Response(status: .noContent)
    }
}

private struct Settings: Encodable {
    var rpId: String
    var rpName: String
    var origins: [String]

    init(_ party: RelyingParty) {
        (rpId, rpName, origins) = (party.id, party.name, party.origins)
    }
}

extension PasskeyStore {
    /// - Throws: `not-found` where the app has no settings.
    func requiredParty(in space: UserSpace) async throws -> RelyingParty {
        guard let party = try await relyingParty(in: space) else { throw HTTPProblem.noPasskeys }
        return party
    }
}

extension HTTPProblem {
    fileprivate static let noPasskeys = HTTPProblem(
        .notFound, "The app has no settings for passkeys: PUT auth/passkeys/settings.")
}

import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

struct ReadPasskeySettings: Endpoint {
    static let route = Route(
        .get, "/auth/passkeys/settings", "readPasskeySettings", "Returns the app's settings for passkeys.",
        callers: .manager(.read, .users),
        answers: [
            .answer(200, "The settings. Without settings, all members are null or empty.", .json(.passkeySettings))
        ])

    let passkeys: PasskeyStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        // Not 404, because browsers report every 404 as an error and most apps have no passkeys.
        guard let party = try await passkeys.relyingParty(in: try context.userSpace) else {
            return .json(#"{"origins":[],"rpId":null,"rpName":null}"#)
        }
        return try .encoding(Settings(party))
    }
}

struct SetPasskeySettings: Endpoint {
    static let route = Route(
        .put, "/auth/passkeys/settings", "setPasskeySettings", "Sets the domain and origins of the app's passkeys.",
        callers: .manager(.update, .users),
        details: "Passkeys are bound to `rpId`. If it changes, existing passkeys no longer work.",
        body: .json(
            .object(
                [
                    "rpId": .string,
                    "rpName": .string.maxLength(64),
                    "origins": .array(of: .string).items(1, 20),
                ])),
        answers: [
            .answer(200, "The settings as stored.", .json(.passkeySettings))
        ])

    let passkeys: PasskeyStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try context.userSpace
        let party = try RelyingParty(try await BodyFields(request, ["rpId", "rpName", "origins"]))
        try await passkeys.setRelyingParty(party, in: space)
        return try .encoding(Settings(party))
    }
}

struct RemovePasskeySettings: Endpoint {
    static let route = Route(
        .delete, "/auth/passkeys/settings", "removePasskeySettings",
        "Deletes the app's settings for passkeys.", callers: .manager(.delete, .users),
        details: "Passkeys are kept, but cannot be used until there are settings again.",
        answers: [
            .answer(204, "The settings are deleted.")
        ],
        errors: [404: "The app has no settings for passkeys (`not-found`)."])

    let passkeys: PasskeyStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        guard try await passkeys.removeRelyingParty(in: try context.userSpace) else {
            throw ServiceError.noPasskeys
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
    /// - Throws: `not-found` if the app has no settings.
    func requiredParty(in space: AppSpace) async throws -> RelyingParty {
        guard let party = try await relyingParty(in: space) else { throw ServiceError.noPasskeys }
        return party
    }
}

extension ServiceError {
    fileprivate static let noPasskeys = ServiceError(
        .notFound, "The app has no settings for passkeys; set them with PUT auth/passkeys/settings.")
}

import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

struct ListProviders: Endpoint {
    static let route = Route(
        .get, "/auth/providers", "listProviders", "Lists the app's identity providers.",
        callers: .manager(.read, .users),
        answers: [
            .answer(
                200, "The providers, without secrets.",
                .json(
                    .object(
                        [
                            "count": .integer,
                            "data": .array(of: .identityProvider),
                        ])))
        ])

    let federation: Federation

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let list = try await federation.providers.list(in: try context.userSpace)
        return try .list(list.map { ShownProvider($0, federation.codeFlow) })
    }
}

struct SaveProvider: Endpoint {
    static let route = Route(
        .put, "/auth/providers/{name}", "saveProvider", "Creates or replaces one of the app's identity providers.",
        callers: .manager(.update, .users),
        parameters: [
            .path("name", .string.pattern(#"^[a-z0-9][a-z0-9-]{0,31}$"#), "The provider's name in the app's settings.")
        ],
        details: "Properties that are left out get their defaults, except the secret, which is kept.",
        body: .json(
            .object(
                [
                    "kind": .oneOf("google", "apple", "github", "facebook", "oidc"),
                    "clientIDs": .array(of: .string).items(1, 20),
                    "clientSecret": .string.format("password"),
                    "privateKey": .string.format("password").described("The text of Apple's .p8 file."),
                    "teamID": .string,
                    "keyID": .string,
                    "issuer": .uri,
                    "scopes": .array(of: .string).maxItems(20),
                    "redirectURLs": .array(of: .uri).maxItems(20),
                    "appKey": .string,
                    "trustsEmail": .boolean.defaulting(to: true),
                    "nonceRequired": .boolean.defaulting(to: true).described(
                        "Whether `auth/idtoken` requires the nonce that the id token was requested with."),
                    "endpoints": .object(
                        [
                            "authorization": .string,
                            "token": .string,
                            "userInfo": .string,
                            "emails": .string,
                            "keys": .string,
                            "revocation": .string,
                        ]),
                ])),
        answers: [
            .answer(200, "The provider as stored, without its secret.", .json(.identityProvider))
        ])

    private static let maximumCount = 20

    let federation: Federation

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try context.userSpace
        let name = try context.newProviderName
        let fields = try await BodyFields(
            request,
            [
                "kind", "clientIDs", "clientSecret", "privateKey", "teamID", "keyID", "issuer", "scopes",
                "redirectURLs", "appKey", "trustsEmail",
                "nonceRequired", "endpoints",
            ])
        let provider = try await provider(fields, in: space)
        guard
            let saved = try await federation.providers.save(
                name, provider, secret: try secret(fields, provider.kind), in: space)
        else {
            throw ServiceError(
                .limitExceeded, "An app may have at most \(IdentityProviderStore.maximumPerSpace) providers.")
        }
        return try .encoding(ShownProvider(saved, federation.codeFlow))
    }

    func provider(_ fields: BodyFields, in space: AppSpace) async throws -> IdentityProvider {
        let kindName = try fields.requiredString("kind")
        guard let kind = IdentityProvider.Kind(rawValue: kindName) else {
            throw ServiceError.unexpectedMember(
                "kind", expected: "google, apple, github, facebook or oidc", found: kindName)
        }
        let endpoints = try fields.strings(
            in: "endpoints", ["authorization", "token", "userInfo", "emails", "keys", "revocation"])
        let provider = IdentityProvider(
            kind: kind, clientIDs: try words(fields, "clientIDs") ?? [], issuer: try fields.string("issuer"),
            scopes: try words(fields, "scopes") ?? kind.defaultScopes,
            redirectURLs: try fields.strings("redirectURLs", upTo: Self.maximumCount) ?? [],
            appKey: try fields.string("appKey"), trustsEmail: try fields.flag("trustsEmail") ?? true,
            nonceRequired: try fields.flag("nonceRequired"), teamID: try fields.string("teamID"),
            keyID: try fields.string("keyID"),
            endpoints: IdentityProvider.Endpoints(
                authorization: endpoints["authorization"], token: endpoints["token"], userInfo: endpoints["userInfo"],
                emails: endpoints["emails"],
                keys: endpoints["keys"], revocation: endpoints["revocation"]))
        guard !provider.clientIDs.isEmpty else {
            throw ServiceError(.invalidBody, "At least one client id is required.", field: "clientIDs")
        }
        guard kind != .oidc || provider.issuer != nil else {
            throw ServiceError(.invalidBody, "This field is required.", field: "issuer")
        }
        for url in provider.redirectURLs where !Self.isRedirect(url) {
            // Not quoted: a URL with a user may have a password.
            throw ServiceError(
                .invalidBody,
                """
                Expected an https URL, a URL with a scheme of the app's own, or an http URL on the loopback interface, \
                without user and fragment.
                """,
                field: "redirectURLs")
        }
        for (field, text) in [("teamID", provider.teamID), ("keyID", provider.keyID)]
        where text != nil || kind == .apple {
            guard kind == .apple, text?.wholeMatch(of: /[A-Za-z0-9]{1,32}/) != nil else {
                throw ServiceError(
                    .invalidBody,
                    kind == .apple
                        ? "Expected 1 to 32 letters and digits." : "Only a provider of the kind apple has this field.",
                    field: field)
            }
        }
        if let text = provider.appKey, try await !federation.providers.isAppKey(text, in: space) {
            throw ServiceError(.invalidBody, "Expected an app key of this app and environment.", field: "appKey")
        }
        let addresses =
            endpoints.map { ("endpoints." + $0.key, $0.value) } + (provider.issuer.map { [("issuer", $0)] } ?? [])
        for (field, url) in addresses { try await check(url, field) }
        return provider
    }

    func secret(_ fields: BodyFields, _ kind: IdentityProvider.Kind) throws -> Secret? {
        let field = kind == .apple ? "privateKey" : "clientSecret"
        if try fields.string(kind == .apple ? "clientSecret" : "privateKey") != nil {
            throw ServiceError(
                .invalidBody, "A provider of the kind \(kind.rawValue) takes \(field) instead.",
                field: kind == .apple ? "clientSecret" : "privateKey")
        }
        guard let secret = try fields.secret(field) else { return nil }
        guard secret.withValue({ (1...4_096).contains($0.utf8.count) && !$0.utf8.contains(0) }) else {
            throw ServiceError(.invalidBody, "Expected 1 to 4096 bytes without NUL.", field: field)
        }
        guard kind != .apple || AppleClientSecret.isKey(secret) else {
            throw ServiceError(.invalidBody, "Expected the text of a .p8 file.", field: field)
        }
        return secret
    }

    /// Client ids or scopes, neither of which contains spaces (RFC 6749 §A.1 and §A.4).
    private func words(_ fields: BodyFields, _ field: String) throws -> [String]? {
        let words = try fields.strings(field, upTo: Self.maximumCount)
        for word in words ?? []
        where !(1...255).contains(word.utf8.count) || !word.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) {
            throw ServiceError.unexpectedMember(
                field, expected: "1 to 255 printable ASCII characters without spaces", found: word)
        }
        return words
    }

    private func check(_ url: String, _ field: String) async throws {
        do {
            try await federation.client.check(url)
        } catch let failure as ProviderFailure {
            throw ServiceError(.invalidBody, failure.sentence, field: field)
        }
    }

    /// RFC 8252 §7 allows claimed https URLs, private-use schemes and the loopback interface.
    private static func isRedirect(_ text: String) -> Bool {
        guard (1...2_048).contains(text.utf8.count), text.utf8.allSatisfy({ (0x21...0x7e).contains($0) && $0 != 0x5c }),
            let parts = URLComponents(string: text), let scheme = parts.scheme?.lowercased(), parts.user == nil,
            parts.password == nil, parts.fragment == nil
        else { return false }
        switch scheme {
        case "https": return parts.host?.isEmpty == false
        case "http": return parts.host.map(Loopback.contains) ?? false
        default: return !AppScheme.isReserved(scheme)
        }
    }
}

struct DeleteProvider: Endpoint {
    static let route = Route(
        .delete, "/auth/providers/{name}", "deleteProvider", "Deletes one of the app's identity providers.",
        callers: .manager(.delete, .users),
        parameters: [
            .path("name", .string.pattern(#"^[a-z0-9][a-z0-9-]{0,31}$"#), "The provider's name in the app's settings.")
        ],
        details: """
            Users keep their identities at the provider, but cannot sign in with them until the provider is set \
            up again.
            """,
        answers: [
            .answer(204, "The provider is deleted.")
        ],
        errors: [404: "The app has no such provider (`not-found`)."])

    let federation: Federation

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        guard
            try await federation.providers.delete(
                context.component("name"), in: try context.userSpace)
        else {
            throw ServiceError(.notFound, "The app has no such provider.")
        }
        return Response(status: .noContent)
    }
}

extension ServiceContext {
    /// The name in the path of a provider to set up.
    ///
    /// - Throws: `invalid-name`.
    var newProviderName: String {
        get throws {
            let name = parameters.get("name") ?? ""
            guard name.wholeMatch(of: /[a-z0-9][a-z0-9-]{0,31}/) != nil else {
                throw ServiceError(
                    .invalidName,
                    "Expected a name of 1 to 32 of the characters a-z 0-9 -, starting with a letter or digit.")
            }
            return name
        }
    }
}

/// A provider without its secrets.
struct ShownProvider: Encodable {
    var name: String
    var kind: IdentityProvider.Kind
    var clientIDs: [String]
    var issuer: String?
    var scopes: [String]
    var redirectURLs: [String]
    /// The URL to register with the provider as its redirect target.
    var callbackURL: String?
    var trustsEmail: Bool
    var nonceRequired: Bool
    var teamID: String?
    var keyID: String?
    var endpoints: IdentityProvider.Endpoints
    var allowedDomains: [String]?
    var hasSecret: Bool

    init(_ provider: RegisteredProvider, _ codeFlow: CodeFlow) {
        let settings = provider.settings
        name = provider.name
        kind = settings.kind
        clientIDs = settings.clientIDs
        issuer = settings.issuer ?? settings.kind.defaultIssuer
        scopes = settings.scopes
        redirectURLs = settings.redirectURLs
        callbackURL = codeFlow.callbackURL(of: provider)
        trustsEmail = settings.trustsEmail
        nonceRequired = settings.isNonceRequired
        teamID = settings.teamID
        keyID = settings.keyID
        endpoints = settings.endpoints
        allowedDomains = settings.allowedDomains
        hasSecret = provider.secret != nil
    }
}

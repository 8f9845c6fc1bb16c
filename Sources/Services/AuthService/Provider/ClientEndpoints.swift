import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

struct ListClients: Endpoint {
    static let route = Route(
        .get, "/auth/clients", "listClients",
        "Lists the clients of the app's OpenID Connect provider, oldest first.", callers: .manager(.read, .users),
        answers: [
            .answer(
                200, "The clients, without secrets.",
                .json(
                    .object(
                        [
                            "count": .integer,
                            "data": .array(of: .oAuthClient),
                        ])))
        ])

    let clients: ClientStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        return .page(try await clients.list(in: try context.userSpace))
    }
}

struct CreateClient: Endpoint {
    static let route = Route(
        .post, "/auth/clients", "createClient", "Creates a client of the app's OpenID Connect provider.",
        callers: .manager(.create, .users),
        details: "Without `scopes`, the client may ask for all of them.",
        body: .json(
            .object(
                [
                    "name": .string.length(1, 100),
                    "redirectUris": .array(of: .uri).items(1, 20),
                    "postLogoutRedirectUris": .array(of: .uri).maxItems(20),
                    "scopes": .array(of: .values("openid", "profile", "email", "offline_access")).minItems(1),
                    "type": .values("confidential", "public").defaulting(to: "confidential"),
                    "idTokenSignedResponseAlg": .values("RS256", "ES256").defaulting(to: "RS256"),
                ], required: ["name", "redirectUris"])),
        answers: [
            .answer(201, "The client. The `secret` of a confidential client is shown only once.", .json(.oAuthClient))
        ])

    let clients: ClientStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try context.userSpace
        let fields = try await BodyFields(request, OAuthClient.fields.union(["type"]))
        let description = try fields.clientDescription()
        let secret: Secret?
        switch try fields.string("type") {
        case nil, "confidential": secret = OAuthClient.makeSecret()
        case "public": secret = nil
        case let text?:
            throw ServiceError.unexpectedMember("type", expected: "confidential or public", found: text)
        }
        guard
            let json = try await clients.create(
                description, secretDigest: secret?.withValue { Credential.hexDigest(of: $0) }, in: space)
        else {
            throw ServiceError(.limitExceeded, "An app may have at most \(ClientStore.maximumPerSpace) clients.")
        }
        return .client(json, secret: secret, status: .created)
    }
}

struct ReadClient: Endpoint {
    static let route = Route(
        .get, "/auth/clients/{id}", "readClient", "Returns a client of the app's OpenID Connect provider.",
        callers: .manager(.read, .users),
        parameters: [
            .path("id", .uuid)
        ],
        answers: [
            .answer(200, "The client, without its secret.", .json(.oAuthClient))
        ],
        errors: [404: "The app has no such client (`client-not-found`)."])

    let clients: ClientStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        guard let client = try await clients.read(try context.clientID, in: try context.userSpace) else {
            throw ServiceError(.clientNotFound)
        }
        return .json(client)
    }
}

struct ChangeClient: Endpoint {
    static let route = Route(
        .put, "/auth/clients/{id}", "changeClient", "Changes a client of the app's OpenID Connect provider.",
        callers: .manager(.update, .users),
        parameters: [
            .path("id", .uuid)
        ],
        details: """
            Replaces `name`, `redirectUris`, `postLogoutRedirectUris` and `scopes`; those that are left out get \
            their defaults.
            """,
        body: .json(
            .object(
                [
                    "name": .string.length(1, 100),
                    "redirectUris": .array(of: .uri).items(1, 20),
                    "postLogoutRedirectUris": .array(of: .uri).maxItems(20),
                    "scopes": .array(of: .values("openid", "profile", "email", "offline_access")).minItems(1),
                    "idTokenSignedResponseAlg": .values("RS256", "ES256").described("Unchanged if it is left out."),
                ], required: ["name", "redirectUris"])),
        answers: [
            .answer(200, "The changed client, without its secret.", .json(.oAuthClient))
        ],
        errors: [404: "The app has no such client (`client-not-found`)."])

    let clients: ClientStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try context.userSpace
        let description = try await BodyFields(request, OAuthClient.fields).clientDescription()
        guard let client = try await clients.change(try context.clientID, description, in: space) else {
            throw ServiceError(.clientNotFound)
        }
        return .json(client)
    }
}

struct RenewClientSecret: Endpoint {
    static let route = Route(
        .post, "/auth/clients/{id}/secret", "renewClientSecret",
        "Replaces the secret of a confidential client.", callers: .manager(.update, .users),
        parameters: [
            .path("id", .uuid)
        ],
        details: "The old secret is refused at once.",
        answers: [
            .answer(200, "The client. The new `secret` is shown only once.", .json(.oAuthClient))
        ],
        errors: [
            404: "The app has no such client (`client-not-found`).",
            409: "The client is public and has no secret (`conflict`).",
        ])

    let clients: ClientStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, secret) = (try context.userSpace, OAuthClient.makeSecret())
        switch try await clients.changeSecret(
            try context.clientID, digest: secret.withValue { Credential.hexDigest(of: $0) }, in: space)
        {
        case .changed(let client): return .client(client, secret: secret)
        case .isPublic: throw ServiceError(.conflict, "A public client has no secret.")
        case .notFound: throw ServiceError(.clientNotFound)
        }
    }
}

struct DeleteClient: Endpoint {
    static let route = Route(
        .delete, "/auth/clients/{id}", "deleteClient",
        "Deletes a client of the app's OpenID Connect provider.", callers: .manager(.delete, .users),
        parameters: [
            .path("id", .uuid)
        ],
        details: "Its grants and tokens are deleted too.",
        answers: [
            .answer(204, "The client is deleted.")
        ],
        errors: [404: "The app has no such client (`client-not-found`)."])

    let clients: ClientStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        guard try await clients.delete(try context.clientID, in: try context.userSpace) else {
            throw ServiceError(.clientNotFound)
        }
        return Response(status: .noContent)
    }
}

extension OAuthClient {
    fileprivate static let fields: Set<String> = [
        "name", "redirectUris", "postLogoutRedirectUris", "scopes", "idTokenSignedResponseAlg",
    ]

    fileprivate static func makeSecret() -> Secret { Secret.random().withValue { Secret("mcs_" + $0) } }
}

extension ServiceContext {
    /// The client's id in the path. A malformed id is `client-not-found`.
    fileprivate var clientID: UUID {
        get throws { try uuid("id", else: .clientNotFound) }
    }
}

extension BodyFields {
    fileprivate func clientDescription() throws -> ClientDescription {
        let name = try requiredString("name")
        guard (1...100).contains(name.unicodeScalars.count),
            name.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control })
        else {
            throw ServiceError(
                .invalidBody, "Expected 1 to 100 characters, none of them a control character.", field: "name")
        }
        guard let addresses = try strings("redirectUris"), (1...20).contains(addresses.count) else {
            throw ServiceError(.invalidBody, "Expected 1 to 20 URIs.", field: "redirectUris")
        }
        let names = try strings("scopes") ?? ProviderScope.allCases.map(\.rawValue)
        let scopes = [ProviderScope](names: names)
        guard !scopes.isEmpty, Set(names) == Set(scopes.names) else {
            throw ServiceError(
                .invalidBody, "Expected one or more of the scopes \([ProviderScope](ProviderScope.allCases).list).",
                field: "scopes")
        }
        let algorithm = try string("idTokenSignedResponseAlg").map { text in
            guard let algorithm = IDTokenAlgorithm(rawValue: text) else {
                throw ServiceError.unexpectedMember(
                    "idTokenSignedResponseAlg", expected: "RS256 or ES256", found: text)
            }
            return algorithm
        }
        let afterLogOut = try strings("postLogoutRedirectUris", upTo: 20) ?? []
        return ClientDescription(
            name: name, redirectURIs: try addresses.map { try RedirectURI(registering: $0) },
            postLogoutRedirectURIs: try afterLogOut.map {
                try RedirectURI(registering: $0, field: "postLogoutRedirectUris")
            }, scopes: scopes,
            idTokenAlgorithm: algorithm)
    }
}

extension Response {
    fileprivate static func client(_ json: String, secret: Secret?, status: HTTPResponse.Status = .ok) -> Response {
        guard let secret else { return .json(ByteBuffer(string: json), status: status) }
        let text = secret.withValue { #"{"secret":"\#($0)","# } + json.dropFirst()
        return Response.json(ByteBuffer(string: text), status: status).notStored
    }
}

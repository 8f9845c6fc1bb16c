import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// `GET /auth/clients`: the clients of the app's OIDC provider, the oldest first; master key, as for all of them.
struct ListClients: Endpoint {
    static let route = Route(
        .get, "/auth/clients", "listClients",
        "The clients of the app's OIDC provider, the oldest first. Needs the master key.", callers: .server,
        answers: [
            .answer(
                200, "Done.",
                .json(
                    .object(
                        [
                            "count": .integer,
                            "data": .array(of: .oAuthClient),
                        ])))
        ])

    let clients: ClientStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let list = try await clients.list(in: try context.managedUserSpace)
        return .json(#"{"count":\#(list.count),"data":[\#(list.joined(separator: ","))]}"#)
    }
}

/// `POST /auth/clients` with `name`, `redirectUris`, and if wanted `postLogoutRedirectUris`, `scopes` (all), `type`
/// (`confidential` or `public`) and `idTokenSignedResponseAlg` (`RS256` or `ES256`); 201. A confidential client's
/// `secret` is in this answer only.
struct CreateClient: Endpoint {
    static let route = Route(
        .post, "/auth/clients", "createClient", "Makes a client. Needs the master key.", callers: .server,
        details: "A confidential client's `secret` is in this answer only.",
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
            .answer(201, "Done.", .json(.oAuthClient))
        ])

    let clients: ClientStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try context.managedUserSpace
        let fields = try await BodyFields(request, OAuthClient.fields.union(["type"]))
        let description = try fields.clientDescription()
        let secret: Secret?
        switch try fields.string("type") ?? "confidential" {
        case "confidential": secret = OAuthClient.makeSecret()
        case "public": secret = nil
        default: throw HTTPProblem(.invalidBody, "It must be confidential or public.", field: "type")
        }
        guard
            let json = try await clients.create(
                description, secretDigest: secret?.withValue { Credential.hexDigest(of: $0) }, in: space)
        else {
            throw HTTPProblem(.limitExceeded, "An app may have \(ClientStore.maximumPerSpace) clients.")
        }
        return .client(json, secret: secret, status: .created)
    }
}

/// `GET /auth/clients/{id}`
struct ReadClient: Endpoint {
    static let route = Route(
        .get, "/auth/clients/{id}", "readClient", "A client. Needs the master key.", callers: .server,
        parameters: [
            .path("id", .uuid)
        ],
        answers: [
            .answer(200, "Done.", .json(.oAuthClient))
        ],
        errors: [404: "Not found."])

    let clients: ClientStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        guard let client = try await clients.read(try context.clientID, in: try context.managedUserSpace) else {
            throw HTTPProblem(.clientNotFound)
        }
        return .json(client)
    }
}

/// `PUT /auth/clients/{id}` with `name`, `redirectUris`, `postLogoutRedirectUris` and `scopes`, which take the place of
/// what was there, and `idTokenSignedResponseAlg`, which stays as it is when left out.
struct ChangeClient: Endpoint {
    static let route = Route(
        .put, "/auth/clients/{id}", "changeClient", "Changes a client. Needs the master key.", callers: .server,
        parameters: [
            .path("id", .uuid)
        ],
        body: .json(
            .object(
                [
                    "name": .string.length(1, 100),
                    "redirectUris": .array(of: .uri).items(1, 20),
                    "postLogoutRedirectUris": .array(of: .uri).maxItems(20),
                    "scopes": .array(of: .values("openid", "profile", "email", "offline_access")).minItems(1),
                    "idTokenSignedResponseAlg": .values("RS256", "ES256").described("Left out, it stays."),
                ], required: ["name", "redirectUris"])),
        answers: [
            .answer(200, "Done.", .json(.oAuthClient))
        ],
        errors: [404: "Not found."])

    let clients: ClientStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try context.managedUserSpace
        let description = try await BodyFields(request, OAuthClient.fields).clientDescription()
        guard let client = try await clients.change(try context.clientID, description, in: space) else {
            throw HTTPProblem(.clientNotFound)
        }
        return .json(client)
    }
}

/// `POST /auth/clients/{id}/secret`: a new secret, shown once; the old one is refused from now on.
struct RenewClientSecret: Endpoint {
    static let route = Route(
        .post, "/auth/clients/{id}/secret", "renewClientSecret",
        """
        Gives a confidential client a new secret; the old one is refused from now on. Needs the master key.
        """, callers: .server,
        parameters: [
            .path("id", .uuid)
        ],
        answers: [
            .answer(200, "Done.", .json(.oAuthClient))
        ],
        errors: [404: "Not found.", 409: "The name is taken, or a unique index forbids it (`conflict`)."])

    let clients: ClientStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, secret) = (try context.managedUserSpace, OAuthClient.makeSecret())
        switch try await clients.changeSecret(
            try context.clientID, digest: secret.withValue { Credential.hexDigest(of: $0) }, in: space)
        {
        case .changed(let client): return .client(client, secret: secret)
        case .isPublic: throw HTTPProblem(.conflict, "A public client has no secret.")
        case .notFound: throw HTTPProblem(.clientNotFound)
        }
    }
}

/// `DELETE /auth/clients/{id}`, 204: it is forgotten with all that users allowed it, and its tokens are worth nothing.
struct DeleteClient: Endpoint {
    static let route = Route(
        .delete, "/auth/clients/{id}", "deleteClient",
        "Deletes a client with all that users allowed it. Needs the master key.", callers: .server,
        parameters: [
            .path("id", .uuid)
        ],
        answers: [
            .answer(204, "Done.")
        ],
        errors: [404: "Not found."])

    let clients: ClientStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        guard try await clients.delete(try context.clientID, in: try context.managedUserSpace) else {
            throw HTTPProblem(.clientNotFound)
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
    /// What is no id is no client's.
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
            throw HTTPProblem(.invalidBody, "A name has 1 to 100 characters and no control characters.", field: "name")
        }
        guard let addresses = try strings("redirectUris"), (1...20).contains(addresses.count) else {
            throw HTTPProblem(.invalidBody, "1 to 20 addresses are required.", field: "redirectUris")
        }
        let names = try strings("scopes") ?? ProviderScope.allCases.map(\.rawValue)
        let scopes = [ProviderScope](names: names)
        guard !scopes.isEmpty, Set(names) == Set(scopes.names) else {
            throw HTTPProblem(
                .invalidBody, "Scopes are some of \([ProviderScope](ProviderScope.allCases).list).", field: "scopes")
        }
        let algorithm = try string("idTokenSignedResponseAlg").map { text in
            guard let algorithm = IDTokenAlgorithm(rawValue: text) else {
                throw HTTPProblem(.invalidBody, "It must be RS256 or ES256.", field: "idTokenSignedResponseAlg")
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

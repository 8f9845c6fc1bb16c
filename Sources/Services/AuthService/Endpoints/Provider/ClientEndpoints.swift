import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// `GET /auth/clients`: the clients of the app's OIDC provider, the oldest first; master key, as for all of them.
struct ListClients: Endpoint {
    let clients: ClientStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try request.allowParameters()
        let list = try await clients.list(in: try context.managedUserSpace)
        return .json(#"{"count":\#(list.count),"data":[\#(list.joined(separator: ","))]}"#)
    }
}

/// `POST /auth/clients` with `name`, `redirectUris`, and if wanted `postLogoutRedirectUris`, `scopes` (all), `type`
/// (`confidential` or `public`) and `idTokenSignedResponseAlg` (`RS256` or `ES256`); 201. A confidential client's
/// `secret` is in this answer only.
struct CreateClient: Endpoint {
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
    let clients: ClientStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, secret) = (try context.managedUserSpace, OAuthClient.makeSecret())
        try await request.allowNoBody()
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
        get throws {
            guard let id = parameters.get("id").flatMap({ UUID(uuidString: $0) }) else {
                throw HTTPProblem(.clientNotFound)
            }
            return id
        }
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

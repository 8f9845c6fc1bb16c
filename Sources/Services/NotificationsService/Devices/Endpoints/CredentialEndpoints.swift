import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import MartletPush

extension CredentialKind {
    /// The content type for each kind.
    static let contents: [any CredentialContent.Type] = [
        APNsKeyFile.self, FCMAccountFile.self, VAPIDKeyFile.self, SMTPCredential.self,
    ]
}

/// `GET /notifications/credentials`: lists the credentials, without secrets.
struct ListCredentials: Endpoint {
    let spaces: Spaces
    let store: CredentialStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.notifications(may: .read, spaces)
        try request.allowParameters()
        return .page(try await store.list(in: space.id).map(\.json.text))
    }
}

/// `GET /notifications/credentials/{kind}`
struct ReadCredential: Endpoint {
    let spaces: Spaces
    let store: CredentialStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.notifications(may: .read, spaces)
        try request.allowParameters()
        guard let credential = try await store.read(try context.credentialKind, in: space.id) else {
            throw HTTPProblem(.credentialNotFound)
        }
        return .json(credential.json.text)
    }
}

/// `PUT /notifications/credentials/{kind}` with `CredentialContent`: replaces the credential and answers 200 with its
/// public part.
struct PutCredential: Endpoint {
    let spaces: Spaces
    let credentials: PushCredentials

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, author) = try await context.notifications(may: .update, spaces)
        try request.allowParameters()
        let kind = try context.credentialKind
        guard let type = CredentialKind.contents.first(where: { $0.kind == kind }) else {
            throw HTTPProblem(.credentialNotFound)
        }
        let content: any CredentialContent = try await type.init(request)
        let stored = try await credentials.store.put(content, by: author, in: space.id)
        credentials.forget(space.id)
        return .json(stored.json.text)
    }
}

/// `DELETE /notifications/credentials/{kind}`: 204. Nothing is sent through this service any more.
struct DeleteCredential: Endpoint {
    let spaces: Spaces
    let credentials: PushCredentials

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.notifications(may: .delete, spaces)
        try request.allowParameters()
        guard try await credentials.store.delete(try context.credentialKind, in: space.id) else {
            throw HTTPProblem(.credentialNotFound)
        }
        credentials.forget(space.id)
        return Response(status: .noContent)
    }
}

/// `GET /push/key`: `{"publicKey"}` for a browser's `PushManager.subscribe({applicationServerKey})`.
struct ReadPushKey: Endpoint {
    let spaces: Spaces
    let credentials: PushCredentials

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let principal = try context.principal
        guard principal.kind == .client || principal.kind == .master else { throw HTTPProblem(.forbidden) }
        try request.allowParameters()
        guard let key = try await credentials.current(try await spaces.space(of: principal).id).webPush else {
            throw HTTPProblem(.credentialNotFound)
        }
        return try .encoding(["publicKey": key.publicKey])
    }
}

extension ServiceContext {
    /// The `:kind` in the path.
    ///
    /// - Throws: `credential-not-found`.
    var credentialKind: CredentialKind {
        get throws {
            guard let kind = parameters.get("kind").flatMap({ CredentialKind(rawValue: $0) }) else {
                throw HTTPProblem(
                    .credentialNotFound,
                    "The kind must be one of \(CredentialKind.allCases.map(\.rawValue).joined(separator: ", ")).")
            }
            return kind
        }
    }
}

extension StoredCredential {
    /// The public part of the credential with its author, time and state.
    var json: JSONValue {
        var members: [JSONValue.Member] = [.init("kind", .string(kind.rawValue))]
        if case .object(let shown) = shown { members += shown }
        members += [.init("author", .string(author)), .init("updated", .time(updated))]
        members.append(
            .init(
                "broken",
                broken.map { .object([.init("since", .time($0.since)), .init("reason", .string($0.reason))]) } ?? .null)
        )
        return .object(members)
    }
}

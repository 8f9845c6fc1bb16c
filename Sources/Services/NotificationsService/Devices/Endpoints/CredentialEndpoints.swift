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
    static let route = Route(
        .get, "/notifications/credentials", "listCredentials",
        "What push services know the app by, without anything secret.", callers: .manager(.read, .notifications),
        answers: [
            .answer(
                200, "The credentials.",
                .json(
                    .object(
                        [
                            "count": .integer,
                            "data": .array(of: .pushCredential),
                        ])))
        ])

    let spaces: Spaces
    let store: CredentialStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.notifications(may: .read, spaces)
        return .page(try await store.list(in: space.id).map(\.json.text))
    }
}

/// `GET /notifications/credentials/{kind}`
struct ReadCredential: Endpoint {
    static let route = Route(
        .get, "/notifications/credentials/{kind}", "readCredential", "One of them.",
        callers: .manager(.read, .notifications),
        parameters: [
            .path("kind", .oneOf("apns", "fcm", "webpush", "smtp"))
        ],
        answers: [
            .answer(200, "The credential.", .json(.pushCredential))
        ],
        errors: [404: "There is no such credential (`credential-not-found`)."])

    let spaces: Spaces
    let store: CredentialStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.notifications(may: .read, spaces)
        guard let credential = try await store.read(try context.credentialKind, in: space.id) else {
            throw HTTPProblem(.credentialNotFound)
        }
        return .json(credential.json.text)
    }
}

/// `PUT /notifications/credentials/{kind}` with `CredentialContent`: replaces the credential and answers 200 with its
/// public part.
struct PutCredential: Endpoint {
    static let route = Route(
        .put, "/notifications/credentials/{kind}", "putCredential",
        "Stores a credential that was found to be readable; the one before is gone.",
        callers: .manager(.update, .notifications),
        parameters: [
            .path("kind", .oneOf("apns", "fcm", "webpush", "smtp"))
        ],
        body: .json(.pushCredentialUpload),
        answers: [
            .answer(200, "What is shown of it.", .json(.pushCredential))
        ],
        errors: [
            404: "There is no such credential (`credential-not-found`).",
            413: "The body is too large (`payload-too-large`).",
        ])

    let spaces: Spaces
    let credentials: PushCredentials

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, author) = try await context.notifications(may: .update, spaces)
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
    static let route = Route(
        .delete, "/notifications/credentials/{kind}", "deleteCredential", "Nothing is sent with it any more.",
        callers: .manager(.delete, .notifications),
        parameters: [
            .path("kind", .oneOf("apns", "fcm", "webpush", "smtp"))
        ],
        answers: [
            .answer(204, "It is gone.")
        ],
        errors: [404: "There is no such credential (`credential-not-found`)."])

    let spaces: Spaces
    let credentials: PushCredentials

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.notifications(may: .delete, spaces)
        guard try await credentials.store.delete(try context.credentialKind, in: space.id) else {
            throw HTTPProblem(.credentialNotFound)
        }
        credentials.forget(space.id)
        return Response(status: .noContent)
    }
}

/// `GET /push/key`: `{"publicKey"}` for a browser's `PushManager.subscribe({applicationServerKey})`.
struct ReadPushKey: Endpoint {
    static let route = Route(
        .get, "/push/key", "readPushKey", "The public key that browsers subscribe with.", callers: .client,
        answers: [
            .answer(
                200, "`applicationServerKey`, in base64url.",
                .json(
                    .object(
                        [
                            "publicKey": .string
                        ])))
        ],
        errors: [404: "There is no such credential (`credential-not-found`)."])

    let spaces: Spaces
    let credentials: PushCredentials

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let principal = try context.principal
        guard principal.kind == .client || principal.kind == .master else { throw HTTPProblem(.forbidden) }
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

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

struct ListCredentials: Endpoint {
    static let route = Route(
        .get, "/notifications/credentials", "listCredentials",
        "Lists the app's credentials for push services and mail, without their secrets.",
        callers: .manager(.read, .notifications),
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

struct ReadCredential: Endpoint {
    static let route = Route(
        .get, "/notifications/credentials/{kind}", "readCredential", "Reads a credential, without its secrets.",
        callers: .manager(.read, .notifications),
        parameters: [
            .path("kind", .oneOf("apns", "fcm", "webpush", "smtp"))
        ],
        answers: [
            .answer(200, "The credential.", .json(.pushCredential))
        ],
        errors: [404: "The app has no credential of this kind (`credential-not-found`)."])

    let spaces: Spaces
    let store: CredentialStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.notifications(may: .read, spaces)
        guard let credential = try await store.read(try context.credentialKind, in: space.id) else {
            throw ServiceError(.credentialNotFound)
        }
        return .json(credential.json.text)
    }
}

struct PutCredential: Endpoint {
    static let route = Route(
        .put, "/notifications/credentials/{kind}", "putCredential",
        "Stores or replaces a credential, if its keys can be parsed.",
        callers: .manager(.update, .notifications),
        parameters: [
            .path("kind", .oneOf("apns", "fcm", "webpush", "smtp"))
        ],
        body: .json(.pushCredentialUpload),
        answers: [
            .answer(200, "The credential as stored, without its secrets.", .json(.pushCredential))
        ],
        errors: [
            404: "The path names an unknown kind of credential (`credential-not-found`).",
            413: "The body is too large (`payload-too-large`).",
        ])

    let spaces: Spaces
    let credentials: PushCredentials

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, author) = try await context.notifications(may: .update, spaces)
        let kind = try context.credentialKind
        guard let type = CredentialKind.contents.first(where: { $0.kind == kind }) else {
            throw ServiceError(.credentialNotFound)
        }
        let content: any CredentialContent = try await type.init(request)
        let stored = try await credentials.store.put(content, by: author, in: space.id)
        credentials.forget(space.id)
        return .json(stored.json.text)
    }
}

struct DeleteCredential: Endpoint {
    static let route = Route(
        .delete, "/notifications/credentials/{kind}", "deleteCredential",
        "Deletes a credential. Nothing more is sent with it.",
        callers: .manager(.delete, .notifications),
        parameters: [
            .path("kind", .oneOf("apns", "fcm", "webpush", "smtp"))
        ],
        answers: [
            .answer(204, "The credential is deleted.")
        ],
        errors: [404: "The app has no credential of this kind (`credential-not-found`)."])

    let spaces: Spaces
    let credentials: PushCredentials

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.notifications(may: .delete, spaces)
        guard try await credentials.store.delete(try context.credentialKind, in: space.id) else {
            throw ServiceError(.credentialNotFound)
        }
        credentials.forget(space.id)
        return Response(status: .noContent)
    }
}

struct ReadPushKey: Endpoint {
    static let route = Route(
        .get, "/push/key", "readPushKey", "Reads the public key with which browsers subscribe to Web Push.",
        callers: .client,
        answers: [
            .answer(
                200, "The key for `PushManager.subscribe({applicationServerKey})`, in base64url.",
                .json(
                    .object(
                        [
                            "publicKey": .string
                        ])))
        ],
        errors: [404: "The app has no credential of this kind (`credential-not-found`)."])

    let spaces: Spaces
    let credentials: PushCredentials

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let principal = try context.principal
        guard let key = try await credentials.webPush(of: try await spaces.space(of: principal).id) else {
            throw ServiceError(.credentialNotFound)
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
                throw ServiceError(
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

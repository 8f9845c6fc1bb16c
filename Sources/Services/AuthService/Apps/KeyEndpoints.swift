import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

struct ListKeys: Endpoint {
    static let route = Route(
        .get, "/admin/apps/{app}/keys", "listKeys",
        "Lists the app's keys and secrets without their text, newest first.",
        callers: .staffOfApp(.read, .applications),
        parameters: [
            .path("app", .string, "The app's id."),
            .query("revoked", .boolean.defaulting(to: false), "Also lists the latest 1,000 revoked ones."),
        ],
        answers: [
            .answer(
                200, "The keys and secrets.",
                .json(
                    .object(
                        [
                            "count": .integer,
                            "data": .array(of: .key),
                            "next": .string.described("The `after` of the next page, if there is one."),
                        ], required: ["count", "data"])))
        ],
        errors: [404: "The server has no such app (`app-not-found`)."])

    let credentials: CredentialStore
    let apps: AppStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let id = try context.readableApp()
        guard try await apps.read(id) != nil else { throw ServiceError(.appNotFound) }
        return .page(try await credentials.list(of: id, withRevoked: try request.flag("revoked")))
    }
}

struct CreateKey: Endpoint {
    static let route = Route(
        .post, "/admin/apps/{app}/keys", "createKey", "Creates a key or secret.",
        callers: .staffOfApp(.update, .applications),
        parameters: [
            .path("app", .string, "The app's id.")
        ], needsConfirmation: true,
        details: """
            For a master key, you need every right in the areas that it gives access to. An app may have at most \
            200 keys and secrets.
            """,
        body: .json(
            .object(
                [
                    "kind": .oneOf("client", "secret", "ingest", "evaluation", "master"),
                    "environment": .oneOf("live", "test").defaulting(to: "live"),
                    "label": .string.maxLength(200),
                    "expires": .time.nullable,
                    "networks": .array(of: .string).nullable.described(
                        "The CIDR blocks that the key may be used from. `null` removes the limit."),
                    "scopes": .array(of: .string).nullable.described(
                        """
                        Areas of the API, such as `storage` or `storage:read`. Only secrets and master keys can \
                        be limited to scopes. `null` removes the limit.
                        """),
                ], required: ["kind"])),
        answers: [
            .answer(
                201, "The key, whose text is shown only once.",
                .json(
                    .object(
                        [
                            "key": .string.described("The text of the key, which is shown only once."),
                            "record": .key,
                        ], required: ["key", "record"])))
        ],
        errors: [404: "The server has no such app (`app-not-found`).", 409: "The app is archived (`conflict`)."])

    let credentials: CredentialStore
    let now: @Sendable () -> Date

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (id, author) = try context.changeableApp(request)
        let fields = try await BodyFields(request, ["kind", "environment", "label", "expires", "networks", "scopes"])
        let kindName = try fields.requiredString("kind")
        guard let kind = CredentialKind(rawValue: kindName) else {
            throw ServiceError.unexpectedMember(
                "kind", expected: "client, secret, ingest, evaluation or master", found: kindName)
        }
        let new = NewCredential(
            kind: kind, environment: try fields.environment(of: kind), label: try fields.text("label", upTo: 200) ?? "",
            expires: try fields.expiry("expires", now()), networks: try fields.networks("networks"),
            scopes: try fields.scopes("scopes"))
        guard new.scopes == nil || kind.acceptsScopes else {
            throw ServiceError(.invalidBody, "Only secrets and master keys can be limited.", field: "scopes")
        }
        let created = try await credentials.create(new, of: id, by: author)
        return .created(created.answer(), at: created.path(of: id)).notStored
    }
}

struct ChangeKey: Endpoint {
    static let route = Route(
        .patch, "/admin/apps/{app}/keys/{id}", "changeKey",
        "Changes a key's label, expiry, networks or scopes.",
        callers: .staffOfApp(.update, .applications),
        parameters: [
            .path("app", .string, "The app's id."),
            .path("id", .uuid),
        ], needsConfirmation: true,
        details: """
            The change takes effect within two seconds. `null` removes the expiry, the networks or the scopes. To \
            change more than the label of a master key, you need every right in the areas that it gives access to.
            """,
        body: .json(
            .object(
                [
                    "label": .string.maxLength(200),
                    "expires": .time.nullable,
                    "networks": .array(of: .string).nullable.described(
                        "The CIDR blocks that the key may be used from. `null` removes the limit."),
                    "scopes": .array(of: .string).nullable.described(
                        """
                        Areas of the API, such as `storage` or `storage:read`. Only secrets and master keys can \
                        be limited to scopes. `null` removes the limit.
                        """),
                ])),
        answers: [
            .answer(200, "The changed key, without its text.", .json(.key))
        ],
        errors: [
            404: """
            There is no such app (`app-not-found`), or it has no such key that is not revoked \
            (`key-not-found`).
            """, 409: "The app is archived, or the key has expired and `expires` was sent (`conflict`).",
        ])

    let credentials: CredentialStore
    let now: @Sendable () -> Date

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (app, author) = try context.changeableApp(request)
        let fields = try await BodyFields(request, ["label", "expires", "networks", "scopes"])
        let change = CredentialChange(
            label: try fields.text("label", upTo: 200),
            expires: try fields.change("expires") { try fields.expiry($0, now()) },
            networks: try fields.change("networks", fields.networks), scopes: try fields.change("scopes", fields.scopes)
        )
        guard let record = try await credentials.change(try context.keyID, change, of: app, by: author) else {
            throw ServiceError(.keyNotFound)
        }
        return .json(record)
    }
}

struct RevokeKey: Endpoint {
    static let route = Route(
        .delete, "/admin/apps/{app}/keys/{id}", "revokeKey", "Revokes a key.",
        callers: .staffOfApp(.update, .applications),
        parameters: [
            .path("app", .string, "The app's id."),
            .path("id", .uuid),
            .query(
                "force", .boolean.defaulting(to: false),
                "Revokes even the last app key of an environment or the last secret."
            ),
        ], needsConfirmation: true,
        details: "Gateways refuse it within two seconds.",
        answers: [
            .answer(204, "The key is revoked.")
        ],
        errors: [
            404: """
            There is no such app (`app-not-found`), or it has no such key that is not revoked \
            (`key-not-found`).
            """,
            409: """
            The key is the last app key of an environment or the last secret, and `force` is not true \
            (`conflict`).
            """,
        ])

    let credentials: CredentialStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (app, author) = try context.changeableApp(request)
        guard try await credentials.revoke(try context.keyID, isForced: try request.flag("force"), of: app, by: author)
        else {
            throw ServiceError(.keyNotFound)
        }
        return Response(status: .noContent)
    }
}

/// Creates the new key and limits the old one in one transaction.
struct RotateKey: Endpoint {
    static let route = Route(
        .post, "/admin/apps/{app}/keys/{id}/rotate", "rotateKey",
        "Replaces a key with a new one of the same kind and limits.", callers: .staffOfApp(.update, .applications),
        parameters: [
            .path("app", .string, "The app's id."),
            .path("id", .uuid),
        ], needsConfirmation: true,
        details: """
            The old key stays valid for `graceSeconds`; with 0 it is revoked at once. For a master key, you need \
            every right in the areas that it gives access to.
            """,
        body: .json(
            .object(
                [
                    "graceSeconds": .integer.range(0, 2_592_000).defaulting(to: 86400)
                ]), isRequired: false),
        answers: [
            .answer(
                201, "The new key, whose text is shown only once, and the old one.",
                .json(
                    .object(
                        [
                            "key": .string.described("The text of the key, which is shown only once."),
                            "record": .key,
                            "old": .key,
                        ], required: ["key", "record"])))
        ],
        errors: [
            404: """
            There is no such app (`app-not-found`), or it has no such key that is not revoked \
            (`key-not-found`).
            """, 409: "The app is archived (`conflict`).",
        ])

    let credentials: CredentialStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (app, author) = try context.changeableApp(request)
        let grace =
            try await BodyFields(request, ["graceSeconds"], isOptional: true).integer("graceSeconds", in: 0...2_592_000)
            ?? 86_400
        guard let (new, old) = try await credentials.rotate(try context.keyID, grace: grace, of: app, by: author) else {
            throw ServiceError(.keyNotFound)
        }
        return .created(new.answer(adding: #","old":\#(old)"#), at: new.path(of: app)).notStored
    }
}

extension CredentialStore.CreatedCredential {
    fileprivate func path(of appID: String) -> String { "/admin/apps/\(appID)/keys/\(id.uuidString.lowercased())" }

    /// - Parameter more: Further members, each with a comma before it.
    fileprivate func answer(adding more: String = "") -> String {
        #"{"key":\#(text.withValue { JSONValue.quote($0) }),"record":\#(json)\#(more)}"#
    }
}

extension ServiceContext {
    fileprivate var keyID: UUID {
        get throws { try uuid("id", else: .keyNotFound) }
    }
}

extension BodyFields {
    /// The environment of the key. Refused for kinds of keys that do not belong to an environment.
    fileprivate func environment(of kind: CredentialKind) throws -> AppEnvironment {
        guard let text = try string("environment") else { return .live }
        guard kind != .secret, kind != .master else {
            throw ServiceError(
                .invalidBody, "Secrets and master keys do not belong to an environment.", field: "environment")
        }
        guard let environment = AppEnvironment(rawValue: text) else {
            throw ServiceError.unexpectedMember("environment", expected: "live or test", found: text)
        }
        return environment
    }

    /// A time in the future (RFC 3339).
    fileprivate func expiry(_ name: String, _ now: Date) throws -> Date? {
        guard let text = try string(name) else { return nil }
        guard let date = Date(rfc3339: text), date > now, date < now + 100 * 366 * 86_400
        else {
            throw ServiceError.unexpectedMember(
                name, expected: "a time within the next 100 years, such as 2027-06-30T00:00:00Z", found: text)
        }
        return date
    }

    fileprivate func networks(_ name: String) throws -> [String]? {
        let blocks = try texts(
            name, upTo: 50, expected: "a CIDR block such as 10.0.0.0/8", NetworkBlock.isValid)
        guard blocks?.isEmpty != true else {
            throw ServiceError(.invalidBody, "At least one network is required; send null to allow all.", field: name)
        }
        return blocks
    }

    fileprivate func scopes(_ name: String) throws -> [String]? {
        let areas = KeyArea.allCases.map(\.rawValue).joined(separator: ", ")
        let scopes = try texts(name, upTo: 32, expected: "one of \(areas), optionally followed by :read") {
            KeyScope($0) != nil
        }
        guard scopes?.isEmpty != true else {
            throw ServiceError(.invalidBody, "At least one scope is required; send null for no limit.", field: name)
        }
        return scopes
    }
}

import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// `GET /admin/apps/{app}/keys?revoked=true`: keys and secrets without their text, newest first; with `revoked` those
/// too that have ended.
struct ListKeys: Endpoint {
    static let route = Route(
        .get, "/admin/apps/{app}/keys", "listKeys", "Keys and secrets without their text, newest first.",
        callers: .staffOfApp(.read, .applications),
        parameters: [
            .path("app", .string, "The app's id."),
            .query("revoked", .boolean.defaulting(to: false), "With the last 1,000 that have ended."),
        ],
        answers: [
            .answer(
                200, "Done.",
                .json(
                    .object(
                        [
                            "count": .integer,
                            "data": .array(of: .key),
                            "next": .string.described("`after` of the next page."),
                        ], required: ["count", "data"])))
        ])

    let credentials: CredentialStore
    let apps: AppStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let id = try context.readableApp()
        guard try await apps.read(id) != nil else { throw HTTPProblem(.appNotFound) }
        return .page(try await credentials.list(of: id, withRevoked: try request.flag("revoked")))
    }
}

/// `POST /admin/apps/{app}/keys` with `kind` and perhaps `environment`, `label`, `expires`, `networks`, `scopes`: 201
/// with `{"key":"…","record":…}`. The text is shown this once.
struct CreateKey: Endpoint {
    static let route = Route(
        .post, "/admin/apps/{app}/keys", "createKey", "Makes a key or secret; its text is shown this once.",
        callers: .staffOfApp(.update, .applications),
        parameters: [
            .path("app", .string, "The app's id.")
        ],
        details: "A master key needs every right in the areas that it opens.",
        body: .json(
            .object(
                [
                    "kind": .oneOf("client", "secret", "ingest", "evaluation", "master"),
                    "environment": .oneOf("live", "test").defaulting(to: "live"),
                    "label": .string.maxLength(200),
                    "expires": .time.nullable,
                    "networks": .array(of: .string).nullable.described("CIDR blocks."),
                    "scopes": .array(of: .string).nullable.described(
                        "Areas such as storage, or storage:read; of secrets and master keys."),
                ], required: ["kind"])),
        answers: [
            .answer(
                201, "The key is made.",
                .json(
                    .object(
                        [
                            "key": .string.described("Shown this once."),
                            "record": .key,
                        ], required: ["key", "record"])))
        ],
        errors: [409: "The name is taken, or a unique index forbids it (`conflict`)."])

    let credentials: CredentialStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (id, author) = try context.changeableApp(request)
        let fields = try await BodyFields(request, ["kind", "environment", "label", "expires", "networks", "scopes"])
        guard let kind = CredentialKind(rawValue: try fields.requiredString("kind")) else {
            throw HTTPProblem(.invalidBody, "This must be client, secret, ingest, evaluation or master.", field: "kind")
        }
        let new = NewCredential(
            kind: kind, environment: try fields.environment(of: kind), label: try fields.text("label", upTo: 200) ?? "",
            expires: try fields.expiry("expires"), networks: try fields.networks("networks"),
            scopes: try fields.scopes("scopes"))
        guard new.scopes == nil || kind.takesScopes else {
            throw HTTPProblem(.invalidBody, "Only secrets and master keys can be limited.", field: "scopes")
        }
        let made = try await credentials.create(new, of: id, by: author)
        return .made(made.shown(), at: made.path(of: id)).notStored
    }
}

/// `PATCH /admin/apps/{app}/keys/{id}` with `label`, `expires`, `networks`, `scopes`; null takes the last three away.
/// 200 with the record; 409 for another `expires` of one that has expired.
struct ChangeKey: Endpoint {
    static let route = Route(
        .patch, "/admin/apps/{app}/keys/{id}", "changeKey",
        "Changes label, expiry, networks and scopes, in force within two seconds.",
        callers: .staffOfApp(.update, .applications),
        parameters: [
            .path("app", .string, "The app's id."),
            .path("id", .uuid),
        ],
        body: .json(
            .object(
                [
                    "label": .string.maxLength(200),
                    "expires": .time.nullable,
                    "networks": .array(of: .string).nullable.described("CIDR blocks."),
                    "scopes": .array(of: .string).nullable.described(
                        "Areas such as storage, or storage:read; of secrets and master keys."),
                ])),
        answers: [
            .answer(200, "Done.", .json(.key))
        ],
        errors: [409: "The name is taken, or a unique index forbids it (`conflict`)."])

    let credentials: CredentialStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (app, author) = try context.changeableApp(request)
        let fields = try await BodyFields(request, ["label", "expires", "networks", "scopes"])
        let change = CredentialChange(
            label: try fields.text("label", upTo: 200), expires: try fields.change("expires", fields.expiry),
            networks: try fields.change("networks", fields.networks), scopes: try fields.change("scopes", fields.scopes)
        )
        guard let record = try await credentials.change(try context.keyID, change, of: app, by: author) else {
            throw HTTPProblem(.keyNotFound)
        }
        return .json(record)
    }
}

/// `DELETE /admin/apps/{app}/keys/{id}?force=true`, 204: refused at every gateway within two seconds. 409 for the last
/// app key of an environment and the last secret, unless `force` says so.
struct RevokeKey: Endpoint {
    static let route = Route(
        .delete, "/admin/apps/{app}/keys/{id}", "revokeKey", "Ends a key, at every gateway within two seconds.",
        callers: .staffOfApp(.update, .applications),
        parameters: [
            .path("app", .string, "The app's id."),
            .path("id", .uuid),
            .query(
                "force", .boolean.defaulting(to: false), "Also the last app key of an environment, and the last secret."
            ),
        ],
        answers: [
            .answer(204, "Done.")
        ],
        errors: [409: "The name is taken, or a unique index forbids it (`conflict`)."])

    let credentials: CredentialStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (app, author) = try context.changeableApp(request)
        guard try await credentials.revoke(try context.keyID, isForced: try request.flag("force"), of: app, by: author)
        else {
            throw HTTPProblem(.keyNotFound)
        }
        return Response(status: .noContent)
    }
}

/// `POST /admin/apps/{app}/keys/{id}/rotate` with `graceSeconds` (0 to 30 days; a day where it is not said): 201 with
/// `{"key":"…","record":…,"old":…}`. The new one is like the old one, which ends when the grace is over.
struct RotateKey: Endpoint {
    static let route = Route(
        .post, "/admin/apps/{app}/keys/{id}/rotate", "rotateKey",
        "Makes a like key at once, and ends the old one after a grace.", callers: .staffOfApp(.update, .applications),
        parameters: [
            .path("app", .string, "The app's id."),
            .path("id", .uuid),
        ],
        body: .json(
            .object(
                [
                    "graceSeconds": .integer.range(0, 2_592_000).defaulting(to: 86400)
                ])),
        answers: [
            .answer(
                201, "The key is made.",
                .json(
                    .object(
                        [
                            "key": .string.described("Shown this once."),
                            "record": .key,
                            "old": .key,
                        ], required: ["key", "record"])))
        ],
        errors: [409: "The name is taken, or a unique index forbids it (`conflict`)."])

    let credentials: CredentialStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (app, author) = try context.changeableApp(request)
        let grace =
            try await BodyFields(request, ["graceSeconds"], isOptional: true).integer("graceSeconds", in: 0...2_592_000)
            ?? 86_400
        guard let (new, old) = try await credentials.rotate(try context.keyID, grace: grace, of: app, by: author) else {
            throw HTTPProblem(.keyNotFound)
        }
        return .made(new.shown(#","old":\#(old)"#), at: new.path(of: app)).notStored
    }
}

extension CredentialStore.Made {
    fileprivate func path(of appID: String) -> String { "/admin/apps/\(appID)/keys/\(id.uuidString.lowercased())" }

    /// - Parameter more: members behind, with a comma before each.
    fileprivate func shown(_ more: String = "") -> String {
        #"{"key":\#(text.withValue { JSONValue.quote($0) }),"record":\#(json)\#(more)}"#
    }
}

extension ServiceContext {
    fileprivate var keyID: UUID {
        get throws { try uuid("id", else: .keyNotFound) }
    }
}

extension BodyFields {
    /// For the kinds that belong to one.
    fileprivate func environment(of kind: CredentialKind) throws -> AppEnvironment {
        guard let text = try string("environment") else { return .live }
        guard kind != .secret, kind != .master else {
            throw HTTPProblem(.invalidBody, "Secrets and master keys belong to no environment.", field: "environment")
        }
        guard let environment = AppEnvironment(rawValue: text) else {
            throw HTTPProblem(.invalidBody, "This must be live or test.", field: "environment")
        }
        return environment
    }

    /// A time to come (RFC 3339).
    fileprivate func expiry(_ name: String) throws -> Date? {
        guard let text = try string(name) else { return nil }
        guard let date = Date(rfc3339: text), date > Date(), date < Date(timeIntervalSinceNow: 100 * 366 * 86_400)
        else {
            throw HTTPProblem(
                .invalidBody, "This must be a time to come within 100 years, such as 2027-06-30T00:00:00Z.", field: name
            )
        }
        return date
    }

    fileprivate func networks(_ name: String) throws -> [String]? {
        let blocks = try texts(name, upTo: 50, "A network is a CIDR block such as 10.0.0.0/8.", NetworkBlock.isOne)
        guard blocks?.isEmpty != true else {
            throw HTTPProblem(.invalidBody, "With no network it would be of no use.", field: name)
        }
        return blocks
    }

    fileprivate func scopes(_ name: String) throws -> [String]? {
        let areas = KeyArea.allCases.map(\.rawValue).joined(separator: ", ")
        let scopes = try texts(name, upTo: 32, "A scope is one of \(areas), perhaps with :read behind it.") {
            KeyScope($0) != nil
        }
        guard scopes?.isEmpty != true else {
            throw HTTPProblem(.invalidBody, "With no scope it would be of no use.", field: name)
        }
        return scopes
    }
}

import MartletAPI
import MartletHTTP

/// The parts of the description that all routes share.
enum OpenAPIParts {
    static let info: Schema.Literal = [
        "title": "Martlet", "version": "0.1",
        "summary": "A mobile backend for your own server.",
        "description": """
        All calls that clients, app servers and staff can make through the gateway. docs/api/index.md explains the parts \
        with examples; docs/ERRORS.md explains every error code.
        """,
        "license": ["name": "Apache-2.0", "identifier": "Apache-2.0"],
    ]

    static let securitySchemes: Schema.Literal = [
        "secret": [
            "type": "apiKey", "in": "header", "name": "X-Martlet-Secret",
            "description":
                "A secret of the app whose key is in the path. It ships inside the app, so treat it as public.",
        ],
        "userToken": [
            "type": "http", "scheme": "bearer", "bearerFormat": "JWT",
            "description": "The access token of a signed-in user of the app, sent together with the app's secret.",
        ],
        "masterKey": [
            "type": "apiKey", "in": "header", "name": "X-Martlet-Master-Key",
            "description": """
            A master key of the app, sent by its own servers instead of the secret. Accepted from allowed networks only.
            """,
        ],
        "masterBearer": [
            "type": "http", "scheme": "bearer",
            "description": "A master key of the app, for programs that can only send a bearer token.",
        ],
        "evaluationKey": [
            "type": "http", "scheme": "bearer",
            "description": "An evaluation key of the app. It identifies app and environment and evaluates flags only.",
        ],
        "evaluationAPIKey": [
            "type": "apiKey", "in": "header", "name": "X-API-Key",
            "description": "An evaluation key, for clients that do not send `Authorization`.",
        ],
        "ingestKey": [
            "type": "http", "scheme": "basic",
            "description": """
            An ingest key of the app as the user name, with an empty password. It identifies app and environment and \
            can only send.
            """,
        ],
        "staffToken": [
            "type": "http", "scheme": "bearer", "bearerFormat": "JWT",
            "description": "The access token of a staff member, from `POST /admin/auth/login`.",
        ],
    ]

    static let parameters: Schema.Literal = [
        "appKey": [
            "name": "appKey", "in": "path", "required": true,
            "description": "An app key. It identifies the app and the environment.",
            "schema": ["type": "string", "examples": ["mk_live_v46TBiIQjnndBwzTAgKOmbe4IJaWmEkKWYuHNYU9Vpg"]],
        ],
        "issuer": [
            "name": "app", "in": "path", "required": true,
            "description": "The app's id (`appId`), followed by `-test` for the test environment.",
            "schema": ["type": "string"],
        ],
        "app": [
            "name": "app", "in": "path", "required": true, "description": "The app's id (`appId`).",
            "schema": ["type": "string"],
        ],
        "environment": [
            "name": "X-Martlet-Environment", "in": "header",
            "description": """
            The environment whose data the call uses. The default is the environment of the app key, and `live` for \
            staff. A test key never has access to live data.
            """,
            "schema": ["type": "string", "enum": ["live", "test"]],
        ],
    ]

    static let headers: Schema.Literal = [
        "RetryAfter": [
            "description": "The number of seconds to wait before retrying.",
            "schema": ["type": "integer", "minimum": 1],
        ]
    ]

    static let responses: Schema.Literal = .object(
        [
            problem(
                "BadRequest",
                "The request is invalid and nothing was written. `code` identifies the error, `field` its place."),
            problem(
                "Unauthorized",
                """
                A key, secret or token is missing or invalid (`unauthorized`, `invalid-token`). The answer does not \
                reveal which one.
                """
            ),
            problem("Forbidden", "The credential is valid but does not allow this call (`forbidden`)."),
            problem("TooLarge", "The body is too large (`payload-too-large`)."),
            problem(
                "TooManyRequests", "The key or the client's address has exceeded a limit (`too-many-requests`).",
                isRetried: true),
            problem(
                "Unavailable", "The service or its database is unavailable or overloaded (`unavailable`).",
                isRetried: true),
            problem("Problem", "Any other error. docs/ERRORS.md lists the codes."),
            .init(
                "PlainProblem",
                [
                    "description": "Any error, in the format of the protocol that the call implements.",
                    "content": ["application/json": ["schema": plainProblem]],
                ]),
        ])

    private static let plainProblem: Schema.Literal = [
        "type": "object", "required": ["detail"], "properties": ["detail": ["type": "string"]],
    ]

    private static let problemContent: Schema.Literal = [
        "application/problem+json": ["schema": ["$ref": "#/components/schemas/Problem"]]
    ]

    private static func problem(_ name: String, _ text: String, isRetried: Bool = false) -> Schema.Literal.Member {
        var members: [Schema.Literal.Member] = [.init("description", .string(text))]
        if isRetried { members.append(.init("headers", ["Retry-After": ["$ref": "#/components/headers/RetryAfter"]])) }
        members.append(.init("content", problemContent))
        return .init(name, .object(members))
    }

    static func error(_ text: String, isProblem: Bool) -> Schema.Literal {
        .object([
            .init("description", .string(text)),
            .init("content", isProblem ? problemContent : ["application/json": ["schema": plainProblem]]),
        ])
    }

    static func sharedParameter(_ name: String, in path: String) -> Schema.Literal? {
        switch name {
        case "appKey": ["$ref": "#/components/parameters/appKey"]
        case "app" where path.hasPrefix("/oidc/"): ["$ref": "#/components/parameters/issuer"]
        case "app": ["$ref": "#/components/parameters/app"]
        default: nil
        }
    }

    /// The errors that all calls of this kind have in common.
    static func commonErrors(of route: Route, at entry: GatewayRoutes.Entry) -> [(status: Int, name: String)] {
        guard route.refusal == nil else { return [] }
        var errors = [(status: 400, name: "BadRequest")]
        if !isOpen(entry) { errors.append((401, "Unauthorized")) }
        if route.callers.isRestricted { errors.append((403, "Forbidden")) }
        if route.acceptsBody { errors.append((413, "TooLarge")) }
        return errors + [(429, "TooManyRequests"), (503, "Unavailable")]
    }

    private static func isOpen(_ entry: GatewayRoutes.Entry) -> Bool {
        ["none", "link"].contains(entry.credential) || entry.credential == "staff" && entry.ignoresToken == true
    }

    static func security(_ callers: Callers, _ entry: GatewayRoutes.Entry) -> Schema.Literal {
        if isOpen(entry) { return [] }
        switch (entry.credential, callers) {
        case ("client", .server), ("client", .managers), ("master", _): return [["masterKey": []]]
        case ("client", .user): return [["secret": [], "userToken": []], ["masterKey": []]]
        case ("client", _): return [["secret": []], ["masterKey": []]]
        case ("masterBearer", _): return [["masterBearer": []]]
        case ("ingest", _): return [["ingestKey": []]]
        case ("evaluation", _): return [["evaluationKey": []], ["evaluationAPIKey": []]]
        default: return [["staffToken": []]]
        }
    }

    /// A sentence about the permitted callers; nil if the credential says it all.
    static func callers(_ callers: Callers) -> String? {
        switch callers {
        case .managers(let actions, let areas): "Staff need the right to \(list(actions)) in the area \(list(areas))."
        case .clientOrStaff(let actions, let area):
            "Staff need the right to \(list(actions, "and")) in the area \(list([area]))."
        case .staff(let action, let area): "Needs the right to \(list([action])) in the area \(list([area]))."
        case .staffOfApp(let action, let area):
            "Needs the right to \(list([action])) in the area \(list([area])) of the app."
        case .user: "The app's server names the user in `X-Martlet-User`."
        case .staffBeforePasswordReset: "Allowed while a new password must be set."
        default: nil
        }
    }

    private static func list<Name: RawRepresentable<String>>(_ names: [Name], _ last: String = "or") -> String {
        let names = names.map { "`\($0.rawValue)`" }
        return names.count < 2
            ? names.joined() : names.dropLast().joined(separator: ", ") + " \(last) " + (names.last ?? "")
    }
}

extension Callers {
    /// Whether a valid credential for the address may still be refused.
    var isRestricted: Bool {
        switch self {
        case .anyone, .client, .user, .staffSigningIn, .kinds: false
        case .clientOrStaff, .server, .managers, .staff, .staffOfApp, .signedInStaff, .staffBeforePasswordReset: true
        }
    }
}

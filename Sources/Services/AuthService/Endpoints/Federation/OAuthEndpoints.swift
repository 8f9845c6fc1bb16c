import Foundation
import HTTPTypes
import Hummingbird
import Logging
import MartletAPI
import MartletCore
import MartletHTTP

/// Who signs in by a provider: an app's users, or the server's staff under `/admin/auth/oidc/`.
enum ProviderGuests: Sendable {
    case users, staff

    /// - Throws: `forbidden` for who did not come by their route.
    func space(_ context: ServiceContext) throws -> UserSpace {
        switch self {
        case .users: return try context.userSpace
        case .staff:
            try context.checkStaffRoute()
            return .staff
        }
    }

    /// The app whose callback it is.
    ///
    /// - Throws: `forbidden` for who did not come by its route.
    fileprivate func callbackAppID(_ context: ServiceContext) throws -> String {
        guard self == .users else { return try space(context).appID }
        let principal = try context.principal
        guard principal.kind == .link else { throw HTTPProblem(.forbidden) }
        return principal.appID
    }
}

/// `POST /auth/oauth/{provider}/start` with `redirectURL`, one of the provider's, and `codeChallenge` (S256 of RFC
/// 7636): `{"url","state"}`. The app opens `url` in the system's browser, and keeps `state` and the code verifier until
/// it is called back.
struct StartOAuth: Endpoint {
    static let route = Route(
        .post, "/auth/oauth/{name}/start", "startOAuth", "Begins a code flow: where to send the user.",
        callers: .client,
        parameters: [
            .path("name", .string.pattern(#"^[a-z0-9][a-z0-9-]{0,31}$"#), "The app's name for the provider.")
        ],
        body: .json(
            .object(
                [
                    "redirectURL": .uri,
                    "codeChallenge": .string.described("S256 of RFC 7636."),
                ]), isRequired: false),
        answers: [
            .answer(
                200, "Done.",
                .json(
                    .object(
                        [
                            "url": .string,
                            "state": .string,
                        ])))
        ],
        errors: [409: "The name is taken, or a unique index forbids it (`conflict`)."])
    static let startStaffOAuth = Route(
        .post, "/admin/auth/oidc/{name}/start", "startStaffOAuth", "Begins a code flow: where to send the browser.",
        callers: .staffSigningIn,
        parameters: [
            .path("name", .string.pattern(#"^[a-z0-9][a-z0-9-]{0,31}$"#))
        ],
        body: .json(
            .object(
                [
                    "redirectURL": .uri.described("One of the provider's."),
                    "codeChallenge": .string.described("S256 of RFC 7636."),
                ], required: ["redirectURL", "codeChallenge"]
            ).closed),
        answers: [
            .answer(
                200, "Done.",
                .json(
                    .object(
                        [
                            "url": .string,
                            "state": .string,
                        ], required: ["url", "state"])))
        ],
        errors: [404: "Not found."])

    let federation: Federation
    let attempts: AttemptStore
    var guests = ProviderGuests.users

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try guests.space(context)
        let fields = try await BodyFields(request, ["redirectURL", "codeChallenge"])
        let (redirectURL, challenge) = (
            try fields.requiredString("redirectURL"), try fields.requiredString("codeChallenge")
        )
        guard let provider = try await federation.providers.find(context.parameters.get("name") ?? "", in: space) else {
            throw HTTPProblem(.notFound, "There is no such provider.")
        }
        guard provider.settings.redirectURLs.contains(redirectURL) else {
            throw HTTPProblem(.invalidBody, "This is none of the provider's redirectURLs.", field: "redirectURL")
        }
        guard challenge.utf8.count == 43, Base64URL.decode(challenge)?.count == 32 else {
            throw HTTPProblem(
                .invalidBody, "This must be the SHA-256 of a code verifier in base64url, 43 characters.",
                field: "codeChallenge")
        }
        try await attempts.begin(try context.flowLimits(of: request, in: space))
        let state = Secret.random().withValue { $0 }
        do {
            let url = try await federation.codeFlow.authorizationURL(of: provider, state: state)
            let flow = OAuthFlowStore.Flow(
                space: space, provider: provider.name, redirectURL: redirectURL, codeChallenge: challenge)
            try await federation.flows.begin(flow, state: state)
            return try Response.encoding(["url": url, "state": state]).notStored
        } catch let failure as ProviderFailure {
            throw HTTPProblem(.unavailable, "The provider cannot be used for this now.", cause: failure.sentence)
        }
    }
}

/// `GET|POST /auth/oauth/callback`: where providers send the user back to, by the app key alone. 303 to the app's URL
/// with `code` and `state`, or with `error` and `state`.
///
/// The state says which flow it is; it counts once. What `code` is good for, only the app that began can use.
struct OAuthCallback: Endpoint {
    static let route = Route(
        .get, "/auth/oauth/callback", "returnFromOAuth",
        """
        Where providers send the user back to: on to the app, with `code` or `error`, and `state`.
        """, callers: .anyone,
        checksOwnQuery: true,
        answers: [
            .answer(303, "To the app.")
        ],
        errors: [409: "The name is taken, or a unique index forbids it (`conflict`)."])
    static let returnFromOAuthByForm = route.by(.post, "returnFromOAuthByForm", takesForm: true)
    static let returnStaffFromOAuth = Route(
        .get, "/admin/auth/oidc/callback", "returnStaffFromOAuth",
        """
        Where providers send the browser back to: on to the console, with `code` or `error`, and `state`.
        """, callers: .staffSigningIn,
        checksOwnQuery: true,
        answers: [
            .answer(303, "To `redirectURL`.")
        ],
        errors: [404: "Not found."])
    static let returnStaffFromOAuthByForm = Route(
        .post, "/admin/auth/oidc/callback", "returnStaffFromOAuthByForm",
        """
        Where providers send the browser back to: on to the console, with `code` or `error`, and `state`.
        """, callers: .staffSigningIn,
        checksOwnQuery: true,
        answers: [
            .answer(303, "To `redirectURL`.")
        ],
        errors: [404: "Not found."])

    static let maximumSizeInBytes = 64 << 10

    let federation: Federation
    var guests = ProviderGuests.users
    let logger: Logger

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let appID = try guests.callbackAppID(context)
        let answer = try await answer(in: request)
        guard let state = answer["state"], let flow = try await federation.flows.take(state: state, of: appID) else {
            throw HTTPProblem(.invalidLink, "This way to sign in is used up or too old: begin anew in the app.")
        }
        do {
            return .redirecting(
                to: flow.redirectURL, ["code": try await code(for: answer, state, flow), "state": state])
        } catch let refusal as Refusal {
            return .redirecting(to: flow.redirectURL, ["error": refusal.error, "state": state])
        } catch {
            let cause = (error as? ProviderFailure)?.sentence ?? (error as? IDTokenRefusal)?.sentence ?? "\(error)"
            logger.warning(
                "An identity provider sent somebody back, and could not say who.",
                metadata: [
                    "app.id": "\(appID)", "provider.name": "\(flow.provider)", "request.id": "\(context.requestID)",
                    "error.cause": "\(cause)",
                ])
            return .redirecting(to: flow.redirectURL, ["error": "server_error", "state": state])
        }
    }

    /// The provider, or the user there, said no.
    private struct Refusal: Error {
        let error: String
    }

    private func answer(in request: Request) async throws -> [String: String] {
        // Apple posts a form.
        let text =
            request.method == .post
            ? String(buffer: try await request.wholeBody(upTo: Self.maximumSizeInBytes)) : request.uri.query ?? ""
        guard let answer = FormBody.decode(text) else { throw HTTPProblem(.invalidLink) }
        return answer
    }

    private func code(for answer: [String: String], _ state: String, _ flow: OAuthFlowStore.Flow) async throws -> String
    {
        if let error = answer["error"] {
            // Codes are words (RFC 6749 §4.1.2.1); whatever else it is goes no further.
            let isCode =
                (1...64).contains(error.utf8.count)
                && error.utf8.allSatisfy { (0x61...0x7a).contains($0) || $0 == 0x5f }
            throw Refusal(error: isCode ? error : "server_error")
        }
        guard let provider = try await federation.providers.find(flow.provider, in: flow.space) else {
            throw ProviderFailure.missing("setting up")
        }
        let identity = try await federation.codeFlow.identity(from: answer, state: state, of: provider)
        return try await federation.flows.keep(identity, of: flow)
    }
}

/// `POST /auth/oauth/finish` with `code` of the callback and `codeVerifier`, `secondFactorCode` and `device` if wanted;
/// 200 signed in, 201 as a new user.
struct FinishOAuth: Endpoint {
    static let route = Route(
        .post, "/auth/oauth/finish", "finishOAuth", "Signs in with the code that the app was called with.",
        callers: .client,
        body: .json(
            .object(
                [
                    "code": .string,
                    "codeVerifier": .string.length(43, 128),
                    "secondFactorCode": .string,
                    "device": .string,
                ]), isRequired: false),
        answers: [
            .answer(200, "Done.", .json(.signIn)),
            .answer(201, "A new user.", .json(.signIn)),
        ],
        errors: [409: "The name is taken, or a unique index forbids it (`conflict`)."])

    let federation: Federation
    let signIn: FederatedSignIn

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try context.userSpace
        let fields = try await BodyFields(request, Federation.codeFields.union(["secondFactorCode", "device"]))
        let (code, session) = (try fields.string("secondFactorCode"), NewSession(device: try fields.device()))
        let proof = try await federation.proof(ofCode: fields, in: space)
        let response = try await signIn.signIn(proof, code: code, session: session, request, context)
        try await signIn.attempts.takeBack(try context.flowLimits(of: request, in: space))
        return response
    }
}

extension ServiceContext {
    func flowLimits(of request: Request, in space: UserSpace) throws -> [AttemptStore.Limit] {
        try clientAddress(of: request).map { [.flows($0, in: space)] } ?? []
    }
}

extension Response {
    /// Whoever gets there gets it by GET and learns nothing of where from.
    fileprivate static func redirecting(to url: String, _ parameters: KeyValuePairs<String, String>) -> Response {
        var headers: HTTPFields = [
            .location: url + (url.contains("?") ? "&" : "?") + FormBody.encode(parameters.map { ($0.key, $0.value) })
        ]
        headers[.cacheControl] = "no-store"
        headers[HTTPField.Name("referrer-policy")!] = "no-referrer"
        return Response(status: .seeOther, headers: headers)
    }
}

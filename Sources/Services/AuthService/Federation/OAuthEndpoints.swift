import Foundation
import HTTPTypes
import Hummingbird
import Logging
import MartletAPI
import MartletCore
import MartletHTTP

/// Whom a route signs in at a provider: an app's users, or the server's staff (under `/admin/auth/oidc/`).
enum ProviderAudience: Sendable {
    case users, staff

    func space(_ context: ServiceContext) throws -> AppSpace { self == .users ? try context.userSpace : .staff }

    /// The id of the app whose callback was called; empty for staff.
    ///
    /// - Throws: `forbidden` if the request did not use the callback's route.
    fileprivate func callbackAppID(_ context: ServiceContext) throws -> String {
        guard self == .users else { return try space(context).appID }
        let principal = try context.principal
        guard principal.kind == .link else { throw ServiceError(.forbidden) }
        return principal.appID
    }
}

struct StartOAuth: Endpoint {
    static let route = Route(
        .post, "/auth/oauth/{name}/start", "startOAuth", "Starts a user's sign-in at a provider.",
        callers: .client,
        parameters: [
            .path("name", .string.pattern(#"^[a-z0-9][a-z0-9-]{0,31}$"#), "The provider's name in the app's settings.")
        ],
        details: """
            Open `url` in the system's browser. Keep `state` and the code verifier until the provider has sent \
            the user back. `redirectURL` must be one of the provider's `redirectURLs`.
            """,
        body: .json(
            .object(
                [
                    "redirectURL": .uri,
                    "codeChallenge": .string.described(
                        "The SHA-256 of the code verifier in base64url (`S256` in RFC 7636)."),
                ])),
        answers: [
            .answer(
                200, "The URL of the provider's sign-in page, and the state.",
                .json(
                    .object(
                        [
                            "url": .string,
                            "state": .string,
                        ])))
        ],
        errors: [
            404: "The app has no such provider (`not-found`).", 503: "The provider cannot be used now (`unavailable`).",
        ])
    static let startStaffOAuth = Route(
        .post, "/admin/auth/oidc/{name}/start", "startStaffOAuth", "Starts a sign-in of a staff member at a provider.",
        callers: .staffSigningIn,
        parameters: [
            .path("name", .string.pattern(#"^[a-z0-9][a-z0-9-]{0,31}$"#))
        ],
        details: """
            Open `url` in the browser. Keep `state` and the code verifier until the provider has sent the \
            browser back.
            """,
        body: .json(
            .object(
                [
                    "redirectURL": .uri.described("One of the provider's `redirectURLs`."),
                    "codeChallenge": .string.described(
                        "The SHA-256 of the code verifier in base64url (`S256` in RFC 7636)."),
                ], required: ["redirectURL", "codeChallenge"]
            ).closed),
        answers: [
            .answer(
                200, "The URL of the provider's sign-in page, and the state.",
                .json(
                    .object(
                        [
                            "url": .string,
                            "state": .string,
                        ], required: ["url", "state"])))
        ],
        errors: [
            404: "There is no such provider (`not-found`).", 503: "The provider cannot be used now (`unavailable`).",
        ])

    let federation: Federation
    let attempts: AttemptStore
    var audience = ProviderAudience.users

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try audience.space(context)
        let fields = try await BodyFields(request, ["redirectURL", "codeChallenge"])
        let (redirectURL, challenge) = (
            try fields.requiredString("redirectURL"), try fields.requiredString("codeChallenge")
        )
        guard let provider = try await federation.providers.find(context.parameters.get("name") ?? "", in: space) else {
            throw ServiceError(.notFound, "There is no provider with this name.")
        }
        guard provider.settings.redirectURLs.contains(redirectURL) else {
            throw ServiceError(.invalidBody, "Expected one of the provider's redirectURLs.", field: "redirectURL")
        }
        guard challenge.utf8.count == 43, Base64URL.decode(challenge)?.count == 32 else {
            throw ServiceError(
                .invalidBody, "Expected the SHA-256 of a code verifier in base64url, 43 characters.",
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
            throw ServiceError(.unavailable, "The provider cannot be used now.", cause: failure.sentence)
        }
    }
}

/// The provider's redirect after a sign-in. The state identifies the flow and is consumed. The `code` in the redirect
/// is useful only to the app that started the flow, because only that app has the code verifier.
struct OAuthCallback: Endpoint {
    static let route = Route(
        .get, "/auth/oauth/callback", "returnFromOAuth",
        "Receives the user from a provider and redirects to the app.", callers: .anyone,
        checksOwnQuery: true,
        details: """
            The redirect goes to the `redirectURL` that the flow was started with, with `state` and either \
            `code` or `error`.
            """,
        answers: [
            .answer(303, "A redirect to the app.")
        ],
        errors: [403: "The state is unknown, was used before or has expired (`invalid-link`)."])
    static let returnFromOAuthByForm = route.by(
        .post, "returnFromOAuthByForm",
        "Receives the user from a provider that posts a form, and redirects to the app.", takesForm: true)
    static let returnStaffFromOAuth = Route(
        .get, "/admin/auth/oidc/callback", "returnStaffFromOAuth",
        "Receives a staff member from a provider and redirects to the dashboard.", callers: .staffSigningIn,
        checksOwnQuery: true,
        details: """
            The redirect goes to the `redirectURL` that the flow was started with, with `state` and either \
            `code` or `error`.
            """,
        answers: [
            .answer(303, "A redirect to `redirectURL`.")
        ],
        errors: [403: "The state is unknown, was used before or has expired (`invalid-link`)."])
    static let returnStaffFromOAuthByForm = returnStaffFromOAuth.by(
        .post, "returnStaffFromOAuthByForm",
        "Receives a staff member from a provider that posts a form, and redirects to the dashboard.", takesForm: true)

    static let maximumSizeInBytes = 64 << 10

    let federation: Federation
    var audience = ProviderAudience.users
    let logger: Logger

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let appID = try audience.callbackAppID(context)
        let answer = try await answer(in: request)
        guard let state = answer["state"], let flow = try await federation.flows.consume(state: state, of: appID) else {
            throw ServiceError(.invalidLink, "This sign-in is complete or has expired; start again in the app.")
        }
        do {
            return .redirecting(
                to: flow.redirectURL, ["code": try await code(for: answer, state, flow), "state": state])
        } catch let refusal as Refusal {
            return .redirecting(to: flow.redirectURL, ["error": refusal.error, "state": state])
        } catch {
            let cause = (error as? ProviderFailure)?.sentence ?? (error as? IDTokenRefusal)?.sentence ?? "\(error)"
            logger.warning(
                "Could not complete a sign-in at an identity provider; the app gets server_error.",
                metadata: [
                    "app.id": "\(appID)", "provider.name": "\(flow.provider)", "request.id": "\(context.requestID)",
                    "error.cause": "\(cause)",
                ])
            return .redirecting(to: flow.redirectURL, ["error": "server_error", "state": state])
        }
    }

    /// The provider, or the user at the provider, refused the sign-in.
    private struct Refusal: Error {
        let error: String
    }

    private func answer(in request: Request) async throws -> [String: String] {
        // Apple sends the user back by posting a form.
        let text =
            request.method == .post
            ? String(buffer: try await request.wholeBody(upTo: Self.maximumSizeInBytes)) : request.uri.query ?? ""
        guard let answer = FormBody.decode(text) else { throw ServiceError(.invalidLink) }
        return answer
    }

    private func code(for answer: [String: String], _ state: String, _ flow: OAuthFlowStore.Flow) async throws -> String
    {
        if let error = answer["error"] {
            // Error codes are words (RFC 6749 §4.1.2.1). Anything else is not passed on.
            let isCode =
                (1...64).contains(error.utf8.count)
                && error.utf8.allSatisfy { (0x61...0x7a).contains($0) || $0 == 0x5f }
            throw Refusal(error: isCode ? error : "server_error")
        }
        guard let provider = try await federation.providers.find(flow.provider, in: flow.space) else {
            throw ProviderFailure.missing("configuration")
        }
        let identity = try await federation.codeFlow.identity(from: answer, state: state, of: provider)
        return try await federation.flows.store(identity, of: flow)
    }
}

struct FinishOAuth: Endpoint {
    static let route = Route(
        .post, "/auth/oauth/finish", "finishOAuth", "Completes a sign-in at a provider.",
        callers: .client,
        details: """
            `code` is the one from the redirect to the app. If the account has a second factor and \
            `secondFactorCode` is missing, the answer is 401 with `second-factor-required`, and the same call \
            can be repeated with it.
            """,
        body: .json(
            .object(
                [
                    "code": .string,
                    "codeVerifier": .string.length(43, 128),
                    "secondFactorCode": .string,
                    "device": .string,
                ])),
        answers: [
            .answer(200, "The user is signed in.", .json(.signIn)),
            .answer(201, "A new user is signed in.", .json(.signIn)),
        ],
        errors: [
            403: "The app requires an invitation for signing up (`forbidden`).",
            409: "The account changed during the sign-in (`conflict`).",
        ])

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
    func flowLimits(of request: Request, in space: AppSpace) throws -> [AttemptStore.Limit] {
        try clientAddress(of: request).map { [.flows($0, in: space)] } ?? []
    }
}

extension Response {
    /// Uses 303, so that the browser requests the target by GET, and sends no referrer.
    fileprivate static func redirecting(to url: String, _ parameters: KeyValuePairs<String, String>) -> Response {
        var headers: HTTPFields = [
            .location: url + (url.contains("?") ? "&" : "?") + FormBody.encode(parameters.map { ($0.key, $0.value) })
        ]
        headers[.cacheControl] = "no-store"
        headers[HTTPField.Name("referrer-policy")!] = "no-referrer"
        return Response(status: .seeOther, headers: headers)
    }
}

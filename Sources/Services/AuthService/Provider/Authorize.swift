import Foundation
import Hummingbird
import MartletAPI
import MartletHTTP

/// Shows the page for signing in or for consent, or redirects to the client with a code, without a page if the user is
/// signed in and has consented before.
struct Authorize: Endpoint {
    static let route = Route(
        .get, "/oidc/{app}/authorize", "authorize",
        "Starts a user's sign-in to a client.", callers: .anyone,
        parameters: [
            .query("response_type", .constant("code"), isRequired: true),
            .query("client_id", .uuid, isRequired: true),
            .query("redirect_uri", .uri, isRequired: true),
            .query("scope", .string.examples("openid profile email offline_access"), isRequired: true),
            .query("state"),
            .query("nonce", .string.maxLength(1_000)),
            .query("code_challenge", .string.length(43, 43), isRequired: true),
            .query("code_challenge_method", .constant("S256"), isRequired: true),
            .query("prompt"),
            .query("max_age", .integer.minimum(0)),
            .query("login_hint"),
        ],
        checksOwnQuery: true,
        details: """
            The authorization endpoint (RFC 6749 §4.1.1, OpenID Connect Core 1.0 §3.1.2), to which the client \
            sends the browser. Errors are reported to the client by a redirect, unless the client or its \
            `redirect_uri` is unknown.
            """,
        answers: [
            .answer(200, "The page for signing in or for consent.", .type("text/html", .string)),
            .answer(
                303,
                """
                A redirect to the client, with `state`, `iss` and either `code` or `error` and \
                `error_description`.
                """),
            .answer(
                400,
                """
                An error page: the client or its `redirect_uri` is unknown, or the request is invalid.
                """, .type("text/html", .string)),
        ],
        errors: [404: "There is no app with this id (`not-found`)."])

    let flow: AuthorizationFlow

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try await flow.answer(request, context) { clientRequest, issuer in
            if let browser = try await flow.cookies.session(request, issuer),
                !clientRequest.wantsLogIn(since: browser.authenticated, at: flow.now())
            {
                return try await flow.continueFlow(clientRequest, request, as: browser, issuer)
            }
            if clientRequest.prompts.contains(.none) {
                return AuthorizationFlow.redirectToClient(
                    OAuthError(.loginRequired, "The user must sign in."), clientRequest, issuer)
            }
            return flow.showLogIn(clientRequest, request, issuer)
        }
    }
}

extension AuthorizationRequest {
    /// Whether a user who signed in at `authenticated` must sign in again.
    fileprivate func wantsLogIn(since authenticated: Int64, at now: Date) -> Bool {
        if prompts.contains(.login) || prompts.contains(.selectAccount) { return true }
        return maximumAge.map { Int64(now.timeIntervalSince1970) - authenticated >= $0 } ?? false
    }
}

/// Redirects a form posted by a client to the same endpoint by GET, as OpenID Connect Core 1.0 §3.1.2.1 and
/// RP-Initiated Logout 1.0 §2 require.
///
/// A form posted from another site carries no cookies; the redirect does.
struct RedirectToGet: Endpoint {
    static let route = Route(
        .post, "/oidc/{app}/authorize", "authorizeByForm", "Starts a user's sign-in to a client, from a form.",
        callers: .anyone,
        checksOwnQuery: true,
        details: "The authorization endpoint for clients that post the request.",
        body: .contents(
            .type(
                "application/x-www-form-urlencoded",
                .object(
                    [
                        "response_type": .constant("code"),
                        "client_id": .uuid,
                        "redirect_uri": .uri,
                        "scope": .string.examples("openid profile email offline_access"),
                        "state": .string,
                        "nonce": .string.maxLength(1_000),
                        "code_challenge": .string.length(43, 43),
                        "code_challenge_method": .constant("S256"),
                        "prompt": .string,
                        "max_age": .integer.minimum(0),
                        "login_hint": .string,
                    ],
                    required: [
                        "response_type", "client_id", "redirect_uri", "scope", "code_challenge",
                        "code_challenge_method",
                    ]))),
        answers: [
            .answer(303, "A redirect to `authorize` with the same parameters."),
            .answer(400, "An error page: the body is not a valid form.", .type("text/html", .string)),
        ],
        errors: [404: "There is no app with this id (`not-found`)."])
    static let logOutOfProviderByForm = Route(
        .post, "/oidc/{app}/logout", "logOutOfProviderByForm", "Signs the user out of the provider, from a form.",
        callers: .anyone,
        checksOwnQuery: true,
        details: "The log-out endpoint for clients that post the request.",
        body: .contents(
            .type(
                "application/x-www-form-urlencoded",
                .object(
                    [
                        "id_token_hint": .string,
                        "client_id": .uuid,
                        "post_logout_redirect_uri": .uri,
                        "state": .string,
                    ]))),
        answers: [
            .answer(303, "A redirect to `logOutOfProvider` with the same parameters."),
            .answer(400, "An error page: the body is not a valid form.", .type("text/html", .string)),
        ],
        errors: [404: "There is no app with this id (`not-found`)."])

    let issuers: Issuers
    let endpoint: String

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let issuer = try issuers.issuer(context)
        do {
            let fields = try await FormFields(body: request)
            return Response(
                status: .seeOther,
                headers: [.location: issuer.endpoint(endpoint) + "?" + fields.encoded, .cacheControl: "no-store"])
        } catch let error as OAuthError {
            return ProviderPages.failure(error)
        }
    }
}

import Foundation
import Hummingbird
import MartletAPI
import MartletHTTP

/// `GET /oidc/{app}/authorize` with a client's request in the query: a page to sign in, a page to allow, or back to the
/// client with a code.
struct Authorize: Endpoint {
    static let route = Route(
        .get, "/oidc/{app}/authorize", "authorize",
        "Where a client sends a browser (RFC 6749 §4.1.1, OpenID Connect Core 1.0 §3.1.2).", callers: .anyone,
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
        answers: [
            .answer(200, "A page.", .type("text/html", .string)),
            .answer(
                303,
                """
                Back to the client, with `code`, `state` and `iss`, or with `error`, `error_description`, `state` \
                and `iss`.
                """),
            .answer(400, "A page: the client or its address is not known.", .type("text/html", .string)),
        ],
        errors: [404: "Not found."])

    let flow: AuthorizationFlow

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try await flow.answer(request, context) { asked, issuer in
            if let browser = try await flow.browsers.session(request, issuer),
                !asked.wantsLogIn(since: browser.authenticated, at: Date())
            {
                return try await flow.goOn(asked, request, as: browser, issuer)
            }
            if asked.prompts.contains(.none) {
                return AuthorizationFlow.sendBack(OAuthError(.loginRequired, "The user has to sign in."), asked, issuer)
            }
            return flow.showLogIn(asked, request, issuer)
        }
    }
}

extension AuthorizationRequest {
    /// Whether one who signed in then has to do it again.
    fileprivate func wantsLogIn(since authenticated: Int64, at now: Date) -> Bool {
        if prompts.contains(.login) || prompts.contains(.selectAccount) { return true }
        return maximumAge.map { Int64(now.timeIntervalSince1970) - authenticated >= $0 } ?? false
    }
}

/// `POST /oidc/{app}/authorize` and `…/logout`, which OpenID Connect Core 1.0 §3.1.2.1 and RP-Initiated Logout 1.0 §2
/// demand: the same, by way of GET.
///
/// A form of another site brings no cookies along; the redirect does.
struct GoOnByGet: Endpoint {
    static let route = Route(
        .post, "/oidc/{app}/authorize", "authorizeByForm", "The same by a form.", callers: .anyone,
        checksOwnQuery: true,
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
            .answer(303, "To the same by GET."),
            .answer(400, "A page: the client or its address is not known.", .type("text/html", .string)),
        ],
        errors: [404: "Not found."])
    static let logOutOfProviderByForm = Route(
        .post, "/oidc/{app}/logout", "logOutOfProviderByForm", "The same by a form.", callers: .anyone,
        checksOwnQuery: true,
        body: .contents(
            .type(
                "application/x-www-form-urlencoded",
                .object(
                    [
                        "id_token_hint": .string,
                        "client_id": .uuid,
                        "post_logout_redirect_uri": .uri,
                        "state": .string,
                    ])), isRequired: false),
        answers: [
            .answer(303, "To the same by GET."),
            .answer(400, "A page: this is not such a form.", .type("text/html", .string)),
        ],
        errors: [404: "Not found."])

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

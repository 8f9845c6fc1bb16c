import Foundation
import Hummingbird
import MartletHTTP

/// `POST /oidc/{app}/consent` with the client's request in the query and the form of the page to allow it: back to the
/// client.
struct SubmitConsent: Endpoint {
    static let route = Route(
        .post, "/oidc/{app}/consent", "submitConsent", "The form of the page to allow access.", callers: .anyone,
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
        body: .contents(
            .type(
                "application/x-www-form-urlencoded",
                .object(
                    [
                        "form_token": .string,
                        "decision": .values("allow", "deny"),
                    ], required: ["form_token", "decision"]))),
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
            let fields = try await FormFields(body: request)
            guard let browser = try await flow.browsers.session(request, issuer) else {
                return flow.showLogIn(asked, request, issuer)
            }
            guard
                flow.browsers.isGenuine(.consent, fields, request, session: browser.session, query: asked.query, issuer)
            else {
                throw OAuthError(
                    .invalidRequest,
                    "This page was too old, or not made for this browser. Go back to the application and begin again.")
            }
            guard fields["decision"] == "allow" else {
                return AuthorizationFlow.sendBack(
                    OAuthError(.accessDenied, "The user did not allow it."), asked, issuer)
            }
            try await flow.grants.remember(asked.scopes, of: browser.userID, to: asked.client.id)
            return try await flow.sendCode(asked, browser, issuer)
        }
    }
}

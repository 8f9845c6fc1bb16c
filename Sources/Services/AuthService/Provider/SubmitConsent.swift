import Foundation
import Hummingbird
import MartletHTTP

struct SubmitConsent: Endpoint {
    static let route = Route(
        .post, "/oidc/{app}/consent", "submitConsent", "Records the user's decision on a client's request.",
        callers: .anyone,
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
        details: "Receives the form of the page for consent. The query is that of the client's request.",
        body: .contents(
            .type(
                "application/x-www-form-urlencoded",
                .object(
                    [
                        "form_token": .string,
                        "decision": .values("allow", "deny"),
                    ], required: ["form_token", "decision"]))),
        answers: [
            .answer(200, "The page for signing in, because the user's session has ended.", .type("text/html", .string)),
            .answer(
                303,
                """
                A redirect to the client, with `state`, `iss` and either `code` or `error` and \
                `error_description`.
                """),
            .answer(
                400,
                """
                An error page: the client or its `redirect_uri` is unknown, or the form is not from this browser \
                or has expired.
                """, .type("text/html", .string)),
        ],
        errors: [404: "There is no app with this id (`not-found`)."])

    let flow: AuthorizationFlow

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try await flow.answer(request, context) { clientRequest, issuer in
            let fields = try await FormFields(body: request)
            guard let browser = try await flow.cookies.session(request, issuer) else {
                return flow.showLogIn(clientRequest, request, issuer)
            }
            guard
                flow.cookies.isGenuine(
                    .consent, fields, request, session: browser.session, query: clientRequest.query, issuer)
            else {
                throw OAuthError(
                    .invalidRequest,
                    "This page has expired or was made for another browser. Go back to the application and start again."
                )
            }
            guard fields["decision"] == "allow" else {
                return AuthorizationFlow.redirectToClient(
                    OAuthError(.accessDenied, "The user denied the request."), clientRequest, issuer)
            }
            try await flow.grants.remember(clientRequest.scopes, of: browser.userID, to: clientRequest.client.id)
            return try await flow.sendCode(clientRequest, browser, issuer)
        }
    }
}

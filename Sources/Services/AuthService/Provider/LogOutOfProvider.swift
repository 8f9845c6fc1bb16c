import Foundation
import Hummingbird
import MartletCore
import MartletHTTP

/// Ends the browser's session, and with it the tokens of clients without `offline_access`. If the request has no ID
/// token of the signed-in user, the user must confirm first, because any site can send a browser to this endpoint.
struct LogOutOfProvider: Endpoint {
    static let route = Route(
        .get, "/oidc/{app}/logout", "logOutOfProvider",
        "Signs the user out of the provider.", callers: .anyone,
        parameters: [
            .query("id_token_hint"),
            .query("client_id", .uuid),
            .query("post_logout_redirect_uri", .uri, "One of the client's `postLogoutRedirectUris`, byte for byte."),
            .query("state"),
        ],
        checksOwnQuery: true,
        details: """
            The log-out endpoint (OpenID Connect RP-Initiated Logout 1.0), to which the client sends the \
            browser. Without an `id_token_hint` of the signed-in user, the user is asked to confirm.
            """,
        answers: [
            .answer(
                200, "The page that asks for confirmation, or that says that the user is signed out.",
                .type("text/html", .string)),
            .answer(303, "A redirect to `post_logout_redirect_uri`, with `state`."),
            .answer(
                400,
                """
                An error page: the client or its `post_logout_redirect_uri` is unknown, or the request is \
                invalid.
                """, .type("text/html", .string)),
        ],
        errors: [404: "There is no app with this id (`not-found`)."])

    let flow: AuthorizationFlow
    let sessions: SessionStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try await flow.answerLogOut(request, context) { clientRequest, issuer in
            guard let browser = try await flow.cookies.session(request, issuer) else {
                return flow.signedOut(clientRequest, issuer)
            }
            if clientRequest.provenUser == browser.userID {
                return try await sessions.end(browser, clientRequest, flow, issuer)
            }
            return flow.askToLogOut(clientRequest, request, as: browser, issuer)
        }
    }
}

struct ConfirmLogOut: Endpoint {
    static let route = Route(
        .post, "/oidc/{app}/logout/confirm", "confirmLogOut", "Signs the user out after confirmation.",
        callers: .anyone,
        parameters: [
            .query("id_token_hint"),
            .query("client_id", .uuid),
            .query("post_logout_redirect_uri", .uri, "One of the client's `postLogoutRedirectUris`, byte for byte."),
            .query("state"),
        ],
        checksOwnQuery: true,
        details: """
            Receives the form of the page that asks for confirmation. The query is that of the client's request.
            """,
        body: .contents(
            .type(
                "application/x-www-form-urlencoded",
                .object(
                    [
                        "form_token": .string
                    ], required: ["form_token"]))),
        answers: [
            .answer(200, "The page that says that the user is signed out.", .type("text/html", .string)),
            .answer(303, "A redirect to `post_logout_redirect_uri`, with `state`."),
            .answer(
                400,
                """
                An error page: the form is not from this browser or has expired, or the client's request is \
                invalid.
                """, .type("text/html", .string)),
        ],
        errors: [404: "There is no app with this id (`not-found`)."])

    let flow: AuthorizationFlow
    let sessions: SessionStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try await flow.answerLogOut(request, context) { clientRequest, issuer in
            let fields = try await FormFields(body: request)
            guard let browser = try await flow.cookies.session(request, issuer) else {
                return flow.signedOut(clientRequest, issuer)
            }
            guard
                flow.cookies.isGenuine(
                    .logOut, fields, request, session: browser.session, query: clientRequest.query, issuer)
            else {
                throw OAuthError(
                    .invalidRequest,
                    "This page has expired or was made for another browser. Go back to the application and start again."
                )
            }
            return try await sessions.end(browser, clientRequest, flow, issuer)
        }
    }
}

extension SessionStore {
    fileprivate func end(
        _ browser: ClientSessionStore.Browser, _ clientRequest: LogOutRequest, _ flow: AuthorizationFlow,
        _ issuer: Issuer
    ) async throws -> Response {
        try await end(browser.session, of: .user(browser.userID, issuer.space))
        var response = flow.signedOut(clientRequest, issuer)
        response.setCookie(flow.cookies.noSessionCookie(issuer))
        return response
    }
}

extension AuthorizationFlow {
    fileprivate func answerLogOut(
        _ request: Request, _ context: ServiceContext, _ body: (LogOutRequest, Issuer) async throws -> Response
    ) async throws -> Response {
        let issuer = try issuers.issuer(context)
        do {
            return try await body(
                try await LogOutRequest(query: request.uri.query ?? "", of: clients, issuers, issuer), issuer)
        } catch let error as OAuthError {
            return ProviderPages.failure(error)
        }
    }

    fileprivate func signedOut(_ clientRequest: LogOutRequest, _ issuer: Issuer) -> Response {
        guard let address = clientRequest.redirectURI else { return ProviderPages.signedOut(issuer) }
        return Self.redirect(to: RedirectURI.adding(clientRequest.state.map { [("state", $0)] } ?? [], to: address))
    }

    fileprivate func askToLogOut(
        _ clientRequest: LogOutRequest, _ request: Request, as browser: ClientSessionStore.Browser, _ issuer: Issuer
    ) -> Response {
        let secret = cookies.formSecret(request, issuer)
        let token = cookies.formToken(
            .logOut, secret: secret.value, session: browser.session, query: clientRequest.query, issuer)
        var response = ProviderPages.logOut(clientRequest, issuer, token: token, userName: browser.userName)
        if let cookie = secret.new { response.setCookie(cookie) }
        return response
    }
}

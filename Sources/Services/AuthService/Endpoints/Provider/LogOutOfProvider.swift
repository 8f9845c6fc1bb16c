import Foundation
import Hummingbird
import MartletCore
import MartletHTTP

/// `GET /oidc/{app}/logout` (OpenID Connect RP-Initiated Logout 1.0 §2): the browser's session ends, and with it what
/// clients have without `offline_access`; then back to the client. Who comes without an ID token of the user who is
/// signed in is asked first: anybody can send a browser here.
struct LogOutOfProvider: Endpoint {
    static let route = Route(
        .get, "/oidc/{app}/logout", "logOutOfProvider",
        "Signs the browser out (OpenID Connect RP-Initiated Logout 1.0).", callers: .anyone,
        parameters: [
            .query("id_token_hint"),
            .query("client_id", .uuid),
            .query("post_logout_redirect_uri", .uri, "One of the client's, byte for byte."),
            .query("state"),
        ],
        checksOwnQuery: true,
        details: "Without an ID token of the user who is signed in the person is asked first.",
        answers: [
            .answer(200, "A page.", .type("text/html", .string)),
            .answer(303, "Back to the client, with `state`."),
            .answer(400, "A page: the client or its address is not known.", .type("text/html", .string)),
        ],
        errors: [404: "Not found."])

    let flow: AuthorizationFlow
    let sessions: SessionStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try await flow.answerLogOut(request, context) { asked, issuer in
            guard let browser = try await flow.browsers.session(request, issuer) else {
                return flow.signedOut(asked, issuer)
            }
            if asked.provenUser == browser.userID { return try await sessions.end(browser, asked, flow, issuer) }
            return flow.askToLogOut(asked, request, as: browser, issuer)
        }
    }
}

/// `POST /oidc/{app}/logout/confirm` with the client's request in the query and the form of the page that asks.
struct ConfirmLogOut: Endpoint {
    static let route = Route(
        .post, "/oidc/{app}/logout/confirm", "confirmLogOut", "The form of the page that asks.", callers: .anyone,
        parameters: [
            .query("id_token_hint"),
            .query("client_id", .uuid),
            .query("post_logout_redirect_uri", .uri, "One of the client's, byte for byte."),
            .query("state"),
        ],
        checksOwnQuery: true,
        body: .contents(
            .type(
                "application/x-www-form-urlencoded",
                .object(
                    [
                        "form_token": .string
                    ], required: ["form_token"]))),
        answers: [
            .answer(200, "A page.", .type("text/html", .string)),
            .answer(303, "Back to the client, with `state`."),
            .answer(400, "A page: it was not made for this browser, or is too old.", .type("text/html", .string)),
        ],
        errors: [404: "Not found."])

    let flow: AuthorizationFlow
    let sessions: SessionStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try await flow.answerLogOut(request, context) { asked, issuer in
            let fields = try await FormFields(body: request)
            guard let browser = try await flow.browsers.session(request, issuer) else {
                return flow.signedOut(asked, issuer)
            }
            guard
                flow.browsers.isGenuine(.logOut, fields, request, session: browser.session, query: asked.query, issuer)
            else {
                throw OAuthError(
                    .invalidRequest,
                    "This page was too old, or not made for this browser. Go back to the application and begin again.")
            }
            return try await sessions.end(browser, asked, flow, issuer)
        }
    }
}

extension SessionStore {
    fileprivate func end(
        _ browser: ClientSessionStore.Browser, _ asked: LogOutRequest, _ flow: AuthorizationFlow, _ issuer: Issuer
    ) async throws -> Response {
        _ = try await end(browser.session, of: browser.userID, in: issuer.space)
        var response = flow.signedOut(asked, issuer)
        response.setCookie(flow.browsers.noSessionCookie(issuer))
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

    fileprivate func signedOut(_ asked: LogOutRequest, _ issuer: Issuer) -> Response {
        guard let address = asked.redirectURI else { return ProviderPages.signedOut(issuer) }
        return Self.redirect(to: RedirectURI.adding(asked.state.map { [("state", $0)] } ?? [], to: address))
    }

    fileprivate func askToLogOut(
        _ asked: LogOutRequest, _ request: Request, as browser: ClientSessionStore.Browser, _ issuer: Issuer
    ) -> Response {
        let secret = browsers.formSecret(request, issuer)
        let token = browsers.formToken(
            .logOut, secret: secret.value, session: browser.session, query: asked.query, issuer)
        var response = ProviderPages.logOut(asked, issuer, token: token, userName: browser.userName)
        if let cookie = secret.new { response.setCookie(cookie) }
        return response
    }
}

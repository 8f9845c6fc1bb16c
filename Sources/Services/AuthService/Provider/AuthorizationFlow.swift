import Foundation
import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// The steps between a client's authorization request and its answer: signing in, consent and the redirect back.
struct AuthorizationFlow: Sendable {
    let issuers: Issuers
    let clients: ClientStore
    let codes: AuthorizationCodeStore
    let grants: GrantStore
    let cookies: ProviderCookies
    let now: @Sendable () -> Date

    /// Reads the request from the query and passes it to `body`. Errors are shown as a page or returned to the client.
    func answer(
        _ request: Request, _ context: ServiceContext, _ body: (AuthorizationRequest, Issuer) async throws -> Response
    ) async throws -> Response {
        let issuer = try issuers.issuer(context)
        do {
            return try await body(
                try await AuthorizationRequest(query: request.uri.query ?? "", of: clients, in: issuer.space), issuer)
        } catch let refusal as AuthorizationRequest.Refusal {
            guard let target = refusal.target else { return ProviderPages.failure(refusal.error) }
            return Self.redirectToClient(refusal.error, target.redirectURI, state: target.state, issuer)
        } catch let error as OAuthError {
            return ProviderPages.failure(error)
        }
    }

    func showLogIn(
        _ clientRequest: AuthorizationRequest, _ request: Request, _ issuer: Issuer, name: String? = nil,
        asksForCode: Bool = false, message: String? = nil,
        status: HTTPResponse.Status = .ok
    ) -> Response {
        let secret = cookies.formSecret(request, issuer)
        let token = cookies.formToken(.logIn, secret: secret.value, session: nil, query: clientRequest.query, issuer)
        var response = ProviderPages.logIn(
            clientRequest, issuer, token: token, name: name ?? clientRequest.loginHint ?? "", asksForCode: asksForCode,
            message: message, status: status)
        if let cookie = secret.new { response.setCookie(cookie) }
        return response
    }

    /// Continues with a signed-in user: asks for consent unless it was given before, and redirects back to the client.
    func continueFlow(
        _ clientRequest: AuthorizationRequest, _ request: Request, as browser: ClientSessionStore.Browser,
        _ issuer: Issuer
    ) async throws -> Response {
        // An earlier consent counts only if no other program can get the code or use it. The code of a confidential
        // client cannot be used without the client's secret.
        let isCodeSafe = clientRequest.client.isConfidential || RedirectURI.isExclusive(clientRequest.redirectURI)
        let mayReuseConsent = isCodeSafe && !clientRequest.prompts.contains(.consent)
        if mayReuseConsent,
            try await grants.covers(clientRequest.scopes, of: browser.userID, to: clientRequest.client.id)
        {
            return try await sendCode(clientRequest, browser, issuer)
        }
        if clientRequest.prompts.contains(.none) {
            return Self.redirectToClient(
                OAuthError(.consentRequired, "The user's consent is required."), clientRequest, issuer)
        }
        let secret = cookies.formSecret(request, issuer)
        let token = cookies.formToken(
            .consent, secret: secret.value, session: browser.session, query: clientRequest.query, issuer)
        var response = ProviderPages.consent(clientRequest, issuer, token: token, userName: browser.userName)
        if let cookie = secret.new { response.setCookie(cookie) }
        return response
    }

    func sendCode(
        _ clientRequest: AuthorizationRequest, _ browser: ClientSessionStore.Browser, _ issuer: Issuer
    ) async throws -> Response {
        let code = try await codes.create(
            Authorization(
                client: clientRequest.client.id, browserSession: browser.session,
                redirectURI: clientRequest.redirectURI, challenge: clientRequest.challenge,
                scopes: clientRequest.scopes, nonce: clientRequest.nonce))
        guard let code else {
            throw ServiceError(.tooManyRequests, retryAfter: Int(AuthorizationCodeStore.lifetimeInSeconds))
        }
        return Self.redirectToClient([("code", code)], clientRequest.redirectURI, state: clientRequest.state, issuer)
    }

    static func redirectToClient(
        _ error: OAuthError, _ clientRequest: AuthorizationRequest, _ issuer: Issuer
    ) -> Response {
        redirectToClient(error, clientRequest.redirectURI, state: clientRequest.state, issuer)
    }

    private static func redirectToClient(_ error: OAuthError, _ redirectURI: String, state: String?, _ issuer: Issuer)
        -> Response
    {
        redirectToClient(
            [("error", error.code.rawValue), ("error_description", error.description)], redirectURI, state: state,
            issuer)
    }

    /// Includes `iss`, so that a client of several providers knows which one answered (RFC 9207).
    private static func redirectToClient(
        _ parameters: [(name: String, value: String)], _ redirectURI: String, state: String?, _ issuer: Issuer
    ) -> Response {
        let all = parameters + (state.map { [("state", $0)] } ?? []) + [("iss", issuer.url)]
        return redirect(to: RedirectURI.adding(all, to: redirectURI))
    }

    /// Uses 303, so that a posted form is not posted again to the client (RFC 9700 §4.12).
    static func redirect(to address: String) -> Response {
        Response(
            status: .seeOther, headers: [.location: address, .cacheControl: "no-store", .referrerPolicy: "no-referrer"])
    }
}

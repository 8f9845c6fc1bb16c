import Foundation
import Hummingbird
import MartletHTTP

/// `POST /oidc/{app}/consent` with the client's request in the query and the form of the page to allow it: back to the
/// client.
struct SubmitConsent: Endpoint {
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

import Foundation
import Hummingbird
import MartletAPI
import MartletHTTP

/// `GET /oidc/{app}/authorize` with a client's request in the query: a page to sign in, a page to allow, or back to the
/// client with a code.
struct Authorize: Endpoint {
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

import Foundation
import Hummingbird
import MartletHTTP

/// `POST /oidc/{app}/revoke` (RFC 7009): the session that the token is of ends, with all its tokens. 200 also for what
/// is no token of the client.
struct RevokeToken: ProviderEndpoint {
    let issuers: Issuers
    let authentication: ClientAuthentication
    let tokens: ProviderTokens
    let clientSessions: ClientSessionStore

    func respond(to request: Request, _ context: ServiceContext, _ issuer: Issuer) async throws -> Response {
        let fields = try await FormFields(body: request)
        let client = try await authentication.client(request, fields, in: issuer.space)
        guard let token = fields["token"] else { throw OAuthError(.invalidRequest, "token is required.") }
        if let content = tokens.content(of: token, .access) ?? tokens.content(of: token, .refresh) {
            try await clientSessions.end(content.session, of: client.id)
        }
        return Response(status: .ok, headers: [.cacheControl: "no-store"])
    }
}

import Foundation
import Hummingbird
import MartletHTTP

/// `POST /oidc/{app}/revoke` (RFC 7009): the session that the token is of ends, with all its tokens. 200 also for what
/// is no token of the client.
struct RevokeToken: ProviderEndpoint {
    static let route = Route(
        .post, "/oidc/{app}/revoke", "revokeToken", "Ends the session that a token is of (RFC 7009).", callers: .anyone,
        checksOwnQuery: true,
        body: .contents(
            .type(
                "application/x-www-form-urlencoded",
                .object(
                    [
                        "token": .string,
                        "token_type_hint": .string,
                        "client_id": .string,
                        "client_secret": .string,
                    ], required: ["token"]))),
        answers: [
            .answer(200, "Done, or it was no token of this client."),
            .oauthError(400),
            .oauthError(401),
        ],
        errors: [404: "Not found."])

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

import Foundation
import Hummingbird
import MartletHTTP

struct RevokeToken: ProviderEndpoint {
    static let route = Route(
        .post, "/oidc/{app}/revoke", "revokeToken", "Revokes a token and ends its session.", callers: .anyone,
        checksOwnQuery: true,
        details: "Token revocation (RFC 7009). All tokens of the session become invalid.",
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
            .answer(200, "The session has ended, or the client has no such token."),
            .oauthError(400),
            .oauthError(401),
        ],
        errors: [404: "There is no app with this id (`not-found`)."])

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

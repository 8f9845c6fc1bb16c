import Foundation
import Hummingbird
import MartletHTTP

/// Reports a token of another client as inactive, like an unknown token.
struct IntrospectToken: ProviderEndpoint {
    static let route = Route(
        .post, "/oidc/{app}/introspect", "introspectToken",
        "Returns whether a token of the client is active, and its properties.", callers: .anyone,
        checksOwnQuery: true,
        details: "Token introspection (RFC 7662), for confidential clients only.",
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
            .answer(200, "`active`, and for an active token also its properties.", .json(.object)),
            .oauthError(400),
            .oauthError(401),
        ],
        errors: [404: "There is no app with this id (`not-found`)."])

    let issuers: Issuers
    let authentication: ClientAuthentication
    let clientTokens: ClientTokens

    func respond(to request: Request, _ context: ServiceContext, _ issuer: Issuer) async throws -> Response {
        let fields = try await FormFields(body: request)
        let client = try await authentication.client(request, fields, in: issuer.space)
        guard client.isConfidential else {
            throw OAuthError(.invalidClient, "Only confidential clients can introspect tokens.")
        }
        guard let token = fields["token"] else { throw OAuthError(.invalidRequest, "token is required.") }
        var found = try await clientTokens.access(token, in: issuer.space)
        if found == nil { found = try await clientTokens.refresh(token, in: issuer.space) }
        guard let found, found.open.client == client.id else {
            return try Response.encoding(["active": false]).notStored
        }
        return try Response.encoding(Answer(found, issuer)).notStored
    }

    /// The properties of an active token (RFC 7662 §2.2).
    private struct Answer: Encodable {
        var active = true
        var scope: String
        var client: String
        var userName: String?
        var tokenType: String?
        var expires: Int64
        var subject: String
        var audience: String
        var issuer: String
        var session: String

        init(_ found: ClientTokens.ValidToken, _ issuer: Issuer) {
            scope = found.open.session.scopes.list
            client = found.open.client.uuidString.lowercased()
            userName = found.open.session.scopes.contains(.profile) ? found.open.userName : nil
            tokenType = found.kind == .access ? "Bearer" : nil
            expires = found.expires
            subject = found.open.session.userID.uuidString.lowercased()
            audience = client
            self.issuer = issuer.url
            session = found.open.session.id.uuidString.lowercased()
        }

        enum CodingKeys: String, CodingKey {
            case active, scope
            case client = "client_id"
            case userName = "username"
            case tokenType = "token_type"
            case expires = "exp"
            case subject = "sub"
            case audience = "aud"
            case issuer = "iss"
            case session = "sid"
        }
    }
}

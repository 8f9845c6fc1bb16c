import Foundation
import Hummingbird
import Logging
import MartletAPI
import MartletCore
import MartletHTTP

/// Consumes the code or replaces the refresh token. Reuse of either ends its session.
struct IssueTokens: ProviderEndpoint {
    static let route = Route(
        .post, "/oidc/{app}/token", "issueTokens", "Exchanges an authorization code or a refresh token for tokens.",
        callers: .anyone,
        checksOwnQuery: true,
        details: """
            The token endpoint (RFC 6749 §4.1.3, §6). A confidential client authenticates with HTTP Basic or \
            with `client_id` and `client_secret`; a public client sends only `client_id`. A refresh token is \
            replaced by the one in the answer.
            """,
        body: .contents(
            .type(
                "application/x-www-form-urlencoded",
                .object(
                    [
                        "grant_type": .values("authorization_code", "refresh_token"),
                        "code": .string,
                        "redirect_uri": .string,
                        "code_verifier": .string,
                        "refresh_token": .string,
                        "scope": .string,
                        "client_id": .string,
                        "client_secret": .string,
                    ], required: ["grant_type"]))),
        answers: [
            .answer(200, "The tokens.", .json(.providerTokens)),
            .oauthError(400),
            .oauthError(401),
        ],
        errors: [404: "There is no app with this id (`not-found`)."])

    static let grantTypes = ["authorization_code", "refresh_token"]

    let issuers: Issuers
    let authentication: ClientAuthentication
    let codes: AuthorizationCodeStore
    let clientSessions: ClientSessionStore
    let sessions: SessionStore
    let tokens: ProviderTokens
    let signingKeys: SigningKeys
    let logger: Logger
    let now: @Sendable () -> Date

    func respond(to request: Request, _ context: ServiceContext, _ issuer: Issuer) async throws -> Response {
        let fields = try await FormFields(body: request)
        let client = try await authentication.client(request, fields, in: issuer.space)
        switch fields["grant_type"] {
        case "authorization_code": return try await exchange(fields, client, issuer, context)
        case "refresh_token": return try await refresh(fields, client, issuer, context)
        case nil: throw OAuthError(.invalidRequest, "grant_type is required.")
        default:
            throw OAuthError(.unsupportedGrantType, "Expected authorization_code or refresh_token as grant_type.")
        }
    }

    private func exchange(_ fields: FormFields, _ client: OAuthClient, _ issuer: Issuer, _ context: ServiceContext)
        async throws -> Response
    {
        guard let code = fields["code"], let redirectURI = fields["redirect_uri"],
            let verifier = fields["code_verifier"]
        else {
            throw OAuthError(.invalidRequest, "code, redirect_uri and code_verifier are required.")
        }
        let proof = AuthorizationCodeStore.Proof(client: client, redirectURI: redirectURI, verifier: verifier)
        guard let exchanged = try await codes.exchange(code, proof, in: issuer.space) else {
            if try await codes.endSession(of: code, client: client.id) {
                logger.warning(
                    "An authorization code was used twice; the session that it started was ended.",
                    metadata: [
                        "app.id": "\(issuer.space.appID)", "client.id": "\(client.id)",
                        "request.id": "\(context.requestID)",
                    ])
            }
            throw OAuthError(
                .invalidGrant,
                "The code is wrong, was used before, has expired, or does not match the client, redirect_uri or code_verifier."
            )
        }
        try await clientSessions.endLeastRecentlyUsed(of: exchanged.session.userID, in: client.id)
        return try answer(exchanged.session, client, issuer, number: 0, nonce: exchanged.nonce)
    }

    private func refresh(_ fields: FormFields, _ client: OAuthClient, _ issuer: Issuer, _ context: ServiceContext)
        async throws -> Response
    {
        let refusal = OAuthError(
            .invalidGrant, "The refresh token is wrong, was used before, has expired, or belongs to another client.")
        guard let text = fields["refresh_token"] else {
            throw OAuthError(.invalidRequest, "refresh_token is required.")
        }
        guard let token = tokens.content(of: text, .refresh), let number = Int32(exactly: token.value),
            let open = try await clientSessions.find(token.session, in: issuer.space), open.client == client.id,
            open.session.scopes.contains(.offlineAccess)
        else { throw refusal }
        // The new token gets all granted scopes, which RFC 6749 §3.3 allows; `scope` in the answer lists them.
        let requested = [ProviderScope](list: fields["scope"] ?? "")
        guard requested.allSatisfy(open.session.scopes.contains) else {
            throw OAuthError(.invalidScope, "The user has not granted all of these scopes.")
        }
        switch try await sessions.refresh(
            RefreshTokens.Content(session: token.session, number: number), in: issuer.space)
        {
        case .refreshed(let refreshed):
            return try answer(open.session, client, issuer, number: refreshed.number, nonce: nil)
        case .refused: throw refusal
        case .reused(let userID):
            logger.warning(
                "A client's refresh token was used twice; the session was ended.",
                metadata: [
                    "app.id": "\(issuer.space.appID)", "client.id": "\(client.id)", "user.id": "\(userID)",
                    "session.id": "\(token.session)",
                    "request.id": "\(context.requestID)",
                ])
            throw refusal
        }
    }

    /// - Parameter number: The number of the refresh token in its session.
    private func answer(
        _ session: ClientSession, _ client: OAuthClient, _ issuer: Issuer, number: Int32, nonce: String?
    ) throws -> Response {
        let now = now()
        let lifetime = ClientSession.accessTokenLifetimeInSeconds
        let accessToken = tokens.token(
            .access, .init(session: session.id, value: Int64(now.timeIntervalSince1970 * 1_000) + lifetime * 1_000))
        var answer = Answer(accessToken: accessToken, expiresIn: lifetime, scope: session.scopes.list)
        if session.scopes.contains(.openID) {
            let token = IDToken(
                issuer: issuer, client: client.id, session, nonce: nonce, accessToken: accessToken, at: now)
            guard let signed = try signingKeys.signed(token, by: client.idTokenAlgorithm) else {
                throw ServiceError(.unavailable)
            }
            answer.idToken = signed
        }
        if session.scopes.contains(.offlineAccess) {
            answer.refreshToken = tokens.token(.refresh, .init(session: session.id, value: Int64(number)))
        }
        return try Response.encoding(answer).notStored
    }

    /// The token response (RFC 6749 §5.1, OpenID Connect Core 1.0 §3.1.3.3).
    private struct Answer: Encodable {
        var accessToken: String
        var tokenType = "Bearer"
        var expiresIn: Int64
        var scope: String
        var idToken: String?
        var refreshToken: String?

        enum CodingKeys: String, CodingKey {
            case accessToken = "access_token"
            case tokenType = "token_type"
            case expiresIn = "expires_in"
            case scope
            case idToken = "id_token"
            case refreshToken = "refresh_token"
        }
    }
}

import Foundation
import Hummingbird
import MartletHTTP

/// `GET` and `POST /oidc/{app}/userinfo` with an access token (OpenID Connect Core 1.0 §5.3, RFC 6750): what its scopes
/// open of its user.
struct ReadUserInfo: ProviderEndpoint {
    static let route = Route(
        .get, "/oidc/{app}/userinfo", "readUserInfo",
        "What the access token's scopes open of its user (OpenID Connect Core 1.0 §5.3).", callers: .anyone,
        checksOwnQuery: true,
        details: "Authorization `Bearer` and the access token.",
        answers: [
            .answer(200, "Done.", .json(.object)),
            .oauthError(401),
            .oauthError(403),
        ],
        errors: [404: "Not found."])
    static let readUserInfoByPost = Route(
        .post, "/oidc/{app}/userinfo", "readUserInfoByPost", "The same; the token may be the form's `access_token`.",
        callers: .anyone,
        checksOwnQuery: true,
        body: .contents(.type("application/x-www-form-urlencoded", .object), isRequired: false),
        answers: [
            .answer(200, "Done.", .json(.object)),
            .oauthError(401),
            .oauthError(403),
        ],
        errors: [404: "Not found."])

    let issuers: Issuers
    let clientTokens: ClientTokens

    func respond(to request: Request, _ context: ServiceContext, _ issuer: Issuer) async throws -> Response {
        guard let token = try await Self.token(request),
            let found = try await clientTokens.access(token, in: issuer.space)
        else {
            throw OAuthError(.invalidToken, "The access token is missing, wrong or has expired.")
        }
        guard found.open.session.scopes.contains(.openID) else {
            throw OAuthError(.insufficientScope, "This needs the scope openid.")
        }
        return Response.json(found.open.claims).notStored
    }

    /// Of the header, or of a form where there is none (RFC 6750 §2.1, §2.2).
    private static func token(_ request: Request) async throws -> String? {
        if let header = request.headers[.authorization] {
            let parts = header.split(separator: " ", maxSplits: 1)
            return parts.count == 2 && parts[0].lowercased() == "bearer" ? String(parts[1]) : nil
        }
        guard request.method == .post, request.headers[.contentType] != nil else { return nil }
        return try await FormFields(body: request)["access_token"]
    }
}

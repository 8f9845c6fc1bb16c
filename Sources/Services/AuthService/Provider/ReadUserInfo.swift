import Foundation
import Hummingbird
import MartletHTTP

struct ReadUserInfo: ProviderEndpoint {
    static let route = Route(
        .get, "/oidc/{app}/userinfo", "readUserInfo",
        "Returns the claims about the user of an access token.", callers: .anyone,
        checksOwnQuery: true,
        details: """
            The UserInfo endpoint (OpenID Connect Core 1.0 §5.3). Send the token in `Authorization: Bearer`. Its \
            scopes decide which claims are returned.
            """,
        answers: [
            .answer(200, "The claims.", .json(.object)),
            .oauthError(401),
            .oauthError(403),
        ],
        errors: [404: "There is no app with this id (`not-found`)."])
    static let readUserInfoByPost = Route(
        .post, "/oidc/{app}/userinfo", "readUserInfoByPost",
        "Returns the claims about the user of an access token; the token may also be sent in a form.",
        callers: .anyone,
        checksOwnQuery: true,
        details: """
            The UserInfo endpoint (OpenID Connect Core 1.0 §5.3). Send the token in `Authorization: Bearer`, or \
            as `access_token` in a form.
            """,
        body: .contents(.type("application/x-www-form-urlencoded", .object), isRequired: false),
        answers: [
            .answer(200, "The claims.", .json(.object)),
            .oauthError(401),
            .oauthError(403),
        ],
        errors: [404: "There is no app with this id (`not-found`)."])

    let issuers: Issuers
    let clientTokens: ClientTokens

    func respond(to request: Request, _ context: ServiceContext, _ issuer: Issuer) async throws -> Response {
        guard let token = try await Self.token(request),
            let found = try await clientTokens.access(token, in: issuer.space)
        else {
            throw OAuthError(.invalidToken, "The access token is missing or wrong, or has expired.")
        }
        guard found.open.session.scopes.contains(.openID) else {
            throw OAuthError(.insufficientScope, "The access token must have the scope openid.")
        }
        return Response.json(found.open.claims).notStored
    }

    /// From the header, or from a form if there is no header (RFC 6750 §2.1, §2.2).
    private static func token(_ request: Request) async throws -> String? {
        if let header = request.headers[.authorization] {
            let parts = header.split(separator: " ", maxSplits: 1)
            return parts.count == 2 && parts[0].lowercased() == "bearer" ? String(parts[1]) : nil
        }
        guard request.method == .post, request.headers[.contentType] != nil else { return nil }
        return try await FormFields(body: request)["access_token"]
    }
}

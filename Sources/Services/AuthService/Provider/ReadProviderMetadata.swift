import Foundation
import Hummingbird
import MartletHTTP

/// The metadata of OpenID Connect Discovery 1.0 §3 and RFC 8414, which are the same here.
struct ReadProviderMetadata: Endpoint {
    static let route = Route(
        .get, "/oidc/{app}/.well-known/openid-configuration", "readProviderMetadata",
        "Returns the metadata of the app's OpenID Connect provider.", callers: .anyone,
        checksOwnQuery: true,
        answers: [
            .answer(200, "The metadata (OpenID Connect Discovery 1.0 §3, RFC 8414).", .json(.object))
        ],
        errors: [404: "There is no app with this id (`not-found`)."])
    static let readAuthorizationServerMetadata = route.at(
        "/oidc/{app}/.well-known/oauth-authorization-server", "readAuthorizationServerMetadata",
        "Returns the metadata of the app's OAuth 2.0 authorization server.")

    let issuers: Issuers

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        var response = try Response.encoding(Metadata(try issuers.issuer(context)))
        response.headers[.cacheControl] = "public, max-age=300"
        return response
    }

    private struct Metadata: Encodable {
        var issuer: String
        var authorizationEndpoint: String
        var tokenEndpoint: String
        var userInfoEndpoint: String
        var keySet: String
        var revocationEndpoint: String
        var introspectionEndpoint: String
        var endSessionEndpoint: String
        var scopes = ProviderScope.allCases.map(\.rawValue)
        var responseTypes = ["code"]
        var responseModes = ["query"]
        var grantTypes = IssueTokens.grantTypes
        var prompts = ["none", "login", "consent", "select_account"]
        var subjectTypes = ["public"]
        var idTokenAlgorithms = IDTokenAlgorithm.allCases.map(\.rawValue)
        var claims = [
            "iss", "sub", "aud", "exp", "iat", "auth_time", "nonce", "at_hash", "sid", "name", "preferred_username",
            "updated_at", "email",
            "email_verified",
        ]
        var challengeMethods = ["S256"]
        var tokenAuthentication = ClientAuthentication.methods
        var revocationAuthentication = ClientAuthentication.methods
        var introspectionAuthentication = ClientAuthentication.methods.filter { $0 != "none" }
        var namesIssuer = true
        var supportsClaims = false
        var supportsRequests = false
        var supportsRequestURIs = false

        init(_ issuer: Issuer) {
            self.issuer = issuer.url
            authorizationEndpoint = issuer.endpoint("authorize")
            tokenEndpoint = issuer.endpoint("token")
            userInfoEndpoint = issuer.endpoint("userinfo")
            keySet = issuer.endpoint("jwks")
            revocationEndpoint = issuer.endpoint("revoke")
            introspectionEndpoint = issuer.endpoint("introspect")
            endSessionEndpoint = issuer.endpoint("logout")
        }

        enum CodingKeys: String, CodingKey {
            case issuer
            case authorizationEndpoint = "authorization_endpoint"
            case tokenEndpoint = "token_endpoint"
            case userInfoEndpoint = "userinfo_endpoint"
            case keySet = "jwks_uri"
            case revocationEndpoint = "revocation_endpoint"
            case introspectionEndpoint = "introspection_endpoint"
            case endSessionEndpoint = "end_session_endpoint"
            case scopes = "scopes_supported"
            case responseTypes = "response_types_supported"
            case responseModes = "response_modes_supported"
            case grantTypes = "grant_types_supported"
            case prompts = "prompt_values_supported"
            case subjectTypes = "subject_types_supported"
            case idTokenAlgorithms = "id_token_signing_alg_values_supported"
            case claims = "claims_supported"
            case challengeMethods = "code_challenge_methods_supported"
            case tokenAuthentication = "token_endpoint_auth_methods_supported"
            case revocationAuthentication = "revocation_endpoint_auth_methods_supported"
            case introspectionAuthentication = "introspection_endpoint_auth_methods_supported"
            case namesIssuer = "authorization_response_iss_parameter_supported"
            case supportsClaims = "claims_parameter_supported"
            case supportsRequests = "request_parameter_supported"
            case supportsRequestURIs = "request_uri_parameter_supported"
        }
    }
}

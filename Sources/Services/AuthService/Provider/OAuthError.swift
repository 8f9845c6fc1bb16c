import Foundation
import HTTPTypes
import Hummingbird
import MartletHTTP

/// An error in the form of OAuth 2.0 and OpenID Connect, because their clients do not understand problem details.
struct OAuthError: Error {
    enum Code: String {
        // RFC 6749 §4.1.2.1 and §5.2
        case invalidRequest = "invalid_request"
        case invalidClient = "invalid_client"
        case invalidGrant = "invalid_grant"
        case unauthorizedClient = "unauthorized_client"
        case unsupportedGrantType = "unsupported_grant_type"
        case unsupportedResponseType = "unsupported_response_type"
        case invalidScope = "invalid_scope"
        case accessDenied = "access_denied"
        // OpenID Connect Core 1.0 §3.1.2.6
        case loginRequired = "login_required"
        case consentRequired = "consent_required"
        case requestNotSupported = "request_not_supported"
        case requestURINotSupported = "request_uri_not_supported"
        case registrationNotSupported = "registration_not_supported"
        // RFC 6750 §3.1
        case invalidToken = "invalid_token"
        case insufficientScope = "insufficient_scope"
    }

    let code: Code
    /// For the client's developer: printable ASCII without quotes and backslashes (RFC 6749 §5.2).
    let description: String

    init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }

    var status: HTTPResponse.Status {
        switch code {
        case .invalidClient, .invalidToken: .unauthorized
        case .insufficientScope: .forbidden
        default: .badRequest
        }
    }

    /// The error as an answer of the token endpoint (RFC 6749 §5.2).
    func response(realm: String) throws -> Response {
        var response = try Response.encoding(
            ["error": code.rawValue, "error_description": description], status: status
        ).notStored
        switch code {
        case .invalidClient: response.headers[.wwwAuthenticate] = #"Basic realm="\#(realm)""#
        case .invalidToken, .insufficientScope:
            response.headers[.wwwAuthenticate] =
                #"Bearer realm="\#(realm)", error="\#(code.rawValue)", error_description="\#(description)""#
        default: break
        }
        return response
    }
}

/// An endpoint of the provider that programs call. Its errors have the form of OAuth errors.
protocol ProviderEndpoint: Endpoint {
    var issuers: Issuers { get }

    /// - Throws: `OAuthError`, or as `Endpoint`.
    func respond(to request: Request, _ context: ServiceContext, _ issuer: Issuer) async throws -> Response
}

extension ProviderEndpoint {
    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let issuer = try issuers.issuer(context)
        do {
            return try await respond(to: request, context, issuer)
        } catch let error as OAuthError {
            return try error.response(realm: issuer.url)
        }
    }
}

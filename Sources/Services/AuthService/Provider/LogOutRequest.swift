import Foundation
import MartletAPI
import MartletCore

/// A client's request to end the session of a user it has signed out (OpenID Connect RP-Initiated Logout 1.0 §2).
struct LogOutRequest: Sendable {
    /// One of the client's registered URIs; nil to stay on the provider's page.
    let redirectURI: String?
    let state: String?
    /// The user of the ID token, if this provider signed it. The token may have expired.
    let provenUser: UUID?
    /// The whole request as text, repeated in the URL of the form.
    let query: String

    /// - Throws: `OAuthError`, to be shown to the person at the browser, who is not redirected to an unregistered
    ///   address.
    init(query text: String, of clients: ClientStore, _ issuers: Issuers, _ issuer: Issuer) async throws {
        let fields = try FormFields(text)
        let hint = fields["id_token_hint"]
        let proven = hint.flatMap { issuers.idToken($0) }.flatMap { $0.issuer == issuer.url ? $0 : nil }
        // An unverified ID token is enough to name the client, like `client_id`, because the name only selects the
        // client's registered URIs. So a token whose key has expired works too.
        let named = hint.flatMap { IDTokenHint(unverified: $0)?.audience }
        if let id = fields["client_id"], let named, id.lowercased() != named {
            throw OAuthError(.invalidRequest, "The ID token belongs to another client (client_id, id_token_hint).")
        }
        if let address = fields["post_logout_redirect_uri"] {
            guard let id = (fields["client_id"] ?? named).flatMap({ UUID(uuidString: $0) }),
                let client = try await clients.find(id, in: issuer.space),
                client.postLogoutRedirectURIs.contains(where: { $0.hasSameBytes(as: address) })
            else {
                throw OAuthError(
                    .invalidRequest,
                    "The return address is not registered for the application (post_logout_redirect_uri).")
            }
        }
        redirectURI = fields["post_logout_redirect_uri"]
        state = fields["state"]
        provenUser = proven.flatMap { UUID(uuidString: $0.subject) }
        query = fields.encoded
    }
}

/// The claims of an ID token that a client sends back.
struct IDTokenHint: Decodable, Sendable {
    var issuer: String
    var subject: String
    var audience: String

    private enum CodingKeys: String, CodingKey {
        case issuer = "iss"
        case subject = "sub"
        case audience = "aud"
    }

    /// Reads the claims without checking the signature; anyone may have written them.
    init?(unverified text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let payload = Base64URL.decode(parts[1]),
            (try? JSONValue(parsing: payload)) != nil, let hint = try? JSONDecoder().decode(Self.self, from: payload)
        else {
            return nil
        }
        self = hint
    }
}

extension Issuers {
    /// The claims of the ID token if it was signed with a current key.
    fileprivate func idToken(_ text: String) -> IDTokenHint? {
        let keys = (feed.current?.signingKeys ?? []).compactMap(AccessTokenVerifier.init)
        let found = Array(text.utf8).withUnsafeBytes { bytes in
            keys.lazy.compactMap { $0.claims(from: bytes, as: IDTokenHint.self) }.first
        }
        return found ?? feed.idTokenKeys.lazy.compactMap { $0.claims(from: text, as: IDTokenHint.self) }.first
    }
}

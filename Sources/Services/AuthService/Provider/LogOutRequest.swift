import Foundation
import MartletAPI
import MartletCore

/// What a client asks when it has signed a user out (OpenID Connect RP-Initiated Logout 1.0 §2).
struct LogOutRequest: Sendable {
    /// One of the client's; nil: the browser stays here.
    let redirectURI: String?
    let state: String?
    /// Of whom the ID token is, when we have signed it. It may have expired.
    let provenUser: UUID?
    /// All of it as text: it travels along in the address of the form.
    let query: String

    /// - Throws: `OAuthError`, for the person at the browser: an address that is not the client's is not gone to.
    init(query text: String, of clients: ClientStore, _ issuers: Issuers, _ issuer: Issuer) async throws {
        let fields = try FormFields(text)
        let hint = fields["id_token_hint"]
        let proven = hint.flatMap { issuers.idToken($0) }.flatMap { $0.issuer == issuer.url ? $0 : nil }
        // Whoever names a client gets its addresses: an ID token whose key is gone by now does that as well as
        // `client_id` does.
        let named = hint.flatMap { IDTokenHint(unverified: $0)?.audience }
        if let id = fields["client_id"], let named, id.lowercased() != named {
            throw OAuthError(.invalidRequest, "The ID token is of another client (client_id, id_token_hint).")
        }
        if let address = fields["post_logout_redirect_uri"] {
            guard let id = (fields["client_id"] ?? named).flatMap({ UUID(uuidString: $0) }),
                let client = try await clients.find(id, in: issuer.space),
                client.postLogoutRedirectURIs.contains(where: { $0.hasSameBytes(as: address) })
            else {
                throw OAuthError(
                    .invalidRequest,
                    "The address to go back to is not one of the application's (post_logout_redirect_uri).")
            }
        }
        redirectURI = fields["post_logout_redirect_uri"]
        state = fields["state"]
        provenUser = proven.flatMap { UUID(uuidString: $0.subject) }
        query = fields.encoded
    }
}

/// What an ID token of ours says that a client shows us again.
struct IDTokenHint: Decodable, Sendable {
    var issuer: String
    var subject: String
    var audience: String

    private enum CodingKeys: String, CodingKey {
        case issuer = "iss"
        case subject = "sub"
        case audience = "aud"
    }

    /// What anybody may have written.
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
    /// What the ID token says, when one of today's keys has signed it.
    fileprivate func idToken(_ text: String) -> IDTokenHint? {
        let keys = (feed.current?.signingKeys ?? []).compactMap(AccessTokenVerifier.init)
        let found = Array(text.utf8).withUnsafeBytes { bytes in
            keys.lazy.compactMap { $0.claims(from: bytes, as: IDTokenHint.self) }.first
        }
        return found ?? feed.idTokenKeys.lazy.compactMap { $0.claims(from: text, as: IDTokenHint.self) }.first
    }
}

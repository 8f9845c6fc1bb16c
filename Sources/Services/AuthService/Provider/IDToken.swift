import Crypto
import Foundation
import MartletCore

/// The ID token: the user, the time of the sign-in and the client (OpenID Connect Core 1.0 §2), signed with RS256 or
/// ES256.
struct IDToken: Encodable, Sendable {
    /// In seconds. Keys are published for longer than the tokens they signed.
    static let lifetime = AccessToken.lifetime.components.seconds

    var issuer: String
    var subject: String
    var audience: String
    /// All times in seconds since 1970.
    var issued: Int64
    var expires: Int64
    var authenticated: Int64
    var nonce: String?
    var accessTokenHash: String
    var session: String

    init(issuer: Issuer, client: UUID, _ session: ClientSession, nonce: String?, accessToken: String, at time: Date) {
        self.issuer = issuer.url
        subject = session.userID.uuidString.lowercased()
        audience = client.uuidString.lowercased()
        issued = Int64(time.timeIntervalSince1970)
        expires = issued + Self.lifetime
        authenticated = session.authenticated
        self.nonce = nonce
        accessTokenHash = Self.hash(accessToken)
        self.session = session.id.uuidString.lowercased()
    }

    /// `at_hash` for RS256 and ES256 (§3.1.3.6): the left half of the SHA-256, base64url.
    static func hash(_ accessToken: String) -> String {
        Base64URL.encode(Array(SHA256.hash(data: Data(accessToken.utf8))).prefix(16))
    }

    private enum CodingKeys: String, CodingKey {
        case issuer = "iss"
        case subject = "sub"
        case audience = "aud"
        case issued = "iat"
        case expires = "exp"
        case authenticated = "auth_time"
        case nonce
        case accessTokenHash = "at_hash"
        case session = "sid"
    }
}

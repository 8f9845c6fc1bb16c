import Crypto
import Foundation
public import MartletCore
import Synchronization

/// An application server's key (RFC 8292), with the contact for push services.
public final class VAPIDKey: Sendable {
    /// Must not exceed a day (§2).
    static let lifetime: TimeInterval = 12 * 3_600
    /// The remaining lifetime at which a token is replaced.
    private static let margin: TimeInterval = 3_600
    /// The number of push services (origins) whose tokens are kept; in practice there are a handful.
    private static let maximumOrigins = 1_000

    private struct Token {
        var text: String
        var expires: Date
    }

    private struct Claims: Encodable {
        var aud: String
        var exp: Int
        var sub: String
    }

    public let subject: String
    /// The value for the browser's `applicationServerKey`: base64url of the uncompressed point.
    public let publicKey: String
    private let key: P256.Signing.PrivateKey
    private let tokens = Mutex<[String: Token]>([:])

    /// - Parameters:
    ///   - privateKey: Base64url of the 32 bytes, or PEM.
    ///   - subject: A `mailto:` or `https:` URL.
    public init(privateKey: Secret, subject: String) throws(PushCredentialError) {
        guard Self.isSubject(subject) else { throw .invalidSubject }
        guard let key = privateKey.withValue(Self.key) else {
            throw .invalidPrivateKey(expected: "base64url of 32 bytes, or a P-256 key in PEM")
        }
        self.key = key
        self.subject = subject
        publicKey = Base64URL.encode(key.publicKey.x963Representation)
    }

    /// Generates a private key.
    public static func makePrivateKey() -> Secret {
        Secret(Base64URL.encode(P256.Signing.PrivateKey().rawRepresentation))
    }

    private static func key(_ text: String) -> P256.Signing.PrivateKey? {
        if let key = try? P256.Signing.PrivateKey(pemRepresentation: text) { return key }
        return Base64URL.decode(text).flatMap { try? P256.Signing.PrivateKey(rawRepresentation: $0) }
    }

    private static func isSubject(_ text: String) -> Bool {
        guard text.utf8.count <= 300, text.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else { return false }
        return text.hasPrefix("https://") ? text.utf8.count > 8 : text.hasPrefix("mailto:") && text.holds("@")
    }

    /// The `Authorization` header for a push service. There is one token per origin, reused until shortly before it
    /// expires, because signing takes about 100 µs.
    func authorization(for origin: String, at now: Date) throws -> String {
        try tokens.withLock { tokens in
            if let token = tokens[origin], token.expires.timeIntervalSince(now) > Self.margin { return token.text }
            if tokens.count >= Self.maximumOrigins { tokens = [:] }
            let expires = now.addingTimeInterval(Self.lifetime)
            let claims = Claims(aud: origin, exp: expires.secondsSince1970, sub: subject)
            let token = try CompactToken.sign(header: #"{"alg":"ES256","typ":"JWT"}"#, claims: claims) {
                try key.signature(for: $0).rawRepresentation
            }
            let text = "vapid t=\(token), k=\(publicKey)"
            tokens[origin] = Token(text: text, expires: expires)
            return text
        }
    }
}

import Crypto
public import Foundation
public import MartletCore

/// What a signed link opens.
public struct FileLink: Sendable, Equatable {
    /// `live` or `test`. Whoever opens a link in a browser sends no header that says it.
    public var environment: String
    public var space: String
    public var path: String
    /// Of this one file: another that takes the path later is not opened.
    public var fileID: String
    public var thumbnail: String?
    /// Seconds since 1970.
    public var expires: Int64

    public init(environment: String, space: String, path: String, fileID: String, thumbnail: String?, expires: Int64) {
        self.environment = environment
        self.space = space
        self.path = path
        self.fileID = fileID
        self.thumbnail = thumbnail
        self.expires = expires
    }
}

/// Makes and checks links that open one file for some time, without a secret.
///
/// The token is `<environment>.<expires>.<mac>`, the mac HMAC-SHA-256 (RFC 2104) of all that the link says, base64url. Each field
/// goes in with its length, so no two links have the same bytes.
public struct LinkSigner: Sendable {
    private let key: SymmetricKey

    /// - Parameter secret: at least 32 characters; the key is derived from it (HKDF, RFC 5869).
    public init(secret: Secret) {
        key = secret.withValue { secret in
            HKDF<SHA256>.deriveKey(
                inputKeyMaterial: SymmetricKey(data: Data(secret.utf8)), info: Data("martlet file links".utf8), outputByteCount: 32)
        }
    }

    public func token(for link: FileLink) -> String {
        let mac = HMAC<SHA256>.authenticationCode(for: Self.message(link), using: key)
        return "\(link.environment).\(link.expires).\(Base64URL.encode(mac))"
    }

    /// What a token says of itself, which is worth nothing before `isValid`.
    public struct Claims: Sendable, Equatable {
        public var environment: String
        public var expires: Int64
    }

    /// Nil for a text that is not shaped like a token.
    public static func claims(_ token: String) -> Claims? { split(token)?.claims }

    /// Compares in constant time. `link` must have what `claims(_:)` says.
    public func isValid(_ token: String, for link: FileLink, at now: Date) -> Bool {
        guard let (claims, text) = Self.split(token), let mac = Base64URL.decode(text), Base64URL.encode(mac) == text,
            HMAC<SHA256>.isValidAuthenticationCode(mac, authenticating: Self.message(link), using: key)
        else { return false }
        return claims == Claims(environment: link.environment, expires: link.expires) && Double(link.expires) > now.timeIntervalSince1970
    }

    private static func split(_ token: String) -> (claims: Claims, mac: Substring)? {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let seconds = Int64(parts[1]), seconds >= 0, String(seconds) == parts[1] else { return nil }
        return (Claims(environment: String(parts[0]), expires: seconds), parts[2])
    }

    private static func message(_ link: FileLink) -> Data {
        var message = Data()
        for field in ["2", link.environment, link.space, link.path, link.fileID, link.thumbnail ?? "", String(link.expires)] {
            message.append(Data("\(field.utf8.count):".utf8))
            message.append(Data(field.utf8))
        }
        return message
    }
}

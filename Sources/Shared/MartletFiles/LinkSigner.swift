import Crypto
public import Foundation
public import MartletCore

/// The file to which a signed link gives access.
public struct FileLink: Sendable, Equatable {
    /// `live` or `test`, because a browser that opens the link sends no header with the environment.
    public var environment: String
    public var space: String
    public var path: String
    /// Binds the link to this file; it gives no access to a later file at the same path.
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

/// Creates and verifies links that give access to one file for a limited time, without a secret.
///
/// The token is `<environment>.<expires>.<mac>`; the mac is the HMAC-SHA-256 (RFC 2104) of all fields of the link, in
/// base64url. Each field is prefixed with its length, so that no two links yield the same bytes.
public struct LinkSigner: Sendable {
    private let key: SymmetricKey

    /// - Parameter secret: At least 32 characters; the key is derived from it with HKDF (RFC 5869).
    public init(secret: Secret) {
        key = secret.withValue { secret in
            HKDF<SHA256>.deriveKey(
                inputKeyMaterial: SymmetricKey(data: Data(secret.utf8)), info: Data("martlet file links".utf8),
                outputByteCount: 32)
        }
    }

    public func token(for link: FileLink) -> String {
        let mac = HMAC<SHA256>.authenticationCode(for: Self.message(link), using: key)
        return "\(link.environment).\(link.expires).\(Base64URL.encode(mac))"
    }

    /// The claims of a token, which must not be trusted before `isValid`.
    public struct Claims: Sendable, Equatable {
        public var environment: String
        public var expires: Int64
    }

    /// Nil if the text does not have the form of a token.
    public static func claims(_ token: String) -> Claims? { split(token)?.claims }

    /// Compares in constant time. `link` must match `claims(_:)`.
    public func isValid(_ token: String, for link: FileLink, at now: Date) -> Bool {
        guard let (claims, text) = Self.split(token), let mac = Base64URL.decode(text), Base64URL.encode(mac) == text,
            HMAC<SHA256>.isValidAuthenticationCode(mac, authenticating: Self.message(link), using: key)
        else { return false }
        return claims == Claims(environment: link.environment, expires: link.expires)
            && Double(link.expires) > now.timeIntervalSince1970
    }

    private static func split(_ token: String) -> (claims: Claims, mac: Substring)? {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let seconds = Int64(parts[1]), seconds >= 0, String(seconds) == parts[1] else {
            return nil
        }
        return (Claims(environment: String(parts[0]), expires: seconds), parts[2])
    }

    private static func message(_ link: FileLink) -> Data {
        var message = Data()
        for field in [
            "2", link.environment, link.space, link.path, link.fileID, link.thumbnail ?? "", String(link.expires),
        ] {
            message.append(Data("\(field.utf8.count):".utf8))
            message.append(Data(field.utf8))
        }
        return message
    }
}

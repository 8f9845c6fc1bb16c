import Crypto
public import Foundation
public import MartletCore

/// What a signed link opens.
public struct FileLink: Sendable, Equatable {
    public var space: String
    public var path: String
    /// Of this one file: another that takes the path later is not opened.
    public var fileID: String
    public var thumbnail: String?
    /// Seconds since 1970.
    public var expires: Int64

    public init(space: String, path: String, fileID: String, thumbnail: String?, expires: Int64) {
        self.space = space
        self.path = path
        self.fileID = fileID
        self.thumbnail = thumbnail
        self.expires = expires
    }
}

/// Makes and checks links that open one file for some time, without a secret.
///
/// The token is `<expires>.<mac>`, the mac HMAC-SHA-256 (RFC 2104) of all that the link says, base64url. Each field goes in with its
/// length, so no two links have the same bytes.
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
        return "\(link.expires).\(Base64URL.encode(mac))"
    }

    /// When a token says that it expires; nil when it is not shaped like one.
    public static func expires(_ token: String) -> Int64? {
        guard let point = token.firstIndex(of: "."), let seconds = Int64(token[..<point]), seconds >= 0 else { return nil }
        // One text for one number.
        return String(seconds) == token[..<point] ? seconds : nil
    }

    /// Compares in constant time. `link.expires` must be what `expires(_:)` says.
    public func isValid(_ token: String, for link: FileLink, at now: Date) -> Bool {
        guard let point = token.firstIndex(of: "."), let mac = Base64URL.decode(token[token.index(after: point)...]),
            Base64URL.encode(mac) == token[token.index(after: point)...],
            HMAC<SHA256>.isValidAuthenticationCode(mac, authenticating: Self.message(link), using: key)
        else { return false }
        return Self.expires(token) == link.expires && Double(link.expires) > now.timeIntervalSince1970
    }

    private static func message(_ link: FileLink) -> Data {
        var message = Data()
        for field in ["1", link.space, link.path, link.fileID, link.thumbnail ?? "", String(link.expires)] {
            message.append(Data("\(field.utf8.count):".utf8))
            message.append(Data(field.utf8))
        }
        return message
    }
}

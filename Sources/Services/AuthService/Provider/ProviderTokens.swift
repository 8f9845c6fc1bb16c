import Crypto
import Foundation
import MartletCore

/// Tokens that only the provider can read: a prefix and base64url of the kind (1 byte), session (16), value (8,
/// big-endian) and their HMAC-SHA-256 (RFC 2104).
///
/// They are not JWTs, so they cannot be mistaken for ID tokens and give no access at the gateway. They are not stored.
struct ProviderTokens: Sendable {
    enum Kind: UInt8 {
        /// For a client. The value is its expiry in milliseconds since 1970, so that a session's tokens differ.
        case access = 1
        /// For a client. The value is the token's number in the session.
        case refresh
        /// For a browser, in a cookie. The value is 0.
        case browser

        var prefix: String {
            switch self {
            case .access: "mpa_"
            case .refresh: "mpr_"
            case .browser: "mpb_"
            }
        }
    }

    struct Content: Equatable {
        var session: UUID
        var value: Int64
    }

    private static let payloadLength = 25

    let key: SymmetricKey

    func token(_ kind: Kind, _ content: Content) -> String {
        let session = withUnsafeBytes(of: content.session.uuid) { Array($0) }
        let payload = [kind.rawValue] + session + withUnsafeBytes(of: content.value.bigEndian) { Array($0) }
        return kind.prefix
            + Base64URL.encode(payload + Array(HMAC<SHA256>.authenticationCode(for: payload, using: key)))
    }

    /// Nil if this service did not issue the token, or issued it as another kind.
    func content(of token: String, _ kind: Kind) -> Content? {
        guard token.utf8.starts(with: kind.prefix.utf8),
            let bytes = Base64URL.decode(token.dropFirst(kind.prefix.count)).map(Array.init),
            bytes.count == Self.payloadLength + SHA256.byteCount, bytes[0] == kind.rawValue
        else { return nil }
        let payload = bytes[..<Self.payloadLength]
        guard
            HMAC<SHA256>.isValidAuthenticationCode(
                bytes[Self.payloadLength...], authenticating: Array(payload), using: key)
        else { return nil }
        return payload.withUnsafeBytes { payload in
            Content(
                session: UUID(uuid: payload.loadUnaligned(fromByteOffset: 1, as: uuid_t.self)),
                value: Int64(bigEndian: payload.loadUnaligned(fromByteOffset: 17, as: Int64.self)))
        }
    }
}

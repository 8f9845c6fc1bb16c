import Crypto
import Foundation
import MartletCore

/// Refresh tokens: `mr_` and base64url of the session's id (16 bytes), the token's number in its family (4 bytes,
/// big-endian) and the HMAC-SHA-256 (RFC 2104) of both.
///
/// Only the newest number is stored. A token that was issued can be recognized however old it is, and issued again if
/// the answer was lost.
struct RefreshTokens: Sendable {
    private static let prefix = "mr_"
    private static let payloadLength = 20

    let key: SymmetricKey

    struct Content: Equatable {
        var session: UUID
        var number: Int32
    }

    func token(_ content: Content) -> String {
        let payload =
            withUnsafeBytes(of: content.session.uuid) { Array($0) }
            + withUnsafeBytes(of: content.number.bigEndian) { Array($0) }
        return Self.prefix
            + Base64URL.encode(payload + Array(HMAC<SHA256>.authenticationCode(for: payload, using: key)))
    }

    /// Nil if this service did not issue the token.
    func content(of token: String) -> Content? {
        guard token.hasPrefix(Self.prefix),
            let bytes = Base64URL.decode(token.dropFirst(Self.prefix.count)).map(Array.init),
            bytes.count == Self.payloadLength + SHA256.byteCount
        else { return nil }
        let payload = bytes[..<Self.payloadLength]
        guard
            HMAC<SHA256>.isValidAuthenticationCode(
                bytes[Self.payloadLength...], authenticating: Array(payload), using: key)
        else { return nil }
        return payload.withUnsafeBytes { payload in
            Content(
                session: UUID(uuid: payload.loadUnaligned(as: uuid_t.self)),
                number: Int32(bigEndian: payload.loadUnaligned(fromByteOffset: 16, as: Int32.self)))
        }
    }
}

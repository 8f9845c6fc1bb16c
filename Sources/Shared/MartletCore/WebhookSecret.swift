import Crypto
public import Foundation

/// A secret of the Standard Webhooks scheme (https://www.standardwebhooks.com). Signs with HMAC-SHA-256 (RFC 2104).
public struct WebhookSecret: Sendable {
    private let key: SymmetricKey

    public init(key: [UInt8]) {
        self.key = SymmetricKey(data: key)
    }

    /// Nil unless the text has the form `whsec_<base64>`.
    public init?(_ text: String) {
        guard text.hasPrefix("whsec_"), let key = Data(base64Encoded: String(text.dropFirst(6))) else { return nil }
        self.init(key: Array(key))
    }

    /// The text form, to be shown once to the receiver's owner.
    public var text: Secret { Secret("whsec_" + key.withUnsafeBytes { Data($0).base64EncodedString() }) }

    /// The signature `v1,<base64>` of `id.timestamp.body`.
    ///
    /// - Parameter timestamp: Seconds since 1970.
    public func signature(id: String, timestamp: Int64, body: some DataProtocol) -> String {
        var mac = HMAC<SHA256>(key: key)
        mac.update(data: Data("\(id).\(timestamp).".utf8))
        mac.update(data: body)
        return "v1," + Data(mac.finalize()).base64EncodedString()
    }
}

/// Derives the secrets of webhooks, so that none is stored. Each is derived from the internal secret, a purpose and a
/// random salt in the receiver's row.
public struct WebhookSecrets: Sendable {
    private let key: SymmetricKey

    public init(internalSecret: Secret) {
        key = internalSecret.withValue { SymmetricKey(data: Data($0.utf8)) }
    }

    public static func makeSalt() -> [UInt8] {
        SymmetricKey(size: .bits256).withUnsafeBytes { Array($0) }
    }

    /// Derives a secret with HKDF (RFC 5869).
    ///
    /// - Parameter purpose: Must be unique per receiver.
    public func secret(salt: [UInt8], purpose: String) -> WebhookSecret {
        let derived = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: key, salt: salt, info: Data(purpose.utf8), outputByteCount: 32)
        return WebhookSecret(key: derived.withUnsafeBytes { Array($0) })
    }
}

import Crypto
import Foundation
import MartletCore

/// The secrets that hooks are signed with. None is stored: each is made from the internal secret, the hook's name and a random salt in its row.
struct HookSecrets: Sendable {
    private let key: SymmetricKey

    init(internalSecret: Secret) {
        key = internalSecret.withValue { SymmetricKey(data: Data($0.utf8)) }
    }

    static func makeSalt() -> [UInt8] {
        SymmetricKey(size: .bits256).withUnsafeBytes { Array($0) }
    }

    /// HKDF (RFC 5869).
    func secret(salt: [UInt8], hook: String, space: AppSpace) -> HookSecret {
        let derived = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: key, salt: salt, info: Data("martlet hook \(space.schema)/\(hook)".utf8), outputByteCount: 32)
        return HookSecret(key: derived.withUnsafeBytes { Array($0) })
    }

    /// The secret in force, then a former one that still signs along.
    func secrets(of hook: Hook, in space: AppSpace) -> [HookSecret] {
        hook.salts.map { secret(salt: $0, hook: hook.name, space: space) }
    }
}

/// A secret of the Standard Webhooks scheme (https://www.standardwebhooks.com): signs with HMAC-SHA-256 (RFC 2104).
struct HookSecret: Sendable {
    private let key: SymmetricKey

    init(key: [UInt8]) {
        self.key = SymmetricKey(data: key)
    }

    /// Nil unless it reads `whsec_<base64>`.
    init?(_ text: String) {
        guard text.hasPrefix("whsec_"), let key = Data(base64Encoded: String(text.dropFirst(6))) else { return nil }
        self.init(key: Array(key))
    }

    /// To be shown once, to the hook's owner.
    var text: Secret { Secret("whsec_" + key.withUnsafeBytes { Data($0).base64EncodedString() }) }

    /// `v1,<base64>` over `id.timestamp.body`.
    ///
    /// - Parameter timestamp: seconds since 1970.
    func signature(id: String, timestamp: Int64, body: some DataProtocol) -> String {
        var mac = HMAC<SHA256>(key: key)
        mac.update(data: Data("\(id).\(timestamp).".utf8))
        mac.update(data: body)
        return "v1," + Data(mac.finalize()).base64EncodedString()
    }
}

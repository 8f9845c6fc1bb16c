import Crypto
import Foundation

/// Encryption for a browser (RFC 8291).
enum WebPushEncryption {
    /// The size that every push service must accept (RFC 8030 §7.2).
    static let maximumBodySizeInBytes = 4_096
    private static let publicKeySize = 65
    /// The size left for the plaintext: 3,993 bytes.
    static let maximumPlaintextSizeInBytes =
        maximumBodySizeInBytes - EncryptedContent.headerSize - publicKeySize - 1 - EncryptedContent.tagSize

    /// - Parameters:
    ///   - salt, key: For this message only; passed by tests.
    static func encrypt(
        _ plaintext: some Sequence<UInt8>, for subscription: WebPushSubscription, salt: Data = randomSalt(),
        key: P256.KeyAgreement.PrivateKey = .init()
    ) throws -> Data {
        let (theirs, ours) = (subscription.publicKey.x963Representation, key.publicKey.x963Representation)
        let shared = try key.sharedSecretFromKeyAgreement(with: subscription.publicKey)
        let input = shared.hkdfDerivedSymmetricKey(
            using: SHA256.self, salt: subscription.authenticationSecret,
            sharedInfo: Data("WebPush: info\0".utf8) + theirs + ours, outputByteCount: 32)
        return try EncryptedContent.seal(plaintext, key: input, salt: salt, keyID: ours)
    }

    private static func randomSalt() -> Data { SymmetricKey(size: .bits128).withUnsafeBytes { Data($0) } }
}

import Crypto
import Foundation

/// The content coding `aes128gcm` (RFC 8188) with one record.
enum EncryptedContent {
    static let saltSize = 16
    static let tagSize = 16
    /// Salt, record size, and the length of the key id that follows.
    static let headerSize = saltSize + 4 + 1

    /// - Parameters:
    ///   - key: The input keying material.
    ///   - salt: 16 bytes, never to be used again.
    ///   - keyID: At most 255 bytes.
    ///   - recordSize: The size in the header; must have room for the plaintext, its delimiter and the tag.
    static func seal(
        _ plaintext: some Sequence<UInt8>, key: SymmetricKey, salt: Data, keyID: Data = Data(), recordSize: Int = 4_096
    ) throws -> Data {
        let contentKey = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: key, salt: salt, info: Data("Content-Encoding: aes128gcm\0".utf8), outputByteCount: 16)
        let nonce = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: key, salt: salt, info: Data("Content-Encoding: nonce\0".utf8), outputByteCount: 12)
        // The delimiter of the last record (§2). The first record has the number 0, so its nonce is the derived nonce
        // itself.
        let record = Data(plaintext) + [2]
        let box = try AES.GCM.seal(
            record, using: contentKey, nonce: AES.GCM.Nonce(data: nonce.withUnsafeBytes { Data($0) }))
        return salt + withUnsafeBytes(of: UInt32(recordSize).bigEndian) { Data($0) } + [UInt8(keyID.count)] + keyID
            + box.ciphertext + box.tag
    }
}

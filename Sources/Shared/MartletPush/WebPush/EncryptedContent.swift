import Crypto
import Foundation

/// The content coding `aes128gcm` (RFC 8188) with one record.
enum EncryptedContent {
    static let saltSize = 16
    static let tagSize = 16
    /// Salt, record size, and the length of the key's name, which follows.
    static let headerSize = saltSize + 4 + 1

    /// - Parameters:
    ///   - key: the input keying material.
    ///   - salt: 16 bytes that are used once.
    ///   - keyID: 255 bytes at the most.
    ///   - recordSize: as the header says it; the plaintext, its delimiter and the tag fit into it.
    static func seal(
        _ plaintext: some Sequence<UInt8>, key: SymmetricKey, salt: Data, keyID: Data = Data(), recordSize: Int = 4_096
    ) throws -> Data {
        let contentKey = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: key, salt: salt, info: Data("Content-Encoding: aes128gcm\0".utf8), outputByteCount: 16)
        let nonce = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: key, salt: salt, info: Data("Content-Encoding: nonce\0".utf8), outputByteCount: 12)
        // The last record's delimiter (§2). The first record's number is 0, so its nonce is the nonce.
        let record = Data(plaintext) + [2]
        let box = try AES.GCM.seal(
            record, using: contentKey, nonce: AES.GCM.Nonce(data: nonce.withUnsafeBytes { Data($0) }))
        return salt + withUnsafeBytes(of: UInt32(recordSize).bigEndian) { Data($0) } + [UInt8(keyID.count)] + keyID
            + box.ciphertext + box.tag
    }
}

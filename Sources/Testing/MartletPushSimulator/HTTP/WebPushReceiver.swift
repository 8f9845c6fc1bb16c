public import Crypto
public import Foundation
import MartletCore

/// The browser's side of RFC 8291 and RFC 8188: decrypts the messages that were encrypted for it.
public struct WebPushReceiver: Sendable {
    public struct Unreadable: Error {}

    public let privateKey: P256.KeyAgreement.PrivateKey
    public let authenticationSecret: Data

    public init(
        privateKey: P256.KeyAgreement.PrivateKey = .init(),
        authenticationSecret: Data = SymmetricKey(size: .bits128).withUnsafeBytes { Data($0) }
    ) {
        self.privateKey = privateKey
        self.authenticationSecret = authenticationSecret
    }

    /// base64url of the uncompressed point.
    public var publicKey: String { Base64URL.encode(privateKey.publicKey.x963Representation) }

    /// - Throws: `Unreadable`, or an error of Crypto, if the message is not for this browser.
    public func open(_ message: Data) throws -> Data {
        let message = Data(message)
        guard message.count > 86, message[20] == 65 else { throw Unreadable() }
        let sender = message[21..<86]
        let shared = try privateKey.sharedSecretFromKeyAgreement(
            with: P256.KeyAgreement.PublicKey(x963Representation: sender))
        let key = shared.hkdfDerivedSymmetricKey(
            using: SHA256.self, salt: authenticationSecret,
            sharedInfo: Data("WebPush: info\0".utf8) + privateKey.publicKey.x963Representation + sender,
            outputByteCount: 32)
        return try Self.open(message, key: key)
    }

    /// Decrypts content of one or more records (RFC 8188 §2).
    public static func open(_ message: Data, key: SymmetricKey) throws -> Data {
        let message = Data(message)
        guard message.count >= 21 else { throw Unreadable() }
        let salt = message[..<16]
        let recordSize = message[16..<20].reduce(0) { $0 << 8 | Int($1) }
        guard recordSize >= 18 else { throw Unreadable() }
        let contentKey = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: key, salt: salt, info: Data("Content-Encoding: aes128gcm\0".utf8), outputByteCount: 16)
        let nonce = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: key, salt: salt, info: Data("Content-Encoding: nonce\0".utf8), outputByteCount: 12
        )
        .withUnsafeBytes { Array($0) }
        var plaintext = Data()
        let records = stride(from: 21 + Int(message[20]), to: message.count, by: recordSize)
        for (number, start) in records.enumerated() {
            let record = message[start..<min(start + recordSize, message.count)]
            guard record.count > 16 else { throw Unreadable() }
            var numbered = nonce
            for index in 0..<8 { numbered[11 - index] ^= UInt8(truncatingIfNeeded: number >> (8 * index)) }
            let box = try AES.GCM.SealedBox(
                nonce: .init(data: numbered), ciphertext: record.dropLast(16), tag: record.suffix(16))
            let padded = try AES.GCM.open(box, using: contentKey)
            let isLast = start + recordSize >= message.count
            guard let delimiter = padded.lastIndex(where: { $0 != 0 }), padded[delimiter] == (isLast ? 2 : 1) else {
                throw Unreadable()
            }
            plaintext += padded[..<delimiter]
        }
        return plaintext
    }
}

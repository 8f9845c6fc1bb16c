public import Crypto
public import Foundation

/// Encrypts values that must not be readable in the database, with AES-256-GCM (NIST SP 800-38D) and a key derived from
/// the internal secret (HKDF, RFC 5869). A value can only be decrypted with the label and the internal secret that it
/// was encrypted with.
public struct SealingKey: Sendable {
    private let key: SymmetricKey

    public init(_ key: SymmetricKey) {
        self.key = key
    }

    /// - Parameter purpose: Different purposes derive different keys.
    public init(internalSecret: Secret, for purpose: String) {
        key = internalSecret.withValue { secret in
            HKDF<SHA256>.deriveKey(
                inputKeyMaterial: SymmetricKey(data: Data(secret.utf8)), info: Data(purpose.utf8), outputByteCount: 32)
        }
    }

    /// Encrypts to nonce, ciphertext and tag.
    public func seal(_ bytes: some DataProtocol, for label: String) throws -> Data {
        // A combined form always exists, because the nonce has twelve bytes.
        guard let sealed = try AES.GCM.seal(bytes, using: key, authenticating: Data(label.utf8)).combined else {
            throw CryptoKitError.incorrectParameterSize
        }
        return sealed
    }

    /// Decrypts; nil if the internal secret or the label differs.
    public func open(_ sealed: Data, for label: String) -> Data? {
        guard let box = try? AES.GCM.SealedBox(combined: sealed) else { return nil }
        return try? AES.GCM.open(box, using: key, authenticating: Data(label.utf8))
    }

    /// Encrypts a value as JSON.
    public func seal(value: some Encodable, for label: String) throws -> Data {
        try seal(JSONEncoder().encode(value), for: label)
    }

    /// Decrypts a JSON value; nil if the internal secret or the label differs, or the value has another type.
    public func value<Value: Decodable>(_: Value.Type = Value.self, in sealed: Data, for label: String) -> Value? {
        open(sealed, for: label).flatMap { try? JSONDecoder().decode(Value.self, from: $0) }
    }
}

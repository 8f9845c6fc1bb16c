public import Crypto
public import Foundation

/// Seals what a service stores and nobody may read from the database: AES-256-GCM (NIST SP 800-38D) under a key made of the internal secret
/// (HKDF, RFC 5869). What is sealed for one label opens for no other; under another internal secret nothing opens.
public struct SealingKey: Sendable {
    private let key: SymmetricKey

    public init(_ key: SymmetricKey) {
        self.key = key
    }

    /// - Parameter purpose: another one makes another key.
    public init(internalSecret: Secret, for purpose: String) {
        key = internalSecret.withValue { secret in
            HKDF<SHA256>.deriveKey(inputKeyMaterial: SymmetricKey(data: Data(secret.utf8)), info: Data(purpose.utf8), outputByteCount: 32)
        }
    }

    /// Nonce, ciphertext and tag.
    public func seal(_ bytes: some DataProtocol, for label: String) throws -> Data {
        // With its twelve bytes of nonce there is always a combined form.
        guard let sealed = try AES.GCM.seal(bytes, using: key, authenticating: Data(label.utf8)).combined else {
            throw CryptoKitError.incorrectParameterSize
        }
        return sealed
    }

    /// Nil for what was sealed under another internal secret, or for something else.
    public func open(_ sealed: Data, for label: String) -> Data? {
        guard let box = try? AES.GCM.SealedBox(combined: sealed) else { return nil }
        return try? AES.GCM.open(box, using: key, authenticating: Data(label.utf8))
    }

    /// A value as JSON.
    public func seal(value: some Encodable, for label: String) throws -> Data { try seal(JSONEncoder().encode(value), for: label) }

    /// Nil as for bytes, and for another value.
    public func value<Value: Decodable>(_: Value.Type = Value.self, in sealed: Data, for label: String) -> Value? {
        open(sealed, for: label).flatMap { try? JSONDecoder().decode(Value.self, from: $0) }
    }
}

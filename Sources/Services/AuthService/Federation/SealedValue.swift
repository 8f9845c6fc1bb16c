import Crypto
import Foundation

/// Values as they are stored: JSON under AES-GCM, good only for what they were sealed for.
enum SealedValue {
    static func seal(_ value: some Encodable, for purpose: String, key: SymmetricKey) throws -> Data {
        // Twelve bytes of nonce: there is always a combined form.
        guard let sealed = try AES.GCM.seal(JSONEncoder().encode(value), using: key, authenticating: Data(purpose.utf8)).combined else {
            throw CryptoKitError.incorrectParameterSize
        }
        return sealed
    }

    /// Nil when it was sealed under another internal secret, or for something else.
    static func open<Value: Decodable>(_ sealed: Data, as _: Value.Type = Value.self, for purpose: String, key: SymmetricKey) -> Value? {
        guard let box = try? AES.GCM.SealedBox(combined: sealed), let data = try? AES.GCM.open(box, using: key, authenticating: Data(purpose.utf8))
        else { return nil }
        return try? JSONDecoder().decode(Value.self, from: data)
    }
}

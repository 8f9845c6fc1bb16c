import Crypto
import Foundation
import MartletCore

/// Turns an address into the digest that is kept in its place: HMAC-SHA256 with a key derived from the internal secret,
/// in 43 base64url characters.
///
/// The database alone does not suffice to test addresses against it. A change of the internal secret invalidates all
/// digests.
struct AddressDigest: Sendable {
    private let key: SymmetricKey

    init(internalSecret: Secret) {
        key = internalSecret.withValue { secret in
            HKDF<SHA256>.deriveKey(
                inputKeyMaterial: SymmetricKey(data: Data(secret.utf8)),
                info: Data("martlet-notifications-addresses".utf8), outputByteCount: 32)
        }
    }

    /// - Parameter space: Part of the input: the same address has a different digest in each space.
    func text(of address: String, in space: Int32) -> String {
        Base64URL.encode(HMAC<SHA256>.authenticationCode(for: Data("\(space) \(address)".utf8), using: key))
    }
}

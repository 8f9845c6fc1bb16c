import Crypto
import Foundation
import MartletCore

/// Makes of an address what is kept of it when it must not be kept itself: HMAC-SHA256 under a key made of the internal
/// secret, a text of 43 letters.
///
/// Whoever has the database alone cannot try addresses against it. Under another internal secret it is another text:
/// what was kept is lost then.
struct AddressDigest: Sendable {
    private let key: SymmetricKey

    init(internalSecret: Secret) {
        key = internalSecret.withValue { secret in
            HKDF<SHA256>.deriveKey(
                inputKeyMaterial: SymmetricKey(data: Data(secret.utf8)),
                info: Data("martlet-notifications-addresses".utf8), outputByteCount: 32)
        }
    }

    /// - Parameter space: in another one the same address is another text.
    func text(of address: String, in space: Int32) -> String {
        Base64URL.encode(HMAC<SHA256>.authenticationCode(for: Data("\(space) \(address)".utf8), using: key))
    }
}

import Crypto
import CryptoExtras
import Foundation

/// The public key of a passkey in COSE format (RFC 9053 §7, RFC 8812 §2): ES256 on P-256, EdDSA on Ed25519, or RS256.
enum PasskeyPublicKey: Sendable {
    case es256(P256.Signing.PublicKey)
    case edDSA(Curve25519.Signing.PublicKey)
    case rs256(_RSA.Signing.PublicKey)

    /// The COSE numbers of the accepted algorithms, in order of preference.
    static let algorithms = [-7, -8, -257]

    /// - Throws: `PasskeyRefusal` for another algorithm, an invalid key, or parameters other than the key's (WebAuthn
    ///   §6.5.1).
    init(_ cose: CBOR) throws(PasskeyRefusal) {
        switch (cose[1]?.integer, cose[3]?.integer) {
        case (2, -7):
            guard cose.hasKeys([1, 3, -1, -2, -3]), cose[-1]?.integer == 1, let x = cose[-2]?.bytes,
                let y = cose[-3]?.bytes, x.count == 32,
                y.count == 32, let key = try? P256.Signing.PublicKey(x963Representation: Data([4]) + x + y)
            else { throw PasskeyRefusal("The public key is not a valid ES256 key.") }
            self = .es256(key)
        case (1, -8):
            guard cose.hasKeys([1, 3, -1, -2]), cose[-1]?.integer == 6, let x = cose[-2]?.bytes, x.count == 32,
                let key = try? Curve25519.Signing.PublicKey(rawRepresentation: x)
            else { throw PasskeyRefusal("The public key is not a valid EdDSA key on Ed25519.") }
            self = .edDSA(key)
        case (3, -257):
            guard cose.hasKeys([1, 3, -1, -2]), let n = cose[-1]?.bytes, let e = cose[-2]?.bytes,
                (256...512).contains(n.count), n.first != 0,
                e.elementsEqual([1, 0, 1]), let key = try? _RSA.Signing.PublicKey(n: n, e: e)
            else {
                throw PasskeyRefusal(
                    "The public key is not a valid RS256 key of 2048 to 4096 bits with the exponent 65537.")
            }
            self = .rs256(key)
        default: throw PasskeyRefusal("The public key's algorithm was not requested.")
        }
    }

    /// The COSE number of the algorithm.
    var algorithm: Int {
        switch self {
        case .es256: -7
        case .edDSA: -8
        case .rs256: -257
        }
    }

    /// - Parameter signature: In the algorithm's own format (WebAuthn §6.5.5), which is DER for ES256.
    func isValid(_ signature: Data, of message: Data) -> Bool {
        switch self {
        case .es256(let key):
            (try? P256.Signing.ECDSASignature(derRepresentation: signature)).map {
                key.isValidSignature($0, for: message)
            } ?? false
        case .edDSA(let key): key.isValidSignature(signature, for: message)
        case .rs256(let key):
            key.isValidSignature(
                _RSA.Signing.RSASignature(rawRepresentation: signature), for: message, padding: .insecurePKCS1v1_5)
        }
    }
}

extension CBOR {
    fileprivate func hasKeys(_ keys: Set<Int>) -> Bool {
        if case .map(let members) = self { Set(members.keys) == Set(keys.map { .integer($0) }) } else { false }
    }
}

import Crypto
import Foundation
import MartletCore

/// Computes a password verifier as PostgreSQL stores it (SCRAM-SHA-256, RFC 5802 and RFC 7677), so that the password
/// itself appears in no SQL text or server log.
enum ScramVerifier {
    private static let iterations = 4096

    static func make(of password: Secret) -> String {
        let salt = SymmetricKey(size: .bits128).withUnsafeBytes { Data($0) }
        let salted = password.withValue { saltedPassword($0, salt: salt) }
        let storedKey = Data(SHA256.hash(data: mac(salted, Data("Client Key".utf8))))
        let serverKey = mac(salted, Data("Server Key".utf8))
        return "SCRAM-SHA-256$\(iterations):\(salt.base64EncodedString())"
            + "$\(storedKey.base64EncodedString()):\(serverKey.base64EncodedString())"
    }

    /// `Hi` of RFC 5802 §2.2. Our passwords are ASCII, so SASLprep would not change them.
    private static func saltedPassword(_ password: String, salt: Data) -> Data {
        let key = Data(password.utf8)
        var block = mac(key, salt + Data([0, 0, 0, 1]))
        var result = block
        for _ in 1..<iterations {
            block = mac(key, block)
            for index in result.indices { result[index] ^= block[index] }
        }
        return result
    }

    private static func mac(_ key: Data, _ message: Data) -> Data {
        Data(HMAC<SHA256>.authenticationCode(for: message, using: SymmetricKey(data: key)))
    }
}

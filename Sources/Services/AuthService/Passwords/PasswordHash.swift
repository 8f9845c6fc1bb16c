import CArgon2
import CCrypt
import Crypto
import Foundation
import MartletCore

/// Argon2id password hashes (RFC 9106) in the PHC string format: m = 19 MiB, t = 2, p = 1, 16 bytes of salt, 32 bytes
/// of hash.
///
/// Also verifies hashes of `ImportedPasswordHash`.
enum PasswordHash {
    private static let memoryInKiB: UInt32 = 19 * 1024
    private static let passes: UInt32 = 2
    private static let lanes: UInt32 = 1
    private static let hashLength = 32

    /// Takes about 20 ms on one core.
    static func make(of password: Secret) throws -> String {
        let salt = SymmetricKey(size: .bits128).withUnsafeBytes(Array.init)
        let length = argon2_encodedlen(passes, memoryInKiB, lanes, UInt32(salt.count), UInt32(hashLength), Argon2_id)
        var encoded = [CChar](repeating: 0, count: length)
        let status = password.withValue { text in
            argon2id_hash_encoded(
                passes, memoryInKiB, lanes, text, text.utf8.count, salt, salt.count, hashLength, &encoded, length)
        }
        guard status == ARGON2_OK.rawValue else { throw PasswordHashError(status: status) }
        return String(decoding: encoded.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// A hash that no known password matches, made without the work of hashing. Checking a password against it takes as
    /// long as against any other hash.
    static func makeDecoy() -> String {
        func random(_ length: Int) -> String {
            let bytes = SymmetricKey(size: .init(bitCount: length * 8)).withUnsafeBytes { Data($0) }
            return bytes.base64EncodedString().replacing("=", with: "")
        }
        return "$argon2id$v=19$m=\(memoryInKiB),t=\(passes),p=\(lanes)$\(random(16))$\(random(hashLength))"
    }

    /// Whether `encoded` is a hash of `password`. Takes as long as hashing, whatever the answer.
    static func verify(_ password: Secret, against encoded: String) -> Bool {
        password.withValue { text in
            if encoded.hasPrefix("$2") { return verifyBcrypt(text, against: encoded) }
            let variant = encoded.hasPrefix("$argon2i$") ? Argon2_i : Argon2_id
            return argon2_verify(encoded, text, text.utf8.count, variant) == ARGON2_OK.rawValue
        }
    }

    /// Whether the hash should be replaced at the next log-in because it uses another method or less work than current
    /// ones.
    static func isOutdated(_ encoded: String) -> Bool {
        guard let parameters = Argon2Parameters(encoded) else { return true }
        return parameters.variant != "argon2id" || parameters.memoryInKiB < memoryInKiB || parameters.passes < passes
            || parameters.hashLength < hashLength
    }

    private static func verifyBcrypt(_ password: String, against encoded: String) -> Bool {
        // bcrypt uses only 72 bytes and stops at a zero byte, so other implementations truncate there as well.
        let bytes = password.utf8.prefix(72)
        guard !bytes.contains(0) else { return false }
        var hash = [CChar](repeating: 0, count: 128)
        let phrase = bytes.map { CChar(bitPattern: $0) } + [0]
        guard martlet_crypt(phrase, encoded, &hash, hash.count) else { return false }
        // Compares only the part after method, cost and salt, because the salt's spelling may differ in unused bits.
        let (computed, expected) = (hash.prefix { $0 != 0 }.suffix(31), encoded.utf8.suffix(31))
        // In Swift, `|` and `^` have the same precedence.
        return computed.count == expected.count
            && zip(computed, expected).reduce(UInt8(0)) { $0 | (UInt8(bitPattern: $1.0) ^ $1.1) } == 0
    }
}

/// libargon2 failed for lack of memory.
struct PasswordHashError: Error {
    let status: Int32
}

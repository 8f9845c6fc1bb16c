import CArgon2
import Crypto
import Foundation
import MartletCore

/// Passwords as Argon2id (RFC 9106) in the PHC string format: m = 19 MiB, t = 2, p = 1, 16 bytes of salt, 32 of hash.
enum PasswordHash {
    private static let memoryInKiB: UInt32 = 19 * 1024
    private static let passes: UInt32 = 2
    private static let lanes: UInt32 = 1
    private static let hashLength = 32

    /// Takes about 20 ms of one core.
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

    /// What no password makes but by chance, without the work of making it: checking against it costs as much as against any other.
    static func makeDecoy() -> String {
        func random(_ length: Int) -> String {
            let bytes = SymmetricKey(size: .init(bitCount: length * 8)).withUnsafeBytes { Data($0) }
            return bytes.base64EncodedString().replacing("=", with: "")
        }
        return "$argon2id$v=19$m=\(memoryInKiB),t=\(passes),p=\(lanes)$\(random(16))$\(random(hashLength))"
    }

    /// Whether `password` is the one that `encoded` was made of. Takes as long as making it, whatever the answer.
    static func verify(_ password: Secret, against encoded: String) -> Bool {
        password.withValue { argon2id_verify(encoded, $0, $0.utf8.count) } == ARGON2_OK.rawValue
    }
}

/// libargon2 refused, for want of memory.
struct PasswordHashError: Error {
    let status: Int32
}

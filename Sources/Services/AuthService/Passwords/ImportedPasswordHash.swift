import Foundation
import MartletAPI
import MartletCore

/// A password hash made by another server: bcrypt (`$2a$`, `$2b$`, `$2y$`; cost 4 to 14), or Argon2id or Argon2i
/// (version 19) in the PHC string format. The amount of work is limited, so that checking a hash never takes minutes or
/// gigabytes. Hashes that are `PasswordHash.isOutdated` are replaced at the first log-in.
struct ImportedPasswordHash: Sendable {
    static let bcryptCosts = 4...14
    static let memoryInKiB: ClosedRange<UInt32> = 8...131_072
    static let passes: ClosedRange<UInt32> = 1...16
    static let lanes: ClosedRange<UInt32> = 1...8
    /// The maximum of kibibytes times passes, some half a second on one core.
    static let maximumWork: UInt64 = 262_144

    let text: String

    /// - Throws: `invalid-body`; the hash never appears in it.
    init(_ text: String, field: String = "passwordHash") throws {
        guard Self.isBcrypt(text) || Self.isArgon2(text) else {
            throw ServiceError(
                .invalidBody,
                "Expected bcrypt with a cost of 4 to 14, or Argon2id or Argon2i within the limits of docs/how-to/import-users.md.",
                field: field)
        }
        self.text = text
    }

    private static func isBcrypt(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        guard bytes.count == 60, ["$2a$", "$2b$", "$2y$"].contains(where: text.hasPrefix),
            bytes[6] == UInt8(ascii: "$"),
            let cost = Int(String(decoding: bytes[4..<6], as: UTF8.self)), bytes[4] != UInt8(ascii: "+")
        else { return false }
        return bcryptCosts.contains(cost) && bytes[7...].allSatisfy(isDigit64)
    }

    /// Whether the byte is a digit of bcrypt's own base64.
    private static func isDigit64(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: ".")...UInt8(ascii: "9"):
            true
        default: false
        }
    }

    private static func isArgon2(_ text: String) -> Bool {
        guard let parameters = Argon2Parameters(text) else { return false }
        return ["argon2id", "argon2i"].contains(parameters.variant) && memoryInKiB.contains(parameters.memoryInKiB)
            && passes.contains(parameters.passes) && lanes.contains(parameters.lanes)
            && parameters.memoryInKiB >= 8 * parameters.lanes
            && UInt64(parameters.memoryInKiB) * UInt64(parameters.passes) <= maximumWork
            && (8...64).contains(parameters.saltLength) && (16...64).contains(parameters.hashLength)
    }
}

/// The parameters of an Argon2 hash, version 19, in the PHC string format (https://github.com/P-H-C/phc-string-format).
struct Argon2Parameters: Sendable {
    var variant: Substring
    var memoryInKiB: UInt32
    var passes: UInt32
    var lanes: UInt32
    var saltLength: Int
    var hashLength: Int

    /// Nil if the text does not have the form `$argon2…$v=19$m=…,t=…,p=…$salt$hash`.
    init?(_ text: String) {
        guard text.utf8.count <= 512 else { return nil }
        let parts = text.split(separator: "$", omittingEmptySubsequences: false)
        guard parts.count == 6, parts[0].isEmpty, parts[1].hasPrefix("argon2"), parts[2] == "v=19",
            let salt = Self.length(ofBase64: parts[4]),
            let hash = Self.length(ofBase64: parts[5])
        else { return nil }
        let numbers = parts[3].split(separator: ",", omittingEmptySubsequences: false)
        guard numbers.count == 3, let memory = Self.number("m=", numbers[0]),
            let passes = Self.number("t=", numbers[1]),
            let lanes = Self.number("p=", numbers[2])
        else { return nil }
        (variant, memoryInKiB, self.passes, self.lanes, saltLength, hashLength) = (
            parts[1], memory, passes, lanes, salt, hash
        )
    }

    /// A decimal number without leading zeros.
    private static func number(_ name: String, _ text: Substring) -> UInt32? {
        guard text.hasPrefix(name), let number = UInt32(text.dropFirst(name.count)),
            String(number) == text.dropFirst(name.count)
        else { return nil }
        return number
    }

    /// The number of bytes encoded in unpadded base64.
    private static func length(ofBase64 text: Substring) -> Int? {
        guard !text.utf8.contains(UInt8(ascii: "=")) else { return nil }
        let padding = String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
        return Data(base64Encoded: text + padding)?.count
    }
}

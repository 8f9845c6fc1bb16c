import Crypto
import Foundation

/// One-time passwords of authenticator apps (RFC 4226, RFC 6238): HMAC-SHA-1, six digits, steps of 30 seconds.
enum OneTimePassword {
    static let secretLength = 20
    static let stepInSeconds: Int64 = 30
    /// The tolerated clock difference in steps, in either direction.
    static let tolerance: Int64 = 1

    /// - Parameter counter: The event counter or time step.
    static func code<Hash: HashFunction>(
        _: Hash.Type = Insecure.SHA1.self, secret: some ContiguousBytes, counter: Int64, digits: Int = 6
    ) -> String {
        let message = withUnsafeBytes(of: counter.bigEndian) { Array($0) }
        let mac = secret.withUnsafeBytes {
            Array(HMAC<Hash>.authenticationCode(for: message, using: SymmetricKey(data: $0)))
        }
        let offset = Int(mac[mac.count - 1] & 15)
        let number = mac[offset..<offset + 4].reduce(UInt64(0)) { $0 << 8 | UInt64($1) } & 0x7fff_ffff
        let modulus = (0..<digits).reduce(UInt64(1)) { power, _ in power * 10 }
        let text = String(number % modulus)
        return String(repeating: "0", count: digits - text.count) + text
    }

    /// The time step of `code` if it is close enough to `time`; otherwise nil.
    static func step(of code: String, secret: some ContiguousBytes, at time: Date) -> Int64? {
        let isCode =
            code.utf8.count == 6 && code.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        guard isCode else { return nil }
        let now = Int64(time.timeIntervalSince1970) / stepInSeconds
        // All steps are checked, newest first.
        return (-tolerance...tolerance).reversed().map { now + $0 }.filter {
            isEqual(Self.code(secret: secret, counter: $0), code)
        }.first
    }

    private static func isEqual(_ a: String, _ b: String) -> Bool {
        let (a, b) = (Array(a.utf8), Array(b.utf8))
        // In Swift, `|` and `^` have the same precedence.
        return a.count == b.count && zip(a, b).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }
}

/// Base32 without padding (RFC 4648 §6), the form in which authenticator apps accept secrets.
enum Base32 {
    static func encode(_ bytes: some Sequence<UInt8>) -> String {
        let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")
        var (text, rest, count) = ("", 0, 0)
        for byte in bytes {
            (rest, count) = (rest << 8 | Int(byte), count + 8)
            while count >= 5 {
                count -= 5
                text.append(digits[rest >> count & 31])
            }
            rest &= 1 << count - 1
        }
        if count > 0 { text.append(digits[rest << (5 - count) & 31]) }
        return text
    }
}

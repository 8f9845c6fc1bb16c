import Foundation

@testable import MartletKit

/// What an authenticator app does (RFC 6238 with SHA-1).
enum TOTP {
    static func code(_ secret: String, at date: Date = Date()) -> String {
        let counter = UInt64(date.timeIntervalSince1970 / 30)
        let message = (0..<8).map { UInt8(truncatingIfNeeded: counter >> (56 - 8 * UInt64($0))) }
        let hash = hmac(key: base32(secret), message)
        let offset = Int(hash[19] & 15)
        let number = hash[offset..<offset + 4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) } & 0x7fff_ffff
        let digits = String(number % 1_000_000)
        return String(repeating: "0", count: 6 - digits.count) + digits
    }

    private static func base32(_ text: String) -> [UInt8] {
        var bits = 0, value: UInt32 = 0, bytes: [UInt8] = []
        for character in text.utf8 {
            let digit = character >= 65 ? character - 65 : character - 24
            value = (value << 5 | UInt32(digit)) & 0xffff
            bits += 5
            if bits >= 8 {
                bits -= 8
                bytes.append(UInt8(truncatingIfNeeded: value >> UInt32(bits)))
            }
        }
        return bytes
    }

    private static func hmac(key: [UInt8], _ message: [UInt8]) -> [UInt8] {
        let padded = key + [UInt8](repeating: 0, count: 64 - key.count)
        return sha1(padded.map { $0 ^ 0x5c } + sha1(padded.map { $0 ^ 0x36 } + message))
    }

    private static func sha1(_ message: [UInt8]) -> [UInt8] {
        var hash: [UInt32] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0]
        var padded = message + [0x80]
        padded += [UInt8](repeating: 0, count: (120 - padded.count % 64) % 64)
        padded += (0..<8).map { UInt8(truncatingIfNeeded: (UInt64(message.count) * 8) >> (56 - 8 * UInt64($0))) }
        func rotated(_ word: UInt32, _ count: UInt32) -> UInt32 { word << count | word >> (32 - count) }
        for start in stride(from: 0, to: padded.count, by: 64) {
            var words = stride(from: start, to: start + 64, by: 4).map { index in
                padded[index..<index + 4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            }
            for index in 16..<80 {
                words.append(rotated(words[index - 3] ^ words[index - 8] ^ words[index - 14] ^ words[index - 16], 1))
            }
            var v = hash
            for index in 0..<80 {
                let f: UInt32, k: UInt32
                switch index / 20 {
                case 0: (f, k) = ((v[1] & v[2]) | (~v[1] & v[3]), 0x5a82_7999)
                case 1: (f, k) = (v[1] ^ v[2] ^ v[3], 0x6ed9_eba1)
                case 2: (f, k) = ((v[1] & v[2]) | (v[1] & v[3]) | (v[2] & v[3]), 0x8f1b_bcdc)
                default: (f, k) = (v[1] ^ v[2] ^ v[3], 0xca62_c1d6)
                }
                let next = rotated(v[0], 5) &+ f &+ v[4] &+ k &+ words[index]
                v = [next, v[0], rotated(v[1], 30), v[2], v[3]]
            }
            for index in 0..<5 { hash[index] = hash[index] &+ v[index] }
        }
        return hash.flatMap { word in (0..<4).map { UInt8(truncatingIfNeeded: word >> (24 - 8 * UInt32($0))) } }
    }
}

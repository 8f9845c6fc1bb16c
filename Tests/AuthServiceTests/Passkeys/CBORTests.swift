import Foundation
import Testing

@testable import AuthService

@Suite struct CBORTests {
    private static func bytes(_ hex: String) -> [UInt8] {
        let digits = hex.compactMap(\.hexDigitValue)
        return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }

    /// RFC 8949, appendix A, as far as authenticators use it.
    @Test(
        arguments: [
            ("00", .integer(0)), ("01", .integer(1)), ("0a", .integer(10)), ("17", .integer(23)),
            ("1818", .integer(24)), ("1819", .integer(25)),
            ("1864", .integer(100)), ("1903e8", .integer(1_000)), ("1a000f4240", .integer(1_000_000)),
            ("1b000000e8d4a51000", .integer(1_000_000_000_000)),
            ("20", .integer(-1)), ("29", .integer(-10)), ("3863", .integer(-100)), ("3903e7", .integer(-1_000)),
            ("f4", .bool(false)), ("f5", .bool(true)), ("f6", .null), ("40", .bytes(Data())),
            ("4401020304", .bytes(Data([1, 2, 3, 4]))),
            ("60", .text("")), ("6161", .text("a")), ("6449455446", .text("IETF")), ("62225c", .text("\"\\")),
            ("62c3bc", .text("ü")), ("63e6b0b4", .text("水")),
            ("64f0908591", .text("\u{10151}")), ("80", .array([])),
            ("83010203", .array([.integer(1), .integer(2), .integer(3)])),
            (
                "8301820203820405",
                .array([.integer(1), .array([.integer(2), .integer(3)]), .array([.integer(4), .integer(5)])])
            ),
            ("a0", .map([:])), ("a201020304", .map([.integer(1): .integer(2), .integer(3): .integer(4)])),
            ("a26161016162820203", .map([.text("a"): .integer(1), .text("b"): .array([.integer(2), .integer(3)])])),
            ("826161a161626163", .array([.text("a"), .map([.text("b"): .text("c")])])),
            ("3b7fffffffffffffff", .integer(.min)), ("1b7fffffffffffffff", .integer(.max)),
        ] as [(String, CBOR)])
    func `The examples of RFC 8949 are read`(hex: String, value: CBOR) throws {
        #expect(try CBOR(Self.bytes(hex)) == value)
    }

    @Test(
        arguments: [
            ("", .endsEarly), ("18", .endsEarly), ("1903", .endsEarly), ("4401", .endsEarly),
            ("6161ff", .trailingBytes), ("0000", .trailingBytes), ("8301", .endsEarly),
            ("a101", .endsEarly), ("5b7fffffffffffffff", .endsEarly), ("9b7fffffffffffffff", .endsEarly),
            ("bb7fffffffffffffff", .endsEarly),
            ("1800", .notShortest), ("1817", .notShortest), ("190000", .notShortest), ("1900ff", .notShortest),
            ("1a0000ffff", .notShortest),
            ("1b00000000ffffffff", .notShortest), ("580101", .notShortest), ("780161", .notShortest),
            ("980100", .notShortest), ("b8010000", .notShortest), ("3800", .notShortest),
            ("1bffffffffffffffff", .tooLarge), ("3bffffffffffffffff", .tooLarge), ("5bffffffffffffffff", .tooLarge),
            ("9bffffffffffffffff", .tooLarge),
            // Indefinite lengths, tags, floating-point numbers, undefined, other simple values, reserved values.
            ("5f4101ff", .notSupported), ("7f6161ff", .notSupported), ("9fff", .notSupported), ("bfff", .notSupported),
            ("ff", .notSupported), ("c000", .notSupported), ("d81800", .notSupported),
            ("f90000", .notSupported), ("fa00000000", .notSupported), ("fb0000000000000000", .notSupported),
            ("f7", .notSupported), ("f0", .notSupported), ("f820", .notSupported),
            ("1c", .notSupported), ("1f", .notSupported), ("5e", .notSupported),
            ("62c328", .notUTF8), ("61ff", .notUTF8), ("63eda080", .notUTF8), ("62c080", .notUTF8),
            ("a14000", .notAKey), ("a18000", .notAKey), ("a1f500", .notAKey), ("a201000100", .duplicateKey),
            ("a2616100616100", .duplicateKey),
            ("81818181818180", .tooDeep), ("a100a100a100a100a100a100a0", .tooDeep),
        ] as [(String, CBORError.Reason)])
    func `Non-canonical, truncated and oversized values are refused`(hex: String, reason: CBORError.Reason) {
        #expect { try CBOR(Self.bytes(hex)) } throws: { ($0 as? CBORError)?.reason == reason }
    }

    /// Every accepted value is encoded to the same bytes again, except for the order of keys: each value has one form.
    @Test func `Random and damaged bytes are refused or read in exactly one way`() throws {
        var generator = SystemRandomNumberGenerator()
        let seed = Self.bytes(
            "a363666d74667061636b65646761747453746d74a263616c6726637369674401020304686175746844617461458001020304")
        #expect(throws: Never.self) { try CBOR(seed) }
        var read = 0
        for round in 0..<20_000 {
            var bytes: [UInt8]
            if round % 2 == 0 {
                bytes = (0..<Int.random(in: 0...40, using: &generator)).map { _ in
                    .random(in: 0...255, using: &generator)
                }
            } else {
                bytes = seed
                for _ in 0...Int.random(in: 0...3, using: &generator) {
                    let place = Int.random(in: 0..<bytes.count, using: &generator)
                    switch Int.random(in: 0..<3, using: &generator) {
                    case 0: bytes[place] = .random(in: 0...255, using: &generator)
                    case 1: bytes.remove(at: place)
                    default: bytes.insert(.random(in: 0...255, using: &generator), at: place)
                    }
                }
            }
            guard let value = try? CBOR(bytes) else { continue }
            read += 1
            #expect(value.size == bytes.count, "\(bytes)")
            #expect(throws: CBORError.self) { try CBOR(bytes + [0]) }
            #expect(throws: CBORError.self) { try CBOR(bytes.dropLast()) }
        }
        #expect(read > 100)
    }

    @Test func `Random and damaged authenticator data is refused or read, and never crashes`() throws {
        var generator = SystemRandomNumberGenerator()
        var device = SoftPasskey()
        device.flags = 0xc5
        let key = try device.key.cose
        var whole = Data(repeating: 1, count: 32) + Data([0xc5, 0, 0, 0, 9])
        whole += Data(repeating: 7, count: 16) + Data([0, 32]) + device.id
        whole += key + Data([0xa0])
        #expect(try AuthenticatorData(whole).newCredential?.publicKey == key)
        #expect(try AuthenticatorData(whole).signCount == 9)
        for _ in 0..<5_000 {
            var bytes = Array(whole)
            for _ in 0...Int.random(in: 0...4, using: &generator) {
                bytes[Int.random(in: 32..<bytes.count, using: &generator)] = UInt8.random(
                    in: 0...255, using: &generator)
            }
            if Bool.random() { bytes.removeLast(Int.random(in: 1...bytes.count, using: &generator)) }
            _ = (try? AuthenticatorData(Data(bytes)).newCredential).map { credential in
                _ = credential.flatMap { try? PasskeyPublicKey(CBOR($0.publicKey)) }
            }
        }
    }
}

extension CBOR {
    /// The number of bytes in the shortest form.
    fileprivate var size: Int {
        func head(_ argument: Int) -> Int {
            argument < 24 ? 1 : argument < 1 << 8 ? 2 : argument < 1 << 16 ? 3 : argument < 1 << 32 ? 5 : 9
        }
        return switch self {
        case .integer(let value): head(value < 0 ? -1 - value : value)
        case .bytes(let bytes): head(bytes.count) + bytes.count
        case .text(let text): head(text.utf8.count) + text.utf8.count
        case .array(let elements): elements.reduce(head(elements.count)) { $0 + $1.size }
        case .map(let members): members.reduce(head(members.count)) { $0 + $1.key.size + $1.value.size }
        case .bool, .null: 1
        }
    }
}

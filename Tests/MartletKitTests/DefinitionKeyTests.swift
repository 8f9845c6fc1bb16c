import Foundation
import Testing

@testable import MartletKit
@testable import MartletScreens

@Suite("Definition keys")
struct DefinitionKeyTests {
    /// RFC 8032 §7.1.
    private static let vectors: [(key: String, message: String, signature: String)] = [
        (
            "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"
        ),
        (
            "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
        ),
        (
            "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
            "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"
        ),
    ]

    @Test(arguments: vectors.indices)
    func `a signature is valid for its key and message only`(index: Int) throws {
        let vector = Self.vectors[index]
        let (key, message) = (try Self.bytes(vector.key), try Self.bytes(vector.message))
        let signature = try Self.bytes(vector.signature)
        let trusted = DefinitionKey(x: key.base64URL)
        #expect(trusted.isValid(signature: signature, of: message))
        #expect(!trusted.isValid(signature: signature, of: message + [0]))
        for position in [0, 31, 32, 63] {
            var changed = signature
            changed[position] ^= 1
            #expect(!trusted.isValid(signature: changed, of: message), "byte \(position)")
        }
        let other = try Self.bytes(Self.vectors[(index + 1) % 3].key)
        #expect(!DefinitionKey(x: other.base64URL).isValid(signature: signature, of: message))
    }

    @Test func `a second form of a valid signature is refused`() throws {
        // S + L in place of S.
        let vector = Self.vectors[1]
        var signature = try Self.bytes(vector.signature)
        let order = try Self.bytes("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010")
        var carry = 0
        for index in 0..<32 {
            let sum = Int(signature[32 + index]) + Int(order[index]) + carry
            signature[32 + index] = UInt8(sum & 255)
            carry = sum >> 8
        }
        let key = DefinitionKey(x: try Self.bytes(vector.key).base64URL)
        #expect(!key.isValid(signature: signature, of: try Self.bytes(vector.message)))
    }

    @Test(arguments: ["", "x", "!", String(repeating: "A", count: 42), String(repeating: "_", count: 43)])
    func `with a text that is not a key, no signature is valid`(text: String) {
        let key = DefinitionKey(x: text)
        for count in [0, 1, 63, 64, 65] {
            #expect(!key.isValid(signature: Data(count: count), of: Data([1])))
        }
    }

    @Test func `a key's id is its thumbprint`() {
        // RFC 8037 appendix A.3.
        let key: DefinitionKey = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"
        #expect(key.id == "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k")
    }

    private static func bytes(_ hexadecimal: String) throws -> Data {
        var (bytes, rest) = (Data(), hexadecimal[...])
        while !rest.isEmpty {
            bytes.append(try #require(UInt8(rest.prefix(2), radix: 16)))
            rest = rest.dropFirst(2)
        }
        return bytes
    }
}

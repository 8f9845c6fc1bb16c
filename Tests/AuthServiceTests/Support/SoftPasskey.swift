import Crypto
import CryptoExtras
import Foundation
import MartletCore
import MartletTesting
import Testing

/// An authenticator together with the browser. Tests can falsify each part of their answers.
struct SoftPasskey: Sendable {
    enum Key: Sendable {
        case es256(P256.Signing.PrivateKey)
        case edDSA(Curve25519.Signing.PrivateKey)
        case rs256(_RSA.Signing.PrivateKey)

        func sign(_ message: Data) throws -> Data {
            switch self {
            case .es256(let key): try key.signature(for: message).derRepresentation
            case .edDSA(let key): try key.signature(for: message)
            case .rs256(let key): try key.signature(for: message, padding: .insecurePKCS1v1_5).rawRepresentation
            }
        }

        var cose: Data {
            get throws {
                switch self {
                case .es256(let key):
                    let point = key.publicKey.rawRepresentation
                    return encodedMap([
                        (1, .int(2)), (3, .int(-7)), (-1, .int(1)), (-2, .bytes(point.prefix(32))),
                        (-3, .bytes(point.suffix(32))),
                    ])
                case .edDSA(let key):
                    return encodedMap([
                        (1, .int(1)), (3, .int(-8)), (-1, .int(6)), (-2, .bytes(key.publicKey.rawRepresentation)),
                    ])
                case .rs256(let key):
                    let primitives = try key.publicKey.getKeyPrimitives()
                    return encodedMap([
                        (1, .int(3)), (3, .int(-257)), (-1, .bytes(primitives.modulus)),
                        (-2, .bytes(primitives.publicExponent)),
                    ])
                }
            }
        }
    }

    var key = Key.es256(P256.Signing.PrivateKey())
    var id = Data((0..<32).map { _ in UInt8.random(in: 0...255) })
    var origin = "https://shop.example.org"
    var rpID = "example.org"
    /// User present (1) and verified (4).
    var flags: UInt8 = 5
    var count: UInt32 = 0
    var userHandle = Data()
    /// Overrides the ceremony's type.
    var type: String?
    var challenge: String?
    var moreClientData = ""
    /// Bytes after the authenticator data.
    var trailing = Data()
    var format = "none"
    /// CBOR of the attestation statement; nil for an empty one.
    var statement: Data?
    var publicKey: Data?
    var attestedID: Data?
    var transports = #"["internal","hybrid","made-up"]"#

    private func clientData(_ type: String, _ options: Answer) -> Data {
        let challenge = challenge ?? options.string("challenge") ?? ""
        return Data(
            #"{"type":"\#(self.type ?? type)","challenge":"\#(challenge)","origin":"\#(origin)"\#(moreClientData)}"#
                .utf8)
    }

    private func authenticatorData(_ more: Data = Data(), flags: UInt8) -> Data {
        Data(SHA256.hash(data: Data(rpID.utf8))) + [flags] + withUnsafeBytes(of: count.bigEndian) { Data($0) } + more
            + trailing
    }

    /// The JSON of a new credential; increments the count.
    mutating func create(_ options: Answer) throws -> String {
        userHandle = try #require(Base64URL.decode(options.string("user.id") ?? ""))
        let id = attestedID ?? self.id
        let attested =
            Data(repeating: 7, count: 16) + [UInt8(id.count >> 8), UInt8(id.count & 255)] + id
            + (try publicKey ?? key.cose)
        let authData = authenticatorData(attested, flags: flags | 0x40)
        let clientData = clientData("webauthn.create", options)
        count &+= 1
        var statement = statement ?? Data([0xa0])
        if format == "packed self" {
            statement = try Self.packed(try key.sign(authData + SHA256.hash(data: clientData)), by: key)
        }
        let name = format == "packed self" ? "packed" : format
        var object = Data([0xa3]) + CBORWriter.text("fmt") + CBORWriter.text(name)
        object += CBORWriter.text("attStmt") + statement
        object += CBORWriter.text("authData") + CBORWriter.bytes(authData)
        return json(clientData, #""attestationObject":"\#(Base64URL.encode(object))","transports":\#(transports)"#)
    }

    private static func packed(_ signature: Data, by key: Key) throws -> Data {
        let algorithm =
            switch key {
            case .es256: -7
            case .edDSA: -8
            case .rs256: -257
            }
        return Data([0xa2]) + CBORWriter.text("alg") + CBORWriter.int(algorithm) + CBORWriter.text("sig")
            + CBORWriter.bytes(signature)
    }

    /// The JSON of an assertion; increments the count.
    mutating func get(_ options: Answer, signature change: (Data) -> Data = { $0 }) throws -> String {
        let authData = authenticatorData(flags: flags)
        let clientData = clientData("webauthn.get", options)
        let signature = change(try key.sign(authData + SHA256.hash(data: clientData)))
        count &+= 1
        return json(
            clientData,
            #""authenticatorData":"\#(Base64URL.encode(authData))","signature":"\#(Base64URL.encode(signature))","userHandle":"\#(Base64URL.encode(userHandle))""#
        )
    }

    private func json(_ clientData: Data, _ more: String) -> String {
        let id = Base64URL.encode(id)
        return
            #"{"id":"\#(id)","rawId":"\#(id)","type":"public-key","authenticatorAttachment":"platform","clientExtensionResults":{},"#
            + #""response":{"clientDataJSON":"\#(Base64URL.encode(clientData))",\#(more)}}"#
    }
}

/// Encodes CBOR with the shortest heads.
enum CBORWriter {
    static func head(_ major: UInt8, _ value: Int) -> Data {
        switch value {
        case 0..<24: Data([major << 5 | UInt8(value)])
        case 24..<256: Data([major << 5 | 24, UInt8(value)])
        default: Data([major << 5 | 25, UInt8(value >> 8), UInt8(value & 255)])
        }
    }

    static func int(_ value: Int) -> Data { value < 0 ? head(1, -1 - value) : head(0, value) }
    static func bytes(_ value: some Collection<UInt8>) -> Data { head(2, value.count) + value }
    static func text(_ value: String) -> Data { head(3, value.utf8.count) + Data(value.utf8) }
}

private enum Member {
    case int(Int)
    case bytes(Data)
}

private func encodedMap(_ members: [(Int, Member)]) -> Data {
    members.reduce(CBORWriter.head(5, members.count)) { map, member in
        switch member.1 {
        case .int(let value): map + CBORWriter.int(member.0) + CBORWriter.int(value)
        case .bytes(let value): map + CBORWriter.int(member.0) + CBORWriter.bytes(value)
        }
    }
}

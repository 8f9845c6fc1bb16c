import Crypto
import CryptoExtras
import Foundation
import MartletCore

/// How ID tokens are signed (RFC 7518 §3.1).
enum IDTokenAlgorithm: String, Sendable, CaseIterable {
    /// What every client of OpenID Connect understands (Core 1.0 §15.1).
    case rs256 = "RS256"
    case es256 = "ES256"
}

/// Signs ID tokens by RS256 (RFC 7518 §3.3): RSASSA-PKCS1-v1_5 with SHA-256.
struct RSATokenSigner: Sendable {
    static let keySizeInBits = 2_048

    private let key: _RSA.Signing.PrivateKey
    private let keyID: String

    /// - Parameter privateKey: in DER.
    init(keyID: String, privateKey: Data) throws {
        key = try _RSA.Signing.PrivateKey(derRepresentation: privateKey)
        self.keyID = keyID
    }

    /// A token of the type `JWT`.
    func sign(claims: some Encodable) throws -> String {
        try CompactToken.sign(header: RSATokenVerifier.header(keyID: keyID), claims: claims) {
            try key.signature(for: $0, padding: .insecurePKCS1v1_5).rawRepresentation
        }
    }
}

/// The public half of an RS256 key. Only the provider has it, for its own ID tokens: no gateway accepts a token signed
/// with it.
struct RSATokenVerifier: Sendable {
    /// Longer tokens are not looked at. Ours are shorter, unless a client's nonce is long and mostly characters that
    /// JSON escapes.
    static let maximumSizeInBytes = 4_096

    let keyID: String
    /// As base64url, big-endian (RFC 7518 §6.3.1).
    let modulus: String
    let exponent: String
    private let key: _RSA.Signing.PublicKey
    /// The encoded header with the dot behind it: compared whole, so that nothing in it is a choice of the client's.
    private let prefix: String

    /// - Parameter publicKey: SubjectPublicKeyInfo in DER.
    init(keyID: String, publicKey: Data) throws {
        self.keyID = keyID
        key = try _RSA.Signing.PublicKey(derRepresentation: publicKey)
        let numbers = try key.getKeyPrimitives()
        modulus = Base64URL.encode(numbers.modulus)
        exponent = Base64URL.encode(numbers.publicExponent)
        prefix = Base64URL.encode(Self.header(keyID: keyID).utf8) + "."
    }

    static func header(keyID: String) -> String { #"{"alg":"RS256","kid":"\#(keyID)","typ":"JWT"}"# }

    /// The claims of a token that this key has signed. Whether it has expired is for the caller to check.
    func claims<Claims: Decodable>(from text: String, as _: Claims.Type) -> Claims? {
        guard text.utf8.count <= Self.maximumSizeInBytes, text.hasPrefix(prefix) else { return nil }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let signature = Base64URL.decode(parts[2]), let payload = Base64URL.decode(parts[1]),
            key.isValidSignature(
                _RSA.Signing.RSASignature(rawRepresentation: signature),
                for: Data(text.utf8.dropLast(parts[2].utf8.count + 1)),
                padding: .insecurePKCS1v1_5)
        else { return nil }
        return try? JSONDecoder().decode(Claims.self, from: payload)
    }
}

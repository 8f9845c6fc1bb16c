import Crypto
import CryptoExtras
import Foundation
import MartletCore

/// The signature algorithms of ID tokens (RFC 7518 §3.1).
enum IDTokenAlgorithm: String, Sendable, CaseIterable {
    /// Supported by every OpenID Connect client (Core 1.0 §15.1).
    case rs256 = "RS256"
    case es256 = "ES256"
}

/// Signs ID tokens with RS256 (RFC 7518 §3.3): RSASSA-PKCS1-v1_5 with SHA-256.
struct RSATokenSigner: Sendable {
    static let keySizeInBits = 2_048

    private let key: _RSA.Signing.PrivateKey
    private let keyID: String

    /// - Parameter privateKey: in DER.
    init(keyID: String, privateKey: Data) throws {
        key = try _RSA.Signing.PrivateKey(derRepresentation: privateKey)
        self.keyID = keyID
    }

    /// A signed token with the type `JWT`.
    func sign(claims: some Encodable) throws -> String {
        try CompactToken.sign(header: RSATokenVerifier.header(keyID: keyID), claims: claims) {
            try key.signature(for: $0, padding: .insecurePKCS1v1_5).rawRepresentation
        }
    }
}

/// The public half of an RS256 key. Only the provider uses it, for its own ID tokens; no gateway accepts tokens signed
/// with it.
struct RSATokenVerifier: Sendable {
    /// Longer tokens are ignored. Issued tokens are shorter, unless a client's nonce is long and consists mostly of
    /// characters that JSON escapes.
    static let maximumSizeInBytes = 4_096

    let keyID: String
    /// In base64url, big-endian (RFC 7518 §6.3.1).
    let modulus: String
    let exponent: String
    private let key: _RSA.Signing.PublicKey
    /// The encoded header with the following dot. It is compared as a whole, so that a client cannot choose anything in
    /// it.
    private let prefix: String

    /// - Parameter publicKey: A SubjectPublicKeyInfo in DER.
    init(keyID: String, publicKey: Data) throws {
        self.keyID = keyID
        key = try _RSA.Signing.PublicKey(derRepresentation: publicKey)
        let numbers = try key.getKeyPrimitives()
        modulus = Base64URL.encode(numbers.modulus)
        exponent = Base64URL.encode(numbers.publicExponent)
        prefix = Base64URL.encode(Self.header(keyID: keyID).utf8) + "."
    }

    static func header(keyID: String) -> String { #"{"alg":"RS256","kid":"\#(keyID)","typ":"JWT"}"# }

    /// The claims of a token signed by this key. The caller must check whether it has expired.
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

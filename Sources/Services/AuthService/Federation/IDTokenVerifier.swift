import Foundation
import JWTKit
import MartletCore

/// A verified id token.
struct VerifiedIDToken: Sendable {
    var subject: String
    /// The client id that the token was issued for.
    var clientID: String
    var email: String?
    var isEmailVerified: Bool
    var name: String?
    /// When the token expires.
    var expires: Date
}

/// The reason for refusing an id token, written for the app's developer.
struct IDTokenRefusal: Error, Equatable {
    let sentence: String

    init(_ sentence: String) { self.sentence = sentence }
}

/// The nonce that an id token must contain (OpenID Connect Core 1.0 §15.5.2).
enum ExpectedNonce: Sendable {
    /// A nonce that Martlet sent itself.
    case own(String)
    /// A nonce that an app chose. The token contains only its SHA-256 in hexadecimal, so the token alone does not
    /// reveal the nonce.
    case hashed(String)

    func matches(_ claim: String?) -> Bool {
        switch self {
        case .own(let nonce): claim == nonce
        case .hashed(let nonce): claim?.lowercased() == Credential.hexDigest(of: nonce)
        }
    }
}

/// Checks id tokens (OpenID Connect Core 1.0 §3.1.3.7).
///
/// The algorithm must be one of `keyTypes` and fit the key. The key must be one that the issuer publishes, found by its
/// id. Keys in the token's header are ignored.
struct IDTokenVerifier: Sendable {
    static let maximumLengthInBytes = 16 << 10
    /// The tolerated clock difference.
    private static let leeway: TimeInterval = 60
    /// The maximum age of a token, whatever its expiry, and so the longest time that its use must be remembered.
    private static let maximumAge: TimeInterval = 86_400
    /// The algorithms with the type and curve of their keys (RFC 7518 §6, RFC 8037 §2).
    private static let keyTypes: [String: (type: String, curve: String?)] = [
        "RS256": ("RSA", nil), "ES256": ("EC", "P-256"), "EdDSA": ("OKP", "Ed25519"),
    ]

    let documents: DocumentCache
    let now: @Sendable () -> Date

    /// - Parameter nonce: The expected nonce; nil if the token was requested without one or the nonce is not known.
    /// - Throws: `IDTokenRefusal`; `ProviderFailure` if the issuer's keys cannot be fetched.
    func verify(_ text: String, of addresses: ProviderAddresses, for clientIDs: [String], nonce: ExpectedNonce?)
        async throws -> VerifiedIDToken
    {
        let claims = try await claims(of: text, try Header(of: text), addresses)
        guard Self.isIssuer(claims.issuer, addresses.issuer) else {
            throw IDTokenRefusal("The id token was issued by another issuer.")
        }
        guard let clientID = claims.audience.clientIDs.first(where: clientIDs.contains) else {
            throw IDTokenRefusal("The id token was not issued for any of the provider's client ids.")
        }
        if claims.audience.clientIDs.count > 1 || claims.authorizedParty != nil {
            guard let party = claims.authorizedParty, clientIDs.contains(party) else {
                throw IDTokenRefusal("The id token's azp is not one of the provider's client ids.")
            }
        }
        let time = now().timeIntervalSince1970
        guard claims.expires > time - Self.leeway, claims.issued > time - Self.maximumAge else {
            throw IDTokenRefusal("The id token has expired.")
        }
        guard claims.issued < time + Self.leeway, claims.notBefore ?? 0 < time + Self.leeway else {
            throw IDTokenRefusal("The id token is not valid yet.")
        }
        if let nonce, !nonce.matches(claims.nonce) { throw IDTokenRefusal("The id token has another nonce.") }
        // OpenID Connect Core 1.0 §2 requires ASCII.
        guard (1...255).contains(claims.subject.utf8.count),
            claims.subject.utf8.allSatisfy({ (0x20...0x7e).contains($0) })
        else {
            throw IDTokenRefusal("Expected 1 to 255 ASCII characters as the id token's sub.")
        }
        return VerifiedIDToken(
            subject: claims.subject, clientID: clientID, email: claims.email,
            isEmailVerified: claims.isEmailVerified?.value ?? false,
            name: claims.name,
            expires: Date(timeIntervalSince1970: min(claims.expires, claims.issued + Self.maximumAge) + Self.leeway))
    }

    /// Google's tokens name the issuer with or without `https://`.
    private static func isIssuer(_ claimed: String, _ issuer: String) -> Bool {
        claimed == issuer || (issuer == "https://accounts.google.com" && claimed == "accounts.google.com")
    }

    // MARK: Form

    /// Refuses malformed id tokens before the issuer's keys are fetched.
    /// - Throws: `IDTokenRefusal`.
    static func checkForm(of text: String) throws { _ = try Header(of: text) }

    /// The parts of a token's header that describe its signature (RFC 7515 §4.1).
    private struct Header {
        let algorithm: String
        let keyType: (type: String, curve: String?)
        let keyID: String?

        /// - Throws: `IDTokenRefusal` if the text is too long, does not have three parts, lacks required claims or is
        ///   not signed with one of the algorithms.
        init(of text: String) throws {
            guard text.utf8.count <= maximumLengthInBytes else {
                throw IDTokenRefusal("The id token is longer than 16 KiB.")
            }
            let parts = text.split(separator: ".", omittingEmptySubsequences: false).map { Base64URL.decode($0) }
            guard parts.count == 3, let bytes = parts[0], let claims = parts[1], parts[2] != nil,
                let header = try? JSONValue(parsing: bytes)
            else {
                throw IDTokenRefusal(
                    "Expected an id token: three parts in base64url, two of them JSON objects.")
            }
            guard let algorithm = header.string("alg"), let keyType = keyTypes[algorithm], header["crit"] == nil else {
                throw IDTokenRefusal("The id token is not signed with RS256, ES256 or EdDSA.")
            }
            keyID = header.string("kid")
            guard header["kid"] == nil || keyID != nil else {
                throw IDTokenRefusal("The id token's kid is not a string.")
            }
            guard (try? JSONDecoder().decode(Claims.self, from: claims)) != nil else {
                throw IDTokenRefusal("The id token's claims are not JSON, or iss, sub, aud, exp or iat is missing.")
            }
            (self.algorithm, self.keyType) = (algorithm, keyType)
        }
    }

    // MARK: Signature

    private func claims(of text: String, _ header: Header, _ addresses: ProviderAddresses) async throws -> Claims {
        let (algorithm, keyID, (type, curve)) = (header.algorithm, header.keyID, header.keyType)
        guard let address = addresses.keys else { throw ProviderFailure.missing("key set") }
        @Sendable func fitting(_ set: JSONValue) -> JSONValue? {
            let keys = set.list("keys").filter { key in
                key.string("kty") == type && (curve == nil || key.string("crv") == curve)
                    && key.string("use") ?? "sig" == "sig"
                    && key.string("alg") ?? algorithm == algorithm && (keyID == nil || key.string("kid") == keyID)
            }
            // Without a key id, only one key may fit.
            return keyID == nil && keys.count > 1 ? nil : keys.first
        }
        let set = try await documents.document(at: address) { fitting($0) != nil }
        // Without a key set, a valid token cannot be distinguished from an invalid one.
        guard case .array = set["keys"] else { throw ProviderFailure.malformedAnswer }
        guard let key = fitting(set) else {
            throw IDTokenRefusal("The id token is signed with a key that the issuer does not publish.")
        }
        do {
            var jwk = try JWK(json: key.text)
            jwk.algorithm = JWK.Algorithm(rawValue: algorithm)
            jwk.privateExponent = nil
            jwk.keyIdentifier = JWKIdentifier(string: keyID ?? "key")
            // A collection with only the chosen key.
            let keys = JWTKeyCollection()
            try await keys.add(jwk: jwk)
            return try await keys.verify(text, as: Claims.self)
        } catch {
            throw IDTokenRefusal("The id token's signature is wrong, or a claim is missing.")
        }
    }

    /// One string or a list of strings (RFC 7519 §4.1.3). JWTKit's own type traps on an empty list, which a stranger
    /// could send because the claims are decoded before the signature is checked.
    private struct Audience: Codable, Sendable {
        var clientIDs: [String]

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            clientIDs =
                if let one = try? container.decode(String.self) { [one] } else { try container.decode([String].self) }
        }

        func encode(to encoder: any Encoder) throws { try clientIDs.encode(to: encoder) }
    }

    private struct Claims: JWTPayload {
        var issuer: String
        var subject: String
        var audience: Audience
        var authorizedParty: String?
        /// Seconds since 1970.
        var expires: Double
        var issued: Double
        var notBefore: Double?
        var nonce: String?
        var email: String?
        /// Apple writes the value as a string.
        var isEmailVerified: BoolClaim?
        var name: String?

        private enum CodingKeys: String, CodingKey {
            case issuer = "iss"
            case subject = "sub"
            case audience = "aud"
            case authorizedParty = "azp"
            case expires = "exp"
            case issued = "iat"
            case notBefore = "nbf"
            case nonce, email, name
            case isEmailVerified = "email_verified"
        }

        /// The claims are checked by `IDTokenVerifier`.
        func verify(using algorithm: some JWTAlgorithm) {}
    }
}

/// Apple's form of a client secret: a token valid for five minutes, signed with the developer's key
/// (https://developer.apple.com/documentation/accountorganizationaldatasharing/creating-a-client-secret).
enum AppleClientSecret {
    private static let lifetime: TimeInterval = 300

    private struct Claims: JWTPayload {
        var iss: String
        var iat: Int
        var exp: Int
        var aud: String
        var sub: String

        func verify(using algorithm: some JWTAlgorithm) {}
    }

    /// Whether the text is a P-256 private key in PEM, like Apple's `.p8` files.
    static func isKey(_ text: Secret) -> Bool { text.withValue { (try? ES256PrivateKey(pem: $0)) != nil } }

    static func make(
        clientID: String, teamID: String, keyID: String, privateKey: Secret, audience: String, at time: Date
    ) async throws -> Secret {
        let keys = JWTKeyCollection()
        await keys.add(
            ecdsa: try privateKey.withValue { try ES256PrivateKey(pem: $0) }, kid: JWKIdentifier(string: keyID))
        let issued = Int(time.timeIntervalSince1970)
        let claims = Claims(iss: teamID, iat: issued, exp: issued + Int(lifetime), aud: audience, sub: clientID)
        return Secret(try await keys.sign(claims, kid: JWKIdentifier(string: keyID)))
    }
}

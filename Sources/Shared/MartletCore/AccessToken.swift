import Crypto
public import Foundation
public import MartletAPI

/// The claims of an end user's access token.
///
/// A JWT (RFC 7519) with the type of RFC 9068, but without that profile's `iss`, `client_id` and `jti`, signed with
/// ES256 (RFC 7518 §3.4). It is valid for `lifetime` and never renewed.
public struct AccessToken: Codable, Sendable, Equatable, TokenClaims {
    static let type = "at+jwt"

    public static let lifetime: Duration = .seconds(15 * 60)
    /// The largest accepted token; ours have less than 600 bytes.
    public static let maximumSizeInBytes = 2_048

    public var appID: String
    public var environment: AppEnvironment
    public var userID: String
    public var sessionID: String
    /// Seconds since 1970.
    public var issued: Int64
    /// Seconds since 1970.
    public var expires: Int64

    public init(appID: String, environment: AppEnvironment, userID: String, sessionID: String, issued: Date) {
        self.appID = appID
        self.environment = environment
        self.userID = userID
        self.sessionID = sessionID
        self.issued = Int64(issued.timeIntervalSince1970)
        self.expires = self.issued + Self.lifetime.components.seconds
    }

    private enum CodingKeys: String, CodingKey {
        case appID = "aud"
        case environment = "env"
        case userID = "sub"
        case sessionID = "sid"
        case issued = "iat"
        case expires = "exp"
    }
}

/// The claims of a token that we issue. The type prevents tokens of one kind from being accepted as another.
protocol TokenClaims: Codable, Sendable {
    /// `typ` of the header (RFC 7515 §4.1.9).
    static var type: String { get }
}

extension TokenClaims {
    /// The encoded header of every token of this type signed with the key. It is compared as a whole, so that the
    /// client cannot influence any part of it.
    fileprivate static func header(keyID: String) -> String { encodedHeader(keyID: keyID, type: type) }
}

private func header(keyID: String, type: String) -> String { #"{"alg":"ES256","kid":"\#(keyID)","typ":"\#(type)"}"# }

private func encodedHeader(keyID: String, type: String) -> String {
    Base64URL.encode(header(keyID: keyID, type: type).utf8)
}

/// Issues access tokens.
public struct AccessTokenSigner: Sendable {
    fileprivate static let plainType = "JWT"

    private let key: P256.Signing.PrivateKey
    private let keyID: String

    /// - Parameters:
    ///   - keyID: 1 to 64 characters from `A-Z a-z 0-9 _ -`.
    ///   - privateKey: A P-256 scalar of 32 bytes.
    public init(keyID: String, privateKey: Data) throws {
        key = try P256.Signing.PrivateKey(rawRepresentation: privateKey)
        self.keyID = keyID
    }

    public func sign(_ token: AccessToken) throws -> String { try sign(token, AccessToken.type) }

    public func sign(_ token: StaffToken) throws -> String { try sign(token, StaffToken.type) }

    /// Signs a token of the type `JWT`, which no verifier accepts as an access token.
    public func sign(claims: some Encodable) throws -> String { try sign(claims, Self.plainType) }

    private func sign(_ claims: some Encodable, _ type: String) throws -> String {
        try CompactToken.sign(header: header(keyID: keyID, type: type), claims: claims) {
            try key.signature(for: $0).rawRepresentation
        }
    }
}

/// Verifies tokens signed with one key.
public struct AccessTokenVerifier: Sendable {
    public let keyID: String
    private let key: P256.Signing.PublicKey
    /// The encoded headers, each followed by the dot.
    private let prefix: [UInt8]
    private let staffPrefix: [UInt8]

    /// Nil if the key is not a point on P-256.
    public init?(_ key: KeyRing.SigningKey) {
        guard let bytes = Base64URL.decode(key.publicKey),
            let point = try? P256.Signing.PublicKey(x963Representation: bytes)
        else { return nil }
        keyID = key.id
        self.key = point
        prefix = Array((AccessToken.header(keyID: key.id) + ".").utf8)
        staffPrefix = Array((StaffToken.header(keyID: key.id) + ".").utf8)
    }

    /// The claims of an end user's token that this key signed; nil otherwise. The caller must check the expiry.
    ///
    /// Takes about 100 µs, so cache the result.
    public func token(from text: UnsafeRawBufferPointer) -> AccessToken? { claims(of: text, after: prefix) }

    /// The claims of a staff member's token that this key signed; nil otherwise.
    public func staffToken(from text: UnsafeRawBufferPointer) -> StaffToken? {
        let token: StaffToken? = claims(of: text, after: staffPrefix)
        return token?.audience == StaffToken.audience ? token : nil
    }

    /// The claims of a token from `AccessTokenSigner.sign(claims:)` that this key signed; nil otherwise.
    public func claims<Claims: Decodable>(from text: UnsafeRawBufferPointer, as _: Claims.Type) -> Claims? {
        claims(of: text, after: Array((encodedHeader(keyID: keyID, type: AccessTokenSigner.plainType) + ".").utf8))
    }

    private func claims<Claims: Decodable>(of text: UnsafeRawBufferPointer, after prefix: [UInt8]) -> Claims? {
        guard text.count <= AccessToken.maximumSizeInBytes, text.starts(with: prefix),
            let end = text.lastIndex(of: UInt8(ascii: ".")), end > prefix.count,
            let signature = Base64URL.decode(String(decoding: text[(end + 1)...], as: UTF8.self)),
            let parsed = try? P256.Signing.ECDSASignature(rawRepresentation: signature),
            key.isValidSignature(parsed, for: UnsafeRawBufferPointer(rebasing: text[..<end])),
            let payload = Base64URL.decode(String(decoding: text[prefix.count..<end], as: UTF8.self))
        else { return nil }
        return try? JSONDecoder().decode(Claims.self, from: payload)
    }
}

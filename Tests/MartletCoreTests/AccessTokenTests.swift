import Crypto
import Foundation
import MartletAPI
import MartletCore
import Testing

@Suite struct AccessTokenTests {
    private static let key = P256.Signing.PrivateKey()
    private static let now = Date(timeIntervalSince1970: 1_800_000_000)
    private static let said = AccessToken(
        appID: "shop", environment: .test, userID: "u-1", sessionID: "s-1", issued: now)

    private static func verifier(_ id: String = "k1", _ key: P256.Signing.PrivateKey = key) throws
        -> AccessTokenVerifier
    {
        try #require(
            AccessTokenVerifier(
                .init(id: id, publicKey: Base64URL.encode(key.publicKey.x963Representation), expires: nil)))
    }

    private static func token(_ id: String = "k1", _ key: P256.Signing.PrivateKey = key) throws -> String {
        try AccessTokenSigner(keyID: id, privateKey: key.rawRepresentation).sign(said)
    }

    private func read(_ text: String, _ verifier: AccessTokenVerifier) -> AccessToken? {
        Array(text.utf8).withUnsafeBytes { verifier.token(from: $0) }
    }

    @Test func `A signed token can be read, in the form of RFC 7519 and RFC 9068`() throws {
        let token = try Self.token()
        #expect(read(token, try Self.verifier()) == Self.said)
        let parts = token.split(separator: ".").map { String(decoding: Base64URL.decode($0) ?? Data(), as: UTF8.self) }
        #expect(parts[0] == #"{"alg":"ES256","kid":"k1","typ":"at+jwt"}"#)
        #expect(parts[1] == #"{"aud":"shop","env":"test","exp":1800000900,"iat":1800000000,"sid":"s-1","sub":"u-1"}"#)
    }

    @Test func `A modified token is refused`() throws {
        let verifier = try Self.verifier()
        let token = try Self.token()
        let parts = token.split(separator: ".").map(String.init)
        func encoded(_ text: String) -> String { Base64URL.encode(Array(text.utf8)) }
        let claims = #"{"aud":"shop","env":"live","exp":1800000900,"iat":1800000000,"sid":"s-1","sub":"admin"}"#
        let hmac = Base64URL.encode(
            HMAC<SHA256>.authenticationCode(
                for: Data("\(encoded(#"{"alg":"HS256","kid":"k1","typ":"at+jwt"}"#)).\(parts[1])".utf8),
                using: SymmetricKey(data: Self.key.publicKey.x963Representation)))
        let forged = [
            "", ".", "..", "...", token + ".", "." + token, parts[0] + "." + parts[1], parts[0] + "." + parts[1] + ".",
            parts[0] + ".." + parts[2], [parts[0], encoded(claims), parts[2]].joined(separator: "."),
            // Algorithm none, with and without a signature; another algorithm with the public key; another kid; a
            // header with additional members.
            [encoded(#"{"alg":"none","kid":"k1","typ":"at+jwt"}"#), parts[1], ""].joined(separator: "."),
            [encoded(#"{"alg":"none"}"#), parts[1], parts[2]].joined(separator: "."),
            [encoded(#"{"alg":"HS256","kid":"k1","typ":"at+jwt"}"#), parts[1], hmac].joined(separator: "."),
            [encoded(#"{"alg":"ES256","kid":"k2","typ":"at+jwt"}"#), parts[1], parts[2]].joined(separator: "."),
            [encoded(#"{"alg":"ES256","jwk":{},"kid":"k1","typ":"at+jwt"}"#), parts[1], parts[2]].joined(
                separator: "."),
            token.replacing("eyJ", with: "eyI"), token + "A", String(token.dropLast()),
            token + String(repeating: "A", count: 4_000),
        ]
        for text in forged { #expect(read(text, verifier) == nil, "\(text)") }
        for index in stride(from: 0, to: token.utf8.count - 1, by: 7) {
            var bytes = Array(token.utf8)
            bytes[index] = bytes[index] == UInt8(ascii: "B") ? UInt8(ascii: "C") : UInt8(ascii: "B")
            #expect(bytes.withUnsafeBytes { verifier.token(from: $0) } == nil, "byte \(index)")
        }
        #expect(read(try Self.token("k1", P256.Signing.PrivateKey()), verifier) == nil)
        #expect(read(token, try Self.verifier("k2")) == nil)
    }

    @Test func `A key that is not a point on the curve verifies nothing`() {
        for key in ["", "AAAA", Base64URL.encode(Array(repeating: 4, count: 65)), "%%%"] {
            #expect(AccessTokenVerifier(.init(id: "k1", publicKey: key, expires: nil)) == nil)
        }
    }
}

import Crypto
import CryptoExtras
import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import ServiceTesting
import Testing

@testable import AuthService

@Suite struct SigningKeyTests {
    private func keys(_ postgres: PostgresClient, secret: String = "an-internal-secret-of-the-tests-0123456789")
        -> SigningKeys
    {
        SigningKeys(
            postgres: postgres, sealing: ServerKeys(internalSecret: Secret(secret)).sealing, logger: .silent,
            now: { Date() })
    }

    private func token(_ keys: SigningKeys, at time: Date) throws -> String {
        let token = AccessToken(appID: "a", environment: .live, userID: "u", sessionID: "s", issued: time)
        return try #require(keys.signer).sign(token)
    }

    private func withClosing(_ postgres: PostgresClient, _ body: () async throws -> Void) async throws {
        do {
            try await body()
            await postgres.close()
        } catch {
            await postgres.close()
            throw error
        }
    }

    /// Whether a gateway with the current ring would accept the token.
    private func isKnown(_ token: String, to ring: [KeyRing.SigningKey], at time: Date) -> Bool {
        ring.contains { key in
            guard key.expires.map({ $0 > time }) ?? true, let verifier = AccessTokenVerifier(key) else { return false }
            return Array(token.utf8).withUnsafeBytes { verifier.token(from: $0) } != nil
        }
    }

    @Test func `Keys rotate over the months, and every token stays verifiable for its lifetime`() async throws {
        let postgres = try await MigratedDatabase.make().client(for: "auth")
        try await withClosing(postgres) {
            let start = Date(), step: TimeInterval = 6 * 3_600
            let (first, second) = (keys(postgres), keys(postgres))
            var published: [(time: Date, ring: [KeyRing.SigningKey])] = []
            var ids: Set<String> = []
            for number in 0..<400 {
                let now = start + step * Double(number)
                // Two instances of the service, one after the other, and a gateway whose keys are a day old.
                try await first.refresh(at: now)
                try await second.refresh(at: now)
                let ring = try await KeyRingStore(postgres: postgres).read().signingKeys
                published.append((now, ring))
                let old = published.last { $0.time <= now - 86_000 }?.ring ?? ring
                for keys in [first, second] {
                    let token = try token(keys, at: now)
                    #expect(isKnown(token, to: ring, at: now) && isKnown(token, to: ring, at: now + 900))
                    #expect(isKnown(token, to: old, at: now))
                    ids.insert(String(token.prefix { $0 != "." }))
                }
                #expect(ring.count <= 3)
            }
            #expect((3...5).contains(ids.count), "100 days: \(ids.count) keys")
        }
    }

    @Test func `The private key is sealed, and another internal secret creates another key`() async throws {
        try await AuthApp.run { auth in
            let own = keys(auth.postgres)
            try await own.refresh(at: Date())
            let other = keys(auth.postgres, secret: "another-secret-0123456789-0123456789")
            try await other.refresh(at: Date())
            let now = Date()
            let ring = try await KeyRingStore(postgres: auth.postgres).read().signingKeys
            #expect(ring.count == 2)
            let (a, b) = (try token(own, at: now), try token(other, at: now))
            #expect(isKnown(a, to: ring, at: now) && isKnown(b, to: ring, at: now))
            #expect(a.prefix { $0 != "." } != b.prefix { $0 != "." })
            let sealed: [Data] = try await auth.postgres.query("SELECT sealed_private_key FROM auth.signing_keys").map {
                try $0.decode(0)
            }
            #expect(sealed.allSatisfy { $0.count == 32 + 12 + 16 })
        }
    }

    @Test func `Many instances that start at once create one key`() async throws {
        try await AuthApp.run { auth in
            _ = try await auth.postgres.execute("DELETE FROM auth.signing_keys")
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<8 { group.addTask { try await keys(auth.postgres).refresh(at: Date()) } }
                try await group.waitForAll()
            }
            let count: Int = try await auth.postgres.query("SELECT count(*) FROM auth.signing_keys")[0].decode(0)
            #expect(count == 1)
            #expect(try await KeyRingStore(postgres: auth.postgres).idTokenKeys().count == 1)
        }
    }

    private struct Claims: Codable, Equatable {
        var sub: String
    }

    @Test func `RS256 keys are stored, sealed and rotated like those of access tokens, and gateways do not get them`()
        async throws
    {
        let postgres = try await MigratedDatabase.make().client(for: "auth")
        try await withClosing(postgres) {
            let (start, store) = (Date(), KeyRingStore(postgres: postgres))
            let (first, second) = (keys(postgres), keys(postgres))
            var published: [(time: Date, keys: [RSATokenVerifier])] = []
            var ids: Set<String> = []
            for day in stride(from: 0.0, to: 70, by: 0.9) {
                let now = start + day * 86_400
                try await first.refresh(at: now)
                try await second.refresh(at: now)
                let known = try await store.idTokenKeys()
                published.append((now, known))
                let old = published.last { $0.time <= now - 86_000 }?.keys ?? known
                for keys in [first, second] {
                    let token = try #require(try keys.signed(Claims(sub: "ada"), by: .rs256))
                    for keys in [known, old] {
                        #expect(
                            keys.compactMap { $0.claims(from: token, as: Claims.self) } == [Claims(sub: "ada")],
                            "day \(day)")
                    }
                    ids.insert(String(token.prefix { $0 != "." }))
                }
            }
            #expect((2...4).contains(ids.count), "70 days: \(ids.count) keys")
            let rows = try await postgres.query("SELECT public_key, sealed_private_key FROM auth.id_token_keys")
            for row in rows {
                let (publicKey, sealed) = (try row.decode(0, as: Data.self), try row.decode(1, as: Data.self))
                let key = try _RSA.Signing.PublicKey(derRepresentation: publicKey)
                #expect(key.keySizeInBits >= 2_048)
                #expect((try? _RSA.Signing.PrivateKey(derRepresentation: sealed)) == nil)
                let modulus = try key.getKeyPrimitives().modulus
                #expect(
                    try JSONEncoder().encode(try await store.read()).range(of: Data(Base64URL.encode(modulus).utf8))
                        == nil)
            }
            #expect(try await store.read().signingKeys.allSatisfy { AccessTokenVerifier($0) != nil })
        }
    }

    /// This holds whoever made the token, even if the public key was used as the secret of an HMAC.
    @Test func `A token of one algorithm is not accepted as another`() throws {
        let stored = try StoredSigningKey.makeRS256(signsFrom: Date())
        let id = stored.id
        let signer = try RSATokenSigner(keyID: id, privateKey: try #require(stored.privateKey))
        let verifier = try RSATokenVerifier(keyID: id, publicKey: stored.publicKey)
        let good = try signer.sign(claims: Claims(sub: "ada"))
        #expect(verifier.claims(from: good, as: Claims.self) == Claims(sub: "ada"))
        let parts = good.split(separator: ".").map(String.init)
        func header(_ text: String) -> String { Base64URL.encode(Array(text.utf8)) }
        let elliptic = P256.Signing.PrivateKey()
        func byES256(_ header: String) throws -> String {
            let text = header + "." + parts[1]
            return text + "." + Base64URL.encode(try elliptic.signature(for: Data(text.utf8)).rawRepresentation)
        }
        func byHS256(_ header: String, _ secret: Data) -> String {
            let text = header + "." + parts[1]
            return text + "."
                + Base64URL.encode(
                    HMAC<SHA256>.authenticationCode(for: Data(text.utf8), using: SymmetricKey(data: secret)))
        }
        let access = header(#"{"alg":"ES256","kid":"\#(id)","typ":"at+jwt"}"#)
        let forged = [
            header(#"{"alg":"none"}"#) + "." + parts[1] + ".",
            header(#"{"alg":"none","kid":"\#(id)","typ":"JWT"}"#) + "." + parts[1] + "." + parts[2],
            try byES256(parts[0]), try byES256(access), byHS256(parts[0], stored.publicKey),
            byHS256(header(#"{"alg":"HS256","kid":"\#(id)","typ":"JWT"}"#), stored.publicKey),
            header(#"{"alg":"RS512","kid":"\#(id)","typ":"JWT"}"#) + "." + parts[1] + "." + parts[2],
            header(#"{"alg":"RS256","kid":"\#(id)","typ":"at+jwt"}"#) + "." + parts[1] + "." + parts[2],
            parts[0] + "." + Base64URL.encode(Array(#"{"sub":"eve"}"#.utf8)) + "." + parts[2], good + "x", good + ".",
            String(good.dropLast(2)), "",
        ]
        for token in forged { #expect(verifier.claims(from: token, as: Claims.self) == nil, "\(token)") }
        // The keys that gateways verify with: neither the RSA key itself, nor a P-256 key under its id, accepts an
        // RS256 token.
        #expect(AccessTokenVerifier(.init(id: id, publicKey: Base64URL.encode(stored.publicKey), expires: nil)) == nil)
        let gateway = try #require(
            AccessTokenVerifier(
                .init(id: id, publicKey: Base64URL.encode(elliptic.publicKey.x963Representation), expires: nil)))
        for token in [
            good, access + "." + parts[1] + "." + parts[2], byHS256(access, elliptic.publicKey.x963Representation),
        ] {
            Array(token.utf8).withUnsafeBytes { bytes in
                #expect(
                    gateway.token(from: bytes) == nil && gateway.staffToken(from: bytes) == nil
                        && gateway.claims(from: bytes, as: Claims.self) == nil)
            }
        }
    }

    @Test func `The public keys are published as a JWK set`() async throws {
        try await UserClient.run { client in
            let tokens = try await client.signUp()
            let principal = Principal(
                kind: .link, appID: client.app.id, appNumber: 1, environment: .live, credentialID: "c")
            let answer = try await eventually("a key is published") {
                let answer = try await client.auth.gateway.acting(as: principal).get("/auth/jwks")
                return answer["keys.0.kid"] != nil ? answer : nil
            }
            #expect(
                answer["keys.0.kty"] == #""EC""# && answer["keys.0.crv"] == #""P-256""#
                    && answer["keys.0.alg"] == #""ES256""#, "\(answer)")
            let header = try #require(Base64URL.decode(tokens.access.split(separator: ".")[0]))
            #expect(
                String(decoding: header, as: UTF8.self)
                    == #"{"alg":"ES256","kid":\#(answer["keys.0.kid"] ?? ""),"typ":"at+jwt"}"#)
            let (x, y) = (
                try #require(Base64URL.decode(answer.string("keys.0.x") ?? "")),
                try #require(Base64URL.decode(answer.string("keys.0.y") ?? ""))
            )
            let key = try P256.Signing.PublicKey(rawRepresentation: x + y)
            let parts = tokens.access.split(separator: ".")
            let signature = try P256.Signing.ECDSASignature(rawRepresentation: try #require(Base64URL.decode(parts[2])))
            #expect(key.isValidSignature(signature, for: Data("\(parts[0]).\(parts[1])".utf8)))
        }
    }
}

import Crypto
import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import ServiceTesting
import Testing

@testable import AuthService

@Suite struct SigningKeyTests {
    private func keys(_ postgres: PostgresClient, secret: String = "an-internal-secret-of-the-tests-0123456789") -> SigningKeys {
        let sealing = ServerKeys(internalSecret: Secret(secret)).sealing
        return SigningKeys(store: SigningKeyStore(postgres: postgres, sealing: sealing), logger: .silent)
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

    /// What a gateway would make of it that has the ring of the moment.
    private func isKnown(_ token: String, to ring: [KeyRing.SigningKey], at time: Date) -> Bool {
        ring.contains { key in
            guard key.expires.map({ $0 > time }) ?? true, let verifier = AccessTokenVerifier(key) else { return false }
            return Array(token.utf8).withUnsafeBytes { verifier.token(from: $0) } != nil
        }
    }

    @Test func `Keys change over the months without one token that is not known, as long as it lasts`() async throws {
        let postgres = try await MigratedDatabase.make().client(for: "auth")
        try await withClosing(postgres) {
            let start = Date(), step: TimeInterval = 6 * 3_600
            let (first, second) = (keys(postgres), keys(postgres))
            var published: [(time: Date, ring: [KeyRing.SigningKey])] = []
            var ids: Set<String> = []
            for number in 0..<400 {
                let now = start + step * Double(number)
                // Two copies of the service, one after the other, and whoever looks at the keys a day late.
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

    @Test func `The private half is sealed, and with another internal secret there is another key`() async throws {
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
            let sealed: [Data] = try await auth.postgres.query("SELECT sealed_private_key FROM auth.signing_keys").map { try $0.decode(0) }
            #expect(sealed.allSatisfy { $0.count == 32 + 12 + 16 })
        }
    }

    @Test func `Many copies that start at once make one key`() async throws {
        try await AuthApp.run { auth in
            _ = try await auth.postgres.execute("DELETE FROM auth.signing_keys")
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<8 { group.addTask { try await keys(auth.postgres).refresh(at: Date()) } }
                try await group.waitForAll()
            }
            let count: Int = try await auth.postgres.query("SELECT count(*) FROM auth.signing_keys")[0].decode(0)
            #expect(count == 1)
        }
    }

    @Test func `The keys are published as a JWK set`() async throws {
        try await UserClient.run { client in
            let tokens = try await client.signUp()
            let principal = Principal(kind: .link, appID: client.app.id, appNumber: 1, environment: .live, credentialID: "c")
            let answer = try await eventually("a key is published") {
                let answer = try await client.auth.gateway.asking(as: principal).get("/auth/jwks")
                return answer["keys.0.kid"] != nil ? answer : nil
            }
            #expect(answer["keys.0.kty"] == #""EC""# && answer["keys.0.crv"] == #""P-256""# && answer["keys.0.alg"] == #""ES256""#, "\(answer)")
            let header = try #require(Base64URL.decode(tokens.access.split(separator: ".")[0]))
            #expect(String(decoding: header, as: UTF8.self) == #"{"alg":"ES256","kid":\#(answer["keys.0.kid"] ?? ""),"typ":"at+jwt"}"#)
            let (x, y) = (try #require(Base64URL.decode(answer.string("keys.0.x") ?? "")), try #require(Base64URL.decode(answer.string("keys.0.y") ?? "")))
            let key = try P256.Signing.PublicKey(rawRepresentation: x + y)
            let parts = tokens.access.split(separator: ".")
            let signature = try P256.Signing.ECDSASignature(rawRepresentation: try #require(Base64URL.decode(parts[2])))
            #expect(key.isValidSignature(signature, for: Data("\(parts[0]).\(parts[1])".utf8)))
        }
    }
}

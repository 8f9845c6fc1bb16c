import Crypto
import Foundation
import MartletAPI
import MartletCore
import NIOHTTP1
import Testing

@testable import GatewayService

/// Access tokens of end users: what the gateway does with them, and which principal services get.
@Suite struct TokenTests {
    private static let key = P256.Signing.PrivateKey()

    private static func signingKey(_ id: String = "k1", _ key: P256.Signing.PrivateKey = key, expires: Date? = nil)
        -> KeyRing.SigningKey
    {
        .init(id: id, publicKey: Base64URL.encode(key.publicKey.x963Representation), expires: expires)
    }

    private static func token(
        _ session: String = "s-1", app: String = "alpha", environment: AppEnvironment = .live, age: TimeInterval = 0,
        kid: String = "k1", user: String = "ada",
        key: P256.Signing.PrivateKey = key
    ) throws -> String {
        try AccessTokenSigner(keyID: kid, privateKey: key.rawRepresentation).sign(
            AccessToken(
                appID: app, environment: environment, userID: user, sessionID: session,
                issued: Date(timeIntervalSinceNow: -age)))
    }

    private static func request(
        _ token: String?, _ headers: [String] = ["X-Martlet-Secret: ms_A"], line: String = CredentialTests.storage
    ) -> String {
        let lines =
            [line + " HTTP/1.1", "Host: gw", "Connection: close"] + headers
            + (token.map { ["Authorization: Bearer \($0)"] } ?? [])
        return lines.joined(separator: "\r\n") + "\r\n\r\n"
    }

    private func principal(_ test: TestGateway) -> Principal? {
        let signer = PrincipalSigner(internalSecret: TestKeys.internalSecret)
        return test.upstream.arrivals.last?.head.headers.first(name: HeaderName.principal).flatMap {
            signer.principal(from: $0, at: Date())?.principal
        }
    }

    private func isAccepted(_ test: TestGateway, _ request: String) async throws -> Bool {
        let answer = try await test.exchange(request).text
        if answer.hasPrefix("HTTP/1.1 200") { return true }
        #expect(answer.hasPrefix("HTTP/1.1 401"), "\(answer)")
        return false
    }

    /// Runs with a ring that has the key.
    private func withKey(_ body: @Sendable (TestGateway) async throws -> Void) async throws {
        try await withGateway { test in
            test.auth.publish { $0.signingKeys = [Self.signingKey()] }
            let request = Self.request(try Self.token())
            await test.eventuallyInEveryLoop { try await test.exchange(request).status == 200 }
            try await body(test)
        }
    }

    @Test func `A user who exceeds their rate is refused, and others are not`() async throws {
        try await withGateway(configure: { $0.requestsPerUser = .init(requestsPerSecond: 0.01, burst: 2) }) { test in
            test.auth.publish { $0.signingKeys = [Self.signingKey()] }
            await test.eventuallyInEveryLoop {
                try await test.exchange(Self.request(try Self.token(user: "\(UUID())"))).status == 200
            }
            var statuses: [Int] = []
            for user in ["ada", "ada", "ada", "ben", nil, nil, nil] {
                let request = Self.request(try user.map { try Self.token(user: $0) })
                statuses.append(try await test.exchange(request).status)
            }
            #expect(statuses == [200, 200, 429, 200, 200, 200, 200])
        }
    }

    @Test func `A valid token identifies the caller, and is not passed beyond the gateway`() async throws {
        try await withKey { test in
            #expect(try await isAccepted(test, Self.request(try Self.token())))
            let known = try #require(principal(test))
            #expect(
                known.kind == .client && known.userID == "ada" && known.sessionID == "s-1"
                    && known.credentialID == "k-live")
            #expect(test.upstream.arrivals.last?.head.headers.contains(name: "authorization") == false)
            // Without a token, or with another scheme, the caller is anonymous.
            for headers in [["X-Martlet-Secret: ms_A"], ["X-Martlet-Secret: ms_A", "Authorization: Basic YTpi"]] {
                #expect(try await isAccepted(test, Self.request(nil, headers)))
                #expect(principal(test)?.userID == nil && principal(test)?.sessionID == nil)
            }
            // The app's own server may pass on a user's token: the user's rights then apply.
            #expect(try await isAccepted(test, Self.request(try Self.token(), ["X-Martlet-Master-Key: mm_A"])))
            #expect(principal(test)?.kind == .client && principal(test)?.userID == "ada")
        }
    }

    @Test func `A token that is not valid now for this app and environment is refused, and nothing is forwarded`()
        async throws
    {
        try await withKey { test in
            let good = try Self.token()
            let other = P256.Signing.PrivateKey()
            let before = test.upstream.arrivals.count
            for (name, request) in [
                ("expired", Self.request(try Self.token(age: 901))),
                ("another app's", Self.request(try Self.token(app: "beta"))),
                ("test token", Self.request(try Self.token(environment: .test))),
                ("live token for test", Self.request(good, ["X-Martlet-Secret: ms_A", "X-Martlet-Environment: test"])),
                ("unknown kid", Self.request(try Self.token(kid: "k2", key: other))),
                ("another key", Self.request(try Self.token(key: other))),
                ("changed", Self.request(good + "x")), ("empty", Self.request("")), ("not a token", Self.request("x")),
                (
                    "alg none",
                    Self.request(
                        Base64URL.encode(Array(#"{"alg":"none"}"#.utf8)) + "." + good.split(separator: ".")[1] + ".")
                ),
                ("no secret", Self.request(good, [])), ("wrong secret", Self.request(good, ["X-Martlet-Secret: ms_X"])),
                ("another app's secret", Self.request(good, ["X-Martlet-Secret: ms_B"])),
                (
                    "token and X-Martlet-User",
                    Self.request(good, ["X-Martlet-Master-Key: mm_A", "X-Martlet-User: eve"])
                ),
            ] {
                #expect(try await !isAccepted(test, request), "\(name)")
            }
            #expect(test.upstream.arrivals.count == before)
            // Where a master key is required, a token does not replace it.
            for key in ["X-Martlet-Secret: ms_A", "X-Martlet-Master-Key: mm_A"] {
                let managed = try await test.exchange(Self.request(good, [key], line: CredentialTests.collections))
                #expect(managed.text.hasPrefix("HTTP/1.1 403"))
                let malformed = try await test.exchange(Self.request("null", [key], line: CredentialTests.collections))
                #expect(malformed.text.hasPrefix("HTTP/1.1 401") && malformed.text.contains("invalid-token"))
            }
            #expect(test.upstream.arrivals.count == before)
        }
    }

    @Test func `The token of an ended session is refused, even on a connection that used it`() async throws {
        try await withKey { test in
            let client = try await test.connect()
            let keeping = Self.request(try Self.token("s-9")).replacing("Connection: close\r\n", with: "")
            try await client.send(keeping)
            await client.wait(for: "upstream-0")
            test.auth.revoke("s-9")
            await eventually {
                let before = client.text.components(of: "HTTP/1.1 ").count
                try? await client.send(keeping)
                await eventually { client.text.components(of: "HTTP/1.1 ").count > before }
                return client.text.contains("HTTP/1.1 401")
            }
            #expect(client.text.contains("invalid-token"))
            #expect(try await isAccepted(test, Self.request(try Self.token("s-8"))))
            let ended = Self.request(try Self.token("s-9"))
            await test.eventuallyInEveryLoop { try await !isAccepted(test, ended) }
            await client.close()
        }
    }

    @Test func `Keys rotate without a refused token, and are dropped once they have expired`() async throws {
        try await withKey { test in
            let next = P256.Signing.PrivateKey()
            test.auth.publish { $0.signingKeys = [Self.signingKey(), Self.signingKey("k2", next)] }
            let fresh = Self.request(try Self.token(kid: "k2", key: next))
            await test.eventuallyInEveryLoop { try await test.exchange(fresh).status == 200 }
            #expect(try await isAccepted(test, Self.request(try Self.token())))
            test.auth.publish {
                $0.signingKeys = [
                    Self.signingKey(expires: Date(timeIntervalSinceNow: -1)), Self.signingKey("k2", next),
                ]
            }
            let old = Self.request(try Self.token())
            await test.eventuallyInEveryLoop { try await !isAccepted(test, old) }
            #expect(try await isAccepted(test, fresh))
        }
    }
}

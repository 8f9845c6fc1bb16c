import Crypto
import Foundation
import MartletAPI
import MartletCore
import Testing

@testable import GatewayService

/// Ended sessions: how many are kept, and what a gateway knows of them after a restart.
@Suite struct RevocationTests {
    private static let now: Int64 = 1_800_000_000

    private func token(_ session: String, issued: Int64) -> AccessToken {
        AccessToken(
            appID: "alpha", environment: .live, userID: "ada", sessionID: session,
            issued: Date(timeIntervalSince1970: TimeInterval(issued)))
    }

    @Test func `Expired entries are dropped, and the longer lifetime of a session counts`() {
        var revoked = RevokedSessions()
        revoked.add(["a": Self.now - 1, "b": Self.now, "c": Self.now + 10], at: Self.now)
        #expect(revoked.sessions == ["b": Self.now, "c": Self.now + 10] && revoked.cutOff == 0)
        revoked.add(["c": Self.now + 5, "b": Self.now + 7], at: Self.now)
        #expect(revoked.sessions == ["b": Self.now + 7, "c": Self.now + 10])
        #expect(revoked.refuses(token("b", issued: Self.now)) && !revoked.refuses(token("x", issued: Self.now - 899)))
    }

    @Test func `Beyond the limit the oldest entries become a cut-off time, before which every token is refused`() {
        var revoked = RevokedSessions(maximumCount: 100)
        // A session's last token was issued 960 seconds before its entry expires.
        let all = Dictionary(uniqueKeysWithValues: (0..<130).map { ("s\($0)", Self.now + 100 + Int64($0)) })
        revoked.add(all, at: Self.now)
        #expect(revoked.sessions.count == 90 && revoked.cutOff == Self.now + 139)
        for (session, until) in all { #expect(revoked.refuses(token(session, issued: until - 960))) }
        // Other users with a token of that age must refresh it; with a new one they are admitted.
        #expect(revoked.refuses(token("other", issued: Self.now + 139 - 900)))
        #expect(!revoked.refuses(token("other", issued: Self.now + 140 - 900)))
        // Removed entries do not come back, and the limit holds.
        revoked.add(all, at: Self.now)
        #expect(revoked.sessions.count == 90 && revoked.cutOff == Self.now + 139)
        for number in 0..<1_000 {
            revoked.add(["t\(number)": Self.now + 300 + Int64(number)], at: Self.now)
            #expect(revoked.sessions.count <= 100)
        }
        #expect(revoked.cutOff > Self.now + 139)
        revoked.add([:], cutOff: Self.now + 5_000, at: Self.now)
        #expect(revoked.sessions.isEmpty && revoked.cutOff == Self.now + 5_000)
    }

    @Test func `An incomplete or foreign file is ignored, and a complete one holds everything`() throws {
        let directory = NSTemporaryDirectory() + "gateway-revocations-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let file = RevocationFile(directory: directory)
        #expect(try file.load(at: Self.now) == nil)
        var revoked = RevokedSessions()
        revoked.add(["a": Self.now + 10, "b": Self.now + 20], cutOff: 7, at: Self.now)
        try file.save(revoked)
        #expect(try file.load(at: Self.now) == revoked)
        #expect(try file.load(at: Self.now + 15)?.sessions == ["b": Self.now + 20])
        let path = directory + "/revocations.txt"
        #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == ["revocations.txt"])
        let whole = try #require(FileManager.default.contents(atPath: path))
        for length in 0..<whole.count {
            try whole.prefix(length).write(to: URL(fileURLWithPath: path))
            // A file cut off after a line is complete, but shorter.
            guard length > 0, whole[whole.startIndex + length - 1] == UInt8(ascii: "\n") else {
                #expect(throws: RevocationFile.Failure.unreadable) { try file.load(at: Self.now) }
                continue
            }
            #expect(try #require(try file.load(at: Self.now)).sessions.count < 2)
        }
        for text in [
            "{}", "martlet revocations 2 0\n", "martlet revocations 1 x\n", "martlet revocations 1 0\na b\n",
            "martlet revocations 1 0\na\n",
        ] {
            try Data(text.utf8).write(to: URL(fileURLWithPath: path))
            #expect(throws: RevocationFile.Failure.unreadable, "\(text)") { try file.load(at: Self.now) }
        }
    }

    @Test(arguments: [false, true])
    func `A gateway that starts while auth is unavailable refuses sessions that ended before`(isFileBad: Bool)
        async throws
    {
        let directory = NSTemporaryDirectory() + "gateway-revocations-\(UUID().uuidString)"
        let copies = directory + "-copies"
        try FileManager.default.createDirectory(atPath: copies, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: copies) }
        let key = P256.Signing.PrivateKey()
        func request(_ session: String) throws -> String {
            let token = try AccessTokenSigner(keyID: "k1", privateKey: key.rawRepresentation).sign(
                AccessToken(appID: "alpha", environment: .live, userID: "ada", sessionID: session, issued: Date()))
            return TestGateway.request("x", ["Connection: close", "Authorization: Bearer \(token)"])
        }
        let auth = try await TestAuth.start(TestKeys.ring)
        try await withGateway(auth: auth, directory: directory) { test in
            auth.publish {
                $0.signingKeys = [
                    .init(id: "k1", publicKey: Base64URL.encode(key.publicKey.x963Representation), expires: nil)
                ]
            }
            let good = try request("s-9")
            await eventually { (try? await test.exchange(good).text.hasPrefix("HTTP/1.1 200")) == true }
            auth.revoke("s-9")
            await eventually { (try? await test.exchange(good).text.hasPrefix("HTTP/1.1 401")) == true }
            let isSaved = await eventually {
                (try? String(contentsOfFile: directory + "/revocations.txt", encoding: .utf8))?.contains("s-9") == true
                    && (try? String(contentsOfFile: directory + "/keyring.json", encoding: .utf8))?.contains("k1")
                        == true
            }
            #expect(isSaved)
            for name in ["keyring.json", "revocations.txt"] {
                try FileManager.default.copyItem(atPath: "\(directory)/\(name)", toPath: "\(copies)/\(name)")
            }
        }
        await auth.stop()
        if isFileBad { try Data("x".utf8).write(to: URL(fileURLWithPath: copies + "/revocations.txt")) }
        try await withGateway(directory: copies, configure: { $0.keyRingURL = "http://127.0.0.1:1" }) { test in
            let others = try await test.exchange(try request("s-8"))
            #expect(others.text.hasPrefix("HTTP/1.1 200"), "\(others.text)")
            let ended = try await test.exchange(try request("s-9"))
            #expect(ended.text.hasPrefix(isFileBad ? "HTTP/1.1 200" : "HTTP/1.1 401"), "\(ended.text)")
        }
    }

    @Test func `A cut-off time also applies to open connections`() async throws {
        try await withGateway { test in
            let key = P256.Signing.PrivateKey()
            test.auth.publish {
                $0.signingKeys = [
                    .init(id: "k1", publicKey: Base64URL.encode(key.publicKey.x963Representation), expires: nil)
                ]
            }
            func request(age: TimeInterval) throws -> String {
                let token = try AccessTokenSigner(keyID: "k1", privateKey: key.rawRepresentation).sign(
                    AccessToken(
                        appID: "alpha", environment: .live, userID: "ada", sessionID: "s-1",
                        issued: Date(timeIntervalSinceNow: -age)))
                return TestGateway.request("x", ["Authorization: Bearer \(token)"])
            }
            let (old, fresh) = (try request(age: 600), try request(age: 0))
            let client = try await test.connect()
            await eventually {
                try? await client.send(old)
                return client.text.contains("HTTP/1.1 200")
            }
            test.auth.cutOff(at: Int64(Date().timeIntervalSince1970) + 500)
            await eventually {
                try? await client.send(old)
                return client.text.contains("invalid-token")
            }
            #expect(client.text.contains("invalid-token"))
            await client.close()
            let other = try await test.exchange(fresh.replacing("Host: gw", with: "Host: gw\r\nConnection: close"))
            #expect(other.text.hasPrefix("HTTP/1.1 200"), "\(other.text)")
        }
    }
}

import Foundation
import MartletAPI
import MartletCore
import Testing

@testable import GatewayService

@Suite struct KeyRingTests {
    @Test func `A revoked credential is refused within a second, even on open connections, and a new one works`()
        async throws
    {
        try await withGateway { test in
            let client = try await test.connect()
            try await client.send(TestGateway.request("x"))
            await client.wait(for: "upstream-0")
            test.auth.publish { ring in
                ring.apps[0].credentials.removeAll { $0.id == "s-1" }
                ring.apps[0].credentials.append(
                    .init(id: "s-3", kind: .secret, environment: nil, sha256: Credential.hexDigest(of: "ms_NEW")))
            }
            let isSeen = await eventually {
                (try? await test.exchange(TestGateway.request("x", ["Connection: close"], secret: "ms_NEW")).status)
                    == 200
            }
            #expect(isSeen)
            // The event loops get the key ring one after the other.
            await eventually {
                try? await client.send(TestGateway.request("x"))
                return client.text.contains("HTTP/1.1 401")
            }
            #expect(client.text.contains("HTTP/1.1 401"))
            await client.close()
            let areSigned = test.auth.principals.allSatisfy { $0 == .service("gateway") }
            #expect(areSigned)
        }
    }

    @Test func `The copy on disk is used while auth is unavailable, and only its owner may read it`() async throws {
        let directory = NSTemporaryDirectory() + "gateway-keyring-\(UUID().uuidString)"
        let auth = try await TestAuth.start(TestKeys.ring)
        try await withGateway(auth: auth, directory: directory) { test in
            let file = directory + "/keyring.json"
            let isSaved = await eventually { FileManager.default.fileExists(atPath: file) }
            #expect(isSaved)
            let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
            #expect(mode == 0o600)
            let text = try String(contentsOfFile: file, encoding: .utf8)
            #expect(!text.contains("ms_A"))
            try FileManager.default.copyItem(atPath: file, toPath: directory + "-copy.json")
        }
        await auth.stop()
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        try FileManager.default.moveItem(atPath: directory + "-copy.json", toPath: directory + "/keyring.json")
        try await withGateway(directory: directory, configure: { $0.keyRingURL = "http://127.0.0.1:1" }) { test in
            let status6 = try await test.ask("x").status
            #expect(status6 == 200)
        }
    }

    @Test func `The gateway continues without auth, and reports uses at shutdown if auth is back`() async throws {
        let auth = try await TestAuth.start(TestKeys.ring)
        try await withGateway(auth: auth) { test in
            let status7 = try await test.ask("x").status
            #expect(status7 == 200)
            await test.shutDown()
            let isReported = await eventually { auth.used.keys.sorted() == ["k-live", "s-1"] }
            #expect(isReported, "\(auth.used)")
        }
        await auth.stop()
        try await withGateway(auth: auth, configure: { $0.keyRingURL = auth.url }, expectsReady: false) { test in
            #expect(!test.gateway.isReady)
            let status8 = try await test.ask("x").status
            #expect(status8 == 401)
        }
    }
}

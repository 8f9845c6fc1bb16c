import Foundation
import MartletAPI
import MartletCore
import Synchronization
import Testing

@testable import GatewayService

/// The routes open to keys that are limited to areas or networks.
@Suite struct ScopeTests {
    private static let routes = """
        {"routes": [
          {"path": "/api/{appKey}/storage/query/**", "upstream": "storage", "credential": "client", "methods": ["POST"], "isReading": true},
          {"path": "/api/{appKey}/storage/**", "upstream": "storage", "credential": "client", "methods": ["GET", "POST", "DELETE"]},
          {"path": "/api/{appKey}/upload/**", "upstream": "storage", "credential": "client", "methods": ["GET", "PUT"], "area": "files"},
          {"path": "/api/{appKey}/collections/**", "upstream": "storage", "credential": "master", "methods": ["GET", "DELETE"]},
          {"path": "/api/{appKey}/auth/**", "upstream": "storage", "credential": "client", "methods": ["GET", "POST"], "area": "auth"},
          {"path": "/api/{appKey}/other/**", "upstream": "other", "credential": "client", "methods": ["GET"]}
        ]}
        """

    private static func ring() -> KeyRing {
        var ring = TestKeys.ring
        func add(_ id: String, _ kind: CredentialKind, _ text: String, scopes: [String]?, networks: [String]? = nil) {
            ring.apps[0].credentials.append(
                .init(
                    id: id, kind: kind, environment: nil, sha256: Credential.hexDigest(of: text), networks: networks,
                    scopes: scopes))
        }
        add("s-read", .secret, "ms_READ", scopes: ["storage:read"])
        add("s-files", .secret, "ms_FILES", scopes: ["files", "auth:read"])
        add("m-storage", .master, "mm_STORAGE", scopes: ["storage"])
        add("m-new", .master, "mm_NEW", scopes: ["an-area-of-tomorrow"])
        add("m-none", .master, "mm_NONE", scopes: [])
        add("s-far", .secret, "ms_FAR", scopes: nil, networks: ["203.0.113.0/24"])
        add("s-near", .secret, "ms_NEAR", scopes: nil, networks: ["203.0.113.0/24", "127.0.0.0/8"])
        return ring
    }

    private static func withGateway(_ body: (TestGateway) async throws -> Void) async throws {
        let auth = try await TestAuth.start(ring())
        let other = try await TestUpstream.start("other")
        try await GatewayServiceTests.withGateway(
            routes: routes, auth: auth, configure: { $0.upstreams["other"] = [other.address] }, body)
        await other.stop()
        await auth.stop()
    }

    @Test func `a limited key gives access to its areas, for reading or in full, and 403 names the key as the reason`()
        async throws
    {
        let cases: [(header: String, line: String, status: Int)] = [
            ("Secret: ms_A", "DELETE /api/mk_live_A/storage/x", 200),
            ("Secret: ms_A", "GET /api/mk_live_A/other/x", 200),
            ("Secret: ms_READ", "GET /api/mk_live_A/storage/x", 200),
            ("Secret: ms_READ", "HEAD /api/mk_live_A/storage/x", 200),
            ("Secret: ms_READ", "POST /api/mk_live_A/storage/query/x", 200),
            ("Secret: ms_READ", "POST /api/mk_live_A/storage/x", 403),
            ("Secret: ms_READ", "DELETE /api/mk_live_A/storage/query/x", 403),
            ("Secret: ms_READ", "GET /api/mk_live_A/upload/x", 403),
            ("Secret: ms_READ", "GET /api/mk_live_A/other/x", 403),
            ("Secret: ms_FILES", "PUT /api/mk_live_A/upload/x", 200),
            ("Secret: ms_FILES", "GET /api/mk_live_A/auth/x", 200),
            ("Secret: ms_FILES", "POST /api/mk_live_A/auth/x", 403),
            ("Secret: ms_FILES", "GET /api/mk_live_A/storage/x", 403),
            ("Master-Key: mm_STORAGE", "DELETE /api/mk_live_A/collections/x", 200),
            ("Master-Key: mm_STORAGE", "DELETE /api/mk_live_A/storage/x", 200),
            ("Master-Key: mm_STORAGE", "GET /api/mk_live_A/auth/x", 403),
            ("Master-Key: mm_STORAGE\r\nX-Martlet-User: ada", "GET /api/mk_live_A/storage/x", 200),
            ("Master-Key: mm_STORAGE\r\nX-Martlet-User: ada", "GET /api/mk_live_A/auth/x", 403),
            // A second credential adds nothing.
            ("Master-Key: mm_STORAGE\r\nX-Martlet-Secret: ms_A", "GET /api/mk_live_A/auth/x", 403),
            ("Master-Key: mm_NEW", "GET /api/mk_live_A/storage/x", 403),
            ("Master-Key: mm_NONE", "GET /api/mk_live_A/storage/x", 403),
            // A caller with a wrong key learns nothing about scopes.
            ("Secret: ms_X", "POST /api/mk_live_A/storage/x", 401),
            ("Secret: ms_FAR", "GET /api/mk_live_A/storage/x", 401),
            ("Secret: ms_NEAR", "GET /api/mk_live_A/storage/x", 200),
        ]
        try await Self.withGateway { test in
            for (header, line, status) in cases {
                let before = test.upstream.arrivals.count
                let client = try await test.exchange(
                    "\(line) HTTP/1.1\r\nHost: gw\r\nConnection: close\r\nX-Martlet-\(header)\r\n\r\n")
                #expect(client.status == status, "\(header) \(line): \(client.text)")
                if status == 403 { #expect(client.text.contains(#""code":"forbidden""#)) }
                if status != 200 { #expect(test.upstream.arrivals.count == before, "\(header) \(line)") }
            }
        }
    }

    @Test func `scopes apply to each request of a connection, and change with the key ring`() async throws {
        try await Self.withGateway { test in
            let client = try await test.connect()
            func status(_ method: String) async throws -> Int? {
                let before = client.text.components(separatedBy: "HTTP/1.1 ").count
                try await client.send(
                    "\(method) /api/mk_live_A/storage/x HTTP/1.1\r\nHost: gw\r\nX-Martlet-Secret: ms_READ\r\n\r\n")
                await eventually(within: .seconds(120)) {
                    client.text.components(separatedBy: "HTTP/1.1 ").count == before + 1
                        && client.text.components(separatedBy: "\r\n\r\n").count > before
                }
                return client.text.components(separatedBy: "HTTP/1.1 ").last.flatMap { Int($0.prefix(3)) }
            }
            #expect(try await status("GET") == 200)
            #expect(try await status("DELETE") == 403)
            #expect(try await status("GET") == 200)
            test.auth.publish { ring in
                for index in ring.apps[0].credentials.indices where ring.apps[0].credentials[index].id == "s-read" {
                    ring.apps[0].credentials[index].scopes = ["storage"]
                }
            }
            let isWider = await eventually(within: .seconds(120)) { (try? await status("DELETE")) == 200 }
            #expect(isWider)
            await client.close()
        }
    }

    @Test func `a route of an unknown area prevents the start`() async throws {
        let directory = NSTemporaryDirectory() + "gateway-areas-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try Self.routes.replacing(#""area": "files""#, with: #""area": "flies""#)
            .write(toFile: directory + "/routes.json", atomically: true, encoding: .utf8)
        let configuration = GatewayConfiguration(
            routesFile: directory + "/routes.json", upstreams: ["storage": ["127.0.0.1:1"], "other": ["127.0.0.1:1"]],
            internalSecret: TestKeys.internalSecret, keyRingURL: "http://127.0.0.1:1", stateDirectory: directory)
        #expect(throws: GatewayConfigurationError.self) {
            try RouteTable(RouteFile.read(configuration.routesFile), configuration: configuration)
        }
    }

    @Test func `a key ring from before scopes is read, and limits nothing`() throws {
        let text = """
            {"version":1,"apps":[{"id":"a","number":1,"name":"A","credentials":[
                {"id":"k","kind":"secret","sha256":"\(Credential.hexDigest(of: "ms_A"))"}]}]}
            """
        let ring = try KeyRingFile.decode(Data(text.utf8))
        #expect(ring.apps[0].credentials[0].scopes == nil)
        let entry = "ms_A".withUTF8Copy { KeyRingIndex(ring).entry(for: $0, .secret, at: 0) }
        #expect(entry?.scopes == .all)
    }

    /// Drill: a gateway may still remember a revoked key. None of many busy connections gets through any more.
    @Test func `a key revoked under load is refused everywhere two seconds later`() async throws {
        try await Self.withGateway { test in
            let drill = Drill()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<12 {
                    group.addTask {
                        let client = try await test.connect()
                        var answers = 1
                        while !drill.state.withLock({ $0.hasEnded }) {
                            let isLate = drill.state.withLock { $0.isRevoked }
                            try await client.send(TestGateway.request("x"))
                            answers += 1
                            let expected = answers
                            await eventually(within: .seconds(120)) {
                                client.text.components(separatedBy: "HTTP/1.1 ").count == expected
                            }
                            let status = client.text.components(separatedBy: "HTTP/1.1 ").last?.prefix(3)
                            drill.state.withLock { state in
                                if status == "401" { state.refused += 1 } else if isLate { state.late += 1 }
                            }
                        }
                        await client.close()
                    }
                }
                await eventually(within: .seconds(120)) { test.upstream.arrivals.count > 50 }
                test.auth.publish { ring in ring.apps[0].credentials.removeAll { $0.id == "s-1" } }
                // The gateway has the new key ring as soon as it refuses a request; from then on the two seconds count.
                await eventually { drill.state.withLock { $0.refused } > 0 }
                try await Task.sleep(for: .seconds(2))
                let before = drill.state.withLock { state in
                    state.isRevoked = true
                    return state.refused
                }
                await eventually(within: .seconds(120)) { drill.state.withLock { $0.refused } > before + 100 }
                drill.state.withLock { $0.hasEnded = true }
                try await group.waitForAll()
            }
            let (late, refused) = drill.state.withLock { ($0.late, $0.refused) }
            #expect(late == 0)
            #expect(refused > 100)
        }
    }
}

private final class Drill: Sendable {
    struct State {
        var isRevoked = false
        var hasEnded = false
        /// Number of 401 responses.
        var refused = 0
        /// Other responses to requests sent more than two seconds after the revocation.
        var late = 0
    }

    let state = Mutex(State())
}

extension String {
    fileprivate func withUTF8Copy<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        var copy = self
        return copy.withUTF8 { body(UnsafeRawBufferPointer($0)) }
    }
}

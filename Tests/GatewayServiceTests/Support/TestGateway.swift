import Foundation
import GatewayService
import Logging
import MartletAPI
import MartletCore
import ServiceLifecycle
import Testing

/// A running gateway with its surroundings, for one test.
struct TestGateway {
    let gateway: Gateway
    let upstreams: [TestUpstream]
    let auth: TestAuth
    let directory: String
    let shutDown: @Sendable () async -> Void

    var upstream: TestUpstream { upstreams[0] }
    var port: Int { gateway.boundPort ?? 0 }
    var routesFile: String { directory + "/routes.json" }

    func connect(reading: Bool = true, from source: String? = nil) async throws -> RawClient {
        try await RawClient.connect(port, reading: reading, from: source)
    }

    /// Sends one request on its own connection; returns when the gateway has closed it.
    func exchange(_ request: String, within time: Duration = .seconds(120)) async throws -> RawClient {
        let client = try await connect()
        try await client.send(request)
        await client.waitForClose(within: time)
        await client.close()
        return client
    }

    /// Sends GET (or another method) with a valid key and secret, and `Connection: close`.
    func ask(_ path: String, _ headers: [String] = [], method: String = "GET", body: String = "") async throws
        -> RawClient
    {
        try await exchange(TestGateway.request(path, headers + ["Connection: close"], method: method, body: body))
    }

    /// Waits until `condition`, which uses new connections, holds in every event loop: a key ring and ended sessions
    /// reach one loop after the other, and the loops take turns in accepting connections.
    func eventuallyInEveryLoop(
        sourceLocation: SourceLocation = #_sourceLocation, _ condition: () async throws -> Bool
    ) async {
        await eventually(sourceLocation: sourceLocation) {
            for _ in 0..<8 {
                guard (try? await condition()) == true else { return false }
            }
            return true
        }
    }

    static func request(
        _ path: String = "Notes", _ headers: [String] = [], method: String = "GET", body: String = "",
        key: String = "mk_live_A", secret: String = "ms_A"
    ) -> String {
        var lines =
            ["\(method) /api/\(key)/storage/\(path) HTTP/1.1", "Host: gw", "X-Martlet-Secret: \(secret)"] + headers
        if !body.isEmpty { lines.append("Content-Length: \(body.utf8.count)") }
        return lines.joined(separator: "\r\n") + "\r\n\r\n" + body
    }
}

let testRoutes = """
    {"routes": [
      {"path": "/api/{appKey}/storage/**", "upstream": "storage", "credential": "client", "rewrite": "/storage/**",
       "methods": ["GET", "POST", "PUT", "PATCH", "DELETE"], "maximumBodyBytes": 200000000, "timeoutSeconds": 30},
      {"path": "/api/{appKey}/small/**", "upstream": "storage", "credential": "client", "rewrite": "/storage/**",
       "methods": ["POST"], "maximumBodyBytes": 1000},
      {"path": "/api/{appKey}/live/**", "upstream": "storage", "credential": "client", "rewrite": "/storage/**",
       "methods": ["GET"], "streaming": true},
      {"path": "/api/{appKey}/news/**", "upstream": "storage", "credential": "client", "rewrite": "/storage/**",
       "methods": ["GET"], "waits": true},
      {"path": "/api/{appKey}/files/**", "upstream": "storage", "credential": "client", "rewrite": "/storage/**",
       "methods": ["POST"], "bodySeconds": 3600},
      {"path": "/api/{appKey}/collections/**", "upstream": "storage", "credential": "master", "rewrite": "/collections/**",
       "methods": ["GET", "DELETE"]},
      {"path": "/ingest/{project}/envelope/", "upstream": "storage", "credential": "ingest", "methods": ["POST"]},
      {"path": "/kept/{project}/envelope/", "upstream": "storage", "credential": "ingest", "methods": ["POST"], "rewrite": "/storage/{project}",
       "hangsUp": true, "timeoutSeconds": 30},
      {"path": "/spoken/{ingestKey}/batch", "upstream": "storage", "credential": "ingest", "methods": ["POST"], "maximumBodyBytes": 10, "tellsMessage": true},
      {"path": "/projects/{ingestKey}/settings", "upstream": "storage", "credential": "ingest", "methods": ["GET"]},
      {"path": "/tool/**", "upstream": "storage", "credential": "masterBearer", "methods": ["GET"]},
      {"path": "/flags", "upstream": "storage", "credential": "evaluation", "methods": ["GET"]},
      {"path": "/api/{appKey}/link/**", "upstream": "storage", "credential": "link", "rewrite": "/link/**", "methods": ["GET"]},
      {"path": "/admin/auth/login", "upstream": "storage", "credential": "staff", "methods": ["POST"], "ignoresToken": true},
      {"path": "/admin/**", "upstream": "storage", "credential": "staff", "methods": ["GET", "POST"], "tellsAddress": true},
      {"path": "/admin/apps/{app}/**", "upstream": "storage", "credential": "staff", "methods": ["GET"]},
      {"path": "/public/**", "upstream": "storage", "credential": "none", "methods": ["GET"]}
    ]}
    """

/// Runs a gateway in front of fresh upstreams while `body` does.
func withGateway(
    upstreams count: Int = 1, routes: String = testRoutes, auth: TestAuth? = nil, directory: String? = nil,
    configure: (inout GatewayConfiguration) -> Void = { _ in }, expectsReady: Bool = true,
    _ body: (TestGateway) async throws -> Void
) async throws {
    var upstreams: [TestUpstream] = []
    for index in 0..<count { upstreams.append(try await TestUpstream.start("upstream-\(index)")) }
    let auth = if let auth { auth } else { try await TestAuth.start(TestKeys.ring) }
    let directory = directory ?? NSTemporaryDirectory() + "gateway-test-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    try routes.write(toFile: directory + "/routes.json", atomically: true, encoding: .utf8)
    var configuration = GatewayConfiguration(
        routesFile: directory + "/routes.json", upstreams: ["storage": upstreams.map(\.address)],
        internalSecret: TestKeys.internalSecret, keyRingURL: auth.url, stateDirectory: directory)
    configuration.host = "127.0.0.1"
    configuration.port = 0
    configuration.eventLoopThreads = 2
    configuration.logsRequests = false
    configure(&configuration)
    var logger = Logger(label: "test")
    logger.logLevel = .critical
    let gateway = try Gateway(configuration: configuration, logger: logger)
    let services = ServiceGroup(services: [gateway], logger: logger)
    try await withThrowingTaskGroup(of: Void.self) { tasks in
        tasks.addTask { try await services.run() }
        let isReady = await eventually { expectsReady ? gateway.isReady : gateway.boundPort != nil }
        #expect(isReady)
        let test = TestGateway(gateway: gateway, upstreams: upstreams, auth: auth, directory: directory) {
            await services.triggerGracefulShutdown()
        }
        do {
            try await body(test)
        } catch {
            tasks.cancelAll()
            throw error
        }
        tasks.cancelAll()
        while (try? await tasks.next()) != nil {}
    }
    for upstream in upstreams { await upstream.stop() }
    try? FileManager.default.removeItem(atPath: directory)
}

import Foundation
import Logging
import MartletCore
import NIOCore
import NIOHPACK
import NIOHTTP1
import ServiceLifecycle
import Synchronization
import Testing

@testable import GatewayService

@Suite struct DrainTests {
    /// Answers in progress would have longer than the tests wait.
    private static func drainsForLong(_ configuration: inout GatewayConfiguration) {
        configuration.timeouts.drain = .seconds(300)
    }

    @Test
    func
        `A gateway that is shutting down finishes what is under way, and answers once more on connections it promised to keep`()
        async throws
    {
        try await withGateway(configure: Self.drainsForLong) { test in
            let (port, kept, idle, busy) = (
                test.port, try await test.connect(), try await test.connect(), try await test.connect()
            )
            for client in [kept, idle] {
                try await client.send(TestGateway.request("x"))
                await client.wait(for: "upstream-0")
            }
            try await busy.send(TestGateway.request("held"))
            await eventually { test.upstream.arrivals.count == 3 }
            await test.shutDown()
            await eventually { !test.gateway.isReady }
            // Requests that arrive before the event loops begin to drain are answered as usual.
            var requests = 1
            while !kept.text.contains("connection: close"), !kept.isClosed, requests < 1_000 {
                try await kept.send(TestGateway.request("y"))
                requests += 1
                await eventually { kept.isClosed || kept.text.components(of: "upstream-0").count > requests }
            }
            await kept.waitForClose()
            let answers = kept.text.components(of: "HTTP/1.1 200").dropFirst()
            #expect(
                answers.count == requests && answers.last?.contains("connection: close") == true, "\(kept.text)")
            await idle.waitForClose()
            #expect(idle.isClosed)
            // Drained some seconds ago.
            test.upstream.release()
            await busy.waitForClose()
            #expect(busy.status == 200 && busy.text.contains("connection: close") && busy.body == "held")
            let isDown = await eventually(within: .seconds(60)) { test.gateway.boundPort == nil }
            #expect(isDown)
            await #expect(throws: (any Error).self) { _ = try await RawClient.connect(port) }
        }
    }

    /// Stays open although only unread bytes are left: the limit of 3 s applies to idle connections.
    @Test func `A slow client gets the rest of its response from a gateway that is shutting down`() async throws {
        try await withGateway(configure: Self.drainsForLong) { test in
            let client = try await test.connect(reading: false)
            for _ in 0..<400 { try await client.send(TestGateway.request("page")) }
            var answered = -1
            await eventually {
                defer { answered = test.upstream.arrivals.count }
                try? await Task.sleep(for: .milliseconds(200))
                return answered > 0 && test.upstream.arrivals.count == answered
            }
            #expect(answered < 400)
            await test.shutDown()
            try await Task.sleep(for: .seconds(4))
            client.startReading()
            await client.waitForClose(within: .seconds(60))
            let answers = client.text.components(of: "HTTP/1.1 200").dropFirst()
            #expect(
                answers.count >= answered
                    && answers.allSatisfy { $0.utf8.suffix(65_536).allSatisfy { $0 == UInt8(ascii: "x") } })
        }
    }

    @Test(arguments: [("endless", true), ("torn", false)])
    func `An event stream ends with the gateway and announces when to reconnect, but not within an event`(
        _ act: String, _ hasHint: Bool
    ) async throws {
        try await withGateway(configure: Self.drainsForLong) { test in
            let client = try await test.connect()
            try await client.send(TestGateway.request(act).replacing("/storage/", with: "/live/"))
            await client.wait(for: act == "torn" ? "data: 2" : "data: 1\n\n")
            await test.shutDown()
            await client.waitForClose(within: .seconds(60))
            #expect(client.text.hasSuffix("\r\n0\r\n\r\n"), "\(client.text)")
            #expect(client.text.contains("retry: ") == hasHint, "\(client.text)")
            if hasHint { #expect(client.text.contains("\n\n\r\n0\r\n"), "the hint is complete: \(client.text)") }
            let isDown = await eventually(within: .seconds(60)) { test.gateway.boundPort == nil }
            #expect(isDown)
        }
    }

    @Test func `An HTTP/2 stream ends after GOAWAY`() async throws {
        try await withGateway { test in
            let client = try await HTTP2Client.connect(test.port)
            let pseudo = [
                (":method", "GET"), (":scheme", "http"), (":path", "/api/mk_live_A/live/endless"), (":authority", "gw"),
            ]
            let answer = try await client.ask(
                HPACKHeaders(pseudo + [("x-martlet-secret", "ms_A")]), after: "data: 1\n\n", test.shutDown)
            #expect(
                answer.status == 200 && answer.body.hasPrefix("data: 1\n\nretry: ") && answer.body.hasSuffix("\n\n"),
                "\(answer)")
            let isClosed = await eventually { !client.isActive }
            #expect(isClosed)
        }
    }

    @Test func `A WebSocket is closed, and a long poll is refused and may be retried`() async throws {
        let server = try await UpgradeServer.start()
        try await withGateway(configure: {
            $0.upstreams["sockets"] = [server.address]
            Self.drainsForLong(&$0)
            $0.healthPath = nil
        }) { test in
            let routes = testRoutes.replacing(
                "{\"routes\": [",
                with: """
                    {"routes": [{"path": "/api/{appKey}/sockets/**", "upstream": "sockets", "credential": "client", "methods": ["GET"],
                    "streaming": true},
                    """)
            try routes.write(toFile: test.routesFile, atomically: true, encoding: .utf8)
            test.gateway.reloadRoutes()
            let socket = try await test.connect()
            let upgrade = TestGateway.request("x", ["Connection: Upgrade", "Upgrade: websocket"]).replacing(
                "/storage/", with: "/sockets/")
            try await socket.send(upgrade + "early")
            await socket.wait(for: "early")
            #expect(socket.status == 101, "\(socket.text)")
            let poll = try await test.connect()
            try await poll.send(TestGateway.request("never").replacing("/storage/", with: "/news/"))
            await eventually { test.upstream.arrivals.count == 1 }
            await test.shutDown()
            await poll.waitForClose(within: .seconds(60))
            #expect(
                poll.status == 503 && poll.text.contains("retry-after: 1") && poll.text.contains("connection: close"),
                "\(poll.text)")
            await socket.waitForClose(within: .seconds(60))
            #expect(socket.isClosed)
        }
        await server.stop()
    }

    @Test func `A second gateway takes over a port without a failed request`() async throws {
        try await withGateway { test in
            let port = test.port
            let second = try successor(of: test)
            let services = ServiceGroup(services: [second], logger: Logger(label: "test"))
            let load = Load()
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for client in 0..<8 {
                    tasks.addTask {
                        while !load.isOver.load(ordering: .relaxed) {
                            // Clients with even numbers keep their connection as long as possible.
                            guard let connection = try? await RawClient.connect(port) else {
                                load.failures.withLock { $0.append("refused") }
                                continue
                            }
                            var count = 0
                            repeat {
                                count += 1
                                let headers = client.isMultiple(of: 2) ? [] : ["Connection: close"]
                                try? await connection.send(
                                    TestGateway.request("x", headers, method: "POST", body: "abc"))
                                await eventually(within: .seconds(60)) {
                                    connection.isClosed || connection.text.components(of: "upstream-0").count > count
                                }
                                let answers = connection.text.components(of: "HTTP/1.1 200").count - 1
                                if answers != count {
                                    load.failures.withLock {
                                        $0.append("\(answers) of \(count): \(connection.text.suffix(300))")
                                    }
                                }
                                load.asked.wrappingAdd(1, ordering: .relaxed)
                            } while !connection.text.contains("connection: close") && !connection.isClosed
                                && count < 100
                            await connection.close()
                        }
                    }
                }
                tasks.addTask { try await services.run() }
                await eventually(within: .seconds(60)) { second.isReady && load.asked.load(ordering: .relaxed) > 50 }
                await test.shutDown()
                let isDown = await eventually(within: .seconds(60)) { test.gateway.boundPort == nil }
                #expect(isDown)
                let before = load.asked.load(ordering: .relaxed)
                await eventually(within: .seconds(60)) { load.asked.load(ordering: .relaxed) > before + 50 }
                load.isOver.store(true, ordering: .relaxed)
                await services.triggerGracefulShutdown()
                try await tasks.waitForAll()
            }
            #expect(load.failures.withLock { $0 } == [])
            #expect(load.asked.load(ordering: .relaxed) > 100)
        }
    }

    @Test func `A port in use by another process is reported at startup, unless it is to be shared`() async throws {
        try await withGateway { test in
            let second = try successor(of: test, shared: false)
            let error = await #expect(throws: GatewayConfigurationError.self) { try await second.run() }
            #expect(error?.description.contains("http.port: another process listens on 127.0.0.1:\(test.port)") == true)
        }
    }

    private func successor(of test: TestGateway, shared: Bool = true) throws -> Gateway {
        var configuration = GatewayConfiguration(
            routesFile: test.routesFile, upstreams: ["storage": test.upstreams.map(\.address)],
            internalSecret: TestKeys.internalSecret,
            keyRingURL: test.auth.url, stateDirectory: test.directory)
        configuration.host = "127.0.0.1"
        configuration.port = test.port
        configuration.isPortShared = shared
        configuration.eventLoopThreads = 2
        configuration.logsRequests = false
        return try Gateway(configuration: configuration, logger: Logger(label: "test"))
    }
}

/// Counts what clients of a replaced gateway see.
private final class Load: Sendable {
    let asked = Atomic(0)
    let failures = Mutex<[String]>([])
    let isOver = Atomic(false)
}

import Foundation
import NIOHTTP1
import Testing

@testable import GatewayService

@Suite struct ResilienceTests {
    @Test func `No idempotent request fails while one of two upstreams dies`() async throws {
        try await withGateway(upstreams: 2) { test in
            let client = try await test.connect()
            var failures = 0
            for number in 0..<200 {
                if number == 100 { await test.upstreams[0].stop() }
                let before = client.text.components(of: "HTTP/1.1 ").count
                try await client.send(TestGateway.request("n\(number)"))
                await eventually {
                    client.text.components(of: "HTTP/1.1 ").count > before
                        && client.text.components(of: "\r\n\r\nupstream-").count > before
                }
                if client.text.components(of: "HTTP/1.1 ").last?.prefix(3) != "200" { failures += 1 }
            }
            #expect(failures == 0)
            #expect(test.upstreams[0].arrivals.count > 20 && test.upstreams[1].arrivals.count > 120)
            await client.close()
        }
    }

    @Test(arguments: ["PUT", "PATCH", "DELETE"])
    func `A request with side effects is not resent when its upstream breaks off`(_ method: String)
        async throws
    {
        try await withGateway { test in
            let client = try await test.connect()
            try await client.send(TestGateway.request("one"))
            await client.wait(for: "upstream-0")
            try await client.send(TestGateway.request("close", method: method))
            await client.wait(for: "HTTP/1.1 502")
            #expect(client.text.contains("HTTP/1.1 502"))
            #expect(test.upstream.arrivals.filter { $0.head.uri == "/storage/close" }.count == 1)
            await client.close()
        }
    }

    /// Routes on which an upstream has ten seconds to respond: long enough for a slow machine, and worth waiting for.
    private static let impatient = testRoutes.replacing("\"timeoutSeconds\": 30", with: "\"timeoutSeconds\": 10")

    @Test func `The response timeout counts from the request, even after a resend`() async throws {
        try await withGateway(routes: Self.impatient) { test in
            let client = try await test.connect()
            try await client.send(TestGateway.request("one"))
            await client.wait(for: "upstream-0")
            try await client.send(TestGateway.request("never"))
            await eventually { test.upstream.arrivals.count == 2 }
            try await Task.sleep(for: .seconds(5))
            test.upstream.closeConnections()
            await eventually { test.upstream.arrivals.count == 3 }
            let resent = ContinuousClock.now
            await client.wait(for: "HTTP/1.1 50")
            #expect(client.text.contains("HTTP/1.1 504"), "\(client.text)")
            // Five seconds are left, not ten.
            #expect(ContinuousClock.now - resent < .seconds(9))
            await client.close()
        }
    }

    private static func routeFile() throws -> RouteFile {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return try RouteFile.read(folder.appending(path: "gateway/routes.json").path)
    }

    @Test func `A list of debug files to assemble may be as large at the gateway as at the service`() throws {
        let routes = try Self.routeFile().routes.filter { $0.path.hasSuffix("/crashes/symbols/assemble") }
        #expect(routes.count == 2)
        // `Assembly.maximumRequestSizeInBytes`
        for route in routes { #expect(route.maximumBodyBytes == 4 << 20, "\(route.path)") }
    }

    @Test func `No route of objects waits longer for a response than documented`() throws {
        let file = try Self.routeFile()
        // The file of an object has the time of other files.
        let objects = file.routes.filter { $0.path.hasPrefix("/api/{appKey}/storage") && !$0.path.contains("/files/") }
        #expect(objects.count > 3)
        for route in objects { #expect(route.timeoutSeconds ?? 30 <= 30, "\(route.path)") }
    }

    @Test func `Only safe methods are retried when a reused connection closes`() async throws {
        try await withGateway { test in
            let client = try await test.connect()
            try await client.send(TestGateway.request("one"))
            await client.wait(for: "upstream-0")
            // The upstream reads the second request and closes: the gateway must not resend a POST.
            try await client.send(TestGateway.request("close", method: "POST"))
            await client.wait(for: "HTTP/1.1 502")
            #expect(client.text.contains("HTTP/1.1 502"))
            #expect(test.upstream.arrivals.filter { $0.head.uri == "/storage/close" }.count == 1)
            try await client.send(TestGateway.request("two"))
            await eventually { client.text.components(of: "upstream-0").count == 3 }
            // The request is tried once on the reused connection and once on a new one.
            let before = test.upstream.arrivals.count
            try await client.send(TestGateway.request("close"))
            await eventually { client.text.components(of: "HTTP/1.1 502").count == 3 }
            #expect(client.text.components(of: "HTTP/1.1 502").count == 3)
            #expect(test.upstream.arrivals.count == before + 2)
            await client.close()
        }
    }

    /// A service that stops closes connections that it has just accepted.
    @Test func `A safe request is sent to another copy once if a new connection closes`() async throws {
        try await withGateway(upstreams: 2) { test in
            #expect(try await test.ask("close").status == 502)
            #expect(test.upstreams.map(\.arrivals.count) == [1, 1])
            let client = try await test.exchange(TestGateway.request("close", ["Connection: close"], method: "POST"))
            #expect(client.status == 502)
            #expect(test.upstreams.map(\.arrivals.count).reduce(0, +) == 3)
        }
    }

    @Test func `An idle connection closed by the upstream causes no error`() async throws {
        try await withGateway { test in
            for number in 0..<30 {
                let status5 = try await test.ask("n\(number)").status
                #expect(status5 == 200)
                test.upstream.closeConnections()
            }
        }
    }

    @Test func `An unreachable upstream causes 503 with Retry-After, and the breaker lets it recover`() async throws {
        try await withGateway(configure: { $0.healthPath = nil }) { test in
            let port = test.upstream.port
            await test.upstream.stop()
            for _ in 0..<8 {
                let client = try await test.ask("x")
                #expect(client.status == 503 && client.text.contains("retry-after: 1"), "\(client.text)")
            }
            let again = try await TestUpstream.start("again", port: port)
            let isBack = await eventually { (try? await test.ask("x").status) == 200 }
            #expect(isBack)
            await again.stop()
        }
    }

    /// Sends enough successful requests that every upstream gets some; returns how many this upstream answered.
    private func arrivals(_ upstream: TestUpstream, _ test: TestGateway) async throws -> Int {
        let before = upstream.arrivals.count
        for _ in 0..<20 {
            let status = try await test.ask("x").status
            #expect(status == 200)
        }
        return upstream.arrivals.count - before
    }

    @Test func `An upstream that is not ready gets no requests until it is`() async throws {
        try await withGateway(upstreams: 2) { test async throws in
            test.upstreams[0].isHealthy = false
            let isLeftOut = await eventually(within: .seconds(120)) {
                (try? await arrivals(test.upstreams[0], test)) == 0
            }
            #expect(isLeftOut)
            #expect(try await arrivals(test.upstreams[0], test) == 0)
            let before = test.upstreams[0].arrivals.count
            test.upstreams[0].isHealthy = true
            let isBack = await eventually(within: .seconds(120)) {
                _ = try? await test.ask("x")
                return test.upstreams[0].arrivals.count > before
            }
            #expect(isBack)
        }
    }

    @Test func `An upstream at a Unix socket is health-checked, dies and recovers like one at a port`() async throws {
        let path = NSTemporaryDirectory() + "\(UUID().uuidString.prefix(8)).sock"
        let socket = try await TestUpstream.start("at a socket", socket: path)
        let port = try await TestUpstream.start("at a port")
        try await withGateway(configure: { $0.upstreams = ["storage": ["unix:" + path, port.address]] }) { test in
            // After several rounds of health checks both are still in use.
            let isAsked = await eventually(within: .seconds(120)) { socket.checks > 2 }
            #expect(isAsked)
            #expect(try await arrivals(socket, test) > 2)
            socket.isHealthy = false
            let isLeftOut = await eventually(within: .seconds(120)) { (try? await arrivals(socket, test)) == 0 }
            #expect(isLeftOut)
            #expect(try await arrivals(socket, test) == 0)
            socket.isHealthy = true
            await port.stop()
            let isBack = await eventually { (try? await test.ask("x").status) == 200 }
            #expect(isBack)
            let body = String(repeating: "z", count: 3_000_000)
            #expect(try await test.ask("echo", method: "POST", body: body).body == body)
            await socket.stop()
            #expect([502, 503].contains(try await test.ask("x").status))
            let next = try await TestUpstream.start("at the same socket", socket: path)
            let isReachable = await eventually { (try? await test.ask("x").status) == 200 }
            #expect(isReachable)
            await next.stop()
        }
        try? FileManager.default.removeItem(atPath: path)
    }

    @Test func `An upstream that does not respond in time causes 504, and one that breaks off closes the connection`()
        async throws
    {
        try await withGateway(routes: Self.impatient) { test in
            let late = try await test.ask("never")
            #expect(late.status == 504, "\(late.text)")
            let isAborted = await eventually { test.upstream.arrivals.first?.isAborted == true }
            #expect(isAborted)
            let half = try await test.ask("half")
            #expect(half.status == 200 && half.body == "half" && half.isClosed)
            let failed = try await test.ask("status/500")
            #expect(failed.status == 500 && failed.body == "status")
        }
    }

    @Test func `On routes whose clients discard data after a 5xx, the connection closes without a response`()
        async throws
    {
        try await withGateway { test in
            let auth = "Authorization: Basic " + Data("mi_live_A:".utf8).base64EncodedString()
            let request = "POST /kept/7/envelope/ HTTP/1.1\r\nHost: gw\r\n\(auth)\r\nContent-Length: 2\r\n\r\n{}"
            #expect(
                try await test.exchange(request.replacing("\r\nContent", with: "\r\nConnection: close\r\nContent"))
                    .status == 200)
            await test.upstream.stop()
            let client = try await test.connect()
            try await client.send(request)
            await eventually { client.isClosed }
            #expect(client.isClosed && client.text.isEmpty, "\(client.text)")
            // Errors of the client are still reported.
            let wrong = try await test.exchange(
                request.replacing("mi_live_A", with: "x").replacing(auth, with: "Connection: close"))
            #expect(wrong.status == 401)
        }
    }

    @Test func `Requests are spread over the addresses`() async throws {
        try await withGateway(upstreams: 3) { test in
            for _ in 0..<30 { _ = try await test.ask("x") }
            for upstream in test.upstreams {
                #expect((5...15).contains(upstream.arrivals.count), "\(upstream.arrivals.count)")
            }
        }
    }
}

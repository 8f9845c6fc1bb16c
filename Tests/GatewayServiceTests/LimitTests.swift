import Foundation
import Logging
import NIOCore
import NIOHTTP1
import Testing

@testable import GatewayService

@Suite(.serialized) struct LimitTests {
    @Test func `Heads and bodies beyond their limits are refused with the right status`() async throws {
        try await withGateway { test in
            let long = String(repeating: "a", count: 20_000)
            let status1 = try await test.ask("Notes", ["X-Long: \(long)"]).status
            #expect(status1 == 431)
            let status2 = try await test.ask("Notes", (0..<120).map { "X-\($0): 1" }).status
            #expect(status2 == 431)
            let status3 = try await test.ask(String(long.prefix(9000))).status
            #expect(status3 == 414)
            let status4 = try await test.ask(long).status
            #expect(status4 == 414)
            #expect(test.upstream.arrivals.isEmpty)

            let small = "POST /api/mk_live_A/small/sink HTTP/1.1\r\nHost: gw\r\nX-Martlet-Secret: ms_A\r\n"
            let declared = try await test.exchange(
                small + "Content-Length: 1001\r\nConnection: close\r\n\r\n" + long.prefix(1001))
            #expect(declared.status == 413)
            #expect(test.upstream.arrivals.isEmpty)
            let chunk = "1f4\r\n" + long.prefix(500) + "\r\n"
            let chunked = try await test.exchange(
                small + "Transfer-Encoding: chunked\r\n\r\n" + chunk + chunk + chunk + "0\r\n\r\n")
            #expect(chunked.status == 413)
            let fits = try await test.exchange(
                small + "Content-Length: 1000\r\nConnection: close\r\n\r\n" + long.prefix(1000))
            #expect(fits.status == 200 && fits.body == "1000")
        }
    }

    @Test func `The rest of a refused request is skipped if it is short, and the connection is kept`() async throws {
        try await withGateway { test in
            let client = try await test.connect()
            try await client.send(TestGateway.request("echo", method: "POST", body: "secret", secret: "x"))
            let small = "POST /api/mk_live_A/small/sink HTTP/1.1\r\nHost: gw\r\nX-Martlet-Secret: ms_A\r\n"
            try await client.send(small + "Content-Length: 1001\r\n\r\n")
            await client.wait(for: "HTTP/1.1 413")
            let last = TestGateway.request("echo", ["Connection: close"], method: "POST", body: "kept")
            try await client.send(String(repeating: "a", count: 1001) + last)
            await client.waitForClose()
            let statuses = client.text.components(of: "HTTP/1.1 ").dropFirst().map { $0.prefix(3) }
            #expect(statuses == ["401", "413", "200"], "\(client.text)")
            #expect(client.text.components(of: "connection: close").count == 2, "\(client.text)")
            #expect(client.text.hasSuffix("kept") && test.upstream.arrivals.count == 1)
        }
    }

    @Test(arguments: [
        "Content-Length: 65537\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n",
        "Expect: 100-continue\r\nContent-Length: 4\r\n\r\n",
    ])
    func `A refused request whose rest is long, of unknown length or not on its way closes the connection`(
        _ rest: String
    ) async throws {
        try await withGateway { test in
            let head = "POST /api/mk_live_A/storage/sink HTTP/1.1\r\nHost: gw\r\nX-Martlet-Secret: wrong\r\n"
            let client = try await test.exchange(head + rest)
            #expect(client.status == 401 && client.text.contains("connection: close"), "\(client.text)")
        }
    }

    @Test func `A client that does not send the rest of a refused request is disconnected soon`() async throws {
        try await withGateway(configure: { $0.timeouts.idle = .seconds(3_600) }) { test in
            let head = "POST /api/mk_live_A/storage/sink HTTP/1.1\r\nHost: gw\r\nX-Martlet-Secret: wrong\r\n"
            let client = try await test.exchange(head + "Content-Length: 65536\r\n\r\nabc")
            #expect(client.status == 401 && !client.text.contains("connection: close"), "\(client.text)")
        }
    }

    @Test func `A key that exceeds its rate is refused with the time to wait`() async throws {
        try await withGateway(configure: { $0.requestsPerKey = .init(requestsPerSecond: 0.01, burst: 3) }) { test in
            var statuses: [Int] = []
            for _ in 0..<5 { statuses.append(try await test.ask("Notes").status) }
            #expect(statuses == [200, 200, 200, 429, 429])
            let refused = try await test.ask("Notes")
            let pause = refused.text.components(of: "retry-after: ").last?.prefix { $0.isNumber }
            #expect((1...100).contains(Int(pause ?? "") ?? 0), "\(refused.text)")
            let other = try await test.exchange(
                TestGateway.request("x", ["Connection: close"], key: "mk_live_B", secret: "ms_B"))
            #expect(other.status == 200)
        }
    }

    @Test func `An address that exceeds its rate is refused before its credentials are checked`() async throws {
        try await withGateway(configure: { $0.requestsPerAddress = .init(requestsPerSecond: 0.01, burst: 2) }) { test in
            var statuses: [Int] = []
            for _ in 0..<3 {
                statuses.append(
                    try await test.exchange(TestGateway.request("x", ["Connection: close"], secret: "x")).status)
            }
            #expect(statuses == [401, 401, 429])
        }
    }

    @Test func `An app's own server is not limited by its address, and a wrong master key is`() async throws {
        try await withGateway(configure: {
            $0.eventLoopThreads = 1
            $0.requestsPerAddress = .init(requestsPerSecond: 0.01, burst: 3)
            $0.limits.maximumRequestsPerAddress = 1
        }) { test in
            let master = "X-Martlet-Master-Key: mm_A"
            let waiting = try await test.connect()
            try await waiting.send(TestGateway.request("never", [master]))
            await eventually { test.upstream.arrivals.count == 1 }
            for number in 0..<6 {
                let user = number.isMultiple(of: 2) ? ["X-Martlet-User: ada"] : []
                #expect(try await test.ask("x", [master] + user).status == 200)
            }
            #expect(try await test.ask("x", ["X-Martlet-Master-Key: mm_B"]).status == 401)
            var statuses: [Int] = []
            for _ in 0..<3 { statuses.append(try await test.ask("x").status) }
            #expect(statuses == [200, 200, 429])
            await waiting.close()
        }
    }

    @Test func `By default, requests from the gateway's own machine do not count towards limits`() async throws {
        let limit = GatewayConfiguration.RateLimit(requestsPerSecond: 0.01, burst: 2, exemptsLoopback: true)
        try await withGateway(configure: { ($0.requestsPerAddress, $0.trustedProxies) = (limit, ["127.0.0.1/32"]) }) {
            test in
            for _ in 0..<5 { #expect(try await test.ask("Notes").status == 200) }
            var statuses: [Int] = []
            for _ in 0..<3 {
                let request = TestGateway.request(
                    "x", ["Connection: close", "X-Forwarded-For: 192.0.2.9"], secret: "x")
                statuses.append(try await test.exchange(request).status)
            }
            #expect(statuses == [401, 401, 429], "another machine behind the proxy")
        }
    }

    @Test func `A slow head is cut off with 408, and a silent connection is closed`() async throws {
        try await withGateway(configure: { $0.timeouts.header = .seconds(3) }) { test in
            let silent = try await test.connect()
            let slow = try await test.connect()
            try await slow.send("GET /api/mk_live_A/storage/x HTTP/1.1\r\n")
            for _ in 0..<10 where !slow.isClosed {
                try? await slow.send("X-A: b\r\n")
                try await Task.sleep(for: .milliseconds(150))
            }
            await slow.waitForClose()
            await silent.waitForClose()
            #expect(slow.status == 408 && slow.isClosed)
            #expect(silent.isClosed && silent.text.isEmpty)
            #expect(test.upstream.arrivals.isEmpty)
        }
    }

    @Test func `A stalled body is cut off, and so is an idle connection`() async throws {
        try await withGateway(configure: { $0.timeouts.idle = .seconds(3) }) { test in
            let stuck = try await test.connect()
            try await stuck.send(TestGateway.request("sink", ["Content-Length: 100"], method: "POST") + "abc")
            let idle = try await test.connect()
            try await idle.send(TestGateway.request("x"))
            await idle.waitForClose()
            await stuck.waitForClose()
            #expect(stuck.status == 408)
            #expect(idle.status == 200 && idle.isClosed)
            let isAborted = await eventually {
                test.upstream.arrivals.contains { $0.head.method == .POST && $0.isAborted }
            }
            #expect(isAborted)
        }
    }

    @Test func `A client that does not read its response is cut off, and the upstream is notified`() async throws {
        try await withGateway(configure: { $0.timeouts.reading = .seconds(6) }) { test in
            let stuck = try await test.connect(reading: false)
            try await stuck.underlying.setOption(.socketOption(.so_rcvbuf), value: 32 * 1024).get()
            try await stuck.send(TestGateway.request("big"))
            let isAborted = await eventually(within: .seconds(120)) { test.upstream.arrivals.first?.isAborted == true }
            #expect(isAborted)
            #expect(test.upstream.sentBytes < StreamingTests.size)
            let other = try await test.connect()
            try await other.send(TestGateway.request("big", ["Connection: close"]))
            await other.waitForClose(within: .seconds(120))
            #expect(other.count > StreamingTests.size)
            await stuck.close()
        }
    }

    @Test(arguments: [(0, true), (4_096, false)]) func `A minimum read rate of zero cuts no one off`(
        _ minimum: Int, _ isKept: Bool
    ) {
        var rate = ReadingRate()
        #expect(
            isTooSlow(&rate, seconds: 120, minimum: minimum) { _ in (isWaiting: true, bytesTaken: 65_536) } == !isKept)
    }

    @Test func `Only the rate while bytes wait for the client counts`() {
        let takesNothing: (Int) -> (isWaiting: Bool, bytesTaken: Int64) = { _ in (true, 0) }
        var rate = ReadingRate()
        #expect(!isTooSlow(&rate, seconds: 29, minimum: 4_096, takesNothing))
        #expect(isTooSlow(&rate, from: 29, seconds: 2, minimum: 4_096, takesNothing))
        rate = ReadingRate()
        #expect(!isTooSlow(&rate, seconds: 600, minimum: 4_096) { (true, Int64($0) * 4_200) })
        rate = ReadingRate()
        #expect(isTooSlow(&rate, seconds: 600, minimum: 4_096) { (true, Int64($0) * 4_000) })
        // A slow upstream is not the client's fault.
        rate = ReadingRate()
        #expect(!isTooSlow(&rate, seconds: 600, minimum: 4_096) { ($0 % 3 == 0, Int64($0)) })
    }

    private func isTooSlow(
        _ rate: inout ReadingRate, from start: Int = 0, seconds: Int, minimum: Int,
        _ client: (Int) -> (isWaiting: Bool, bytesTaken: Int64)
    ) -> Bool {
        (start...start + seconds).contains { second in
            let client = client(second)
            return rate.isTooSlow(
                .uptimeNanoseconds(1) + .seconds(Int64(second)), isWaiting: client.isWaiting,
                bytesTaken: client.bytesTaken, minimum: minimum,
                window: .seconds(30))
        }
    }

    @Test func `No requests are read from a client that reads no responses; it gets them all later`() async throws {
        try await withGateway { test in
            // 26 MB of responses: more than the kernel buffers for a client that does not read.
            let count = 400
            let client = try await test.connect(reading: false)
            try await client.underlying.setOption(.socketOption(.so_rcvbuf), value: 32 * 1024).get()
            let requests = String(repeating: TestGateway.request("page"), count: count - 1)
            try await client.send(requests + TestGateway.request("page", ["Connection: close"]))
            await eventually { test.upstream.arrivals.count > 0 }
            var before = -1
            while test.upstream.arrivals.count != before {
                before = test.upstream.arrivals.count
                try await Task.sleep(for: .milliseconds(700))
            }
            #expect(before > 0 && before < count)
            client.startReading()
            await client.waitForClose(within: .seconds(120))
            #expect(test.upstream.arrivals.count == count)
            #expect(client.text.utf8.count > count * 65_536)
        }
    }

    @Test func `An address cannot exceed its share of concurrent requests`() async throws {
        try await withGateway(configure: {
            $0.eventLoopThreads = 1
            $0.limits.maximumRequestsPerAddress = 4
        }) { test in
            let uploads = try await startUploads(4, test)
            let refused = try await test.exchange(
                TestGateway.request("x", ["Connection: close"], key: "mk_live_B", secret: "ms_B"))
            #expect(refused.status == 429 && refused.text.contains("retry-after: 1"), "\(refused.text)")
            #expect(test.upstream.arrivals.count == 4)
            for upload in uploads { await upload.close() }
            let isOpen = await eventually { (try? await test.ask("x").status) == 200 }
            #expect(isOpen)
        }
    }

    @Test func `A credential cannot exceed its share of concurrent requests`() async throws {
        try await withGateway(configure: {
            $0.eventLoopThreads = 1
            $0.limits.maximumRequestsPerCredential = 2
        }) { test in
            var waiting: [RawClient] = []
            for body in ["", "abc"] {
                let client = try await test.connect()
                try await client.send(TestGateway.request("never", method: body.isEmpty ? "GET" : "POST", body: body))
                waiting.append(client)
            }
            await eventually { test.upstream.arrivals.count == 2 }
            let refused = try await test.ask("x")
            #expect(refused.status == 429 && refused.text.contains("retry-after: 1"), "\(refused.text)")
            let other = try await test.exchange(
                TestGateway.request("x", ["Connection: close"], key: "mk_live_B", secret: "ms_B"))
            #expect(other.status == 200)
            for client in waiting { await client.close() }
            let isOpen = await eventually { (try? await test.ask("x").status) == 200 }
            #expect(isOpen)
        }
    }

    @Test
    func `Unfinished bodies do not use up their credential's share, and no body completes once it is used up`()
        async throws
    {
        try await withGateway(configure: {
            $0.eventLoopThreads = 1
            $0.limits.maximumRequestsPerCredential = 1
            $0.timeouts.bodyStall = .seconds(60)
        }) { test in
            let uploads = try await startUploads(3, test)
            #expect(try await test.ask("x").status == 200)
            #expect(try await test.ask("sink", method: "POST", body: "abc").status == 200)
            let waiting = try await test.connect()
            try await waiting.send(TestGateway.request("never"))
            await eventually { test.upstream.arrivals.count == 6 }
            try await uploads[0].send(String(repeating: "a", count: 99))
            await uploads[0].wait(for: "retry-after: 1")
            #expect(uploads[0].status == 429 && uploads[0].text.contains("retry-after: 1"), "\(uploads[0].text)")
            let chunked = try await test.exchange(
                TestGateway.request("sink", ["Transfer-Encoding: chunked", "Connection: close"], method: "POST")
                    + "1\r\na\r\n0\r\n\r\n")
            #expect(chunked.status == 429, "\(chunked.text)")
            let areCutOff = await eventually { test.upstream.arrivals.filter { $0.isAborted }.count == 2 }
            #expect(areCutOff, "the service never gets a complete refused request")
            await waiting.close()
            let isOpen = await eventually { (try? await test.ask("x").status) == 200 }
            #expect(isOpen)
            try await uploads[1].send(String(repeating: "a", count: 99))
            await uploads[1].wait(for: "\r\n\r\n100")
            #expect(uploads[1].status == 200)
            for upload in uploads { await upload.close() }
        }
    }

    /// Starts requests that have sent one byte of their body.
    private func startUploads(_ count: Int, _ test: TestGateway) async throws -> [RawClient] {
        var uploads: [RawClient] = []
        for _ in 0..<count {
            let upload = try await test.connect()
            try await upload.send(TestGateway.request("sink", ["Content-Length: 100"], method: "POST") + "a")
            uploads.append(upload)
        }
        await eventually { test.upstream.arrivals.count == count }
        return uploads
    }

    @Test func `A slow body is cut off with 408, and one that keeps the pace is not`() async throws {
        try await withGateway(configure: { $0.timeouts.bodyStall = .seconds(3) }) { test in
            let dripping = try await test.connect()
            let steady = try await test.connect()
            try await dripping.send(TestGateway.request("sink", ["Content-Length: 1000"], method: "POST"))
            try await steady.send(TestGateway.request("sink", ["Content-Length: 15000"], method: "POST"))
            for _ in 0..<15 {
                try? await dripping.send("a")
                try await steady.send([UInt8](repeating: 0x61, count: 1000))
                try await Task.sleep(for: .milliseconds(100))
            }
            await dripping.waitForClose()
            await steady.wait(for: "\r\n\r\n15000")
            #expect(dripping.status == 408, "\(dripping.text)")
            #expect(steady.status == 200 && steady.body == "15000", "\(steady.text)")
            let isAborted = await eventually { test.upstream.arrivals.contains { $0.isAborted } }
            #expect(isAborted)
            await steady.close()
        }
    }

    @Test func `A body that stalls before its last byte is cut off as soon as one that never began`()
        async throws
    {
        try await withGateway(configure: { $0.timeouts.bodyStall = .seconds(3) }) { test in
            let upload = try await test.connect()
            try await upload.send(TestGateway.request("sink", ["Content-Length: 1000000"], method: "POST"))
            try await upload.send([UInt8](repeating: 0x61, count: 999_999))
            await upload.waitForClose(within: .seconds(120))
            #expect(upload.status == 408, "\(upload.text)")
        }
    }

    @Test func `A body has a total time limit, except on routes with a limit of their own`()
        async throws
    {
        try await withGateway(configure: { $0.timeouts.body = .seconds(1) }) { test in
            let upload = try await test.connect()
            try await upload.send(TestGateway.request("sink", ["Content-Length: 1000000"], method: "POST"))
            let file = try await test.connect()
            try await file.send(
                TestGateway.request("sink", ["Content-Length: 1000000"], method: "POST").replacing(
                    "/storage/", with: "/files/"))
            await eventually(within: .seconds(120)) {
                try? await upload.send([UInt8](repeating: 0x61, count: 1000))
                try? await file.send([UInt8](repeating: 0x61, count: 1000))
                return upload.isClosed
            }
            #expect(upload.status == 408, "\(upload.text)")
            #expect(!file.isClosed && file.text.isEmpty)
            await file.close()
        }
    }
}

@Suite struct ConnectionLimitTests {
    @Test func `Connections beyond the limit are closed while all are busy, and accepted again when others end`()
        async throws
    {
        try await withGateway(configure: { $0.limits.maximumConnections = 2 }) { test in
            let busy = [try await test.connect(), try await test.connect()]
            for client in busy {
                try await client.send(TestGateway.request("never").replacing("/storage/", with: "/live/"))
            }
            await eventually { test.upstream.arrivals.count == 2 }
            let third = try await test.connect()
            await third.waitForClose()
            #expect(third.isClosed && third.text.isEmpty && !busy[0].isClosed && !busy[1].isClosed)
            for client in busy { await client.close() }
            let isOpen = await eventually { (try? await test.ask("Notes").status) == 200 }
            #expect(isOpen)
        }
    }

    @Test func `Under pressure the longest idle connection of the address with the most connections is closed`()
        async throws
    {
        try await withGateway(configure: { $0.limits.maximumConnections = 4 }) { test in
            let many = [
                try await use(test, "127.0.0.1"), try await use(test, "127.0.0.1"), try await use(test, "127.0.0.1"),
            ]
            let single = try await use(test, "127.0.0.2")
            try await many[0].send(TestGateway.request("again"))
            await eventually { test.upstream.arrivals.count == 5 }
            await eventually { many[0].text.components(of: "upstream-0").count == 3 }
            let newcomer = try await use(test, "127.0.0.3")
            await many[1].waitForClose()
            #expect(newcomer.status == 200 && many[1].isClosed)
            #expect(!many[0].isClosed && !many[2].isClosed && !single.isClosed)
            for client in many + [single, newcomer] { await client.close() }
        }
    }

    @Test func `While all connections of the busiest address are busy, another address with several is chosen`()
        async throws
    {
        try await withGateway(configure: { $0.limits.maximumConnections = 5 }) { test in
            var busy: [RawClient] = []
            for _ in 0..<3 {
                let client = try await test.connect(from: "127.0.0.1")
                try await client.send(TestGateway.request("never").replacing("/storage/", with: "/live/"))
                busy.append(client)
            }
            await eventually { test.upstream.arrivals.count == 3 }
            let idle = [try await use(test, "127.0.0.2"), try await use(test, "127.0.0.2")]
            let newcomer = try await use(test, "127.0.0.3")
            await idle[0].waitForClose()
            #expect(newcomer.status == 200 && idle[0].isClosed && !idle[1].isClosed && busy.allSatisfy { !$0.isClosed })
            // Now no address has two connections of which one is idle.
            let last = try await test.connect(from: "127.0.0.4")
            await last.waitForClose()
            #expect(last.isClosed && last.text.isEmpty && !idle[1].isClosed && !newcomer.isClosed)
            for client in busy + idle + [newcomer, last] { await client.close() }
        }
    }

    @Test func `A connection whose responses are unread is not idle`() async throws {
        try await withGateway(configure: { $0.limits.maximumConnections = 2 }) { test in
            let reader = try await test.connect(reading: false)
            for _ in 0..<400 { try await reader.send(TestGateway.request("page")) }
            var answered = -1
            await eventually {
                defer { answered = test.upstream.arrivals.count }
                try? await Task.sleep(for: .milliseconds(200))
                return answered > 0 && test.upstream.arrivals.count == answered
            }
            let idle = try await use(test, "127.0.0.1")
            let newcomer = try await use(test, "127.0.0.1")
            await idle.waitForClose()
            #expect(newcomer.status == 200 && idle.isClosed)
            reader.startReading()
            let isComplete = await eventually { reader.text.components(of: "HTTP/1.1 200").count == 401 }
            #expect(isComplete)
            for client in [reader, idle, newcomer] { await client.close() }
        }
    }

    @Test func `An address cannot take all connections`() async throws {
        try await withGateway(configure: { $0.limits.maximumConnectionsPerAddress = 2 }) { test in
            let busy = try await test.connect()
            try await busy.send(TestGateway.request("never").replacing("/storage/", with: "/live/"))
            await eventually { test.upstream.arrivals.count == 1 }
            let idle = try await use(test, "127.0.0.1")
            let next = try await use(test, "127.0.0.1")
            await idle.waitForClose()
            #expect(next.status == 200 && idle.isClosed && !busy.isClosed)
            let other = try await use(test, "127.0.0.2")
            #expect(other.status == 200 && !next.isClosed)
            for client in [busy, idle, next, other] { await client.close() }
        }
    }

    @Test func `A trusted proxy is not a client, so its connections are not counted by address`() async throws {
        try await withGateway(configure: {
            $0.limits.maximumConnectionsPerAddress = 1
            $0.trustedProxies = ["127.0.0.0/8"]
        }) { test in
            let first = try await use(test, "127.0.0.1")
            let second = try await use(test, "127.0.0.1")
            #expect(!first.isClosed && second.status == 200)
            for client in [first, second] { await client.close() }
        }
    }

    @Test func `Addresses of one IPv6 network count as one client`() throws {
        let one = try #require(IPAddress("2001:db8:1:2::1")), two = try #require(IPAddress("2001:db8:1:2:ffff::9"))
        let other = try #require(IPAddress("2001:db8:1:3::1"))
        #expect(one.bucket == two.bucket && one.bucket != other.bucket)
    }

    @Test func `Without descriptors for upstreams, requests are refused and the gateway survives`() async throws {
        // 128 descriptors and 8 per event loop are reserved; of 64, 32 are for clients.
        try await withGateway(configure: { $0.openFiles = 128 + 16 + 64 }) { test in
            var clients: [RawClient] = []
            for number in 0..<40 {
                let client = try await test.connect(from: "127.0.0.\(2 + number)")
                try? await client.send(TestGateway.request("never").replacing("/storage/", with: "/live/"))
                clients.append(client)
            }
            let areRefused = await eventually { clients.filter(\.isClosed).count == 8 }
            #expect(areRefused, "\(clients.filter(\.isClosed).count)")
            #expect(test.upstream.arrivals.count <= 32)
            for client in clients { await client.close() }
            let isOpen = await eventually { (try? await test.ask("x").status) == 200 }
            #expect(isOpen)
        }
    }

    @Test func `Idle connections to one upstream do not withhold descriptors from another`() async throws {
        let other = try await TestUpstream.start("other-0")
        let routes = testRoutes.replacing(
            "{\"routes\": [",
            with: """
                {"routes": [{"path": "/api/{appKey}/other/**", "upstream": "other", "credential": "client", "rewrite": "/storage/**", "methods": ["GET"]},
                """)
        // 32 descriptors remain for upstreams.
        try await withGateway(
            routes: routes,
            configure: {
                $0.upstreams["other"] = [other.address]
                $0.openFiles = 128 + 16 + 64
            }
        ) { test in
            var clients: [RawClient] = []
            for number in 0..<32 {
                let client = try await test.connect(from: "127.0.0.\(2 + number)")
                try await client.send(TestGateway.request("slow"))
                clients.append(client)
            }
            for client in clients { await client.wait(for: "\r\n\r\nslow") }
            try await clients[0].send(TestGateway.request("x").replacing("/storage/", with: "/other/"))
            await clients[0].wait(for: "other-0")
            #expect(clients[0].text.hasSuffix("other-0"), "\(clients[0].text)")
            for client in clients { await client.close() }
        }
        await other.stop()
    }

    @Test func `Too few descriptors are reported at startup`() async throws {
        var configuration = GatewayConfiguration(
            routesFile: "none", upstreams: [:], internalSecret: TestKeys.internalSecret,
            keyRingURL: "http://127.0.0.1:1",
            stateDirectory: NSTemporaryDirectory())
        configuration.eventLoopThreads = 2
        configuration.openFiles = 200
        let error = #expect(throws: GatewayConfigurationError.self) {
            _ = try Settings(configuration, logger: .init(label: "test"))
        }
        #expect(error?.description == "The limit of open files must be at least 208, found 200.")
    }

    /// Makes a request and leaves the connection idle.
    private func use(_ test: TestGateway, _ source: String) async throws -> RawClient {
        let client = try await test.connect(from: source)
        try await client.send(TestGateway.request("x"))
        await client.wait(for: "upstream-0")
        return client
    }
}

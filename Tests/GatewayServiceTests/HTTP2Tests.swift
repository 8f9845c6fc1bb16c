import MartletTesting
import NIOCore
import NIOHPACK
import NIOHTTP1
import NIOHTTP2
import NIOPosix
import Synchronization
import Testing

@testable import GatewayService

@Suite struct HTTP2Tests {
    static let good: [(String, String)] = [
        (":method", "GET"), (":scheme", "http"), (":path", "/api/mk_live_A/storage/Notes?x=1"), (":authority", "gw"),
        ("x-martlet-secret", "ms_A"),
    ]

    struct Case: CustomTestStringConvertible, Sendable {
        var testDescription: String
        /// Replaces or adds headers; an empty value removes one.
        var change: [String: String]
        var status: Int?

        func headers() -> HPACKHeaders {
            var headers = HTTP2Tests.good.filter { change[$0.0] == nil }
            for (name, value) in change.sorted(by: { $0.key < $1.key }) {
                guard !value.isEmpty else { continue }
                if name.hasPrefix(":") { headers.insert((name, value), at: 0) } else { headers.append((name, value)) }
            }
            return HPACKHeaders(headers)
        }
    }

    static let cases = [
        Case(testDescription: "good", change: [:], status: 200),
        Case(testDescription: "wrong secret", change: ["x-martlet-secret": "x"], status: 401),
        Case(testDescription: "unknown path", change: [":path": "/nothing"], status: 404),
        Case(testDescription: "dots", change: [":path": "/api/mk_live_A/storage/../x"], status: 400),
        Case(testDescription: "blank in path", change: [":path": "/api/mk_live_A/storage/x HTTP/1.1"], status: nil),
        Case(testDescription: "line break in path", change: [":path": "/x HTTP/1.1\r\nX: 1"], status: nil),
        Case(testDescription: "absolute path", change: [":path": "http://gw/x"], status: 400),
        Case(testDescription: "other host", change: ["host": "evil"], status: 400),
        Case(testDescription: "no authority", change: [":authority": ""], status: 400),
        Case(testDescription: "line break in value", change: ["x-a": "1\r\nx-b: 2"], status: nil),
        Case(testDescription: "NUL in value", change: ["x-a": "1\0"], status: nil),
        Case(testDescription: "transfer-encoding", change: ["transfer-encoding": "chunked"], status: nil),
        Case(testDescription: "connection", change: ["connection": "close"], status: nil),
        Case(testDescription: "unknown pseudo-header", change: [":frob": "1"], status: nil),
        Case(testDescription: "upper case", change: ["X-Up": "1"], status: nil),
        Case(
            testDescription: "too many headers",
            change: .init(uniqueKeysWithValues: (0..<150).map { ("x-\($0)", "1") }), status: 431),
    ]

    @Test
    func `The rules of HTTP/1.1 hold for streams; forbidden requests get an error or a reset and are not forwarded`()
        async throws
    {
        try await withGateway { test in
            for item in Self.cases {
                let client = try await HTTP2Client.connect(test.port)
                let before = test.upstream.arrivals.count
                let answer = try await client.ask(item.headers(), body: nil)
                if let status = item.status {
                    #expect(answer.status == status, "\(item.testDescription): \(answer)")
                } else {
                    #expect(answer.status == nil || answer.status == 400, "\(item.testDescription): \(answer)")
                }
                #expect(
                    test.upstream.arrivals.count - before == (item.status == 200 ? 1 : 0), "\(item.testDescription)")
                await client.close()
            }
            let head = try #require(test.upstream.arrivals.first?.head)
            #expect(head.uri == "/storage/Notes?x=1" && head.version == .http1_1)
            #expect(head.headers["host"] == ["gw"] && !head.headers.contains(name: "x-martlet-secret"))
        }
    }

    @Test
    func
        `A malformed request ends only its own stream: earlier and later ones are answered, and no GOAWAY is sent`()
        async throws
    {
        try await withGateway { test in
            let client = try await HTTP2Client.connect(test.port)
            for item in Self.cases where item.status == nil {
                let before = test.upstream.arrivals.count
                async let slow = client.ask(
                    HPACKHeaders(Self.good.reordered(path: "/api/mk_live_A/storage/slow")), body: nil)
                await eventually { test.upstream.arrivals.count == before + 1 }
                let answer = try await client.ask(item.headers(), body: nil)
                #expect(answer.status == nil || answer.status == 400, "\(item.testDescription): \(answer)")
                let neighbours = try await [slow, client.ask(HPACKHeaders(Self.good), body: nil)]
                #expect(neighbours.map(\.status) == [200, 200], "\(item.testDescription)")
                #expect(client.isActive && client.goAwayCode == nil, "\(item.testDescription)")
            }
            await client.close()
        }
    }

    @Test func `A body whose length differs from the announced one ends only its own stream`() async throws {
        try await withGateway { test in
            let client = try await HTTP2Client.connect(test.port)
            for (length, body) in [("5", "abc"), ("2", "abc"), ("-1", "abc"), ("x", "abc")] {
                let headers = HPACKHeaders(Self.posting("/api/mk_live_A/storage/echo") + [("content-length", length)])
                let answer = try await client.ask(headers, body: body)
                #expect(answer.status == nil || answer.status == 400, "\(length)")
                let after = try await client.ask(HPACKHeaders(Self.good), body: nil)
                #expect(after.status == 200 && client.goAwayCode == nil, "\(length)")
            }
            await client.close()
        }
    }

    struct Bytes: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var frame: [UInt8]
    }

    @Test(arguments: [
        Bytes(testDescription: "DATA on stream 0", frame: [0, 0, 1, 0, 0, 0, 0, 0, 0, 0x61]),
        Bytes(testDescription: "PING on a stream", frame: [0, 0, 8, 6, 0, 0, 0, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8]),
        Bytes(testDescription: "PING that is too short", frame: [0, 0, 3, 6, 0, 0, 0, 0, 0, 1, 2, 3]),
        Bytes(testDescription: "DATA on an idle stream", frame: [0, 0, 1, 0, 0, 0, 0, 0, 9, 0x61]),
        Bytes(testDescription: "HEADERS that HPACK cannot decode", frame: [0, 0, 2, 1, 5, 0, 0, 0, 1, 0xff, 0xff]),
        Bytes(testDescription: "a frame that is too large", frame: [0xff, 0xff, 0xff, 1, 5, 0, 0, 0, 1]),
        Bytes(testDescription: "HEADERS on a stream with an even number", frame: [0, 0, 1, 1, 5, 0, 0, 0, 2, 0x82]),
    ])
    func `A connection error is reported by GOAWAY, and the connection ends`(_ bytes: Bytes) async throws {
        try await withGateway { test in
            let client = try await test.connect()
            try await client.send(RawHTTP2.start + bytes.frame)
            // Unread bytes must not make the server's close a TCP reset, which could discard the GOAWAY.
            try? await client.send([UInt8](repeating: 0, count: 10_000))
            await client.waitForClose()
            let goAway = HTTP2Frames(client.bytes).first { $0.type == 7 }
            #expect(client.isClosed && (goAway?.errorCode ?? 0) > 0)
            await client.close()
        }
    }

    @Test func `A request that expects 100-continue gets it once, and a refused request does not get it`()
        async throws
    {
        try await withGateway { test in
            let client = try await HTTP2Client.connect(test.port)
            let waiting =
                Self.posting("/api/mk_live_A/storage/echo") + [("expect", "100-continue"), ("content-length", "5")]
            let answer = try await client.ask(HPACKHeaders(waiting), bodyAfterContinue: "hello")
            #expect(answer.statuses == [100, 200] && answer.body == "hello")
            let refused = waiting.map { $0.0 == "x-martlet-secret" ? ($0.0, "wrong") : $0 }
            let refusal = try await client.ask(HPACKHeaders(refused), bodyAfterContinue: "hello")
            #expect(refusal.statuses == [401])
            let other = waiting.map { $0.0 == "expect" ? ($0.0, "miracles") : $0 }
            let failed = try await client.ask(HPACKHeaders(other), bodyAfterContinue: "hello")
            #expect(failed.statuses == [417])
            let plain = try await client.ask(HPACKHeaders(waiting.filter { $0.0 != "expect" }), body: "hello")
            #expect(plain.statuses == [200] && plain.body == "hello")
            await client.close()
        }
    }

    @Test(arguments: [(15_000, 1, "200"), (20_000, 1, "431"), (60_000, 1, "431"), (60_000, 60, "431")])
    func `A head that is too large gets 431, and other streams continue`(_ size: Int, _ count: Int, _ status: String)
        async throws
    {
        try await withGateway { test in
            let client = try await RawHTTP2.connect(test)
            let fields = (0..<count).map { ("x-\($0)", String(repeating: "v", count: size / count)) }
            try await client.send(HPACKHeaders(Self.good + fields), stream: 1)
            try await client.send(HPACKHeaders(Self.good), stream: 3)
            await eventually { client.statuses.count == 2 || client.raw.isClosed }
            #expect(client.statuses == [1: status, 3: "200"] && client.goAwayCode == nil)
            await client.raw.close()
        }
    }

    @Test func `A head of excessive size ends the connection with GOAWAY`() async throws {
        try await withGateway { test in
            let client = try await RawHTTP2.connect(test)
            try? await client.send(
                HPACKHeaders(Self.good + [("x-long", String(repeating: "v", count: 500_000))]), stream: 1)
            await client.raw.waitForClose()
            #expect(client.raw.isClosed && (client.goAwayCode ?? 0) > 0 && client.statuses.isEmpty)
        }
    }

    /// The frames have an unknown type, so they are ignored (RFC 9113 §4.1). Most reads end in the middle of one.
    @Test(arguments: [true, false])
    func `Frames split across reads do not fill memory, whether settings are acknowledged or not`(
        _ isAcknowledged: Bool
    ) async throws {
        try await withGateway { test in
            let client = try await RawHTTP2.connect(test)
            if isAcknowledged { try await client.raw.send([0, 0, 0, 4, 1, 0, 0, 0, 0]) }
            let frame: [UInt8] = [0, 0x3f, 0xf7, 0x7f, 0, 0, 0, 0, 0] + [UInt8](repeating: 0, count: 0x3ff7)
            let block = (0..<64).flatMap { _ in frame }
            let before = residentBytes()
            for _ in 0..<300 { try await client.raw.send(block) }
            try await client.send(HPACKHeaders(Self.good), stream: 1)
            await eventually { client.statuses.count == 1 || client.raw.isClosed }
            #expect(client.statuses == [1: "200"])
            #expect(residentBytes() - before < 50 * 1024 * 1024)
            await client.raw.close()
        }
    }

    @Test func `A client that reads nothing of its response is closed, even if no other client waits for a connection`()
        async throws
    {
        try await withGateway(configure: {
            $0.timeouts.idle = .seconds(2)
            $0.timeouts.drain = .seconds(2)
        }) { test in
            let client = try await RawHTTP2.connect(test)
            // SETTINGS_INITIAL_WINDOW_SIZE: 0
            try await client.raw.send([0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0])
            try await client.send(HPACKHeaders(Self.good), stream: 1)
            await eventually { client.statuses.count == 1 }
            #expect(
                await eventually { client.raw.isClosed },
                "frames received: \(HTTP2Frames(client.raw.bytes).map(\.type))")
        }
    }

    @Test func `A client that reads its response byte by byte gets all of it, however long that takes`()
        async throws
    {
        try await withGateway(configure: { $0.timeouts.idle = .seconds(6) }) { test in
            let client = try await RawHTTP2.connect(test)
            // SETTINGS_INITIAL_WINDOW_SIZE: 0
            try await client.raw.send([0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0])
            try await client.send(HPACKHeaders(Self.good), stream: 1)
            await eventually { client.statuses.count == 1 }
            try await client.takeSlowly(8, stream: 1)
            try await client.grant(100, stream: 1)
            #expect(await eventually { HTTP2Frames(client.raw.bytes).contains { $0.type == 0 && $0.endsStream } })
            #expect(!HTTP2Frames(client.raw.bytes).contains { $0.type == 3 || $0.type == 7 })
            await client.raw.close()
        }
    }

    @Test func `A client that reads nothing of its response does not count as busy forever`() async throws {
        try await withGateway(configure: {
            $0.limits.maximumConnections = 2
            $0.timeouts.idle = .seconds(2)
        }) { test in
            let client = try await RawHTTP2.connect(test)
            // SETTINGS_INITIAL_WINDOW_SIZE: 0
            try await client.raw.send([0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0])
            try await client.send(HPACKHeaders(Self.good), stream: 1)
            await eventually { client.statuses.count == 1 }
            let busy = try await test.connect()
            try await busy.send(TestGateway.request("never").replacing("/storage/", with: "/live/"))
            await eventually { test.upstream.arrivals.count == 2 }
            let isServed = await eventually { (try? await test.ask("x").status) == 200 }
            await client.raw.waitForClose()
            #expect(isServed && client.raw.isClosed && !busy.isClosed)
            await busy.close()
        }
    }

    static func posting(_ path: String) -> [(String, String)] {
        [(":method", "POST")] + good.reordered(path: path).filter { $0.0 != ":method" }
    }

    @Test func `A stream whose empty body ends after its head counts once as waiting for its answer`() async throws {
        try await withGateway(configure: { $0.eventLoopThreads = 1 }) { test in
            let client = try await HTTP2Client.connect(test.port)
            // Leaves a connection to the upstream, on which the next head is sent before its body ends.
            #expect(try await client.ask(HPACKHeaders(Self.good), body: nil).status == 200)
            let headers = Self.posting("/api/mk_live_A/storage/slow") + [("content-length", "0")]
            #expect(try await client.ask(HPACKHeaders(headers), body: "").status == 200)
            #expect(try await test.gateway.awaited == 0)
            await client.close()
        }
    }

    @Test func `Bodies flow both ways, streams share a connection, and a wrong length is refused`()
        async throws
    {
        try await withGateway { test in
            let client = try await HTTP2Client.connect(test.port)
            let echo = HPACKHeaders(
                [(":method", "POST")]
                    + Self.good.filter { !$0.0.hasPrefix(":m") && !$0.0.hasPrefix(":p") }.reordered(
                        path: "/api/mk_live_A/storage/echo"))
            let answers = try await withThrowingTaskGroup(of: HTTP2Client.Answer.self) { tasks in
                for number in 0..<40 {
                    tasks.addTask { try await client.ask(echo, body: String(repeating: "b", count: number * 1000)) }
                }
                return try await tasks.reduce(into: []) { $0.append($1) }
            }
            #expect(answers.map(\.body.utf8.count).sorted() == (0..<40).map { $0 * 1000 })
            var lying = echo
            lying.add(name: "content-length", value: "5")
            let short = try await client.ask(lying, body: "abc")
            #expect(short.status == nil || short.status == 400)
            let isUnfinished = await eventually {
                test.upstream.arrivals.count == 40 || test.upstream.arrivals.last?.isAborted == true
            }
            #expect(isUnfinished)
            await client.close()
        }
    }

    @Test func `A stream can carry 100 MB downstream`() async throws {
        try await withGateway { test in
            let client = try await HTTP2Client.connect(test.port)
            let answer = try await client.ask(
                HPACKHeaders(Self.good.reordered(path: "/api/mk_live_A/storage/big")), body: nil)
            #expect(answer.status == 200 && answer.bodyCount == 100 * 1024 * 1024, "\(answer.bodyCount)")
            await client.close()
        }
    }

    @Test func `Repeatedly resetting streams ends the connection`() async throws {
        try await withGateway { test in
            let client = try await HTTP2Client.connect(test.port)
            for _ in 0..<2000 where client.isActive {
                try? await client.openAndReset(HPACKHeaders(Self.good.reordered(path: "/api/mk_live_A/storage/never")))
            }
            let isClosed = await eventually { !client.isActive }
            #expect(isClosed)
        }
    }

    @Test func `A disconnected client is forgotten, and draining does not wait for it`() async throws {
        try await withGateway { test in
            let client = try await HTTP2Client.connect(test.port)
            let answer = try await client.ask(HPACKHeaders(Self.good), body: nil)
            #expect(answer.status == 200)
            let isBusy = await !test.gateway.isIdle
            #expect(isBusy)
            await client.close()
            let isIdle = await eventually { await test.gateway.isIdle }
            #expect(isIdle)
            await test.shutDown()
            let isDown = await eventually { test.gateway.boundPort == nil }
            #expect(isDown)
        }
    }

    @Test func `Draining sends GOAWAY and lets streams end`() async throws {
        try await withGateway { test in
            let client = try await HTTP2Client.connect(test.port)
            async let slow = client.ask(
                HPACKHeaders(Self.good.reordered(path: "/api/mk_live_A/storage/slow")), body: nil)
            await eventually { test.upstream.arrivals.count == 1 }
            await test.shutDown()
            let answer = try await slow
            #expect(answer.status == 200 && answer.body == "slow")
            let isClosed = await eventually { !client.isActive }
            #expect(isClosed)
        }
    }
}

extension [(String, String)] {
    fileprivate func reordered(path: String) -> [(String, String)] {
        let pseudo = filter { $0.0.hasPrefix(":") && $0.0 != ":path" }
        return pseudo + [(":path", path)] + filter { !$0.0.hasPrefix(":") }
    }
}

/// An HTTP/2 client with prior knowledge (RFC 9113 §3.3). It sends any headers, valid or not.
final class HTTP2Client: Sendable {
    struct Answer: Sendable {
        /// 100 and the status that follows.
        var statuses: [Int] = []
        var status: Int? { statuses.last }
        var body = ""
        var bodyCount = 0
    }

    private let channel: any Channel
    private let multiplexer: NIOHTTP2Handler.StreamMultiplexer
    private let root: Root

    static func connect(_ port: Int) async throws -> HTTP2Client {
        let root = Root()
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    var configuration = NIOHTTP2Handler.ConnectionConfiguration()
                    configuration.headerBlockValidation = .disabled
                    configuration.contentLengthValidation = .disabled
                    let handler = NIOHTTP2Handler(
                        mode: .client, eventLoop: channel.eventLoop, connectionConfiguration: configuration
                    ) { $0.close() }
                    try channel.pipeline.syncOperations.addHandlers(handler, root)
                }
            }
            .connect(host: "127.0.0.1", port: port).get()
        let multiplexer = try await channel.pipeline.handler(type: NIOHTTP2Handler.self).flatMap { $0.multiplexer }
            .get()
        return HTTP2Client(channel, multiplexer, root)
    }

    private init(_ channel: any Channel, _ multiplexer: NIOHTTP2Handler.StreamMultiplexer, _ root: Root) {
        self.channel = channel
        self.multiplexer = multiplexer
        self.root = root
    }

    /// The error code of a received GOAWAY.
    var goAwayCode: HTTP2ErrorCode? { root.code.withLock { $0 } }

    var isActive: Bool { channel.isActive }
    func close() async { try? await channel.close().get() }

    func ask(_ headers: HPACKHeaders, body: String?) async throws -> Answer {
        let (stream, collector) = try await open()
        try? await stream.writeAndFlush(
            HTTP2Frame.FramePayload.headers(.init(headers: headers, endStream: body == nil))
        ).get()
        if let body {
            try? await stream.writeAndFlush(
                HTTP2Frame.FramePayload.data(.init(data: .byteBuffer(ByteBuffer(string: body)), endStream: true))
            ).get()
        }
        await eventually(within: .seconds(120)) { collector.isDone }
        return collector.answer
    }

    /// Sends the body once 100 has arrived.
    func ask(_ headers: HPACKHeaders, bodyAfterContinue body: String) async throws -> Answer {
        let (stream, collector) = try await open()
        try? await stream.writeAndFlush(HTTP2Frame.FramePayload.headers(.init(headers: headers))).get()
        await eventually(within: .seconds(120)) { collector.isDone || collector.answer.statuses == [100] }
        if !collector.isDone {
            let data = HTTP2Frame.FramePayload.data(.init(data: .byteBuffer(ByteBuffer(string: body)), endStream: true))
            try? await stream.writeAndFlush(data).get()
        }
        await eventually(within: .seconds(120)) { collector.isDone }
        return collector.answer
    }

    /// Calls `act` once the response's body begins with `part`.
    func ask(_ headers: HPACKHeaders, after part: String, _ act: () async -> Void) async throws -> Answer {
        let (stream, collector) = try await open()
        try? await stream.writeAndFlush(HTTP2Frame.FramePayload.headers(.init(headers: headers, endStream: true))).get()
        await eventually(within: .seconds(120)) { collector.isDone || collector.answer.body.hasPrefix(part) }
        await act()
        await eventually(within: .seconds(120)) { collector.isDone }
        return collector.answer
    }

    func openAndReset(_ headers: HPACKHeaders) async throws {
        let (stream, _) = try await open()
        try await stream.writeAndFlush(HTTP2Frame.FramePayload.headers(.init(headers: headers, endStream: true))).get()
        try await stream.writeAndFlush(HTTP2Frame.FramePayload.rstStream(.cancel)).get()
    }

    private func open() async throws -> (any Channel, Collector) {
        let collector = Collector()
        let promise = channel.eventLoop.makePromise(of: (any Channel).self)
        multiplexer.createStreamChannel(promise: promise) { stream in
            stream.eventLoop.makeCompletedFuture { try stream.pipeline.syncOperations.addHandler(collector) }
        }
        return (try await promise.futureResult.get(), collector)
    }

    private final class Root: ChannelInboundHandler, Sendable {
        typealias InboundIn = HTTP2Frame

        let code = Mutex<HTTP2ErrorCode?>(nil)

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            if case .goAway(_, let errorCode, _) = unwrapInboundIn(data).payload { code.withLock { $0 = errorCode } }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {}
    }

    private final class Collector: ChannelInboundHandler, Sendable {
        typealias InboundIn = HTTP2Frame.FramePayload

        private let state = Mutex((answer: Answer(), isDone: false))

        var answer: Answer { state.withLock { $0.answer } }
        var isDone: Bool { state.withLock { $0.isDone } }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch unwrapInboundIn(data) {
            case .headers(let frame):
                state.withLock {
                    if let status = frame.headers.first(name: ":status").flatMap({ Int($0) }) {
                        $0.answer.statuses.append(status)
                    }
                    if frame.endStream { $0.isDone = true }
                }
            case .data(let frame):
                guard case .byteBuffer(let buffer) = frame.data else { return }
                state.withLock {
                    $0.answer.bodyCount += buffer.readableBytes
                    if $0.answer.bodyCount < 1_000_000 { $0.answer.body += String(buffer: buffer) }
                    if frame.endStream { $0.isDone = true }
                }
            case .rstStream, .goAway: state.withLock { $0.isDone = true }
            default: break
            }
        }

        func channelInactive(context: ChannelHandlerContext) { state.withLock { $0.isDone = true } }
        func errorCaught(context: ChannelHandlerContext, error: any Error) { state.withLock { $0.isDone = true } }
    }
}

/// A client that writes its own frames, because NIOHTTP2 does not send heads of any length.
private final class RawHTTP2: Sendable {
    let raw: RawClient
    private let encoder = Mutex(HPACKEncoder(allocator: ByteBufferAllocator()))

    /// Preface and empty settings. The server's settings are not acknowledged; few clients do so before their first
    /// request.
    static let start = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + [0, 0, 0, 4, 0, 0, 0, 0, 0]

    static func connect(_ test: TestGateway) async throws -> RawHTTP2 {
        let client = RawHTTP2(raw: try await test.connect())
        try await client.raw.send(start)
        return client
    }

    private init(raw: RawClient) { self.raw = raw }

    /// Sends HEADERS and as many CONTINUATION frames as necessary.
    func send(_ headers: HPACKHeaders, stream: UInt8) async throws {
        var block = ByteBuffer()
        try encoder.withLock { encoder in
            try encoder.beginEncoding(allocator: ByteBufferAllocator())
            try encoder.append(headers: headers)
            block = try encoder.endEncoding()
        }
        var type: UInt8 = 1
        while let part = block.readBytes(length: min(16_384, block.readableBytes)), !part.isEmpty {
            let flags: UInt8 = (type == 1 ? 1 : 0) | (block.readableBytes == 0 ? 4 : 0)
            try await raw.send(
                [0, UInt8(part.count >> 8), UInt8(part.count & 0xff), type, flags, 0, 0, 0, stream] + part)
            type = 9
        }
    }

    /// Sends WINDOW_UPDATE.
    func grant(_ bytes: UInt8, stream: UInt8) async throws {
        try await raw.send([0, 0, 4, 8, 0, 0, 0, 0, stream, 0, 0, 0, bytes])
    }

    /// Lets the server send one byte of a response per second.
    func takeSlowly(_ count: Int, stream: UInt8) async throws {
        for taken in 1...count {
            try await grant(1, stream: stream)
            await eventually {
                HTTP2Frames(self.raw.bytes).filter { $0.type == 0 }.map(\.payload.count).reduce(0, +) == taken
            }
            try await Task.sleep(for: .seconds(1))
        }
    }

    /// The status of the answer on each stream.
    var statuses: [UInt8: String] {
        var decoder = HPACKDecoder(allocator: ByteBufferAllocator())
        return HTTP2Frames(raw.bytes).filter { $0.type == 1 }.reduce(into: [:]) { statuses, frame in
            var block = ByteBuffer(bytes: frame.payload)
            statuses[frame.stream] = (try? decoder.decodeHeaders(from: &block))?.first(name: ":status")
        }
    }

    var goAwayCode: Int? { HTTP2Frames(raw.bytes).first { $0.type == 7 }?.errorCode }
}

/// The complete frames in the received bytes (RFC 9113 §4.1).
private struct HTTP2Frames: Sequence, IteratorProtocol {
    struct Element {
        var type: UInt8
        /// The last byte of the stream's number.
        var stream: UInt8
        var payload: ArraySlice<UInt8>
        /// For DATA and HEADERS.
        var endsStream: Bool
        /// For GOAWAY.
        var errorCode: Int { payload.dropFirst(4).prefix(4).reduce(0) { $0 << 8 | Int($1) } }
    }

    private var bytes: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { self.bytes = bytes[...] }

    mutating func next() -> Element? {
        let header = Array(bytes.prefix(9))
        guard header.count == 9 else { return nil }
        let payload = bytes.dropFirst(9).prefix(Int(header[0]) << 16 | Int(header[1]) << 8 | Int(header[2]))
        defer { bytes = bytes.dropFirst(9 + payload.count) }
        return Element(type: header[3], stream: header[8], payload: payload, endsStream: header[4] & 1 == 1)
    }
}

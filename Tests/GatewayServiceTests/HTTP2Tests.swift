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
        (":method", "GET"), (":scheme", "http"), (":path", "/api/mk_live_A/storage/Notes?x=1"), (":authority", "gw"), ("x-martlet-secret", "ms_A"),
    ]

    struct Case: CustomTestStringConvertible, Sendable {
        var testDescription: String
        /// Replaces or adds; an empty value removes.
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
        Case(testDescription: "too many headers", change: .init(uniqueKeysWithValues: (0..<150).map { ("x-\($0)", "1") }), status: 431),
    ]

    @Test func `The rules of HTTP 1.1 hold for streams; what is forbidden gets an error or a reset and goes no further`() async throws {
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
                #expect(test.upstream.arrivals.count - before == (item.status == 200 ? 1 : 0), "\(item.testDescription)")
                await client.close()
            }
            let head = try #require(test.upstream.arrivals.first?.head)
            #expect(head.uri == "/storage/Notes?x=1" && head.version == .http1_1)
            #expect(head.headers["host"] == ["gw"] && !head.headers.contains(name: "x-martlet-secret"))
        }
    }

    @Test func `Bodies go both ways, many streams share a connection, and a mismatch of length is refused`() async throws {
        try await withGateway { test in
            let client = try await HTTP2Client.connect(test.port)
            let echo = HPACKHeaders([(":method", "POST")] + Self.good.filter { !$0.0.hasPrefix(":m") && !$0.0.hasPrefix(":p") } .reordered(path: "/api/mk_live_A/storage/echo"))
            let answers = try await withThrowingTaskGroup(of: HTTP2Client.Answer.self) { tasks in
                for number in 0..<40 { tasks.addTask { try await client.ask(echo, body: String(repeating: "b", count: number * 1000)) } }
                return try await tasks.reduce(into: []) { $0.append($1) }
            }
            #expect(answers.map(\.body.utf8.count).sorted() == (0..<40).map { $0 * 1000 })
            var lying = echo
            lying.add(name: "content-length", value: "5")
            let short = try await client.ask(lying, body: "abc")
            #expect(short.status == nil || short.status == 400)
            let isUnfinished = await eventually { test.upstream.arrivals.count == 40 || test.upstream.arrivals.last?.isAborted == true }
            #expect(isUnfinished)
            await client.close()
        }
    }

    @Test func `100 MB come down a stream`() async throws {
        try await withGateway { test in
            let client = try await HTTP2Client.connect(test.port)
            let answer = try await client.ask(HPACKHeaders(Self.good.reordered(path: "/api/mk_live_A/storage/big")), body: nil)
            #expect(answer.status == 200 && answer.bodyCount == 100 * 1024 * 1024, "\(answer.bodyCount)")
            await client.close()
        }
    }

    @Test func `Resetting streams over and over ends the connection`() async throws {
        try await withGateway { test in
            let client = try await HTTP2Client.connect(test.port)
            for _ in 0..<2000 where client.isActive {
                try? await client.openAndReset(HPACKHeaders(Self.good.reordered(path: "/api/mk_live_A/storage/never")))
            }
            let isClosed = await eventually { !client.isActive }
            #expect(isClosed)
        }
    }

    @Test func `A client that has left is forgotten, and draining does not wait for it`() async throws {
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
            let isDown = await eventually(within: .seconds(2)) { test.gateway.boundPort == nil }
            #expect(isDown)
        }
    }

    @Test func `Draining sends GOAWAY and lets streams end`() async throws {
        try await withGateway { test in
            let client = try await HTTP2Client.connect(test.port)
            async let slow = client.ask(HPACKHeaders(Self.good.reordered(path: "/api/mk_live_A/storage/slow")), body: nil)
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

/// A client with prior knowledge that sends whatever headers it is given.
final class HTTP2Client: Sendable {
    struct Answer: Sendable {
        var status: Int?
        var body = ""
        var bodyCount = 0
    }

    private let channel: any Channel
    private let multiplexer: NIOHTTP2Handler.StreamMultiplexer

    static func connect(_ port: Int) async throws -> HTTP2Client {
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    var configuration = NIOHTTP2Handler.ConnectionConfiguration()
                    configuration.headerBlockValidation = .disabled
                    configuration.contentLengthValidation = .disabled
                    let handler = NIOHTTP2Handler(mode: .client, eventLoop: channel.eventLoop, connectionConfiguration: configuration) { $0.close() }
                    try channel.pipeline.syncOperations.addHandler(handler)
                }
            }
            .connect(host: "127.0.0.1", port: port).get()
        let multiplexer = try await channel.pipeline.handler(type: NIOHTTP2Handler.self).flatMap { $0.multiplexer }.get()
        return HTTP2Client(channel, multiplexer)
    }

    private init(_ channel: any Channel, _ multiplexer: NIOHTTP2Handler.StreamMultiplexer) {
        self.channel = channel
        self.multiplexer = multiplexer
    }

    var isActive: Bool { channel.isActive }
    func close() async { try? await channel.close().get() }

    func ask(_ headers: HPACKHeaders, body: String?) async throws -> Answer {
        let (stream, collector) = try await open()
        try? await stream.writeAndFlush(HTTP2Frame.FramePayload.headers(.init(headers: headers, endStream: body == nil))).get()
        if let body {
            try? await stream.writeAndFlush(HTTP2Frame.FramePayload.data(.init(data: .byteBuffer(ByteBuffer(string: body)), endStream: true))).get()
        }
        await eventually(within: .seconds(30)) { collector.isDone }
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

    private final class Collector: ChannelInboundHandler, Sendable {
        typealias InboundIn = HTTP2Frame.FramePayload

        private let state = Mutex((answer: Answer(), isDone: false))

        var answer: Answer { state.withLock { $0.answer } }
        var isDone: Bool { state.withLock { $0.isDone } }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch unwrapInboundIn(data) {
            case .headers(let frame):
                state.withLock {
                    $0.answer.status = frame.headers.first(name: ":status").flatMap { Int($0) }
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

import NIOCore
import NIOPosix
import Synchronization
import Testing

@testable import GatewayService

/// Streams whose parts the upstream sends to many clients at once (`Relay`).
@Suite(.serialized) struct RelayTests {
    private static let routes = testRoutes.replacing(
        #""methods": ["GET"], "streaming": true"#, with: #""methods": ["GET"], "streaming": true, "relay": "/relay""#)

    /// Runs with one event loop, so that there is one relay.
    private func withRelay(refusing: Bool = false, _ body: (TestGateway, RelayServer) async throws -> Void) async throws
    {
        let server = try await RelayServer.start(refusing: refusing)
        try await withGateway(
            routes: Self.routes,
            configure: {
                $0.upstreams = ["storage": [server.address]]
                $0.healthPath = nil
                $0.eventLoopThreads = 1
            }
        ) { test in
            // The first stream opens the relay but does not use it.
            let first = try await follow(test, "first")
            await first.wait(for: "own first")
            #expect(server.streams["first"]?.relay == nil)
            if !refusing { await eventually { server.relay != nil } }
            try await body(test, server)
        }
        await server.stop()
    }

    private func follow(_ test: TestGateway, _ name: String, _ headers: String = "", reading: Bool = true) async throws
        -> RawClient
    {
        let client = try await test.connect(reading: reading)
        try await client.send(
            "GET /api/mk_live_A/live/\(name) HTTP/1.1\r\nHost: gw\r\nX-Martlet-Secret: ms_A\r\n\(headers)\r\n")
        return client
    }

    /// Opens a stream and waits until the gateway names its number in the relay.
    private func join(_ test: TestGateway, _ server: RelayServer, _ name: String, reading: Bool = true) async throws
        -> (RawClient, UInt32)
    {
        while true {
            let client = try await follow(test, name, reading: reading)
            let hasCome = await eventually { server.streams[name] != nil }
            try #require(hasCome)
            if let relay = server.streams[name]?.relay {
                let parts = relay.split(separator: ".")
                #expect(parts.count == 2 && parts[0].count == 32 && String(parts[0]) == server.relayID)
                if reading { await client.wait(for: "own \(name)") }
                return (client, try #require(UInt32(parts[1])))
            }
            await client.close()
            server.forget(name)
            // A relay that failed is not reopened at once.
            try await Task.sleep(for: .milliseconds(100))
        }
    }

    @Test func `A frame reaches exactly the streams it names`() async throws {
        try await withRelay { test, server in
            let (one, oneNumber) = try await join(test, server, "one")
            let (two, twoNumber) = try await join(test, server, "two")
            let (three, threeNumber) = try await join(test, server, "three")
            #expect(Set([oneNumber, twoNumber, threeNumber]).count == 3)
            server.relay([(oneNumber, 7), (twoNumber, 7), (99, 7)], "both")
            server.relay([(twoNumber, 7)], "only two")
            server.relay([(threeNumber, 9)], "three")
            await two.wait(for: "only two")
            await one.wait(for: "both")
            await three.wait(for: "5\r\nthree")
            #expect(one.text.contains("4\r\nboth\r\n") && !one.text.contains("only two") && !one.text.contains("three"))
            #expect(two.text.contains("4\r\nboth\r\n8\r\nonly two\r\n"))
            #expect(!three.text.contains("both"))
        }
    }

    @Test func `A frame waits for its predecessor, however it is split`() async throws {
        try await withRelay { test, server in
            let (client, number) = try await join(test, server, "one")
            // "own one" has 7 bytes, but the frame says that it follows byte 12, so it must wait.
            for byte in RelayServer.frame([(number, 12)], "later") { server.send([byte]) }
            server.relay([(number, 12)], "last")
            try await Task.sleep(for: .milliseconds(200))
            #expect(!client.text.contains("later"))
            server.write("early", to: "one")
            await client.wait(for: "last")
            #expect(
                client.text.hasSuffix("7\r\nown one\r\n5\r\nearly\r\n5\r\nlater\r\n4\r\nlast\r\n"), "\(client.text)")
        }
    }

    @Test func `A stream ends by its own end frame, and its number is not reused`() async throws {
        try await withRelay { test, server in
            let (one, oneNumber) = try await join(test, server, "one")
            let (two, twoNumber) = try await join(test, server, "two")
            server.end("one")
            await one.wait(for: "0\r\n\r\n")
            server.relay([(oneNumber, 7), (twoNumber, 7)], "after")
            await two.wait(for: "after")
            #expect(!one.text.contains("after"))
            // The connection is free for another request.
            try await one.send(
                "GET /api/mk_live_A/storage/plain HTTP/1.1\r\nHost: gw\r\nX-Martlet-Secret: ms_A\r\n\r\n")
            await one.wait(for: "own plain")
        }
    }

    @Test(arguments: [
        [0, 0, 0, 3, 0, 0, 0, 0], [0, 0, 0, 4, 0, 0, 0, 1], [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0],
        [0, 0, 0, 8, 0xff, 0xff, 0xff, 0xff],
    ]) func `A relay that is out of step ends its streams, and another one is opened`(_ nonsense: [UInt8]) async throws
    {
        try await withRelay { test, server in
            let (client, _) = try await join(test, server, "one")
            let id = server.relayID
            server.send(nonsense)
            await client.waitForClose()
            #expect(client.isClosed)
            let (again, number) = try await join(test, server, "two")
            #expect(server.relayID != id)
            server.relay([(number, 7)], "again")
            await again.wait(for: "again")
        }
    }

    @Test func `Streams end with their relay's connection`() async throws {
        try await withRelay { test, server in
            let (client, _) = try await join(test, server, "one")
            server.closeRelay()
            await client.waitForClose()
            #expect(client.isClosed && !client.text.contains("\r\n0\r\n"))
        }
    }

    @Test func `A client that reads nothing is cut off, and the others are not delayed`() async throws {
        try await withRelay { test, server in
            let (slow, slowNumber) = try await join(test, server, "slow", reading: false)
            let (quick, quickNumber) = try await join(test, server, "quick")
            let block = String(repeating: "x", count: 1 << 20)
            for number in 1...24 {
                server.relay([(slowNumber, 8), (quickNumber, 9)], block)
                await eventually { quick.count > number << 20 }
            }
            server.relay([(quickNumber, 9)], "all")
            await quick.wait(for: "all", within: .seconds(120))
            #expect(quick.count > 24 << 20)
            let isGone = await eventually { server.streams["slow"]?.isClosed == true }
            #expect(isGone)
            slow.startReading()
            await slow.waitForClose()
        }
    }

    @Test func `Without a relay streams work as usual, and a client cannot name one`() async throws {
        try await withRelay(refusing: true) { test, server in
            let client = try await follow(test, "one", "X-Martlet-Relay: 0123456789abcdef0123456789abcdef.1\r\n")
            await client.wait(for: "own one")
            #expect(server.streams["one"]?.relay == nil)
            server.write("more", to: "one")
            await client.wait(for: "4\r\nmore\r\n")
        }
    }
}

/// An upstream that opens a relay at `/relay`, and answers everything else with a stream that begins with `own <name>`.
private final class RelayServer: Sendable {
    struct Stream: Sendable {
        var channel: any Channel
        var relay: String?
        var isClosed = false
    }

    private struct State {
        var channel: (any Channel)?
        var relay: (any Channel)?
        var relayID: String?
        var streams: [String: Stream] = [:]
    }

    private let refusing: Bool
    private let state = Mutex(State())

    static func start(refusing: Bool) async throws -> RelayServer {
        let server = RelayServer(refusing: refusing)
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Handler(server))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        server.state.withLock { $0.channel = channel }
        return server
    }

    private init(refusing: Bool) {
        self.refusing = refusing
    }

    var address: String { "127.0.0.1:\(state.withLock { $0.channel?.localAddress?.port } ?? 0)" }
    var streams: [String: Stream] { state.withLock { $0.streams } }
    var relay: (any Channel)? { state.withLock { $0.relay } }
    var relayID: String? { state.withLock { $0.relayID } }

    func stop() async { try? await state.withLock { $0.channel }?.close().get() }
    func forget(_ name: String) { state.withLock { $0.streams[name] = nil } }
    func closeRelay() { relay?.close(promise: nil) }

    /// Writes a chunk to a stream's own connection.
    func write(_ text: String, to name: String) {
        streams[name]?.channel.writeAndFlush(ByteBuffer(bytes: Self.chunk(Array(text.utf8))), promise: nil)
    }

    func end(_ name: String) { streams[name]?.channel.writeAndFlush(ByteBuffer(string: "0\r\n\r\n"), promise: nil) }

    func relay(_ streams: [(UInt32, UInt64)], _ text: String) { send(Self.frame(streams, text)) }

    /// Writes bytes to the relay, as a chunk.
    func send(_ bytes: [UInt8]) { relay?.writeAndFlush(ByteBuffer(bytes: Self.chunk(bytes)), promise: nil) }

    static func frame(_ streams: [(UInt32, UInt64)], _ text: String) -> [UInt8] {
        var buffer = ByteBuffer()
        buffer.writeMultipleIntegers(UInt32(4 + 12 * streams.count + text.utf8.count), UInt32(streams.count))
        for stream in streams { buffer.writeMultipleIntegers(stream.0, stream.1) }
        buffer.writeString(text)
        return Array(buffer.readableBytesView)
    }

    private static func chunk(_ bytes: [UInt8]) -> [UInt8] {
        Array((String(bytes.count, radix: 16) + "\r\n").utf8) + bytes + [0x0d, 0x0a]
    }

    private static let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"

    /// The response to a request.
    private func answer(_ head: String, on channel: any Channel) -> String {
        let path = String(head.split(separator: " ")[1])
        let relay = head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("x-martlet-relay: ") }.map {
            String($0.dropFirst(17))
        }
        guard path != "/relay" else {
            guard !refusing else { return "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n" }
            state.withLock { ($0.relay, $0.relayID) = (channel, relay) }
            return Self.head + "8\r\n\0\0\0\u{4}\0\0\0\0\r\n"
        }
        let name = String(path.split(separator: "/").last ?? "")
        state.withLock { $0.streams[name] = Stream(channel: channel, relay: relay) }
        channel.closeFuture.whenComplete { _ in self.state.withLock { $0.streams[name]?.isClosed = true } }
        return Self.head + "\(String(name.utf8.count + 4, radix: 16))\r\nown \(name)\r\n"
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private let server: RelayServer
        private var head = ""

        init(_ server: RelayServer) { self.server = server }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            head += String(buffer: unwrapInboundIn(data))
            guard head.hasSuffix("\r\n\r\n") else { return }
            context.writeAndFlush(
                wrapOutboundOut(ByteBuffer(string: server.answer(head, on: context.channel))), promise: nil)
            head = ""
        }
    }
}

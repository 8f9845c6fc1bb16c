import MartletCore
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// An HTTP server in process that records what arrives and behaves as the path asks:
/// `echo`, `sink`, `page`, `big`, `slow`, `held` (answers after `release()`), `never`, `events`, `endless` (one event,
/// then silence), `torn` (the same, then part of another), `close`, `half`, `status/N`, `unchanged` (304 that holds for
/// `generation`); anything else answers 200 with its name.
final class TestUpstream: Sendable {
    struct Arrival: Sendable {
        var head: HTTPRequestHead
        var body = 0
        var isAborted = false
    }

    private struct State {
        var arrivals: [Arrival] = []
        var sentBytes = 0
        var isHealthy = true
        var checks = 0
        var generation: Int64?
        var isReleased = false
    }

    let name: String
    private let state = Mutex(State())
    private let channel = Mutex<(any Channel)?>(nil)
    private let connections = Connections()

    /// - Parameters:
    ///   - port: Nil chooses one that no other process gets while nothing listens there.
    ///   - socket: Listens there instead of at a port.
    static func start(_ name: String = "one", port: Int? = nil, socket: String? = nil) async throws -> TestUpstream {
        let upstream = TestUpstream(name: name)
        let bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                upstream.connections.add(channel)
                return channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline(withErrorHandling: false)
                    try channel.pipeline.syncOperations.addHandler(UpstreamHandler(upstream))
                }
            }
        let channel =
            if let socket {
                try await bootstrap.bind(unixDomainSocketPath: socket, cleanupExistingSocketFile: true).get()
            } else { try await bootstrap.bind(host: "127.0.0.1", port: port ?? FreePort.find()).get() }
        upstream.channel.withLock { $0 = channel }
        return upstream
    }

    private init(name: String) { self.name = name }

    var port: Int { channel.withLock { $0?.localAddress?.port } ?? 0 }
    var address: String { "127.0.0.1:\(port)" }
    var arrivals: [Arrival] { state.withLock { $0.arrivals } }
    var sentBytes: Int { state.withLock { $0.sentBytes } }
    var isHealthy: Bool {
        get { state.withLock { $0.isHealthy } }
        set { state.withLock { $0.isHealthy = newValue } }
    }

    /// Number of health checks so far.
    var checks: Int { state.withLock { $0.checks } }

    fileprivate func countCheck() { state.withLock { $0.checks += 1 } }

    /// What the feed at `/generations` reports for the live environment of the app `alpha`; nil for 503.
    var generation: Int64? {
        get { state.withLock { $0.generation } }
        set { state.withLock { $0.generation = newValue } }
    }

    /// Answers all requests for `held`, also later ones.
    func release() { state.withLock { $0.isReleased = true } }
    fileprivate var isReleased: Bool { state.withLock { $0.isReleased } }

    /// Stops listening and cuts every connection.
    func stop() async {
        try? await channel.withLock { $0 }?.close().get()
        connections.closeAll(forGood: true)
    }

    /// Closes every connection; new ones are accepted.
    func closeConnections() { connections.closeAll() }

    fileprivate func arrived(_ head: HTTPRequestHead) -> Int {
        state.withLock {
            $0.arrivals.append(Arrival(head: head))
            return $0.arrivals.count - 1
        }
    }

    fileprivate func update(_ index: Int, _ change: (inout Arrival) -> Void) {
        state.withLock { change(&$0.arrivals[index]) }
    }
    fileprivate func sent(_ count: Int) { state.withLock { $0.sentBytes += count } }

    final class Connections: Sendable {
        private let state = Mutex((channels: [any Channel](), isStopped: false))

        func add(_ channel: any Channel) {
            let isStopped = state.withLock { state in
                if !state.isStopped { state.channels.append(channel) }
                return state.isStopped
            }
            // Accepted before the server stopped.
            if isStopped { channel.close(promise: nil) }
        }

        func closeAll(forGood: Bool = false) {
            for channel in state.withLock({ state in
                defer { state.channels = [] }
                if forGood { state.isStopped = true }
                return state.channels
            }) { channel.close(promise: nil) }
        }
    }
}

private final class UpstreamHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let upstream: TestUpstream
    private var head: HTTPRequestHead?
    private var index = -1
    private var body = ByteBuffer()
    private var bodyCount = 0
    private var isAnswering = false
    private var remaining = 0

    init(_ upstream: TestUpstream) { self.upstream = upstream }

    private var path: String { String(head?.uri.split(separator: "?").first ?? "") }
    private var act: String { path.split(separator: "/").dropFirst().joined(separator: "/") }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            self.head = head
            bodyCount = 0
            body = ByteBuffer()
            if path == "/health/ready" { upstream.countCheck() }
            guard path != "/health/ready", path != "/generations" else { return }
            index = upstream.arrived(head)
            isAnswering = true
            if act == "close" { context.close(promise: nil) }
        case .body(var buffer):
            bodyCount += buffer.readableBytes
            if act == "echo" { body.writeBuffer(&buffer) }
            upstream.update(index) { $0.body = bodyCount }
        case .end:
            answer(context)
        }
    }

    private func answer(_ context: ChannelHandlerContext) {
        if path == "/generations" { return answerFeed(context) }
        switch act {
        case "unchanged":
            let generation = upstream.generation ?? 0
            writeHead(
                context, .notModified,
                [
                    ("ETag", "\"v\(generation)\""), ("cache-control", "private, no-cache"),
                    ("x-martlet-generation", "live:\(TestKeys.appID) \(generation)"),
                    ("connection", "x-drop"), ("x-drop", "1"),
                ])
            end(context)
        case "ready": respond(context, upstream.isHealthy ? .ok : .serviceUnavailable, "")
        case "echo": respond(context, .ok, String(buffer: body))
        case "sink": respond(context, .ok, "\(bodyCount)")
        case "page": respond(context, .ok, String(repeating: "x", count: 65_536))
        case "never": break
        case "slow":
            context.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(600)) {
                self.respond(context, .ok, "slow")
            }
        case "held": answerWhenReleased(context)
        case "events":
            writeHead(context, .ok, [("content-type", "text/event-stream")])
            sendEvent(context, 1)
        case "endless", "torn":
            writeHead(context, .ok, [("content-type", "text/event-stream")])
            let text = act == "torn" ? "data: 1\n\ndata: 2" : "data: 1\n\n"
            context.writeAndFlush(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: text)))), promise: nil)
        case "half":
            writeHead(context, .ok, [("content-length", "1000")])
            context.writeAndFlush(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: "half")))))
                .assumeIsolated().whenComplete { _ in context.close(promise: nil) }
        case "big":
            remaining = 100 * 1024 * 1024
            writeHead(context, .ok, [("content-length", "\(remaining)")])
            pump(context)
        case let status where status.hasPrefix("status/"):
            respond(context, HTTPResponseStatus(statusCode: Int(status.dropFirst(7)) ?? 500), "status")
        default: respond(context, .ok, upstream.name)
        }
    }

    private func respond(_ context: ChannelHandlerContext, _ status: HTTPResponseStatus, _ text: String) {
        let headers = [
            ("content-length", "\(text.utf8.count)"), ("server", "secret-server/1"), ("x-martlet-principal", "leak"),
            ("connection", "x-drop"), ("x-drop", "1"), ("x-keep", "1"), ("keep-alive", "timeout=5"),
        ]
        writeHead(context, status, path == "/health/ready" ? Array(headers.prefix(1)) : headers)
        if !text.isEmpty, head?.method != .HEAD {
            context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: text)))), promise: nil)
        }
        end(context)
    }

    private func answerWhenReleased(_ context: ChannelHandlerContext) {
        guard context.channel.isActive else { return }
        guard !upstream.isReleased else { return respond(context, .ok, "held") }
        context.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(10)) { self.answerWhenReleased(context) }
    }

    /// Waits for another number for a while, like a feed.
    private func answerFeed(_ context: ChannelHandlerContext, turns: Int = 100) {
        let after = head?.uri.split(separator: "after=").last?.split(separator: "&").first.flatMap { Int64($0) } ?? -1
        guard let generation = upstream.generation else { return respond(context, .serviceUnavailable, "") }
        guard generation != after else {
            guard turns > 0 else { return respond(context, .noContent, "") }
            context.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(10)) {
                self.answerFeed(context, turns: turns - 1)
            }
            return
        }
        respond(
            context, .ok,
            #"{"number":\#(generation),"spaces":[{"appID":"\#(TestKeys.appID)","environment":"live","generation":\#(generation)}]}"#
        )
    }

    private func writeHead(
        _ context: ChannelHandlerContext, _ status: HTTPResponseStatus, _ headers: [(String, String)]
    ) {
        context.writeAndFlush(
            wrapOutboundOut(.head(.init(version: .http1_1, status: status, headers: HTTPHeaders(headers)))),
            promise: nil)
    }

    private func end(_ context: ChannelHandlerContext) {
        isAnswering = false
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }

    private func sendEvent(_ context: ChannelHandlerContext, _ number: Int) {
        guard context.channel.isActive else { return }
        context.writeAndFlush(
            wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: "data: \(number)\n\n")))), promise: nil)
        guard number < 50 else { return end(context) }
        context.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(200)) { self.sendEvent(context, number + 1) }
    }

    private static let block = ByteBuffer(repeating: 0x61, count: 64 * 1024)

    private func pump(_ context: ChannelHandlerContext) {
        while remaining > 0, context.channel.isWritable {
            let count = min(remaining, Self.block.readableBytes)
            remaining -= count
            upstream.sent(count)
            context.writeAndFlush(
                wrapOutboundOut(.body(.byteBuffer(Self.block.getSlice(at: 0, length: count)!))), promise: nil)
            if remaining == 0 { end(context) }
        }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if act == "big", remaining > 0 { pump(context) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        if isAnswering { upstream.update(index) { $0.isAborted = true } }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}

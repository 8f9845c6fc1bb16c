import MartletTesting
import NIOCore
import NIOPosix
import NIOSSL
import Synchronization
import Testing

/// A TCP connection that sends and shows the exact bytes.
final class RawClient: Sendable {
    private final class Handler: ChannelDuplexHandler, Sendable {
        typealias InboundIn = ByteBuffer
        typealias OutboundIn = ByteBuffer

        let state = Mutex((bytes: [UInt8](), isClosed: false, isReading: true))

        func read(context: ChannelHandlerContext) {
            if state.withLock({ $0.isReading }) { context.read() }
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let buffer = unwrapInboundIn(data)
            state.withLock { $0.bytes += Array(buffer.readableBytesView) }
        }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            if case ChannelEvent.inputClosed? = event as? ChannelEvent { state.withLock { $0.isClosed = true } }
        }

        func channelInactive(context: ChannelHandlerContext) { state.withLock { $0.isClosed = true } }
        func errorCaught(context: ChannelHandlerContext, error: any Error) { state.withLock { $0.isClosed = true } }
    }

    private let channel: any Channel
    private let handler: Handler

    /// - Parameter source: The local address, such as `127.0.0.2`.
    static func connect(_ port: Int, reading: Bool = true, tls: NIOSSLContext? = nil, from source: String? = nil)
        async throws -> RawClient
    {
        let handler = Handler()
        handler.state.withLock { $0.isReading = reading }
        var bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        if let source { bootstrap = bootstrap.bind(to: try SocketAddress(ipAddress: source, port: 0)) }
        let channel =
            try await bootstrap
            .channelOption(.allowRemoteHalfClosure, value: tls == nil)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if let tls {
                        try channel.pipeline.syncOperations.addHandler(
                            NIOSSLClientHandler(context: tls, serverHostname: nil))
                    }
                    try channel.pipeline.syncOperations.addHandler(handler)
                }
            }
            .connect(host: "127.0.0.1", port: port).get()
        return RawClient(channel: channel, handler: handler)
    }

    private init(channel: any Channel, handler: Handler) {
        self.channel = channel
        self.handler = handler
    }

    var text: String { handler.state.withLock { String(decoding: $0.bytes, as: UTF8.self) } }
    var bytes: [UInt8] { handler.state.withLock { $0.bytes } }
    var count: Int { handler.state.withLock { $0.bytes.count } }
    var isClosed: Bool { handler.state.withLock { $0.isClosed } }
    var status: Int { Int(text.split(separator: " ").dropFirst().first ?? "") ?? 0 }
    var underlying: any Channel { channel }

    /// The body of a single response.
    var body: String { text.split(separator: "\r\n\r\n", maxSplits: 1).dropFirst().first.map(String.init) ?? "" }

    func send(_ text: String) async throws { try await channel.writeAndFlush(ByteBuffer(string: text)).get() }
    func send(_ bytes: [UInt8]) async throws { try await channel.writeAndFlush(ByteBuffer(bytes: bytes)).get() }
    func closeOutput() async throws { try await channel.close(mode: .output).get() }
    func close() async { try? await channel.close().get() }

    func startReading() {
        handler.state.withLock { $0.isReading = true }
        channel.read()
    }

    /// Waits until `part` has arrived, or the connection is closed.
    func wait(
        for part: String, within time: Duration = .seconds(120), sourceLocation: SourceLocation = #_sourceLocation
    )
        async
    {
        await eventually(within: time, sourceLocation: sourceLocation) { self.isClosed || self.text.contains(part) }
    }

    func waitForClose(within time: Duration = .seconds(120), sourceLocation: SourceLocation = #_sourceLocation) async {
        await eventually(within: time, sourceLocation: sourceLocation) { self.isClosed }
    }
}

/// Waits for a condition; records a failure if it does not hold in time.
@discardableResult
func eventually(
    within limit: Duration = .seconds(120), sourceLocation: SourceLocation = #_sourceLocation,
    _ condition: () async -> Bool
) async -> Bool {
    do {
        try await MartletTesting.eventually(within: limit, condition)
        return true
    } catch {
        Issue.record(error, sourceLocation: sourceLocation)
        return false
    }
}

import MartletAPI
import NIOCore
import NIOHTTP2

/// Sets up HTTP/2 on a connection: one child channel per stream, each a `Front`.
enum HTTP2 {
    static func configure(_ channel: any Channel, client: ClientConnection, worker: Worker) throws {
        let bound = NIOLoopBound(client, eventLoop: channel.eventLoop)
        let management = NIOHTTP2ServerConnectionManagementHandler(
            eventLoop: channel.eventLoop, configuration: managementConfiguration(worker.settings))
        let multiplexer = NIOHTTP2Handler(
            mode: .server, eventLoop: channel.eventLoop, connectionConfiguration: connectionConfiguration(worker.settings),
            streamConfiguration: streamConfiguration(), streamDelegate: management.http2StreamDelegate
        ) { stream in
            stream.eventLoop.makeCompletedFuture {
                try stream.pipeline.syncOperations.addHandler(HTTP2Stream(client: bound.value, worker: worker))
            }
        }
        let goAway = GoAwayObserver(client: client, closeTimeout: worker.settings.idleTimeout, graceTime: worker.settings.drainTimeout)
        try channel.pipeline.syncOperations.addHandlers(
            goAway, EarlySettings(), multiplexer, management, HTTP2ConnectionHandler(worker: worker, goAway: goAway))
    }

    private static func managementConfiguration(
        _ settings: Settings
    ) -> NIOHTTP2ServerConnectionManagementHandler.Configuration {
        var configuration = NIOHTTP2ServerConnectionManagementHandler.Configuration.defaults
        configuration.maxIdleTime = settings.idleTimeout
        configuration.maxGraceTime = settings.drainTimeout
        return configuration
    }

    private static func connectionConfiguration(_ settings: Settings) -> NIOHTTP2Handler.ConnectionConfiguration {
        var configuration = NIOHTTP2Handler.ConnectionConfiguration()
        configuration.initialSettings = [
            HTTP2Setting(parameter: .maxConcurrentStreams, value: settings.limits.maximumStreamsPerConnection),
            HTTP2Setting(parameter: .maxHeaderListSize, value: headerListBytes(settings)),
            HTTP2Setting(parameter: .initialWindowSize, value: windowBytes),
        ]
        configuration.targetWindowSize = 4 * windowBytes
        // No head that is decoded needs more; a client that sends more is attacking (CVE-2024-27316).
        configuration.maximumSequentialContinuationFrames = max(3, headerListBytes(settings) / smallestMaximumFrameBytes)
        configuration.maximumBufferedControlFrames = 1000
        return configuration
    }

    private static func streamConfiguration() -> NIOHTTP2Handler.StreamConfiguration {
        var configuration = NIOHTTP2Handler.StreamConfiguration()
        configuration.targetWindowSize = windowBytes
        configuration.outboundBufferSizeHighWatermark = 64 * 1024
        configuration.outboundBufferSizeLowWatermark = 32 * 1024
        // Rapid reset (CVE-2023-44487).
        configuration.streamResetFrameRateLimit.maximumCount = 200
        configuration.streamResetFrameRateLimit.windowLength = .seconds(30)
        return configuration
    }

    /// The size up to which heads are decoded. It is larger than the permitted one, so that a head that is too large gets 431 on its own stream:
    /// NIOHTTP2 decodes nothing beyond the size it announces, and a head that is not decoded ends the connection (RFC 9113 §4.3).
    private static func headerListBytes(_ settings: Settings) -> Int { 4 * settings.limits.maximumHeaderBytes }

    /// A client need not send larger frames (RFC 9113 §4.2), and NIOHTTP2 takes no larger ones.
    private static let smallestMaximumFrameBytes = 16 * 1024
    private static let windowBytes = 256 * 1024
}

/// Lets a worker reach an HTTP/2 connection, closes it on connection errors, and reads nothing while the client does not read.
final class HTTP2ConnectionHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTP2Frame
    typealias OutboundIn = HTTP2Frame

    private let worker: Worker
    private let goAway: GoAwayObserver
    private var hasHeldRead = false
    private var isLeaving = false

    /// For the client to read the GOAWAY, and for answers under way.
    private static let lingerTime = TimeAmount.seconds(1)

    init(worker: Worker, goAway: GoAwayObserver) {
        self.worker = worker
        self.goAway = goAway
    }

    func handlerAdded(context: ChannelHandlerContext) {
        worker.add(context.channel)
    }

    func channelInactive(context: ChannelHandlerContext) {
        worker.remove(context.channel)
        context.fireChannelInactive()
    }

    /// Stream windows do not bound answers that are headers only.
    func read(context: ChannelHandlerContext) {
        if context.channel.isWritable { context.read() } else { hasHeldRead = true }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if hasHeldRead, context.channel.isWritable {
            hasHeldRead = false
            context.read()
        }
        context.fireChannelWritabilityChanged()
    }

    /// HTTP/2 knows no half-closed connections: without its input it is at its end.
    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case ChannelEvent.inputClosed? = event as? ChannelEvent { context.close(promise: nil) }
        context.fireUserInboundEventTriggered(event)
    }

    /// NIOHTTP2 reports stream errors and connection errors by the same types. For a stream error it has sent RST_STREAM, and the connection goes on
    /// (RFC 9113 §5.4.2); for a connection error it has sent GOAWAY (§5.4.1).
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if goAway.hasFailed { return leave(context) }
        if error is any NIOHTTP2Error || error is NIOHTTP2Errors.StreamError { return }
        context.close(promise: nil)
    }

    /// Closes when the client has had time to read: a reset for what it still sends would destroy the GOAWAY on its way.
    private func leave(_ context: ChannelHandlerContext) {
        guard !isLeaving else { return }
        isLeaving = true
        try? context.pipeline.syncOperations.addHandler(InputDiscarder(), position: .first)
        context.eventLoop.assumeIsolated().scheduleTask(in: Self.lingerTime) { context.close(promise: nil) }
    }
}

/// Watches what NIOHTTP2 sends for a GOAWAY, which it reports in no other way, and lets what was sent leave before the connection closes.
final class GoAwayObserver: ChannelOutboundHandler {
    typealias OutboundIn = IOData

    private(set) var hasFailed = false
    /// A DATA frame's payload, which is a write of its own, is not looked at.
    private var payloadFollows = false

    private let client: ClientConnection
    private let closeTimeout: TimeAmount
    private let graceTime: TimeAmount
    private var isClosing = false
    /// NIOHTTP2 waits without end for the client to acknowledge the PING that goes with a GOAWAY.
    private var end: Scheduled<Void>?

    private static let headerBytes = 9
    /// For what the client sent before it knew.
    private static let leastGrace = TimeAmount.seconds(5)

    init(client: ClientConnection, closeTimeout: TimeAmount, graceTime: TimeAmount) {
        self.client = client
        self.closeTimeout = closeTimeout
        self.graceTime = graceTime
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        end?.cancel()
    }

    /// NIO drops what has not left when a channel closes. Only the ends of answers are worth waiting for: a client that reads nothing must not
    /// keep a descriptor for its acknowledgements.
    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        guard mode == .all, !isClosing, client.permit?.isIdle == false, context.hasUnsentBytes else { return context.close(mode: mode, promise: promise) }
        isClosing = true
        let timeout = context.eventLoop.assumeIsolated().scheduleTask(in: closeTimeout) { context.close(promise: nil) }
        context.whenSent().assumeIsolated().whenComplete { _ in
            timeout.cancel()
            context.close(promise: promise)
        }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if payloadFollows {
            payloadFollows = false
        } else if case .byteBuffer(let frame) = unwrapOutboundIn(data) {
            look(at: frame, context)
        }
        context.write(data, promise: promise)
    }

    /// Frames as in RFC 9113 §4.1: three bytes of length, type, flags, stream. Each is a write of its own.
    private func look(at frame: ByteBuffer, _ context: ChannelHandlerContext) {
        let start = frame.readerIndex
        guard let word = frame.getInteger(at: start, as: UInt32.self) else { return }
        switch word & 0xff {
        case 0:
            client.lastData = .now()
            payloadFollows = frame.readableBytes < Self.headerBytes + Int(word >> 8)
        case 7:
            hasFailed = hasFailed || frame.getInteger(at: start + Self.headerBytes + 4, as: UInt32.self) ?? 0 != 0
            if !hasFailed, end == nil {
                end = context.eventLoop.assumeIsolated().scheduleTask(in: max(graceTime, Self.leastGrace)) { context.close(promise: nil) }
            }
        default: break
        }
    }
}

/// Throws away what comes in.
private final class InputDiscarder: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {}
}

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
            mode: .server, eventLoop: channel.eventLoop,
            connectionConfiguration: connectionConfiguration(worker.settings),
            streamConfiguration: streamConfiguration(), streamDelegate: management.http2StreamDelegate
        ) { stream in
            stream.eventLoop.makeCompletedFuture {
                try stream.pipeline.syncOperations.addHandler(HTTP2Stream(client: bound.value, worker: worker))
            }
        }
        let goAway = GoAwayObserver(
            client: client, closeTimeout: worker.settings.idleTimeout, graceTime: worker.settings.drainTimeout)
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
        // No accepted head needs more frames; a client that sends more is attacking (CVE-2024-27316).
        configuration.maximumSequentialContinuationFrames = max(
            3, headerListBytes(settings) / smallestMaximumFrameBytes)
        configuration.maximumBufferedControlFrames = 1000
        return configuration
    }

    private static func streamConfiguration() -> NIOHTTP2Handler.StreamConfiguration {
        var configuration = NIOHTTP2Handler.StreamConfiguration()
        configuration.targetWindowSize = windowBytes
        configuration.outboundBufferSizeHighWatermark = 64 * 1024
        configuration.outboundBufferSizeLowWatermark = 32 * 1024
        // Limits rapid resets (CVE-2023-44487).
        configuration.streamResetFrameRateLimit.maximumCount = 200
        configuration.streamResetFrameRateLimit.windowLength = .seconds(30)
        return configuration
    }

    /// The size up to which heads are decoded. It exceeds the accepted size, so that a head that is too large gets 431
    /// on its own stream: NIOHTTP2 decodes nothing beyond the size it announces, and a head that is not decoded ends
    /// the connection (RFC 9113 §4.3).
    private static func headerListBytes(_ settings: Settings) -> Int { 4 * settings.limits.maximumHeaderBytes }

    /// Clients may be limited to frames of this size (RFC 9113 §4.2), and NIOHTTP2 accepts no larger ones.
    private static let smallestMaximumFrameBytes = 16 * 1024
    private static let windowBytes = 256 * 1024
}

/// Registers an HTTP/2 connection with its worker, closes it on connection errors, and stops reading while the client
/// does not read.
final class HTTP2ConnectionHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTP2Frame
    typealias OutboundIn = HTTP2Frame

    private let worker: Worker
    private let goAway: GoAwayObserver
    private var hasHeldRead = false
    private var isLeaving = false

    /// Time for the client to read the GOAWAY, and for answers in progress.
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

    /// Pauses reading while the channel is not writable, because flow control does not limit answers that consist of
    /// headers only.
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

    /// HTTP/2 has no half-closed connections, so the end of the input ends the connection.
    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case ChannelEvent.inputClosed? = event as? ChannelEvent { context.close(promise: nil) }
        context.fireUserInboundEventTriggered(event)
    }

    /// NIOHTTP2 uses the same error types for stream and connection errors. After a stream error it has sent RST_STREAM
    /// and the connection continues (RFC 9113 §5.4.2); after a connection error it has sent GOAWAY (§5.4.1).
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if goAway.hasFailed { return leave(context) }
        if error is any NIOHTTP2Error || error is NIOHTTP2Errors.StreamError { return }
        context.close(promise: nil)
    }

    /// Closes after a delay. Closing at once would answer further input with a reset, which could destroy the GOAWAY in
    /// transit.
    private func leave(_ context: ChannelHandlerContext) {
        guard !isLeaving else { return }
        isLeaving = true
        try? context.pipeline.syncOperations.addHandler(InputDiscarder(), position: .first)
        context.eventLoop.assumeIsolated().scheduleTask(in: Self.lingerTime) { context.close(promise: nil) }
    }
}

/// Detects a GOAWAY in the frames that NIOHTTP2 sends, since NIOHTTP2 does not report it otherwise, and delays closing
/// until pending answers are sent.
final class GoAwayObserver: ChannelOutboundHandler {
    typealias OutboundIn = IOData

    private(set) var hasFailed = false
    /// The payload of a DATA frame is a separate write, which is not inspected.
    private var payloadFollows = false

    private let client: ClientConnection
    private let closeTimeout: TimeAmount
    private let graceTime: TimeAmount
    private var isClosing = false
    /// Closes the connection after a GOAWAY, since NIOHTTP2 waits indefinitely for the client to acknowledge the
    /// accompanying PING.
    private var end: Scheduled<Void>?

    private static let headerBytes = 9
    /// Minimum time to answer requests that the client sent before it received the GOAWAY.
    private static let leastGrace = TimeAmount.seconds(5)

    init(client: ClientConnection, closeTimeout: TimeAmount, graceTime: TimeAmount) {
        self.client = client
        self.closeTimeout = closeTimeout
        self.graceTime = graceTime
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        end?.cancel()
    }

    /// Delays closing while the end of an answer is unsent, because NIO drops unsent bytes on close. It does not wait
    /// for anything else: a client that reads nothing must not hold a descriptor for its acknowledgements.
    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        guard mode == .all, !isClosing, client.permit?.isIdle == false, context.hasUnsentBytes else {
            return context.close(mode: mode, promise: promise)
        }
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
            inspect(frame, context)
        }
        context.write(data, promise: promise)
    }

    /// Inspects a frame (RFC 9113 §4.1: three bytes of length, then type, flags, stream). Each frame is a separate
    /// write.
    private func inspect(_ frame: ByteBuffer, _ context: ChannelHandlerContext) {
        let start = frame.readerIndex
        guard let word = frame.getInteger(at: start, as: UInt32.self) else { return }
        switch word & 0xff {
        case 0: // DATA
            client.lastData = .now()
            payloadFollows = frame.readableBytes < Self.headerBytes + Int(word >> 8)
        case 7: // GOAWAY
            hasFailed = hasFailed || frame.getInteger(at: start + Self.headerBytes + 4, as: UInt32.self) ?? 0 != 0
            if !hasFailed, end == nil {
                end = context.eventLoop.assumeIsolated().scheduleTask(in: max(graceTime, Self.leastGrace)) {
                    context.close(promise: nil)
                }
            }
        default: break
        }
    }
}

/// Discards all input.
private final class InputDiscarder: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {}
}

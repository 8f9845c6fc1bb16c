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
        try channel.pipeline.syncOperations.addHandlers(
            multiplexer, management, HTTP2ConnectionHandler(worker: worker))
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
            HTTP2Setting(parameter: .maxHeaderListSize, value: settings.limits.maximumHeaderBytes),
            HTTP2Setting(parameter: .initialWindowSize, value: windowBytes),
        ]
        configuration.targetWindowSize = 4 * windowBytes
        // A head of the permitted size needs one; what sends more is up to no good (CVE-2024-27316).
        configuration.maximumSequentialContinuationFrames = 3
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

    private static let windowBytes = 256 * 1024
}

/// Lets a worker reach an HTTP/2 connection, closes it on errors, and reads nothing while the client does not read.
final class HTTP2ConnectionHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTP2Frame
    typealias OutboundIn = HTTP2Frame

    private let worker: Worker
    private var hasHeldRead = false

    init(worker: Worker) {
        self.worker = worker
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

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // Errors of one stream are its own; NIOHTTP2 has sent RST_STREAM where it was due.
        if error is NIOHTTP2Errors.StreamError { return }
        context.close(promise: nil)
    }
}

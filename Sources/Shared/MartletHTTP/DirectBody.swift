public import NIOCore
import NIOHTTP1

/// Writes parts of a streamed response directly from the event loop of its connection.
///
/// `ResponseBodyWriter.write` must be called by a task, which must be woken first. For one event to thousands of
/// streams, that takes more work than writing. Data written this way bypasses the HTTP encoder, so the caller frames
/// it, once for all streams (a chunk, RFC 9112 §7.1). Use it only between two parts of a chunked HTTP/1.1 response, and
/// only when nothing written by the other path is still on its way to the event loop.
public struct DirectBody: Sendable {
    public let eventLoop: any EventLoop
    private let encoder: NIOLoopBound<ChannelHandlerContext>
    private let closed: EventLoopFuture<Void>

    /// Nil if the connection has no HTTP/1.1 encoder, as in tests without sockets.
    public init?(_ channel: any Channel) async {
        let encoder = try? await channel.eventLoop.submit {
            NIOLoopBound(
                try channel.pipeline.syncOperations.context(handlerType: HTTPResponseEncoder.self),
                eventLoop: channel.eventLoop)
        }.get()
        guard let encoder else { return nil }
        self.encoder = encoder
        eventLoop = channel.eventLoop
        closed = channel.closeFuture
    }

    /// Calls `body` when the connection closes. Writes themselves never report a failure.
    public func onClose(_ body: @escaping @Sendable () -> Void) {
        closed.whenComplete { _ in body() }
    }

    /// Whether the client keeps up. Call on the event loop only.
    public var isWritable: Bool { encoder.value.channel.isWritable }

    /// Closes the connection. Call on the event loop only.
    public func close() { encoder.value.close(promise: nil) }

    /// Writes a complete chunk including its framing. Call on the event loop only.
    public func write(_ chunk: ByteBuffer) {
        encoder.value.writeAndFlush(NIOAny(IOData.byteBuffer(chunk)), promise: nil)
    }
}

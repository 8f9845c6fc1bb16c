public import NIOCore
import NIOHTTP1

/// Writes parts of a streamed response from the event loop of its connection.
///
/// `ResponseBodyWriter.write` has to be called by a task, which has to be woken first: with one event for thousands of streams that is more
/// work than the writing. What goes this way is framed by whoever made it, once for all streams (a chunk, RFC 9112 §7.1), and goes past
/// HTTP's encoder; hence only between two parts of a chunked response over HTTP/1.1, and with nothing that was written the other way
/// still on its way to the event loop.
public struct DirectBody: Sendable {
    public let eventLoop: any EventLoop
    private let encoder: NIOLoopBound<ChannelHandlerContext>
    private let closed: EventLoopFuture<Void>

    /// Nil when the connection has no encoder of HTTP/1.1, as in tests without sockets.
    public init?(_ channel: any Channel) async {
        let encoder = try? await channel.eventLoop.submit {
            NIOLoopBound(
                try channel.pipeline.syncOperations.context(handlerType: HTTPResponseEncoder.self), eventLoop: channel.eventLoop)
        }.get()
        guard let encoder else { return nil }
        self.encoder = encoder
        eventLoop = channel.eventLoop
        closed = channel.closeFuture
    }

    /// Calls `body` when the connection closes: nothing written this way fails.
    public func onClose(_ body: @escaping @Sendable () -> Void) {
        closed.whenComplete { _ in body() }
    }

    /// Whether the client keeps up. On the event loop only.
    public var isWritable: Bool { encoder.value.channel.isWritable }

    /// Breaks the connection off. On the event loop only.
    public func close() { encoder.value.close(promise: nil) }

    /// Writes a whole chunk, with its framing. On the event loop only.
    public func write(_ chunk: ByteBuffer) {
        encoder.value.writeAndFlush(NIOAny(IOData.byteBuffer(chunk)), promise: nil)
    }
}

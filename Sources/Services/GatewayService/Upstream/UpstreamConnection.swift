import MartletAPI
import NIOCore

/// A keep-alive connection to an upstream, lent to one exchange at a time. Parses the responses.
final class UpstreamConnection: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    let backend: Backend
    var idleSince = NIODeadline.distantPast
    /// Number of exchanges completed on this connection.
    private(set) var servedCount = 0

    private var exchange: Exchange?
    private var context: ChannelHandlerContext?
    private var state = State.idle
    private var parser: ResponseParser
    private var pending = ByteBuffer()
    private var isClosed = false
    private var isPaused = false
    private var hasHeldRead = false

    private enum State {
        case idle
        case head
        case body(BodyDecoder)
        case tunnel
    }

    init(backend: Backend, maximumHeadBytes: Int) {
        self.backend = backend
        parser = ResponseParser(maximumHeadBytes: maximumHeadBytes)
    }

    var isUsable: Bool { !isClosed && context != nil }
    var isWritable: Bool { context?.channel.isWritable ?? false }

    func lend(to exchange: Exchange) {
        self.exchange = exchange
        state = .head
        parser.reset()
    }

    /// Called when the exchange is done: returns the connection to its backend or closes it.
    func end(reusable: Bool) {
        exchange = nil
        state = .idle
        resume()
        guard reusable, pending.readableBytes == 0 else { return close() }
        servedCount += 1
        backend.giveBack(self)
    }

    func close() {
        isClosed = true
        context?.close(promise: nil)
    }

    func write(_ buffer: ByteBuffer) {
        context?.write(wrapOutboundOut(buffer), promise: nil)
    }

    func writeAndFlush(_ buffer: ByteBuffer) {
        context?.writeAndFlush(wrapOutboundOut(buffer), promise: nil)
    }

    func flush() {
        context?.flush()
    }

    func closeOutput() {
        context?.close(mode: .output, promise: nil)
    }

    /// Stops reading because the client does not keep up.
    func pause() { isPaused = true }

    func resume() {
        isPaused = false
        guard hasHeldRead else { return }
        hasHeldRead = false
        context?.read()
    }

    // MARK: ChannelHandler

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func read(context: ChannelHandlerContext) {
        if isPaused { hasHeldRead = true } else { context.read() }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var buffer = unwrapInboundIn(data)
        if pending.readableBytes == 0 { pending = buffer } else { pending.writeBuffer(&buffer) }
        do {
            try process()
        } catch {
            fail(.malformed)
        }
        // Allows the channel to reuse the memory for its next read.
        if pending.readableBytes == 0 { pending = ByteBuffer() }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        exchange?.upstreamReadComplete()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { exchange?.upstreamBecameWritable() }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        isClosed = true
        self.context = nil
        guard let exchange else { return backend.forget(self) }
        if case .body(let decoder) = state, decoder.endsAtClose {
            state = .idle
            exchange.upstreamEnded(reusable: false)
        } else {
            fail(.closed)
        }
    }

    private func fail(_ failure: Exchange.UpstreamFailure) {
        let failed = exchange
        exchange = nil
        state = .idle
        close()
        failed?.upstreamFailed(failure)
    }

    private func process() throws(Refusal) {
        while let exchange {
            switch state {
            case .idle:
                return
            case .head:
                guard try parseHead(exchange) else { return }
            case .body(var decoder):
                let part = try decoder.next(&pending)
                state = .body(decoder)
                guard let part else { return }
                switch part {
                case .data(let data):
                    exchange.upstreamBody(data)
                case .end:
                    state = .idle
                    exchange.upstreamEnded(reusable: parser.head.keepsAlive && pending.readableBytes == 0)
                    return
                }
            case .tunnel:
                guard let data = pending.readSlice(length: pending.readableBytes), data.readableBytes > 0 else {
                    return
                }
                exchange.upstreamBody(data)
                return
            }
        }
        // Bytes outside an exchange mean that the connection is out of sync.
        if pending.readableBytes > 0 { close() }
        pending = ByteBuffer()
    }

    /// Returns whether there may be more to parse.
    private func parseHead(_ exchange: Exchange) throws(Refusal) -> Bool {
        let buffer = pending
        guard buffer.readableBytes > 0 else { return false }
        let outcome = buffer.withUnsafeReadableBytes { bytes in
            Result { () throws(Refusal) in
                guard let length = try parser.parse(bytes) else { return false }
                pending.moveReaderIndex(forwardBy: length)
                try handleHead(exchange, UnsafeRawBufferPointer(rebasing: bytes[..<length]))
                return true
            }
        }
        return try outcome.get()
    }

    private func handleHead(_ exchange: Exchange, _ bytes: UnsafeRawBufferPointer) throws(Refusal) {
        let head = parser.head
        switch head.status {
        case 101:
            guard exchange.isUpgrade else {
                throw .malformed("The upstream upgraded the connection without a request to do so.")
            }
            state = .tunnel
        case 100..<200:
            // The gateway has sent its own 100; other interim responses are hints that no client waits for.
            parser.reset()
            return
        default:
            state = .body(bodyDecoder(for: head, exchange))
        }
        exchange.upstreamHead(head, bytes)
    }

    private func bodyDecoder(for head: ResponseHead, _ exchange: Exchange) -> BodyDecoder {
        if exchange.method == .head || head.status == 204 || head.status == 304 { return .length(0) }
        if head.isChunked { return .chunked }
        return head.contentLength.map { .length($0) } ?? .untilClose
    }
}

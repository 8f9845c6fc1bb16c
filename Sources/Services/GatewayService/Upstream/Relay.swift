import Foundation
import MartletAPI
import MartletCore
import NIOCore
import NIOPosix

/// A connection to an upstream by which it sends one event to many streams, on one event loop.
///
/// A stream that thousands follow costs a system call on each side for each of them and event. By a relay the upstream names the streams and sends
/// the bytes once. What is said of one stream alone (its head, what it missed, its end) comes by the stream's own connection as ever,
/// which also tells each side when the other is gone; so a relay may be missing, and nothing but speed is lost.
///
/// Opened by `GET` of the route's `relay` with a random id in `X-Martlet-Relay`. Requests for streams carry `X-Martlet-Relay: <id>.<number>`. The body of
/// the answer is a row of frames, integers in network byte order: length of what follows (4 bytes), number of streams (4), for each its number (4)
/// and how many body bytes it got by its own connection before (8), then the bytes. A frame's bytes go behind those of all frames before.
final class Relay: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    let id: String
    private var state = State.connecting
    private var context: ChannelHandlerContext?
    private var parser = ResponseParser(maximumHeadBytes: 64 * 1024)
    private var decoder = BodyDecoder.chunked
    private var received = ByteBuffer()
    private var frames = ByteBuffer()
    private var current: Frame?
    private var isWorking = false
    private var streams: [UInt32: Exchange] = [:]
    private var lastNumber: UInt32 = 0
    private var isRetired = false

    /// Longer ones an upstream does not send: an event has at most the size of an object twice.
    private static let maximumFrameBytes = 16 << 20
    private static let headerBytes = 8
    private static let entryBytes = 12
    /// Streams written to before others have their turn on the event loop.
    private static let sliceSize = 128
    static let connectTimeout = TimeAmount.seconds(2)

    private enum State {
        case connecting, open, closed
    }

    private struct Frame {
        var entries: ByteBuffer
        var data: ByteBuffer
    }

    init() {
        var generator = SystemRandomNumberGenerator()
        id = (0..<4).map { _ in String(UInt32.random(in: .min ... .max, using: &generator) | 0x8000_0000, radix: 16) }.joined()
    }

    var isOpen: Bool {
        if case .open = state { true } else { false }
    }

    var isClosed: Bool {
        if case .closed = state { true } else { false }
    }

    func connect(to address: SocketAddress, path: String, signer: PrincipalSigner, on eventLoop: any EventLoop) {
        guard let principal = try? signer.header(for: .service("gateway"), at: Date()) else { return close() }
        let head = "GET \(path) HTTP/1.1\r\nhost: martlet\r\n\(HeaderName.principal): \(principal)\r\n\(HeaderName.relay): \(id)\r\n\r\n"
        let bound = NIOLoopBound(self, eventLoop: eventLoop)
        ClientBootstrap(group: eventLoop)
            .connectTimeout(Self.connectTimeout)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            // An event for a thousand streams comes in one piece.
            .channelOption(.recvAllocator, value: AdaptiveRecvByteBufferAllocator(minimum: 2048, initial: 16_384, maximum: 262_144))
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(bound.value) }
            }
            .connect(to: address)
            .assumeIsolated()
            .whenComplete { [self] result in
                switch result {
                case .success(let channel): channel.writeAndFlush(ByteBuffer(string: head), promise: nil)
                case .failure: close()
                }
            }
    }

    /// The number under which the upstream is to name the stream from now on.
    func add(_ exchange: Exchange) -> UInt32 {
        repeat { lastNumber &+= 1 } while streams[lastNumber] != nil
        streams[lastNumber] = exchange
        return lastNumber
    }

    func remove(_ number: UInt32) {
        streams[number] = nil
        if isRetired, streams.isEmpty { close() }
    }

    /// The address is not used any more: ends with its last stream.
    func retire() {
        isRetired = true
        if streams.isEmpty { close() }
    }

    /// Ends all streams: what was on its way to them is lost, and they are to be taken up again.
    func close() {
        guard !isClosed else { return }
        state = .closed
        context?.close(promise: nil)
        let ended = streams.values
        streams = [:]
        for exchange in ended { exchange.relayFailed() }
    }

    // MARK: ChannelHandler

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        if isClosed { context.close(promise: nil) }
    }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func channelInactive(context: ChannelHandlerContext) { close() }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { close() }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var buffer = unwrapInboundIn(data)
        if received.readableBytes == 0 { received = buffer } else { received.writeBuffer(&buffer) }
        do {
            if case .connecting = state { try parseHead() }
            if isOpen { try readFrames() }
        } catch {
            close()
        }
        if received.readableBytes == 0 { received = ByteBuffer() }
    }

    private func parseHead() throws(Refusal) {
        let buffer = received
        let outcome = buffer.withUnsafeReadableBytes { bytes in Result { () throws(Refusal) in try parser.parse(bytes) } }
        guard let length = try outcome.get() else { return }
        received.moveReaderIndex(forwardBy: length)
        guard parser.head.status == 200, parser.head.isChunked else { return close() }
        state = .open
    }

    private func readFrames() throws(Refusal) {
        while let part = try decoder.next(&received) {
            guard case .data(var data) = part else { return close() }
            if frames.readableBytes == 0 { frames = data } else { frames.writeBuffer(&data) }
        }
        try work()
    }

    // MARK: Frames

    /// Writes what is there, a slice at a time.
    private func work() throws(Refusal) {
        guard !isWorking else { return }
        var budget = Self.sliceSize
        while isOpen {
            if current == nil { current = try nextFrame() }
            guard var frame = current else { break }
            while budget > 0, let (number, own) = frame.entries.readMultipleIntegers(as: (UInt32, UInt64).self) {
                streams[number]?.relayed(frame.data, after: Int64(clamping: own))
                budget -= 1
            }
            current = frame.entries.readableBytes > 0 ? frame : nil
            if budget == 0 { return continueLater() }
        }
        if frames.readableBytes == 0 { frames = ByteBuffer() }
    }

    private func continueLater() {
        guard let context else { return }
        isWorking = true
        context.eventLoop.assumeIsolated().execute { [self] in
            isWorking = false
            do { try work() } catch { close() }
        }
    }

    private func nextFrame() throws(Refusal) -> Frame? {
        guard let (length, count) = frames.getMultipleIntegers(at: frames.readerIndex, as: (UInt32, UInt32).self) else { return nil }
        let (body, entries) = (Int(length) - 4, Int(count) * Self.entryBytes)
        guard body >= entries, Int(length) <= Self.maximumFrameBytes else { throw .malformed("A frame of a relay is not valid.") }
        guard frames.readableBytes >= Self.headerBytes + body else { return nil }
        frames.moveReaderIndex(forwardBy: Self.headerBytes)
        guard let list = frames.readSlice(length: entries), let data = frames.readSlice(length: body - entries) else { return nil }
        return Frame(entries: list, data: data)
    }
}

/// One stream's share of a relay.
struct RelayedStream {
    let relay: Relay
    let number: UInt32
    /// Body bytes that came by the stream's own connection.
    var received: Int64 = 0
    /// What came by the relay before what it has to follow.
    var held: [(data: ByteBuffer, after: Int64)] = []
    /// Bytes that the client has not taken since it fell behind, and those held.
    var backlog = 0

    /// What a client may leave untaken: as much as a service keeps for one.
    static let maximumBacklog = 4 << 20
}

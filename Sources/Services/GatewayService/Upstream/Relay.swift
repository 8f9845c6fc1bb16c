import Foundation
import MartletAPI
import MartletCore
import NIOCore
import NIOPosix

/// A connection through which an upstream sends one event to many streams, on one event loop.
///
/// Without a relay, an event for thousands of streams costs each side one system call per stream. With a relay, the
/// upstream lists the streams and sends the bytes once. Data for a single stream (its head, missed events, its end)
/// still uses the stream's own connection, which also shows each side when the other has disconnected. If a relay is
/// unavailable, only speed is lost.
///
/// A relay is opened by a `GET` of the route's `relay` path with a random id in `X-Martlet-Relay`. Requests for streams
/// carry `X-Martlet-Relay: <id>.<number>`. The response body is a sequence of frames with integers in network byte
/// order: the length of the remaining frame (4 bytes), the number of streams (4), for each stream its number (4) and
/// the count of body bytes sent before on its own connection (8), then the data. The data of a frame follows that of
/// all earlier frames.
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

    /// Upstreams send no larger frames: an event is at most twice the size of an object.
    private static let maximumFrameBytes = 16 << 20
    private static let headerBytes = 8
    private static let entryBytes = 12
    /// Number of streams written to before other work gets a turn on the event loop.
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
        id = (0..<4).map { _ in String(UInt32.random(in: .min ... .max, using: &generator) | 0x8000_0000, radix: 16) }
            .joined()
    }

    var isOpen: Bool {
        if case .open = state { true } else { false }
    }

    var isClosed: Bool {
        if case .closed = state { true } else { false }
    }

    func connect(to address: SocketAddress, path: String, settings: Settings, on eventLoop: any EventLoop) {
        guard let principal = try? settings.signer.header(for: .service("gateway"), at: settings.now()) else {
            return close()
        }
        let head =
            "GET \(path) HTTP/1.1\r\nhost: martlet\r\n\(HeaderName.principal): \(principal)\r\n\(HeaderName.relay): \(id)\r\n\r\n"
        let bound = NIOLoopBound(self, eventLoop: eventLoop)
        ClientBootstrap(group: eventLoop)
            .connectTimeout(Self.connectTimeout)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            // Allows an event for a thousand streams to arrive in one read.
            .channelOption(
                .recvAllocator, value: AdaptiveRecvByteBufferAllocator(minimum: 2048, initial: 16_384, maximum: 262_144)
            )
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

    /// Registers a stream and returns the number that identifies it to the upstream.
    func add(_ exchange: Exchange) -> UInt32 {
        repeat { lastNumber &+= 1 } while streams[lastNumber] != nil
        streams[lastNumber] = exchange
        return lastNumber
    }

    func remove(_ number: UInt32) {
        streams[number] = nil
        if isRetired, streams.isEmpty { close() }
    }

    /// Called when the address is no longer used; the relay closes with its last stream.
    func retire() {
        isRetired = true
        if streams.isEmpty { close() }
    }

    /// Closes the relay and ends all its streams. Data in transit is lost, so clients must resume the streams.
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
        let outcome = buffer.withUnsafeReadableBytes { bytes in Result { () throws(Refusal) in try parser.parse(bytes) }
        }
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

    /// Processes the buffered frames, one slice at a time.
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
        guard let (length, count) = frames.getMultipleIntegers(at: frames.readerIndex, as: (UInt32, UInt32).self) else {
            return nil
        }
        let (body, entries) = (Int(length) - 4, Int(count) * Self.entryBytes)
        guard body >= entries, Int(length) <= Self.maximumFrameBytes else {
            throw .malformed("A relay frame is not valid.")
        }
        guard frames.readableBytes >= Self.headerBytes + body else { return nil }
        frames.moveReaderIndex(forwardBy: Self.headerBytes)
        guard let list = frames.readSlice(length: entries), let data = frames.readSlice(length: body - entries) else {
            return nil
        }
        return Frame(entries: list, data: data)
    }
}

/// The state of one stream on a relay.
struct RelayedStream {
    let relay: Relay
    let number: UInt32
    /// Number of body bytes received on the stream's own connection.
    var received: Int64 = 0
    /// Data from the relay that must wait for earlier bytes on the stream's own connection.
    var held: [(data: ByteBuffer, after: Int64)] = []
    /// Number of bytes written since the client fell behind, plus those held.
    var backlog = 0

    /// Maximum backlog of a client, equal to what a service buffers for one.
    static let maximumBacklog = 4 << 20
}

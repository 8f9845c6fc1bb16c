import Foundation
import NIOCore
import NIOHPACK
import NIOHTTP2
import NIOTLS

/// A connection that writes requests as frames and reads the answers. It handles frames directly, because a channel per
/// stream would cost more than the request itself. Runs entirely on the connection's event loop.
final class APNsConnection: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame
    typealias OutboundOut = HTTP2Frame

    private enum State {
        /// The server has not sent its settings yet.
        case starting
        case open
        /// Takes no new requests, because GOAWAY arrived or the client is closing it.
        case draining
        case closed
    }

    /// The number of bytes of answers to read before extending the flow-control window, which starts at 65,535 bytes.
    private static let windowStep = 16 << 10

    private let configuration: APNsConfiguration
    private let authority: String
    /// Nil once the pool has been notified of the connection's end.
    private var pool: APNsPool?
    private var context: ChannelHandlerContext?
    private var state = State.starting
    private var streams = StreamTable()
    private var streamLimit = 0
    private var hasAnswered = false
    private var needsFlush = false
    private var readBytes = 0
    private var lastRead = NIODeadline.now()
    private var lastSent = NIODeadline.now()
    private var pingSent: NIODeadline?
    private var cause: String?

    init(_ configuration: APNsConfiguration, pool: APNsPool) {
        self.configuration = configuration
        self.pool = pool
        authority = configuration.port == 443 ? configuration.host : "\(configuration.host):\(configuration.port)"
    }

    // MARK: For the pool

    /// The number of requests that it can take now.
    var room: Int { state == .open && !streams.isUsedUp ? max(0, streamLimit - streams.count) : 0 }
    var isOpen: Bool { state == .open }
    var inFlight: Int { streams.count }

    /// Writes a request; requires `room`. Call `flush` to send it.
    func send(_ request: APNsRequest, authorization: String) {
        guard let context else { return request.finish(.failed(.notSent, reason: "connection-lost")) }
        var request = request
        request.attempts += 1
        lastSent = .now()
        let headers = request.headers(authority: authority, authorization: authorization)
        let body = request.notification.payload.buffer
        let stream = HTTP2StreamID(streams.begin(request, deadline: lastSent + configuration.answerLimit))
        write(.headers(.init(headers: headers)), on: stream, context)
        write(.data(.init(data: .byteBuffer(body), endStream: true)), on: stream, context)
        if streams.isUsedUp { drain() }
    }

    func flush() {
        guard needsFlush else { return }
        needsFlush = false
        context?.flush()
    }

    /// Stops taking requests and closes after the last answer.
    func drain() {
        guard state != .closed else { return }
        state = .draining
        closeIfDrained()
    }

    /// Closes immediately, without waiting for a possibly unreachable server to end TLS.
    func close(_ cause: String) {
        if self.cause == nil { self.cause = cause }
        context?.close(promise: nil)
        end()
    }

    /// Called once a second: expires late answers, pings a silent server, closes an idle connection.
    func tick(_ now: NIODeadline) {
        for (stream, ended) in streams.expire(at: now) {
            if let context { write(.rstStream(.cancel), on: HTTP2StreamID(stream), context) }
            pool?.ended(ended, reason: "answer-timeout")
        }
        if let pingSent, now - pingSent >= configuration.pingLimit { return close("ping-timeout") }
        if pingSent == nil, now - lastRead >= configuration.pingInterval, let context {
            pingSent = now
            write(.ping(HTTP2PingData(), ack: false), on: .rootStream, context)
        }
        if state == .open, streams.isEmpty, now - lastSent >= configuration.idleLimit { drain() }
        closeIfDrained()
        flush()
    }

    // MARK: ChannelInboundHandler

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        context.eventLoop.assumeIsolated().scheduleTask(in: configuration.connectLimit) {
            if self.state == .starting { self.close("no-settings") }
        }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        end()
        self.context = nil
    }

    func channelInactive(context: ChannelHandlerContext) {
        end()
        context.fireChannelInactive()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case let event as TLSUserEvent:
            if case .handshakeCompleted(let negotiated) = event, negotiated != "h2" { close("no-http2") }
        case let event as StreamClosedEvent:
            let isRefused = event.reason == .refusedStream
            if let ended = streams.close(Int(event.streamID), isRefused: isRefused) {
                pool?.ended(ended, reason: "stream-reset")
            }
            closeIfDrained()
        default: break
        }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // Errors of a single stream arrive again as an event for that stream.
        if error is NIOHTTP2Errors.StreamError { return }
        close("\(type(of: error)): \(error)")
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        pool?.dispatch()
        flush()
        context.fireChannelReadComplete()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        lastRead = .now()
        switch frame.payload {
        case .headers(let headers):
            finish(streams.receive(headers.headers, isLast: headers.endStream, on: Int(frame.streamID)))
        case .data(let data): read(data, on: frame.streamID, context)
        case .settings(.settings(let settings)): apply(settings)
        case .goAway(let last, let code, let data): goAway(Int(last), code, data)
        case .ping(_, ack: true): pingSent = nil
        default: break
        }
    }

    // MARK: Reading

    private func read(_ data: HTTP2Frame.FramePayload.Data, on stream: HTTP2StreamID, _ context: ChannelHandlerContext)
    {
        guard case .byteBuffer(let buffer) = data.data else { return }
        readBytes += buffer.readableBytes + (data.paddingBytes ?? 0)
        if readBytes >= Self.windowStep {
            write(.windowUpdate(windowSizeIncrement: readBytes), on: .rootStream, context)
            readBytes = 0
        }
        finish(streams.receive(buffer, isLast: data.endStream, on: Int(stream)))
    }

    private func finish(_ ended: StreamTable.Ended?) {
        guard let ended else { return }
        if !hasAnswered, case .answered = ended.end {
            hasAnswered = true
            pool?.receivedFirstAnswer()
        }
        pool?.ended(ended, reason: "connection-lost")
        closeIfDrained()
    }

    private func apply(_ settings: HTTP2Settings) {
        let maximum = settings.last { $0.parameter == .maxConcurrentStreams }?.value
        if state == .starting {
            state = .open
            streamLimit = configuration.maximumStreams
            pool?.opened(self)
        }
        if let maximum { streamLimit = min(maximum, configuration.maximumStreams) }
    }

    /// Requests on streams above `last` are sent again; the others may still be answered (RFC 9113 §6.8). NIO reports
    /// the streams above as closed, too, but as cancelled.
    private func goAway(_ last: Int, _ code: HTTP2ErrorCode, _ data: ByteBuffer?) {
        let text = data.map { String(decoding: $0.readableBytesView.prefix(200), as: UTF8.self) } ?? ""
        if cause == nil { cause = "goaway \(code) \(text)" }
        for ended in streams.refuse(above: last) { pool?.ended(ended, reason: "refused") }
        drain()
    }

    // MARK: Ending

    private func closeIfDrained() {
        guard state == .draining, streams.isEmpty, let context else { return }
        state = .closed
        write(.goAway(lastStreamID: .rootStream, errorCode: .noError, opaqueData: nil), on: .rootStream, context)
        flush()
        // Lets the current call on the stack above return first.
        context.eventLoop.assumeIsolated().execute {
            context.close(promise: nil)
            self.end()
        }
    }

    private func end() {
        guard let pool else { return }
        self.pool = nil
        state = .closed
        for ended in streams.endAll() { pool.ended(ended, reason: "connection-lost") }
        pool.ended(self, hadAnswered: hasAnswered, cause: cause ?? "closed by the server")
    }

    private func write(_ payload: HTTP2Frame.FramePayload, on stream: HTTP2StreamID, _ context: ChannelHandlerContext) {
        needsFlush = true
        context.write(wrapOutboundOut(HTTP2Frame(streamID: stream, payload: payload)), promise: nil)
    }
}

import MartletAPI
import NIOCore
import NIOHPACK
import NIOHTTP2

/// One HTTP/2 stream of a client.
///
/// Its head is converted to HTTP/1.1 and parsed by the same strict parser, so that one set of rules applies.
final class HTTP2Stream: ChannelDuplexHandler, Front {
    typealias InboundIn = HTTP2Frame.FramePayload
    typealias OutboundIn = HTTP2Frame.FramePayload
    typealias OutboundOut = HTTP2Frame.FramePayload

    let client: ClientConnection
    var sweepIndex = -1

    private let worker: Worker
    private var context: ChannelHandlerContext?
    private var exchange: Exchange?
    private var held: [ByteBuffer] = []
    private var requestEnded = false
    /// The client waits for 100 before it sends its body (RFC 9110 §10.1.1).
    private var expectsContinue = false
    private var hasHeldRead = false
    private var hasBegun = false
    /// Deadline for the client to receive the rest of its answer, extended while its connection makes progress. Nil
    /// until the answer has ended.
    private var receiveDeadline: NIODeadline?
    private var isClosed = false

    init(client: ClientConnection, worker: Worker) {
        self.client = client
        self.worker = worker
    }

    // MARK: ChannelHandler

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        worker.add(self)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        end()
    }

    func channelInactive(context: ChannelHandlerContext) {
        end()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    func read(context: ChannelHandlerContext) {
        if exchange?.wantsBody == false { hasHeldRead = true } else { context.read() }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .headers(let frame):
            // A second HEADERS frame carries trailers, which are dropped.
            if !hasBegun { begin(frame.headers, endsStream: frame.endStream) } else { endRequest(frame.endStream) }
        case .data(let frame):
            guard case .byteBuffer(let buffer) = frame.data else { return }
            if buffer.readableBytes > 0, exchange != nil { held.append(buffer) }
            endRequest(frame.endStream)
            forwardBody()
        default:
            break
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        exchange?.clientReadComplete()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { exchange?.clientBecameWritable() }
    }

    // MARK: Reading the request

    private func begin(_ headers: HPACKHeaders, endsStream: Bool) {
        hasBegun = true
        requestEnded = endsStream
        var parser = RequestParser(limits: worker.settings.parserLimits)
        let outcome = Result { () throws(Refusal) in try HTTP2RequestHead.text(headers, endsStream: endsStream) }
            .flatMap { (text: ByteBuffer) -> Result<Void, Refusal> in
                text.withUnsafeReadableBytes { bytes in
                    Result { () throws(Refusal) in
                        guard try parser.parse(bytes) == bytes.count else {
                            throw .malformed("The headers are not valid.")
                        }
                        expectsContinue = parser.head.expectsContinue
                        let exchange = Exchange(parser.head, bytes, front: self, worker: worker)
                        self.exchange = exchange
                        exchange.start(parser.head, bytes)
                    }
                }
            }
        if case .failure(let refusal) = outcome {
            let exchange = Exchange(refusedAt: .now(), front: self, worker: worker)
            self.exchange = exchange
            exchange.refuse(refusal, closing: true)
        }
    }

    private func endRequest(_ ends: Bool) {
        guard ends else { return }
        requestEnded = true
        forwardBody()
    }

    private var hasEndedExchangeRequest = false

    private func forwardBody() {
        guard let exchange, exchange.wantsBody else { return }
        let buffers = held
        held = []
        for buffer in buffers { exchange.clientBody(buffer) }
        if requestEnded, !hasEndedExchangeRequest {
            hasEndedExchangeRequest = true
            exchange.clientEnded()
            exchange.clientReadComplete()
        }
        guard hasHeldRead else { return }
        hasHeldRead = false
        context?.read()
    }

    // MARK: Front

    func readyForBody() {
        if expectsContinue, held.isEmpty {
            write(.headers(.init(headers: [":status": "100"])))
            flush()
        }
        expectsContinue = false
        resumeBody()
    }

    func resumeBody() {
        forwardBody()
        exchange?.clientReadComplete()
    }

    func respond(_ head: ResponseHead, _ bytes: UnsafeRawBufferPointer, of exchange: Exchange) {
        var headers = HPACKHeaders()
        headers.reserveCapacity(head.fields.count + 4)
        headers.add(name: ":status", value: "\(head.status)")
        for field in head.fields where head.forwards(field, bytes, hasOrigin: exchange.origin != nil) {
            headers.add(name: bytes[field.name].text.lowercased(), value: bytes[field.value].text)
        }
        write(headers, of: exchange, endStream: false)
    }

    func respond(_ body: ByteBuffer) {
        write(.data(.init(data: .byteBuffer(body))))
    }

    func endResponse(of exchange: Exchange) {
        writeLast(.data(.init(data: .byteBuffer(ByteBuffer()), endStream: true)))
        finish()
    }

    func flush() { context?.flush() }

    var isWritable: Bool { context?.channel.isWritable ?? true }

    func answer(_ answer: Answer, of exchange: Exchange, closing: Bool) {
        var headers = HPACKHeaders()
        headers.add(name: ":status", value: "\(answer.status)")
        for (name, value) in answer.headers { headers.add(name: name, value: value) }
        if answer.hasLength { headers.add(name: "content-length", value: "\(answer.body.count)") }
        let sendsBody = !answer.body.isEmpty && exchange.method != .head
        write(headers, of: exchange, endStream: !sendsBody)
        if sendsBody { writeLast(.data(.init(data: .byteBuffer(ByteBuffer(bytes: answer.body)), endStream: true))) }
        finish()
    }

    /// Upgrades are not offered on HTTP/2 (RFC 8441 is not supported).
    func becomeTunnel() { abort() }

    func endTunnel() { abort() }

    func abort() {
        write(.rstStream(.internalError))
        flush()
        context?.close(promise: nil)
    }

    /// The connection has sent GOAWAY, and its streams end by themselves.
    func drain() {}

    func tick(_ now: NIODeadline) {
        exchange?.tick(now)
        // An open stream prevents the connection from becoming idle, so a stalled one is aborted.
        if let deadline = receiveDeadline, now > max(deadline, client.lastData + worker.settings.idleTimeout) {
            receiveDeadline = nil
            abort()
        }
    }

    // MARK: Details

    private func write(_ headers: HPACKHeaders, of exchange: Exchange, endStream: Bool) {
        var headers = headers
        headers.add(name: "x-request-id", value: exchange.requestID.text)
        if let origin = exchange.origin {
            headers.add(name: "access-control-allow-origin", value: origin)
            headers.add(name: "access-control-expose-headers", value: Preflight.exposedHeaders)
            headers.add(name: "vary", value: "origin")
        }
        let payload = HTTP2Frame.FramePayload.headers(.init(headers: headers, endStream: endStream))
        if endStream { writeLast(payload) } else { write(payload) }
    }

    private func write(_ payload: HTTP2Frame.FramePayload) {
        guard !isClosed else { return }
        context?.write(wrapOutboundOut(payload), promise: nil)
    }

    /// Sends the end of the answer. The connection counts as busy until it is sent.
    private func writeLast(_ payload: HTTP2Frame.FramePayload) {
        guard !isClosed, let context else { return }
        let sent = context.eventLoop.makePromise(of: Void.self)
        context.writeAndFlush(wrapOutboundOut(payload), promise: sent)
        var isSent = false
        sent.futureResult.assumeIsolated().whenComplete { _ in isSent = true }
        if !isSent { client.permit?.keepBusy(until: sent.futureResult, atMost: worker.settings.idleTimeout) }
    }

    /// Ends the exchange after a complete answer. The rest of the request is not needed (RFC 9113 §8.1).
    private func finish() {
        exchange = nil
        held = []
        receiveDeadline = worker.now + worker.settings.idleTimeout
        guard !requestEnded else { return }
        write(.rstStream(.noError))
        flush()
    }

    private func end() {
        guard !isClosed else { return }
        isClosed = true
        worker.remove(self)
        let exchange = self.exchange
        self.exchange = nil
        exchange?.clientClosed()
    }
}

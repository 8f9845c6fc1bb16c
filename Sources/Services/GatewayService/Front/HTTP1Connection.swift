import MartletAPI
import NIOCore

/// A client's HTTP/1.1 connection: parses requests strictly, one exchange at a time, and writes the answers.
final class HTTP1Connection: ChannelDuplexHandler, Front {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    let client: ClientConnection
    var sweepIndex = -1

    private let worker: Worker
    private var context: ChannelHandlerContext?
    private var phase = Phase.head
    private var parser: RequestParser
    private var exchange: Exchange?
    private var pending = ByteBuffer()
    private var isProcessing = false
    private var hasHeldRead = false
    private var isFirstRequest = true
    private var inputIsClosed = false
    private var deadline: NIODeadline
    private var writer = HTTP1ResponseWriter()

    /// Limit for bytes read ahead of processing. A complete head always fits.
    private let maximumPendingBytes: Int
    private static let lingerTime = TimeAmount.seconds(2)
    /// Up to this much of a refused request's body is read and discarded, which costs less than the new connection that
    /// the client would need for its next request.
    private static let maximumSkippedBytes = 64 * 1024

    private enum Phase {
        case head
        case body(BodyDecoder)
        /// The request has been read; its answer is not completely written yet.
        case responding
        /// The request was answered before its body was read. The rest of the body is discarded within `lingerTime`;
        /// then the next request is read.
        case skipping(BodyDecoder)
        case tunnel
        /// The last answer was written. Further input is discarded, so that no reset destroys the answer before the
        /// client reads it.
        case discarding
        /// Another handler has taken over.
        case passive
        case closed
    }

    init(client: ClientConnection, worker: Worker) {
        self.client = client
        self.worker = worker
        parser = RequestParser(limits: worker.settings.parserLimits)
        maximumPendingBytes = max(64 * 1024, worker.settings.limits.maximumHeaderBytes + 1)
        deadline = worker.idleDeadline(worker.settings.headerTimeout)
    }

    // MARK: ChannelHandler

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        worker.add(self)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        worker.remove(self)
        self.context = nil
    }

    func channelInactive(context: ChannelHandlerContext) {
        guard !isPassive else { return context.fireChannelInactive() }
        phase = .closed
        worker.remove(self)
        let exchange = self.exchange
        self.exchange = nil
        exchange?.clientClosed()
    }

    func read(context: ChannelHandlerContext) {
        if holdsReads { hasHeldRead = true } else { context.read() }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isPassive else { return context.fireChannelRead(data) }
        var buffer = unwrapInboundIn(data)
        if pending.readableBytes == 0 { pending = buffer } else { pending.writeBuffer(&buffer) }
        process()
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if isPassive { context.fireChannelReadComplete() } else { exchange?.clientReadComplete() }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if isPassive { return context.fireChannelWritabilityChanged() }
        guard context.channel.isWritable else { return }
        exchange?.clientBecameWritable()
        if case .head = phase, pending.readableBytes > 0 { deadline = worker.now + worker.settings.idleTimeout }
        process()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if !isPassive, case ChannelEvent.inputClosed? = event as? ChannelEvent { closeInput() }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    private var isPassive: Bool {
        if case .passive = phase { true } else { false }
    }

    // MARK: Reading requests

    private func process() {
        guard !isProcessing else { return }
        isProcessing = true
        while step() {}
        isProcessing = false
        // Allows the channel to reuse the memory for its next read.
        if pending.readableBytes == 0 { pending = ByteBuffer() }
        if hasHeldRead, !holdsReads {
            hasHeldRead = false
            context?.read()
        }
    }

    /// Returns whether another step may make progress.
    private func step() -> Bool {
        switch phase {
        case .head:
            // No new request starts while the client is not reading its responses.
            return pending.readableBytes > 0 && isWritable && readHead()
        case .body(let decoder):
            return readBody(decoder)
        case .skipping(let decoder):
            return skipBody(decoder)
        case .tunnel:
            guard pending.readableBytes > 0, let exchange, exchange.wantsBody else { return false }
            exchange.clientBody(pending)
            pending = ByteBuffer()
            exchange.clientReadComplete()
            return false
        case .discarding, .closed:
            pending = ByteBuffer()
            return false
        case .responding, .passive:
            return false
        }
    }

    private func readHead() -> Bool {
        if parser.isFresh {
            if isFirstRequest, startsLikeHTTP2 { return switchToHTTP2() }
            // One empty line before a request is ignored (RFC 9112 §2.2).
            if pending.readableBytes >= 2, pending.getInteger(at: pending.readerIndex, as: UInt16.self) == 0x0d0a {
                pending.moveReaderIndex(forwardBy: 2)
                if pending.readableBytes == 0 { return false }
            }
        }
        let buffer = pending
        let outcome = buffer.withUnsafeReadableBytes { bytes in
            Result { () throws(Refusal) in
                guard let length = try parser.parse(bytes) else { return false }
                pending.moveReaderIndex(forwardBy: length)
                begin(UnsafeRawBufferPointer(rebasing: bytes[..<length]))
                return true
            }
        }
        switch outcome {
        case .success(let isComplete):
            if !isComplete { deadline = min(deadline, worker.now + worker.settings.headerTimeout) }
            return isComplete
        case .failure(let refusal):
            refuse(refusal)
            return true
        }
    }

    private func begin(_ bytes: UnsafeRawBufferPointer) {
        isFirstRequest = false
        let head = parser.head
        parser.reset()
        phase = head.isChunked ? .body(.chunked) : head.hasBody ? .body(.length(head.contentLength ?? 0)) : .responding
        writer.begin(head)
        let exchange = Exchange(head, bytes, front: self, worker: worker)
        self.exchange = exchange
        exchange.start(head, bytes)
    }

    private func readBody(_ decoder: BodyDecoder) -> Bool {
        guard let exchange, exchange.wantsBody else { return false }
        var decoder = decoder
        do throws(Refusal) {
            let part = try decoder.next(&pending)
            phase = .body(decoder)
            switch part {
            case .data(let data):
                exchange.clientBody(data)
                return true
            case .end:
                phase = .responding
                exchange.clientEnded()
                exchange.clientReadComplete()
                return true
            case nil:
                return false
            }
        } catch {
            exchange.refuse(error, closing: true)
            return true
        }
    }

    private func skipBody(_ decoder: BodyDecoder) -> Bool {
        var decoder = decoder
        do throws(Refusal) {
            switch try decoder.next(&pending) {
            case .data:
                phase = .skipping(decoder)
                return true
            case .end:
                awaitHead()
                return true
            case nil:
                return false
            }
        } catch {
            abort()
            return false
        }
    }

    private func awaitHead() {
        phase = .head
        deadline = worker.idleDeadline(worker.settings.idleTimeout)
    }

    /// Whether reading pauses because no one can accept more bytes.
    private var holdsReads: Bool {
        if pending.readableBytes >= maximumPendingBytes { return true }
        switch phase {
        case .head, .responding: return !isWritable
        case .body, .tunnel: return exchange?.wantsBody == false
        case .skipping, .discarding, .passive, .closed: return false
        }
    }

    private func refuse(_ refusal: Refusal) {
        phase = .responding
        writer.begin(RequestHead())
        let exchange = Exchange(refusedAt: .now(), front: self, worker: worker)
        self.exchange = exchange
        exchange.refuse(refusal, closing: true)
    }

    private func closeInput() {
        inputIsClosed = true
        switch phase {
        case .responding: break
        case .tunnel: exchange?.clientClosedOutput()
        // The client may still be reading, so it gets the rest of what was written.
        case .head where context?.hasUnsentBytes == true, .skipping where context?.hasUnsentBytes == true: linger()
        case .discarding where context?.hasUnsentBytes == true: break
        case .head, .body, .skipping, .discarding, .passive, .closed: abort()
        }
    }

    // MARK: HTTP/2 with prior knowledge

    private var startsLikeHTTP2: Bool {
        !client.isSecure && pending.readableBytes >= 3
            && pending.getString(at: pending.readerIndex, length: 3) == "PRI"
    }

    private func switchToHTTP2() -> Bool {
        guard let context, pending.readableBytes >= 24 else { return false }
        let bytes = pending
        pending = ByteBuffer()
        phase = .passive
        worker.remove(self)
        do {
            try HTTP2.configure(context.channel, client: client, worker: worker)
            context.fireChannelRead(wrapInboundOut(bytes))
            context.fireChannelReadComplete()
        } catch {
            context.close(promise: nil)
        }
        return false
    }

    // MARK: Front

    func readyForBody() {
        if writer.expectsContinue, pending.readableBytes == 0 {
            context?.writeAndFlush(wrapOutboundOut(ByteBuffer(string: "HTTP/1.1 100 Continue\r\n\r\n")), promise: nil)
        }
        resumeBody()
    }

    func resumeBody() {
        process()
        exchange?.clientReadComplete()
    }

    func respond(_ head: ResponseHead, _ bytes: UnsafeRawBufferPointer, of exchange: Exchange) {
        if worker.isDraining || inputIsClosed || isReadingBody { writer.closesConnection = true }
        var buffer = worker.takeBuffer()
        writer.write(head, bytes, of: exchange, to: &buffer)
        out = buffer
    }

    func respond(_ body: ByteBuffer) {
        guard let context else { return }
        if writer.copies(body, after: out) {
            writer.write(body, to: &out)
        } else {
            writer.writeChunkStart(body.readableBytes, to: &out)
            if out.readableBytes > 0 {
                context.write(wrapOutboundOut(out), promise: nil)
                out = ByteBuffer()
            }
            context.write(wrapOutboundOut(body), promise: nil)
            writer.writeChunkEnd(to: &out)
        }
    }

    func endResponse(of exchange: Exchange) {
        // A stream that ends because of draining is resumed by the client, on a new connection.
        if worker.isDraining, exchange.route?.isStreaming == true { writer.closesConnection = true }
        writer.writeEnd(to: &out)
        flush()
        endExchange(isStream: exchange.route?.isStreaming == true)
    }

    func flush() {
        guard let context else { return }
        guard out.readableBytes > 0 else { return context.flush() }
        context.writeAndFlush(wrapOutboundOut(out), promise: nil)
        worker.giveBack(out)
        out = ByteBuffer()
    }

    var isWritable: Bool { context?.channel.isWritable ?? true }

    func answer(_ answer: Answer, of exchange: Exchange, closing: Bool) {
        if closing || worker.isDraining || inputIsClosed || !maySkipBody { writer.closesConnection = true }
        out = worker.takeBuffer()
        writer.write(answer, of: exchange, to: &out)
        flush()
        endExchange()
    }

    func becomeTunnel() {
        phase = .tunnel
        process()
    }

    func endTunnel() {
        flush()
        exchange = nil
        linger(within: worker.idleDeadline(worker.settings.idleTimeout))
    }

    func abort() {
        phase = .closed
        context?.close(promise: nil)
    }

    /// Keeps an idle connection open for a short time, because a request may already be on its way. After the answer,
    /// the connection closes.
    func drain() {
        if case .head = phase { deadline = min(deadline, worker.idleDeadline(worker.settings.idleTimeout)) }
    }

    func tick(_ now: NIODeadline) {
        switch phase {
        case .head:
            guard now > deadline else { return }
            if context?.hasUnsentBytes == true {
                linger()
            } else if parser.isFresh && pending.readableBytes == 0 {
                abort()
            } else {
                refuse(Refusal(.requestTimeout))
            }
        case .body, .responding:
            guard let exchange else { return }
            if inputIsClosed, exchange.isStalled(for: worker.settings.halfClosedTimeout, at: now) { abort() }
            exchange.tick(now)
        case .skipping:
            if now > deadline { linger() }
        case .discarding:
            if now > deadline { abort() }
        case .tunnel:
            exchange?.tick(now)
        case .passive, .closed:
            break
        }
    }

    // MARK: Details

    /// Response bytes held back so that the head and small bodies are written to the channel at once.
    private var out = ByteBuffer()

    private var isReadingBody: Bool {
        if case .body = phase { true } else { false }
    }

    /// Whether the connection can be kept even if the request's body was not read to its end.
    private var maySkipBody: Bool {
        guard case .body(let decoder) = phase else { return true }
        // A client that waits for 100 may next send the body or another request. The gateway cannot tell which.
        guard !writer.expectsContinue, let remaining = decoder.remaining else { return false }
        return remaining <= Self.maximumSkippedBytes
    }

    private func endExchange(isStream: Bool = false) {
        exchange = nil
        if case .closed = phase { return }
        let idleDeadline = worker.idleDeadline(worker.settings.idleTimeout)
        if let context, context.hasUnsentBytes {
            client.permit?.keepBusy(until: context.whenSent(), atMost: worker.settings.idleTimeout)
        }
        guard !writer.closesConnection else { return linger(within: isStream ? idleDeadline : nil) }
        if case .body(let decoder) = phase {
            phase = .skipping(decoder)
            deadline = worker.now + Self.lingerTime
        } else {
            awaitHead()
        }
        process()
    }

    /// Closes the connection once everything is written, without a reset that would destroy what the client has not
    /// read yet.
    ///
    /// - Parameter limit: Deadline for writing the rest of the answer. Nil: the idle timeout from now, even while the
    ///   gateway drains.
    private func linger(within limit: NIODeadline? = nil) {
        guard let context else { return }
        phase = .discarding
        deadline = limit ?? worker.now + worker.settings.idleTimeout
        process()
        context.whenSent().assumeIsolated().whenComplete { [self] _ in
            guard !client.isSecure, !inputIsClosed else { return abort() }
            deadline = worker.now + Self.lingerTime
            self.context?.close(mode: .output, promise: nil)
        }
    }
}

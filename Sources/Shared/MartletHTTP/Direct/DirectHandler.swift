import Foundation
import HTTPTypes
import NIOCore
import NIOHTTPTypes

/// Answers direct requests of a connection, and passes all others on to Hummingbird, which is next in the pipeline.
///
/// A request is answered directly only if all earlier ones of its connection have been answered. What arrives meanwhile
/// is held back. If something has, no more is read from the connection until then.
final class DirectHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private enum State {
        /// Parts are passed on.
        case passing
        /// The rest of a request is awaited that may be answered directly.
        case receiving(Candidate)
        case answering
    }

    private struct Candidate {
        let match: DirectRoutes.Match
        let head: HTTPRequest
        /// No larger than the request has declared.
        var body = ByteBuffer()
    }

    private enum Inbound {
        case part(HTTPRequestPart)
        case readComplete
        case event(Any)
        case error(any Error)

        var isPart: Bool { if case .part = self { true } else { false } }
    }

    private let responder: DirectResponder
    private var state = State.passing
    /// The number of passed requests that are not answered yet.
    private var passed = 0
    private var held = CircularBuffer<Inbound>()
    private var isReadHeld = false
    private var date = HTTPDate()

    init(_ responder: DirectResponder) {
        self.responder = responder
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { receive(.part(unwrapInboundIn(data)), context) }

    func channelReadComplete(context: ChannelHandlerContext) { receive(.readComplete, context) }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) { receive(.event(event), context) }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { receive(.error(error), context) }

    func read(context: ChannelHandlerContext) {
        // To read nothing during each answer would cost two system calls.
        if case .answering = state, held.contains(where: \.isPart) { isReadHeld = true } else { context.read() }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .end = unwrapOutboundIn(data) { passed -= 1 }
        context.write(data, promise: promise)
    }

    private func receive(_ inbound: Inbound, _ context: ChannelHandlerContext) {
        if case .answering = state { return held.append(inbound) }
        switch inbound {
        case .part(let part): receive(part, context)
        case .readComplete: context.fireChannelReadComplete()
        case .event(let event):
            passIncomplete(context)
            context.fireUserInboundEventTriggered(event)
        case .error(let error):
            passIncomplete(context)
            context.fireErrorCaught(error)
        }
    }

    /// Passes on what has arrived of a request. Otherwise Hummingbird would not know of it, and close the connection
    /// when the service is about to stop.
    private func passIncomplete(_ context: ChannelHandlerContext) {
        if case .receiving(let candidate) = state { passBeginning(candidate, context) }
    }

    private func receive(_ part: HTTPRequestPart, _ context: ChannelHandlerContext) {
        switch (part, state) {
        case (.head(let head), _):
            if passed == 0, context.channel.isWritable, let match = responder.match(head) {
                state = .receiving(Candidate(match: match, head: head))
            } else {
                passed += 1
                context.fireChannelRead(wrapInboundOut(part))
            }
        case (.body(let body), .receiving(var candidate)):
            candidate.body.writeImmutableBuffer(body)
            state = .receiving(candidate)
        case (.end, .receiving(let candidate)): answer(candidate, context)
        case (_, _): context.fireChannelRead(wrapInboundOut(part))
        }
    }

    private func answer(_ candidate: Candidate, _ context: ChannelHandlerContext) {
        state = .answering
        let box = NIOLoopBound((self, candidate, context), eventLoop: context.eventLoop)
        let isStarted = responder.start(
            candidate.match, candidate.head, candidate.body, on: context.eventLoop
        ) { answer in
            let (handler, candidate, context) = box.value
            handler.finish(answer, candidate, context)
        }
        if !isStarted { pass(candidate, context) }
    }

    private func pass(_ candidate: Candidate, _ context: ChannelHandlerContext) {
        passBeginning(candidate, context)
        context.fireChannelRead(wrapInboundOut(.end(nil)))
    }

    private func passBeginning(_ candidate: Candidate, _ context: ChannelHandlerContext) {
        state = .passing
        passed += 1
        context.fireChannelRead(wrapInboundOut(.head(candidate.head)))
        if candidate.body.readableBytes > 0 { context.fireChannelRead(wrapInboundOut(.body(candidate.body))) }
    }

    private func finish(_ answer: DirectAnswer?, _ candidate: Candidate, _ context: ChannelHandlerContext) {
        state = .passing
        if let answer {
            write(answer, context)
        } else {
            pass(candidate, context)
            context.fireChannelReadComplete()
        }
        while let inbound = held.popFirst() {
            receive(inbound, context)
            if case .answering = state { return }
        }
        if isReadHeld {
            isReadHeld = false
            context.read()
        }
    }

    private func write(_ answer: DirectAnswer, _ context: ChannelHandlerContext) {
        var headers = answer.headers
        headers[.contentLength] = String(answer.body.readableBytes)
        headers[.date] = date.text(at: time(nil))
        let head = HTTPResponse(status: answer.status, headerFields: headers)
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        if answer.body.readableBytes > 0 { context.write(wrapOutboundOut(.body(answer.body)), promise: nil) }
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }
}

import Foundation
import MartletCore
import NIOCore
import NIOHPACK
import NIOHTTP2
import Synchronization

/// One client's connection: reads and answers requests, and applies planned incidents.
final class SimulatorConnection: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame
    typealias OutboundOut = HTTP2Frame

    private struct Pending {
        var headers: HPACKHeaders
        var body = ByteBuffer()
    }

    /// The progress of the current incident.
    private struct IncidentProgress {
        var incident: SimulatedIncident
        /// Requests received since it began.
        var requests = 0
        /// The last stream that is processed; 0 for none. Heads arrive in the order of their streams, bodies do not.
        var last = 0
    }

    private let simulator: APNsSimulator
    private let number: Int
    private var streams: [HTTP2StreamID: Pending] = [:]
    private var pendingAnswers = 0
    private var progress: IncidentProgress?
    private var hasAcceptedToken = false

    init(_ simulator: APNsSimulator, _ number: Int) {
        self.simulator = simulator
        self.number = number
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        switch frame.payload {
        case .headers(let headers):
            streams[frame.streamID] = Pending(headers: headers.headers)
            simulator.record(streams: streams.count + pendingAnswers)
            begin(frame.streamID, context)
            if headers.endStream { receive(frame.streamID, context) }
        case .data(let data):
            guard case .byteBuffer(var buffer) = data.data else { return }
            // Return all credit at once, so that the window never closes.
            if buffer.readableBytes > 0 {
                write(.windowUpdate(windowSizeIncrement: buffer.readableBytes), on: .rootStream, context)
            }
            streams[frame.streamID]?.body.writeBuffer(&buffer)
            if data.endStream { receive(frame.streamID, context) }
        case .goAway: context.close(promise: nil)
        default: break
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        context.flush()
        context.fireChannelReadComplete()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if let event = event as? StreamClosedEvent { streams[event.streamID] = nil }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if !(error is NIOHTTP2Errors.StreamError) { context.close(promise: nil) }
    }

    // MARK: Requests

    /// Called when a request's head has arrived. GOAWAY counts requests by their heads.
    private func begin(_ stream: HTTP2StreamID, _ context: ChannelHandlerContext) {
        if progress == nil { progress = simulator.nextIncident().map { IncidentProgress(incident: $0) } }
        guard var progress, case .goAway(let count, let processing, let reason) = progress.incident else { return }
        progress.requests += 1
        if progress.requests <= processing { progress.last = Int(stream) }
        if progress.requests == count { writeGoAway(after: progress.last, reason, context) }
        self.progress = progress
    }

    /// Called when a request is complete.
    private func receive(_ stream: HTTP2StreamID, _ context: ChannelHandlerContext) {
        guard let pending = streams.removeValue(forKey: stream) else { return }
        var headers: [String: String] = [:]
        for (name, value, _) in pending.headers { headers[name] = value }
        let path = headers[":path"] ?? ""
        let device = path.hasPrefix("/3/device/") ? String(path.dropFirst(10)) : ""
        let request = SimulatedRequest(
            device: device, headers: headers, payload: Array(pending.body.readableBytesView), connection: number)
        simulator.receive(request)
        guard !applyIncident(request, stream, context) else { return }
        let answer = evaluate(request)
        pendingAnswers += 1
        let behaviour = simulator.state.withLock { $0.behaviour }
        guard behaviour.withholdsAnswers || behaviour.answerDelay > .zero else {
            return reply(answer, to: request, on: stream, context)
        }
        reply(answer, to: request, on: stream, context, after: TimeAmount(behaviour.answerDelay))
    }

    /// Replies after `delay`, and not before the server stops withholding its answers.
    private func reply(
        _ answer: SimulatorAnswer?, to request: SimulatedRequest, on stream: HTTP2StreamID,
        _ context: ChannelHandlerContext, after delay: TimeAmount
    ) {
        context.eventLoop.assumeIsolated().scheduleTask(in: delay) {
            guard context.channel.isActive else { return }
            if self.simulator.state.withLock({ $0.behaviour.withholdsAnswers }) {
                return self.reply(answer, to: request, on: stream, context, after: .milliseconds(10))
            }
            self.reply(answer, to: request, on: stream, context)
            context.flush()
        }
    }

    private func evaluate(_ request: SimulatedRequest) -> SimulatorAnswer? {
        simulator.answer(request, method: request.headers[":method"] ?? "", path: request.headers[":path"] ?? "")
    }

    /// Applies the current incident. Returns true if the request gets no answer because of it.
    private func applyIncident(_ request: SimulatedRequest, _ stream: HTTP2StreamID, _ context: ChannelHandlerContext)
        -> Bool
    {
        guard let progress else { return false }
        if case .goAway = progress.incident { return Int(stream) > progress.last }
        self.progress?.requests += 1
        let requests = progress.requests + 1
        switch progress.incident {
        case .goAway: break
        case .disconnect(let count, let processing):
            if requests <= processing { _ = evaluate(request) }
            if requests >= count { context.close(promise: nil) }
        case .refuse(let count):
            write(.rstStream(.refusedStream), on: stream, context)
            if requests >= count { self.progress = nil }
        case .reset(let count):
            _ = evaluate(request)
            write(.rstStream(.internalError), on: stream, context)
            if requests >= count { self.progress = nil }
        case .freeze: context.channel.setOption(.autoRead, value: false).whenFailure { _ in }
        }
        return true
    }

    /// Writes GOAWAY (RFC 9113 §6.8) past NIO's handler, which would treat data on streams opened after GOAWAY as an
    /// error.
    private func writeGoAway(after stream: Int, _ reason: String?, _ context: ChannelHandlerContext) {
        guard let handler = try? context.pipeline.syncOperations.context(handlerType: NIOHTTP2Handler.self) else {
            return
        }
        let data = Array((reason.map { "{\"reason\":\(JSONValue.quote($0))}" } ?? "").utf8)
        let size = UInt8(8 + data.count)
        var frame = ByteBuffer(bytes: [0, 0, size, 7, 0, 0, 0, 0, 0])
        frame.writeInteger(UInt32(stream))
        frame.writeInteger(UInt32(0))
        frame.writeBytes(data)
        handler.writeAndFlush(NIOAny(IOData.byteBuffer(frame)), promise: nil)
    }

    // MARK: Answers

    private func reply(
        _ answer: SimulatorAnswer?, to request: SimulatedRequest, on stream: HTTP2StreamID,
        _ context: ChannelHandlerContext
    ) {
        guard let answer, context.channel.isActive else { return }
        pendingAnswers -= 1
        var headers = HPACKHeaders([(":status", "\(answer.status)")])
        headers.add(name: "apns-id", value: request.id, indexing: .nonIndexable)
        headers.add(name: "apns-unique-id", value: UUID().uuidString.lowercased(), indexing: .nonIndexable)
        if let retryAfter = answer.retryAfter { headers.add(name: "retry-after", value: retryAfter) }
        let body = answer.body
        write(.headers(.init(headers: headers, endStream: body == nil)), on: stream, context)
        if let body {
            write(.data(.init(data: .byteBuffer(ByteBuffer(string: body)), endStream: true)), on: stream, context)
        }
        if answer.status == 200 { acceptToken(context) }
    }

    /// The first accepted token raises the number of streams that the connection allows.
    private func acceptToken(_ context: ChannelHandlerContext) {
        guard !hasAcceptedToken else { return }
        hasAcceptedToken = true
        let behaviour = simulator.state.withLock { $0.behaviour }
        guard behaviour.firstStreams != nil else { return }
        let settings = [HTTP2Setting(parameter: .maxConcurrentStreams, value: behaviour.maximumStreams)]
        write(.settings(.settings(settings)), on: .rootStream, context)
    }

    private func write(_ payload: HTTP2Frame.FramePayload, on stream: HTTP2StreamID, _ context: ChannelHandlerContext) {
        context.write(wrapOutboundOut(HTTP2Frame(streamID: stream, payload: payload)), promise: nil)
    }
}

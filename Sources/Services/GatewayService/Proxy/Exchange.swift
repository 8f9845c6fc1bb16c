import MartletAPI
import MartletCore
import NIOCore

/// One request, from the client's head to the last byte of the answer.
///
/// Checks the request, chooses an upstream and forwards data in both directions with backpressure. Runs on one event
/// loop together with both connections, so it never blocks and needs no locks.
final class Exchange {
    enum UpstreamFailure {
        case closed, malformed
    }

    let method: Method
    let requestID: RequestID
    /// `Route.tellsMessage` of a request that was refused before `route` was set.
    private var tellsMessage = false
    /// Nil if the request was refused before it was matched to a route.
    private(set) var route: Route?
    private(set) var grant: Grant?
    /// The origin to return in CORS headers.
    private(set) var origin: String?
    private(set) var isUpgrade = false
    let started: NIODeadline
    /// Nil unless the request is traced.
    let trace: ExchangeTrace?
    private(set) var status = 0
    private(set) var bytesIn: Int64 = 0
    private(set) var bytesOut: Int64 = 0
    /// The upstream address that answered, or was chosen to.
    private(set) var backend: Backend?

    private let worker: Worker
    /// Set to nil at the end, which breaks the reference cycle. Not `weak`, because that would slow down every retain
    /// of a connection.
    private var front: (any Front)?
    private var upstream: UpstreamConnection?
    private var phase = Phase.checking
    private var requestHead = ByteBuffer()
    private var bodyFraming = BodyFraming.none
    private var requestEnded = false
    /// Addresses that this request failed to connect to, or that closed the connection without an answer.
    private var tried: [Backend] = []
    /// Whether the request is sent once more, on a new connection, because an upstream closed the first one.
    private var isRetried = false
    private var headDeadline = NIODeadline.distantFuture
    /// When the request had been sent completely. Nil unless its answer is awaited and counts for `LoadLimit`.
    private var awaitedSince: NIODeadline?
    private var loadLimit: LoadLimit?
    private var lastProgress: NIODeadline
    private var readingRate = ReadingRate()
    private var needsFlush = false
    private var slot: InFlightLimits.Slot?
    private var relayedStream: RelayedStream?
    /// Set if the answer may be repeated from `NotModifiedCache`.
    private var notModifiedKey: NotModifiedCache.Key?
    /// The credential against whose limit the request will count once its body is complete.
    private var credentialToCount: String?
    private var contentLength: Int64?
    /// Deadlines for the complete body and for its next part. Both are extended by the time during which the upstream
    /// accepted nothing.
    private var bodyDeadline = NIODeadline.distantFuture
    private var stallDeadline = NIODeadline.distantFuture
    /// Tracks a response of unbounded length, which may end only between events.
    private var stream: UnboundedResponse?

    private static let maximumAttempts = 3
    /// How long a request may long-poll while the gateway drains.
    private static let waitWhileDraining = TimeAmount.seconds(1)

    private enum Phase {
        case checking, connecting, sending, answering, tunnel, ended
    }

    private enum BodyFraming {
        case none, length, chunked
    }

    init(_ head: RequestHead, _ bytes: UnsafeRawBufferPointer, front: any Front, worker: Worker) {
        front.client.permit?.began()
        self.front = front
        self.worker = worker
        method = head.method
        requestID = head.value(head.requestID, in: bytes).flatMap(RequestID.init(given:)) ?? worker.takeRequestID()
        started = .now()
        trace = worker.settings.traces.flatMap { ExchangeTrace.start($0, head, bytes, front.client) }
        lastProgress = worker.now
        if let origin = head.value(head.origin, in: bytes), !worker.settings.allowedOrigins.isEmpty {
            let text = origin.text
            if worker.settings.allows(origin: text) { self.origin = text }
        }
    }

    /// Creates an exchange for a request whose head was refused by the parser.
    init(refusedAt now: NIODeadline, front: any Front, worker: Worker) {
        front.client.permit?.began()
        self.front = front
        self.worker = worker
        method = .get
        requestID = worker.takeRequestID()
        started = now
        trace = nil
        lastProgress = worker.now
    }

    /// Checks the request and forwards it, or answers it.
    func start(_ head: RequestHead, _ bytes: UnsafeRawBufferPointer) {
        guard let front else { return }
        requestEnded = !head.hasBody
        do throws(Refusal) {
            if let redirect = front.client.redirect { return try follow(redirect, head, bytes, front.client) }
            if let preflight = Preflight.answer(head, bytes, origin, worker.routes) {
                return answer(preflight)
            }
            if let page = try worker.settings.dashboard?.answer(head, bytes) {
                _ = try Admission.countAddress(head, bytes, front.client, worker)
                return answer(page)
            }
            let admission = try Admission(head, bytes, front.client, worker)
            route = admission.match.route
            grant = admission.grant
            slot = try enter(admission, hasBody: head.hasBody)
            if let key = NotModifiedCache.key(head, bytes, admission), let grant {
                if let known = worker.notModifiedCache[admission.match.route.upstreamIndex].answer(to: key, for: grant)
                {
                    return answer(known)
                }
                notModifiedKey = key
            }
            isUpgrade = admission.isUpgrade
            bodyFraming = head.isChunked ? .chunked : head.hasBody ? .length : .none
            contentLength = head.contentLength
            if requestEnded { headDeadline = worker.now + admission.match.route.headTimeout }
            requestHead = worker.takeBuffer()
            UpstreamHead(head, bytes, admission, front.client, requestID, trace?.span).write(to: &requestHead)
            connect()
        } catch {
            // A refused request has no `route`, so look it up for this flag alone.
            tellsMessage =
                (try? worker.routes.match(head.path, method: head.method, in: bytes))?.route.tellsMessage ?? false
            refuse(error)
        }
    }

    // MARK: From the client

    /// Whether body parts may be passed on; otherwise hold them back.
    var wantsBody: Bool {
        switch phase {
        case .sending, .answering, .tunnel: upstream?.isWritable ?? false
        case .checking, .connecting, .ended: false
        }
    }

    func clientBody(_ data: ByteBuffer) {
        bytesIn += Int64(data.readableBytes)
        lastProgress = worker.now
        if phase != .tunnel, let route, bytesIn > route.maximumBodyBytes {
            return refuse(Refusal(.payloadTooLarge))
        }
        guard let upstream else { return }
        let settings = worker.settings
        if let route, settings.limits.minimumBodyBytesPerSecond > 0 {
            let earned = TimeAmount.nanoseconds(
                Int64(data.readableBytes) * 1_000_000_000 / Int64(settings.limits.minimumBodyBytesPerSecond))
            stallDeadline = min(stallDeadline + earned, worker.now + route.bodyStall)
        }
        // Count before the upstream receives the end of the body and may act on it.
        if bodyFraming == .length, let contentLength, bytesIn >= contentLength, !countCompleteBody() { return }
        needsFlush = true
        if bodyFraming == .chunked, phase != .tunnel {
            var size = worker.takeBuffer()
            size.writeString(String(data.readableBytes, radix: 16))
            size.writeStaticString("\r\n")
            upstream.write(size)
            upstream.write(data)
            upstream.write(Self.lineEnd)
            worker.giveBack(size)
        } else {
            upstream.write(data)
        }
    }

    func clientEnded() {
        requestEnded = true
        headDeadline = worker.now + (route?.headTimeout ?? .seconds(30))
        if phase == .sending { awaitAnswer() }
        guard bodyFraming == .chunked, countCompleteBody() else { return }
        needsFlush = true
        upstream?.write(Self.lastChunk)
    }

    /// Flushes what was written, because no more data is available for now.
    func clientReadComplete() {
        guard needsFlush else { return }
        needsFlush = false
        upstream?.flush()
    }

    /// The client closed its sending side; a tunnel forwards this to the upstream.
    func clientClosedOutput() {
        if phase == .tunnel { upstream?.closeOutput() }
    }

    func clientBecameWritable() {
        relayedStream?.backlog = 0
        upstream?.resume()
    }

    /// The client disconnected, so the upstream's answer is no longer needed.
    func clientClosed() {
        guard phase != .ended else { return }
        if status == 0 { status = 499 }
        finish(outcome: .unknown, reusable: false)
    }

    // MARK: From the upstream

    func upstreamHead(_ head: ResponseHead, _ bytes: UnsafeRawBufferPointer) {
        guard let front, phase == .sending else { return }
        status = head.status
        lastProgress = worker.now
        if awaitedSince != nil {
            stopAwaiting(isSuccess: head.status < 300 || head.status == 304, waited: head.waited(in: bytes))
        }
        worker.giveBack(requestHead)
        requestHead = ByteBuffer()
        phase = head.status == 101 ? .tunnel : .answering
        if route?.isStreaming == true, head.status < 500 { backend?.streamBegan() }
        if route?.isStreaming == true, head.contentLength == nil, method != .head {
            stream = UnboundedResponse(head, bytes)
        }
        if let notModifiedKey, let route, let grant {
            worker.notModifiedCache[route.upstreamIndex].record(head, bytes, to: notModifiedKey, for: grant)
        }
        front.respond(head, bytes, of: self)
        if phase == .tunnel {
            front.flush()
            front.becomeTunnel()
        }
    }

    func upstreamBody(_ data: ByteBuffer) {
        guard let front else { return }
        bytesOut += Int64(data.readableBytes)
        lastProgress = worker.now
        stream?.record(data)
        front.respond(data)
        if !front.isWritable { upstream?.pause() }
        if relayedStream != nil { relayedMayFollow(data.readableBytes) }
    }

    /// Writes data that the upstream sent to many streams at once. It belongs after the first `after` bytes received on
    /// the stream's own connection.
    func relayed(_ data: ByteBuffer, after: Int64) {
        guard let front, phase == .answering || phase == .sending, let received = relayedStream?.received else {
            return
        }
        guard phase == .answering, received >= after else {
            relayedStream?.held.append((data, after))
            return checkBacklog(adding: data.readableBytes)
        }
        bytesOut += Int64(data.readableBytes)
        stream?.record(data)
        front.respond(data)
        front.flush()
        if front.isWritable { lastProgress = worker.now } else { checkBacklog(adding: data.readableBytes) }
    }

    private func relayedMayFollow(_ count: Int) {
        relayedStream?.received += Int64(count)
        guard let held = relayedStream?.held, !held.isEmpty else { return }
        relayedStream?.held = []
        relayedStream?.backlog = 0
        for part in held { relayed(part.data, after: part.after) }
    }

    /// A relay cannot wait for a single client, so a client that does not keep up is disconnected.
    private func checkBacklog(adding count: Int) {
        relayedStream?.backlog += count
        if let relayedStream, relayedStream.backlog > RelayedStream.maximumBacklog { stop() }
    }

    func relayFailed() {
        relayedStream = nil
        if phase == .answering { stop() }
    }

    func upstreamReadComplete() {
        guard phase == .answering || phase == .tunnel, let front else { return }
        front.flush()
        if !front.isWritable { upstream?.pause() }
    }

    func upstreamEnded(reusable: Bool) {
        guard let front, phase == .answering else { return }
        // If the upstream answered before it read the whole request, its connection is not reused.
        let requestWasRead = requestEnded
        finish(outcome: status >= 500 && status != 501 ? .unknown : .success, reusable: reusable && requestWasRead)
        front.endResponse(of: self)
    }

    func upstreamFailed(_ failure: UpstreamFailure) {
        guard let backend, phase != .ended else { return }
        let wasReused = (upstream?.servedCount ?? 0) > 0
        stopAwaiting(isSuccess: false)
        upstream = nil
        leaveRelay()
        switch phase {
        case .sending where failure == .closed && canRetry && (wasReused || hasOther(than: backend)):
            // Most likely the upstream closed an idle connection while the request was written; or it is stopping and
            // closed one that it had just accepted. The request may also have crashed it, so it is sent only once more.
            backend.end(wasReused ? .unknown : .failure, at: worker.now)
            self.backend = nil
            isRetried = true
            if hasOther(than: backend) { tried.append(backend) }
            connect()
        case .checking, .connecting, .sending:
            backend.end(.failure, at: worker.now)
            self.backend = nil
            refuse(Refusal(.upstreamFailed))
        case .answering, .tunnel:
            backend.end(phase == .tunnel ? .success : .failure, at: worker.now)
            self.backend = nil
            if phase == .tunnel { endTunnel() } else { stop() }
        case .ended:
            break
        }
    }

    func upstreamBecameWritable() {
        front?.resumeBody()
    }

    // MARK: Time

    func tick(_ now: NIODeadline) {
        switch phase {
        case .connecting:
            if now > headDeadline { refuse(Refusal(.upstreamTimeout)) }
        case .sending:
            if now > headDeadline {
                refuse(Refusal(.upstreamTimeout))
            } else if !requestEnded, now > lastProgress + worker.settings.idleTimeout {
                let upstreamIsStuck = upstream?.isWritable == false
                refuse(Refusal(upstreamIsStuck ? .upstreamTimeout : .requestTimeout), closing: true)
            } else if !requestEnded {
                checkBody(now)
            } else if worker.isDraining, route?.waits == true, now > started + Self.waitWhileDraining {
                refuse(Refusal(.unavailable, "The gateway is restarting; try again.", retryAfter: 1), closing: true)
            }
        case .answering:
            if isReadTooSlowly(now) { return stop() }
            let isStuck = route?.isStreaming != true || front?.isWritable == false
            if isStuck, now > lastProgress + worker.settings.idleTimeout { return stop() }
            if worker.isDraining, stream != nil { return endStream() }
            if !requestEnded { checkBody(now) }
        case .tunnel:
            if worker.isDraining { endTunnel() }
        case .checking, .ended:
            break
        }
    }

    /// Refuses a body that arrives too slowly: it would occupy an upstream connection and memory that others need.
    private func checkBody(_ now: NIODeadline) {
        if upstream?.isWritable == false {
            bodyDeadline = bodyDeadline + Worker.tickLength
            stallDeadline = stallDeadline + Worker.tickLength
        }
        guard now > min(bodyDeadline, stallDeadline) else { return }
        worker.metrics.countLateBody()
        refuse(Refusal(.requestTimeout, "The request body arrived too slowly."), closing: true)
    }

    /// Ends a stream as its service would. The client reconnects after a delay that varies between clients.
    private func endStream() {
        guard let front, let stream else { return }
        if stream.isBetweenEvents { front.respond(ByteBuffer(string: "retry: \(Int.random(in: 100...1000))\n\n")) }
        finish(outcome: .unknown, reusable: false)
        front.endResponse(of: self)
    }

    /// An answer that is read too slowly occupies its service's memory.
    private func isReadTooSlowly(_ now: NIODeadline) -> Bool {
        guard route?.isStreaming != true, let front else { return false }
        let settings = worker.settings
        let isTooSlow = readingRate.isTooSlow(
            now, isWaiting: !front.isWritable, bytesTaken: bytesOut,
            minimum: settings.limits.minimumAnswerBytesPerSecond,
            window: settings.readingWindow)
        if isTooSlow { worker.metrics.countSlowReader() }
        return isTooSlow
    }

    /// Whether no byte has moved in either direction for longer than `time`.
    func isStalled(for time: TimeAmount, at now: NIODeadline) -> Bool { now > lastProgress + time }

    private func endTunnel() {
        let front = self.front
        finish(outcome: .unknown, reusable: false)
        front?.endTunnel()
    }

    private func stop() {
        let front = self.front
        finish(outcome: .unknown, reusable: false)
        front?.abort()
    }

    // MARK: Details

    /// Answers a request to the port that only redirects.
    private func follow(
        _ redirect: Redirect, _ head: RequestHead, _ bytes: UnsafeRawBufferPointer, _ client: ClientConnection
    ) throws(Refusal) {
        _ = try Admission.countAddress(head, bytes, client, worker)
        guard let challenge = try redirect.challenge(head, bytes) else {
            return answer(try redirect.answer(head, bytes))
        }
        challenge.answer(on: worker.eventLoop).assumeIsolated().whenComplete { [self] result in
            if let found = try? result.get() {
                answer(found)
            } else {
                refuse(ChallengeFile.missing)
            }
        }
    }

    private func enter(_ admission: Admission, hasBody: Bool) throws(Refusal) -> InFlightLimits.Slot {
        let (isOfServer, credential) = (admission.grant?.isOfServer == true, admission.grant?.limitedCredential)
        let address = isOfServer ? nil : admission.address
        if admission.match.route.isStreaming {
            return try worker.streams.enter(address: address, credential: credential)
        }
        // Clients share a credential, so one that sends slowly counts by its address alone. A server has its own.
        let countsLater = hasBody && !isOfServer
        credentialToCount = countsLater ? credential : nil
        return try worker.inFlight.enter(address: address, credential: countsLater ? nil : credential)
    }

    /// Counts the request under its credential, now that the body is complete. False if the credential was at its limit
    /// and the request was refused.
    private func countCompleteBody() -> Bool {
        guard let credential = credentialToCount, var slot else { return true }
        credentialToCount = nil
        do throws(Refusal) {
            try worker.inFlight.add(credential: credential, to: &slot)
            self.slot = slot
            return true
        } catch {
            refuse(error)
            return false
        }
    }

    private func leaveSlot() {
        guard let slot else { return }
        self.slot = nil
        if route?.isStreaming == true { worker.streams.leave(slot) } else { worker.inFlight.leave(slot) }
    }

    private func connect() {
        guard let route else { return }
        phase = .connecting
        let now = worker.now
        guard tried.count < Self.maximumAttempts,
            let backend = worker.upstreams[route.upstreamIndex].choose(excluding: tried, at: now)
        else {
            return refuse(Refusal(.unavailable, retryAfter: 1))
        }
        loadLimit = isLimited(route) ? backend.loadLimit(route, method, appID: grant?.principal.appID) : nil
        guard loadLimit?.admits(at: now) != false else {
            worker.metrics.countOverload()
            return refuse(
                Refusal(.unavailable, "More requests arrive than can be answered; retry later.", retryAfter: 1))
        }
        self.backend = backend
        backend.begin(at: now)
        if !isRetried, tried.isEmpty, let connection = backend.takeIdle() { return send(on: connection) }
        guard worker.mayConnect() else {
            worker.metrics.countDescriptorShortage()
            return refuse(Refusal(.unavailable, retryAfter: 1))
        }
        backend.connect { [self] result in
            switch result {
            case .success(let connection):
                guard phase == .connecting, self.backend === backend else { return backend.giveBack(connection) }
                send(on: connection)
            case .failure:
                guard phase == .connecting, self.backend === backend else { return }
                backend.end(.failure, at: worker.now)
                self.backend = nil
                tried.append(backend)
                connect()
            }
        }
    }

    private func send(on connection: UpstreamConnection) {
        phase = .sending
        upstream = connection
        lastProgress = worker.now
        connection.lend(to: self)
        connection.writeAndFlush(headWithRelay())
        guard !requestEnded else { return awaitAnswer() }
        bodyDeadline = worker.now + (route?.bodyTimeout ?? .seconds(90))
        if worker.settings.limits.minimumBodyBytesPerSecond > 0 {
            stallDeadline = worker.now + (route?.bodyStall ?? .seconds(10))
        }
        front?.readyForBody()
    }

    /// Whether the load limit applies. It ignores requests whose answers may take long on purpose.
    private func isLimited(_ route: Route) -> Bool {
        worker.settings.limits.shedsLoad && !route.isStreaming && !route.waits && !isUpgrade
    }

    /// Starts the clock for `LoadLimit`.
    private func awaitAnswer() {
        guard phase == .sending, awaitedSince == nil, let loadLimit else { return }
        let now = NIODeadline.now()
        awaitedSince = now
        loadLimit.begin(at: now)
    }

    private func stopAwaiting(isSuccess: Bool, waited: TimeAmount = .zero) {
        guard let start = awaitedSince, let loadLimit else { return }
        awaitedSince = nil
        guard isSuccess else { return loadLimit.failed() }
        let now = NIODeadline.now()
        loadLimit.answered(after: now - start, waited: waited, at: now)
    }

    /// The request head, with a header that names the relay through which the upstream may send parts of the answer.
    private func headWithRelay() -> ByteBuffer {
        guard let path = route?.relayPath, let backend, let relay = backend.relay(path) else { return requestHead }
        let stream = RelayedStream(relay: relay, number: relay.add(self))
        relayedStream = stream
        var head = requestHead
        head.moveWriterIndex(to: head.writerIndex - 2)
        head.writeString("\(HeaderName.relay): \(relay.id).\(stream.number)\r\n\r\n")
        return head
    }

    private func leaveRelay() {
        guard let stream = relayedStream else { return }
        relayedStream = nil
        stream.relay.remove(stream.number)
    }

    /// Whether no part of a body was sent and the upstream may receive the head twice.
    private var canRetry: Bool {
        method.isSafe && bodyFraming == .none && bytesIn == 0 && !isRetried && tried.count < Self.maximumAttempts
    }

    private func hasOther(than backend: Backend) -> Bool {
        guard let route else { return false }
        return worker.upstreams[route.upstreamIndex].hasHealthy(excluding: tried + [backend], at: worker.now)
    }

    /// Answers with a problem, or aborts if an answer has already begun.
    ///
    /// - Parameter closing: See `Front`.
    func refuse(_ refusal: Refusal, closing: Bool = false) {
        if route?.hangsUp == true, refusal.code.status >= 500 { return stop() }
        let hasMessage = tellsMessage || route?.tellsMessage == true
        answer(
            worker.answers.problem(refusal, requestID, hasMessage: hasMessage),
            closing: closing || refusal.code == .malformedRequest)
    }

    private func answer(_ answer: Answer, closing: Bool = false) {
        guard phase != .ended else { return }
        guard let front, phase != .answering, phase != .tunnel else { return stop() }
        status = answer.status
        bytesOut = Int64(answer.body.count)
        let isUpstreamsFault = status == 504
        finish(outcome: isUpstreamsFault ? .failure : .unknown, reusable: false)
        front.answer(answer, of: self, closing: closing)
    }

    private func finish(outcome: Backend.Outcome, reusable: Bool) {
        phase = .ended
        stopAwaiting(isSuccess: false)
        backend?.end(outcome, at: worker.now)
        upstream?.end(reusable: reusable)
        upstream = nil
        leaveRelay()
        leaveSlot()
        if requestHead.capacity > 0 {
            worker.giveBack(requestHead)
            requestHead = ByteBuffer()
        }
        front?.client.permit?.ended(at: .now())
        front = nil
        worker.record(self)
    }

    private static let lineEnd = ByteBuffer(string: "\r\n")
    private static let lastChunk = ByteBuffer(string: "0\r\n\r\n")
}

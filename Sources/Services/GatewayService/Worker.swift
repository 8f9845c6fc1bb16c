import Foundation
import NIOCore

/// What one event loop owns. Nothing in it is shared, so nothing is locked; touched on its event loop only.
final class Worker: @unchecked Sendable {
    let eventLoop: any EventLoop
    let settings: Settings
    let gatekeeper: Gatekeeper
    let upstreams: [Upstream]
    let metrics: WorkerMetrics
    let answers = Answers()
    /// By place among the sorted names of all upstreams.
    let unchanged: [UnchangedAnswers]
    var inFlight: InFlightLimits
    /// Of routes with `streaming`.
    var streams: InFlightLimits
    /// Replaced on reload; requests under way keep the route they were matched to.
    var routes: RouteTable
    private(set) var isDraining = false
    /// Time of the last tick; good enough for time-outs and spares a system call per portion of a body.
    private(set) var now = NIODeadline.now()
    /// Wall clock at the last tick, seconds since 1970.
    private(set) var seconds = Date().timeIntervalSince1970

    private let requestLines: RequestLines?
    private var fronts: [any Front] = []
    /// HTTP/2 connections, whose streams are fronts.
    private var connections: [ObjectIdentifier: any Channel] = [:]
    private var buffers: [ByteBuffer] = []
    private var requestIDs = RequestID.Generator()
    private var ticks: RepeatedTask?

    static let tickLength = TimeAmount.milliseconds(200)
    /// How long a gateway that stops waits for the next request of a connection that was kept alive.
    static let lastIdleTime = TimeAmount.seconds(3)

    init(eventLoop: any EventLoop, settings: Settings, routes: RouteTable) {
        self.eventLoop = eventLoop
        self.settings = settings
        self.routes = routes
        let limits = settings.limits
        inFlight = InFlightLimits(perAddress: limits.maximumRequestsPerAddress, perCredential: limits.maximumRequestsPerCredential)
        streams = InFlightLimits(perAddress: limits.maximumStreamsPerAddress, perCredential: limits.maximumStreamsPerCredential)
        gatekeeper = Gatekeeper(signer: settings.signer, masterKeyNetworks: settings.masterKeyNetworks)
        upstreams = settings.upstreamNames.map { Upstream(name: $0, eventLoop: eventLoop, settings: settings) }
        unchanged = settings.upstreamNames.map { _ in UnchangedAnswers() }
        requestLines = settings.logsRequests ? settings.requestLines.map { RequestLines($0) } : nil
        metrics = WorkerMetrics(upstreamNames: settings.upstreamNames)
    }

    func start() {
        ticks = eventLoop.scheduleRepeatedTask(initialDelay: Self.tickLength, delay: Self.tickLength) { [weak self] _ in
            self?.tick()
        }
    }

    func stop() {
        ticks?.cancel()
        for upstream in upstreams { upstream.closeIdle() }
        metrics.flush()
        requestLines?.flush()
    }

    /// Whether no client is connected.
    var isIdle: Bool { fronts.isEmpty && connections.isEmpty }

    func add(_ connection: any Channel) {
        connections[ObjectIdentifier(connection)] = connection
        guard isDraining else { return }
        eventLoop.execute { connection.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent()) }
    }

    func remove(_ connection: any Channel) { connections[ObjectIdentifier(connection)] = nil }

    func add(_ front: any Front) {
        front.sweepIndex = fronts.count
        fronts.append(front)
    }

    func remove(_ front: any Front) {
        let index = front.sweepIndex
        guard index >= 0, index < fronts.count, fronts[index] === front else { return }
        let last = fronts.removeLast()
        if last !== front {
            fronts[index] = last
            last.sweepIndex = index
        }
        front.sweepIndex = -1
    }

    /// Takes a descriptor for a new connection to an upstream. When none is left, the connection that has been idle longest gives up its own,
    /// whichever upstream it is to.
    func mayConnect() -> Bool {
        if settings.upstreamDescriptors.take() { return true }
        let idle = upstreams.flatMap(\.backends).compactMap { backend in backend.idleSince.map { (backend: backend, since: $0) } }
        guard let idlest = idle.min(by: { $0.since < $1.since }) else { return false }
        idlest.backend.closeIdlest()
        // Its descriptor is free now, but given back only after this turn of the event loop.
        settings.upstreamDescriptors.takeFreed()
        return true
    }

    /// How long a connection may wait for a request.
    func idleDeadline(_ time: TimeAmount) -> NIODeadline { now + (isDraining ? min(time, Self.lastIdleTime) : time) }

    /// From now on no connection outlives its request, and no stream goes on (`Exchange.tick`).
    func drain() {
        isDraining = true
        // GOAWAY goes ahead of the streams' ends, so that they are not taken up on the same connection.
        for connection in connections.values {
            connection.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        }
        for front in fronts { front.drain() }
    }

    /// Ends what drained too slowly.
    func closeAll() {
        for front in fronts { front.abort() }
        for connection in connections.values { connection.close(promise: nil) }
    }

    /// Counts and logs an exchange that has ended.
    func note(_ exchange: Exchange) {
        let end = NIODeadline.now()
        let duration = end - exchange.started
        metrics.count(exchange, duration)
        if let requestLines {
            let milliseconds = Int(seconds * 1000) + Int((end - now).nanoseconds / 1_000_000)
            requestLines.append(exchange, at: milliseconds, duration: duration)
        } else if settings.logsRequests {
            exchange.log(to: settings.logger, duration)
        }
    }

    func takeRequestID() -> RequestID { requestIDs.next() }

    /// An empty buffer whose storage was used before, where possible.
    func takeBuffer() -> ByteBuffer { buffers.popLast() ?? ByteBufferAllocator().buffer(capacity: 2048) }

    func giveBack(_ buffer: ByteBuffer) {
        guard buffers.count < 64, buffer.capacity > 0, buffer.capacity <= 64 * 1024 else { return }
        var buffer = buffer
        buffer.clear()
        buffers.append(buffer)
    }

    private func tick() {
        now = .now()
        seconds = Date().timeIntervalSince1970
        for front in fronts { front.tick(now) }
        for upstream in upstreams { upstream.tick(now) }
        metrics.flush()
        settings.connections.report()
        requestLines?.flush()
    }
}

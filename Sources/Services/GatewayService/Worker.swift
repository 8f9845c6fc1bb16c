import Foundation
import MartletCore
import NIOCore

/// The state owned by one event loop. Accessed only on that event loop, so nothing is locked.
final class Worker: @unchecked Sendable {
    let eventLoop: any EventLoop
    let settings: Settings
    let gatekeeper: Gatekeeper
    let upstreams: [Upstream]
    let metrics: WorkerMetrics
    let answers = Answers()
    /// In the order of the sorted upstream names.
    let notModifiedCache: [NotModifiedCache]
    var inFlight: InFlightLimits
    /// Limits for routes with `streaming`.
    var streams: InFlightLimits
    /// Replaced on reload; requests in progress keep the route they were matched to.
    var routes: RouteTable
    private(set) var isDraining = false
    /// Time of the last tick. Precise enough for timeouts, and saves a system call per part of a body.
    private(set) var now = NIODeadline.now()
    /// Wall clock at the last tick, seconds since 1970.
    private(set) var seconds: Double

    private let requestLines: RequestLines?
    private var fronts: [any Front] = []
    /// HTTP/2 connections. Their streams are in `fronts`.
    private var connections: [ObjectIdentifier: any Channel] = [:]
    private var buffers: [ByteBuffer] = []
    private var requestIDs = RequestID.Generator()
    private var ticks: RepeatedTask?

    static let tickLength = TimeAmount.milliseconds(200)
    /// How long a draining gateway waits for another request on an idle connection.
    static let lastIdleTime = TimeAmount.seconds(3)

    init(eventLoop: any EventLoop, settings: Settings, routes: RouteTable) {
        self.eventLoop = eventLoop
        self.settings = settings
        self.routes = routes
        seconds = settings.now().timeIntervalSince1970
        let limits = settings.limits
        inFlight = InFlightLimits(
            perAddress: limits.maximumRequestsPerAddress, perCredential: limits.maximumRequestsPerCredential)
        streams = InFlightLimits(
            perAddress: limits.maximumStreamsPerAddress, perCredential: limits.maximumStreamsPerCredential)
        gatekeeper = Gatekeeper(signer: settings.signer, masterKeyNetworks: settings.masterKeyNetworks)
        upstreams = settings.upstreamNames.map { Upstream(name: $0, eventLoop: eventLoop, settings: settings) }
        notModifiedCache = settings.upstreamNames.map { _ in NotModifiedCache() }
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

    /// Reserves a descriptor for a new upstream connection. If none is left, closes the connection that has been idle
    /// longest, whichever upstream it belongs to, and reuses its descriptor.
    func mayConnect() -> Bool {
        if settings.upstreamDescriptors.take() { return true }
        let idle = upstreams.flatMap(\.backends).compactMap { backend in
            backend.idleSince.map { (backend: backend, since: $0) }
        }
        guard let leastRecentlyUsed = idle.min(by: { $0.since < $1.since }) else { return false }
        leastRecentlyUsed.backend.closeLeastRecentlyUsed()
        // The descriptor is free now but will be returned only after this turn of the event loop.
        settings.upstreamDescriptors.takeFreed()
        return true
    }

    /// The time until which a connection may wait for a request, given an idle timeout.
    func idleDeadline(_ time: TimeAmount) -> NIODeadline { now + (isDraining ? min(time, Self.lastIdleTime) : time) }

    /// From now on, connections close after their current request and streams end (`Exchange.tick`).
    func drain() {
        isDraining = true
        // Send GOAWAY before the streams end, so that clients do not resume them on the same connection.
        for connection in connections.values {
            connection.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        }
        for front in fronts { front.drain() }
    }

    /// Aborts everything that has not drained in time.
    func closeAll() {
        for front in fronts { front.abort() }
        for connection in connections.values { connection.close(promise: nil) }
    }

    /// Counts and logs an exchange that has ended.
    func record(_ exchange: Exchange) {
        let end = NIODeadline.now()
        let duration = end - exchange.started
        metrics.count(exchange, duration)
        if let trace = exchange.trace, let traces = settings.traces {
            let nanoseconds = Int64(seconds * 1e9) + (end - now).nanoseconds
            traces.spans.append(trace.end(of: exchange, at: nanoseconds, duration: duration))
        }
        if let requestLines {
            let milliseconds = Int(seconds * 1000) + Int((end - now).nanoseconds / 1_000_000)
            requestLines.append(exchange, at: milliseconds, duration: duration)
        } else if settings.logsRequests {
            exchange.log(to: settings.logger, duration)
        }
    }

    func takeRequestID() -> RequestID { requestIDs.next() }

    /// An empty buffer, with reused storage if possible.
    func takeBuffer() -> ByteBuffer { buffers.popLast() ?? ByteBufferAllocator().buffer(capacity: 2048) }

    func giveBack(_ buffer: ByteBuffer) {
        guard buffers.count < 64, buffer.capacity > 0, buffer.capacity <= 64 * 1024 else { return }
        var buffer = buffer
        buffer.clear()
        buffers.append(buffer)
    }

    private func tick() {
        now = .now()
        seconds = settings.now().timeIntervalSince1970
        for front in fronts { front.tick(now) }
        for upstream in upstreams { upstream.tick(now) }
        metrics.flush()
        settings.connections.report()
        requestLines?.flush()
    }
}

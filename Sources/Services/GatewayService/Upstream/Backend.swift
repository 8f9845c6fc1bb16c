import NIOCore
import NIOPosix

/// One upstream address on one event loop: its idle connections, its load and its breaker.
final class Backend {
    let address: SocketAddress
    /// Name for logs.
    let name: String
    /// The result of the health checks.
    private(set) var isHealthy = true
    private(set) var inFlight = 0
    private var breaker = Breaker()
    private var loads: [LoadKey: LoadLimit] = [:]
    private var idle: [UpstreamConnection] = []
    private var isRetired = false
    private let eventLoop: any EventLoop
    private let settings: Settings
    /// Relays by the path that opens them.
    private var relays: [String: Relay] = [:]
    private var relaysMayOpen = NIODeadline.distantPast

    private static let maximumLoads = 1_000
    private static let relayPause = TimeAmount.seconds(1)
    /// Shorter than the time for which services keep idle connections.
    private static let idleTime = TimeAmount.seconds(50)

    init(_ address: SocketAddress, eventLoop: any EventLoop, settings: Settings) {
        self.address = address
        self.name = address.configured
        self.eventLoop = eventLoop
        self.settings = settings
    }

    /// Records the result of a health check. An address that becomes healthy again resets its breaker.
    func record(isHealthy: Bool) {
        if isHealthy, !self.isHealthy { breaker = Breaker() }
        self.isHealthy = isHealthy
    }

    func isAvailable(at now: NIODeadline) -> Bool {
        inFlight < settings.limits.maximumUpstreamConnections && breaker.allowsRequest(at: now)
    }

    /// Counts a request; every call is paired with one of `end(_:at:)`.
    func begin(at now: NIODeadline) {
        inFlight += 1
        breaker.begin(at: now)
    }

    enum Outcome {
        case success, failure
        /// Not attributable to the upstream, such as a client that disconnected.
        case unknown
    }

    func end(_ outcome: Outcome, at now: NIODeadline) {
        inFlight -= 1
        breaker.end(outcome, at: now)
    }

    /// Requests that share a limit: those of one app that do the same work.
    private struct LoadKey: Hashable {
        let route: Route
        let method: Method
        let appID: String?

        static func == (one: LoadKey, other: LoadKey) -> Bool {
            one.route === other.route && one.method == other.method && one.appID == other.appID
        }

        func hash(into hasher: inout Hasher) {
            hasher.combine(ObjectIdentifier(route))
            hasher.combine(method)
            hasher.combine(appID)
        }
    }

    /// The limit for requests of an app (nil: of no app) to a route.
    func loadLimit(_ route: Route, _ method: Method, appID: String?) -> LoadLimit {
        let key = LoadKey(route: route, method: method, appID: appID)
        if let known = loads[key] { return known }
        let new = LoadLimit()
        loads[key] = new
        return new
    }

    /// The number of requests that the load limits count as waiting for an answer.
    var awaited: Int { loads.values.reduce(0) { $0 + $1.waiting } }

    /// Tells the breaker that a stream has begun, because it may not end for a long time.
    func streamBegan() { breaker.answered() }

    func takeIdle() -> UpstreamConnection? {
        while let connection = idle.popLast() {
            if connection.isUsable { return connection }
        }
        return nil
    }

    func giveBack(_ connection: UpstreamConnection) {
        guard !isRetired, connection.isUsable else { return connection.close() }
        connection.idleSince = .now()
        idle.append(connection)
    }

    func forget(_ connection: UpstreamConnection) {
        idle.removeAll { $0 === connection }
    }

    /// The time since which the longest idle connection has been idle.
    var idleSince: NIODeadline? { idle.first?.idleSince }

    func closeLeastRecentlyUsed() {
        guard !idle.isEmpty else { return }
        idle.removeFirst().close()
    }

    /// Opens a connection. The caller has already reserved a descriptor (`Worker.mayConnect`), which is returned when
    /// the connection closes or fails to open.
    func connect(_ completion: @escaping (Result<UpstreamConnection, any Error>) -> Void) {
        let settings = self.settings
        let connection = UpstreamConnection(backend: self, maximumHeadBytes: 64 * 1024)
        let bound = NIOLoopBound(connection, eventLoop: eventLoop)
        ClientBootstrap(group: eventLoop)
            .connectTimeout(settings.connectTimeout)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(bound.value) }
            }
            .connect(to: address)
            .assumeIsolated()
            .whenComplete { result in
                switch result {
                case .success(let channel):
                    channel.closeFuture.whenComplete { _ in settings.upstreamDescriptors.giveBack() }
                case .failure: settings.upstreamDescriptors.giveBack()
                }
                completion(result.map { _ in connection })
            }
    }

    /// The relay for `path`; nil until it is open. The first call starts to open it.
    func relay(_ path: String) -> Relay? {
        if let relay = relays[path], !relay.isClosed { return relay.isOpen ? relay : nil }
        let now = NIODeadline.now()
        guard !isRetired, now >= relaysMayOpen else { return nil }
        relaysMayOpen = now + Self.relayPause
        let relay = Relay()
        relays[path] = relay
        relay.connect(to: address, path: path, settings: settings, on: eventLoop)
        return nil
    }

    func tick(_ now: NIODeadline) {
        // New apps and reloaded routes add keys.
        if loads.count > Self.maximumLoads { loads = loads.filter { $0.value.waiting > 0 } }
        let oldest = now - Self.idleTime
        // The longest idle connections come first.
        while let connection = idle.first, connection.idleSince < oldest || !connection.isUsable {
            idle.removeFirst()
            connection.close()
        }
    }

    func retire() {
        isRetired = true
        let connections = idle
        idle = []
        for connection in connections { connection.close() }
        for relay in relays.values { relay.retire() }
    }
}

import NIOCore
import NIOPosix

/// One upstream address on one event loop: its idle connections, its load and its breaker.
final class Backend {
    let address: SocketAddress
    /// For logs.
    let name: String
    /// What the health checks say.
    private(set) var isHealthy = true
    private(set) var inFlight = 0
    private var breaker = Breaker()
    private var idle: [UpstreamConnection] = []
    private var isRetired = false
    private let eventLoop: any EventLoop
    private let settings: Settings
    /// By the path it is opened with.
    private var relays: [String: Relay] = [:]
    private var relaysMayOpen = NIODeadline.distantPast

    private static let relayPause = TimeAmount.seconds(1)
    /// Services keep idle connections for longer than this.
    private static let idleTime = TimeAmount.seconds(50)

    init(_ address: SocketAddress, eventLoop: any EventLoop, settings: Settings) {
        self.address = address
        self.name = address.configured
        self.eventLoop = eventLoop
        self.settings = settings
    }

    /// An address that is healthy again need not wait for its breaker.
    func note(isHealthy: Bool) {
        if isHealthy, !self.isHealthy { breaker = Breaker() }
        self.isHealthy = isHealthy
    }

    func isAvailable(at now: NIODeadline) -> Bool {
        inFlight < settings.limits.maximumUpstreamConnections && breaker.allowsRequest(at: now)
    }

    /// Counts a request in; every call is followed by one of `end`.
    func begin(at now: NIODeadline) {
        inFlight += 1
        breaker.begin(at: now)
    }

    enum Outcome {
        case success, failure
        /// Says nothing of the upstream: the client went away.
        case unknown
    }

    func end(_ outcome: Outcome, at now: NIODeadline) {
        inFlight -= 1
        breaker.end(outcome, at: now)
    }

    /// A stream has begun, whose end may be far away.
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

    /// Of the connection that has been idle longest.
    var idleSince: NIODeadline? { idle.first?.idleSince }

    func closeIdlest() {
        guard !idle.isEmpty else { return }
        idle.removeFirst().close()
    }

    /// Opens a connection for a caller that has taken a descriptor for it (`Worker.mayConnect`), and gives it back if it does not use it.
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
                case .success(let channel): channel.closeFuture.whenComplete { _ in settings.upstreamDescriptors.giveBack() }
                case .failure: settings.upstreamDescriptors.giveBack()
                }
                completion(result.map { _ in connection })
            }
    }

    /// The relay of this address; nil until it is open, which the first call begins.
    func relay(_ path: String) -> Relay? {
        if let relay = relays[path], !relay.isClosed { return relay.isOpen ? relay : nil }
        let now = NIODeadline.now()
        guard !isRetired, now >= relaysMayOpen else { return nil }
        relaysMayOpen = now + Self.relayPause
        let relay = Relay()
        relays[path] = relay
        relay.connect(to: address, path: path, signer: settings.signer, on: eventLoop)
        return nil
    }

    func tick(_ now: NIODeadline) {
        let oldest = now - Self.idleTime
        // The longest idle ones come first.
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

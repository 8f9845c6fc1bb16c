public import Foundation
import NIOCore
import NIOHTTP2
import NIOPosix
import NIOSSL
import Synchronization

/// A server that behaves like APNs: HTTP/2 over TLS, provider tokens, every error reason, stream limits and GOAWAY.
///
/// Counts deliveries by device and `apns-id`, so that tests can find duplicate and missing ones.
public final class APNsSimulator: Sendable {
    public struct Behaviour: Sendable {
        public var maximumStreams = 1_000
        /// The stream limit until the first provider token is accepted, as in APNs; nil for none.
        public var firstStreams: Int? = 1
        public var answerDelay: Duration = .zero
        /// Whether new connections are closed before the TLS handshake.
        public var refusesConnections = false
        /// Whether the server never sends the SETTINGS frame that opens an HTTP/2 connection.
        public var withholdsSettings = false
        /// Whether the server processes requests but withholds the answers until this is false again.
        public var withholdsAnswers = false

        public init() {}
    }

    struct State {
        var behaviour: Behaviour
        var tokens = TokenCheck()
        var devices: [String: SimulatedDevice] = [:]
        var incidents: [SimulatedIncident] = []
        var counts: [String: [String: Int]] = [:]
        var shown: [String: Set<String>] = [:]
        var requests: [SimulatedRequest] = []
        var requestCount = 0
        var connectionCount = 0
        var openConnections = 0
        var peakStreams = 0
    }

    /// The number of requests kept in `requests`. Later ones are only counted.
    private static let maximumRequestsKept = 10_000

    public let host = "127.0.0.1"
    /// The PEM certificate that clients must trust.
    public let trustedCertificates = TestCertificate.certificate
    let state: Mutex<State>
    private let clock: @Sendable () -> Date
    private let tls: NIOSSLContext
    private let listener = Mutex<(any Channel)?>(nil)

    /// Listens on a free port of this machine.
    public static func start(_ behaviour: Behaviour = Behaviour(), clock: @escaping @Sendable () -> Date = { Date() })
        async throws -> APNsSimulator
    {
        let simulator = try APNsSimulator(behaviour, clock)
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try simulator.accept(channel) }
            }
            .bind(host: simulator.host, port: 0).get()
        simulator.listener.withLock { $0 = listener }
        return simulator
    }

    private init(_ behaviour: Behaviour, _ clock: @escaping @Sendable () -> Date) throws {
        let certificate = try NIOSSLCertificate.fromPEMBytes(Array(TestCertificate.certificate.utf8)).map {
            NIOSSLCertificateSource.certificate($0)
        }
        let key = try NIOSSLPrivateKey(bytes: Array(TestCertificate.privateKey.utf8), format: .pem)
        var tls = TLSConfiguration.makeServerConfiguration(certificateChain: certificate, privateKey: .privateKey(key))
        tls.applicationProtocols = ["h2"]
        self.tls = try NIOSSLContext(configuration: tls)
        self.clock = clock
        state = Mutex(State(behaviour: behaviour))
    }

    public var port: Int { listener.withLock { $0?.localAddress?.port ?? 0 } }

    /// Accepts no more connections. Open ones remain until their clients close them.
    public func stop() async { try? await listener.withLock { $0 }?.close().get() }

    // MARK: Configuration

    public func trust(_ key: SimulatedKey) { state.withLock { $0.tokens.trust(key) } }

    public func set(_ device: String, _ answer: SimulatedDevice) { state.withLock { $0.devices[device] = answer } }

    public func plan(_ incidents: SimulatedIncident...) { state.withLock { $0.incidents += incidents } }

    public func change(_ body: (inout Behaviour) -> Void) { state.withLock { body(&$0.behaviour) } }

    // MARK: Observations

    /// The number of times that a device got each message, by `apns-id`.
    public func deliveries(to device: String) -> [String: Int] { state.withLock { $0.counts[device] ?? [:] } }

    /// The number of messages that reached a device once, twice and so on, keyed by the number of deliveries.
    public var messageCountsByDeliveries: [Int: Int] {
        state.withLock { state in
            state.counts.values.reduce(into: [:]) { sums, ids in
                for count in ids.values { sums[count, default: 0] += 1 }
            }
        }
    }

    /// The number of devices that show one message, two messages and so on, keyed by the number of messages. Messages
    /// with the same collapse id count as one.
    public var deviceCountsByShownMessages: [Int: Int] {
        state.withLock { state in state.shown.values.reduce(into: [:]) { sums, ids in sums[ids.count, default: 0] += 1 }
        }
    }

    /// The number of devices that got at least one message.
    public var deviceCount: Int { state.withLock { $0.counts.count } }

    /// The first `maximumRequestsKept` requests, whatever the answer.
    public var requests: [SimulatedRequest] { state.withLock { $0.requests } }
    public var requestCount: Int { state.withLock { $0.requestCount } }
    /// Connections since the start.
    public var connectionCount: Int { state.withLock { $0.connectionCount } }
    public var openConnections: Int { state.withLock { $0.openConnections } }
    /// The maximum number of requests in flight on one connection.
    public var peakStreams: Int { state.withLock { $0.peakStreams } }
    /// The provider tokens that were accepted.
    public var tokens: Set<String> { state.withLock { $0.tokens.acceptedTokens } }

    // MARK: For connections

    private func accept(_ channel: any Channel) throws {
        let (behaviour, number) = state.withLock { state in
            state.connectionCount += 1
            return (state.behaviour, state.connectionCount)
        }
        guard !behaviour.refusesConnections else { throw ChannelError.inputClosed }
        state.withLock { $0.openConnections += 1 }
        channel.closeFuture.whenComplete { _ in self.state.withLock { $0.openConnections -= 1 } }
        try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: tls))
        guard !behaviour.withholdsSettings else { return }
        var connection = NIOHTTP2Handler.ConnectionConfiguration()
        connection.initialSettings = [
            HTTP2Setting(parameter: .maxConcurrentStreams, value: behaviour.firstStreams ?? behaviour.maximumStreams),
            HTTP2Setting(parameter: .maxHeaderListSize, value: 16 << 10),
        ]
        connection.maximumRecentlyResetStreams = behaviour.maximumStreams
        try channel.pipeline.syncOperations.addHandler(
            NIOHTTP2Handler(mode: .server, connectionConfiguration: connection))
        try channel.pipeline.syncOperations.addHandler(SimulatorConnection(self, number))
    }

    func nextIncident() -> SimulatedIncident? {
        state.withLock { $0.incidents.isEmpty ? nil : $0.incidents.removeFirst() }
    }

    func record(streams: Int) { state.withLock { $0.peakStreams = max($0.peakStreams, streams) } }

    /// Records the request without counting a delivery.
    func receive(_ request: SimulatedRequest) {
        state.withLock { state in
            state.requestCount += 1
            if state.requests.count < Self.maximumRequestsKept { state.requests.append(request) }
        }
    }

    /// The answer that APNs would give; nil for none. An answer of 200 counts as a delivery.
    func answer(_ request: SimulatedRequest, method: String, path: String) -> SimulatorAnswer? {
        state.withLock { state in
            let evaluation = SimulatorEvaluation(request: request, method: method, path: path, now: clock())
            let answer = evaluation.answer(&state)
            if answer?.status == 200 {
                state.counts[request.device, default: [:]][request.id, default: 0] += 1
                state.shown[request.device, default: []].insert(request.headers["apns-collapse-id"] ?? request.id)
            }
            return answer
        }
    }
}

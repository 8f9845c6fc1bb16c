public import Foundation
import NIOCore
import NIOHTTP2
import NIOPosix
import NIOSSL
import Synchronization

/// A server that behaves as APNs does: HTTP/2 over TLS, provider tokens, every reason, limits of streams, GOAWAY.
///
/// It counts what it would have delivered, by device and `apns-id`, so that a test sees what came twice and what never.
public final class APNsSimulator: Sendable {
    public struct Behaviour: Sendable {
        public var maximumStreams = 1_000
        /// Streams before the first token has been believed, as Apple has it; nil: no such limit.
        public var firstStreams: Int? = 1
        public var answerDelay: Duration = .zero
        /// Whether new connections are closed before they are secured.
        public var refusesConnections = false
        /// Whether settings, which open a connection, never come.
        public var withholdsSettings = false

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

    /// Requests that are kept whole; all are counted.
    private static let maximumKept = 10_000

    public let host = "127.0.0.1"
    /// What its clients have to trust (PEM).
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

    /// Takes no more connections; those that are open stay until their clients close them.
    public func stop() async { try? await listener.withLock { $0 }?.close().get() }

    // MARK: What it does

    public func trust(_ key: SimulatedKey) { state.withLock { $0.tokens.trust(key) } }

    public func set(_ device: String, _ answer: SimulatedDevice) { state.withLock { $0.devices[device] = answer } }

    public func plan(_ incidents: SimulatedIncident...) { state.withLock { $0.incidents += incidents } }

    public func change(_ body: (inout Behaviour) -> Void) { state.withLock { body(&$0.behaviour) } }

    // MARK: What it has seen

    /// How often a device got each message, by `apns-id`.
    public func deliveries(to device: String) -> [String: Int] { state.withLock { $0.counts[device] ?? [:] } }

    /// Messages delivered, by how often the same one came to the same device.
    public var deliveriesByCount: [Int: Int] {
        state.withLock { state in
            state.counts.values.reduce(into: [:]) { sums, ids in
                for count in ids.values { sums[count, default: 0] += 1 }
            }
        }
    }

    /// Devices, by how many messages their users see: those with the same collapse id are one.
    public var devicesByShown: [Int: Int] {
        state.withLock { state in state.shown.values.reduce(into: [:]) { sums, ids in sums[ids.count, default: 0] += 1 }
        }
    }

    /// Devices that got anything.
    public var deviceCount: Int { state.withLock { $0.counts.count } }

    /// The first requests, whatever was answered.
    public var requests: [SimulatedRequest] { state.withLock { $0.requests } }
    public var requestCount: Int { state.withLock { $0.requestCount } }
    /// Connections since the start.
    public var connectionCount: Int { state.withLock { $0.connectionCount } }
    public var openConnections: Int { state.withLock { $0.openConnections } }
    /// Requests that were under way on one connection at the most.
    public var peakStreams: Int { state.withLock { $0.peakStreams } }
    /// Provider tokens that were believed.
    public var tokens: Set<String> { state.withLock { $0.tokens.texts } }

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

    func note(streams: Int) { state.withLock { $0.peakStreams = max($0.peakStreams, streams) } }

    /// Writes it down; nothing is counted as delivered.
    func receive(_ request: SimulatedRequest) {
        state.withLock { state in
            state.requestCount += 1
            if state.requests.count < Self.maximumKept { state.requests.append(request) }
        }
    }

    /// What APNs would answer; nil: nothing. What is answered with 200 is counted as delivered.
    func answer(_ request: SimulatedRequest, method: String, path: String) -> SimulatorAnswer? {
        state.withLock { state in
            let judgement = SimulatorJudgement(request: request, method: method, path: path, now: clock())
            let answer = judgement.answer(&state)
            if answer?.status == 200 {
                state.counts[request.device, default: [:]][request.id, default: 0] += 1
                state.shown[request.device, default: []].insert(request.headers["apns-collapse-id"] ?? request.id)
            }
            return answer
        }
    }
}

import Foundation
import Logging
import MartletCore
import NIOCore

/// The validated configuration in the units of the event loops. Immutable and shared by all of them.
struct Settings: Sendable {
    let limits: GatewayConfiguration.Limits
    let headerTimeout: TimeAmount
    let idleTimeout: TimeAmount
    let connectTimeout: TimeAmount
    let halfClosedTimeout: TimeAmount
    let drainDelay: TimeAmount
    let readingWindow: TimeAmount
    let drainTimeout: TimeAmount
    let connections: ClientConnections
    let upstreamDescriptors: UpstreamDescriptors
    let trustedProxies: [Network]
    let masterKeyNetworks: [Network]
    let allowedOrigins: Set<String>
    let logsRequests: Bool
    let requestLines: (@Sendable ([UInt8]) -> Void)?
    let keyBuckets: TokenBuckets<String>?
    let addressBuckets: TokenBuckets<IPAddress>?
    let userBuckets: TokenBuckets<AppUser>?
    let upstreamNames: [String]
    let signer: PrincipalSigner
    let now: @Sendable () -> Date
    let dashboard: Dashboard?
    let traces: GatewayConfiguration.Traces?
    let logger: Logger

    init(
        _ configuration: GatewayConfiguration, logger: Logger, now: @escaping @Sendable () -> Date = { Date() }
    ) throws(GatewayConfigurationError) {
        var limits = configuration.limits
        let descriptors = try Self.descriptors(configuration)
        if descriptors / 2 < limits.maximumConnections {
            limits.maximumConnections = descriptors / 2
        }
        self.limits = limits
        connections = ClientConnections(
            maximum: limits.maximumConnections, maximumPerAddress: limits.maximumConnectionsPerAddress)
        upstreamDescriptors = UpstreamDescriptors(maximum: descriptors - limits.maximumConnections)
        headerTimeout = TimeAmount(configuration.timeouts.header)
        idleTimeout = TimeAmount(configuration.timeouts.idle)
        connectTimeout = TimeAmount(configuration.timeouts.connect)
        halfClosedTimeout = TimeAmount(configuration.timeouts.halfClosed)
        drainDelay = TimeAmount(configuration.timeouts.drainDelay)
        readingWindow = TimeAmount(configuration.timeouts.reading)
        drainTimeout = TimeAmount(configuration.timeouts.drain)
        trustedProxies = try Network.parse(configuration.trustedProxies, "trusted.proxies")
        masterKeyNetworks = try Network.parse(configuration.masterKeyNetworks, "master.networks")
        allowedOrigins = Set(configuration.allowedOrigins)
        logsRequests = configuration.logsRequests
        requestLines = configuration.requestLines
        keyBuckets = configuration.requestsPerKey.map { TokenBuckets($0) }
        addressBuckets = configuration.requestsPerAddress.map { TokenBuckets($0) }
        userBuckets = configuration.requestsPerUser.map { TokenBuckets($0) }
        upstreamNames = configuration.upstreams.keys.sorted()
        signer = PrincipalSigner(internalSecret: configuration.internalSecret)
        dashboard = try Dashboard(directory: configuration.dashboardDirectory)
        traces = configuration.traces
        self.logger = logger
        self.now = now
    }

    /// The number of descriptors for clients and upstreams; a client's request takes one of each. The remaining ones
    /// are reserved for files, event loops, feeds and health checks.
    private static func descriptors(_ configuration: GatewayConfiguration) throws(GatewayConfigurationError) -> Int {
        guard let openFiles = configuration.openFiles else { return .max }
        let reserved = 128 + 8 * (configuration.eventLoopThreads ?? 2 * NIOCore.System.coreCount)
        guard openFiles >= reserved + 64 else {
            throw GatewayConfigurationError(
                "The limit of open files must be at least \(reserved + 64), found \(openFiles).")
        }
        return openFiles - reserved
    }

    var parserLimits: RequestParser.Limits {
        RequestParser.Limits(
            headInBytes: limits.maximumHeaderBytes, fieldCount: limits.maximumHeaderCount,
            targetInBytes: limits.maximumURIBytes)
    }

    /// Whether answers to `origin` carry CORS headers.
    func allows(origin: String) -> Bool {
        allowedOrigins.contains(origin) || allowedOrigins.contains("*")
    }
}

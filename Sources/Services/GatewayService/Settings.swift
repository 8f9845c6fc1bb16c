import Logging
import MartletCore
import NIOCore

/// The configuration, checked and in the units of the event loops. Immutable, one for all of them.
struct Settings: Sendable {
    let limits: GatewayConfiguration.Limits
    let headerTimeout: TimeAmount
    let idleTimeout: TimeAmount
    let connectTimeout: TimeAmount
    let halfClosedTimeout: TimeAmount
    let readingWindow: TimeAmount
    let bodyGrace: TimeAmount
    let drainTimeout: TimeAmount
    let trustedProxies: [Network]
    let masterKeyNetworks: [Network]
    let allowedOrigins: Set<String>
    let logsRequests: Bool
    let requestLines: (@Sendable ([UInt8]) -> Void)?
    let keyBuckets: TokenBuckets<String>?
    let addressBuckets: TokenBuckets<IPAddress>?
    let upstreamNames: [String]
    let signer: PrincipalSigner
    let logger: Logger

    init(_ configuration: GatewayConfiguration, logger: Logger) throws(GatewayConfigurationError) {
        limits = configuration.limits
        headerTimeout = TimeAmount(configuration.timeouts.header)
        idleTimeout = TimeAmount(configuration.timeouts.idle)
        connectTimeout = TimeAmount(configuration.timeouts.connect)
        halfClosedTimeout = TimeAmount(configuration.timeouts.halfClosed)
        readingWindow = TimeAmount(configuration.timeouts.reading)
        bodyGrace = TimeAmount(configuration.timeouts.bodyGrace)
        drainTimeout = TimeAmount(configuration.timeouts.drain)
        trustedProxies = try Network.parse(configuration.trustedProxies, "trustedProxies")
        masterKeyNetworks = try Network.parse(configuration.masterKeyNetworks, "masterKeyNetworks")
        allowedOrigins = Set(configuration.allowedOrigins)
        logsRequests = configuration.logsRequests
        requestLines = configuration.requestLines
        keyBuckets = configuration.requestsPerKey.map { TokenBuckets($0) }
        addressBuckets = configuration.requestsPerAddress.map { TokenBuckets($0) }
        upstreamNames = configuration.upstreams.keys.sorted()
        signer = PrincipalSigner(internalSecret: configuration.internalSecret)
        self.logger = logger
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

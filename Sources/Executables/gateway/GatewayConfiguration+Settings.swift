import GatewayService
import MartletCore
import MartletHTTP

extension GatewayConfiguration {
    /// Reads the gateway's settings as documented in `docs/OPERATIONS.md`.
    ///
    /// - Throws: `SettingsError` that names the key.
    init(_ settings: Settings) throws {
        var upstreams: [String: [String]] = [:]
        for service in ServiceName.allCases {
            upstreams[service.rawValue] = settings.list("upstream.\(service.rawValue)")
        }
        self.init(
            routesFile: settings.string("routes.file", default: "gateway/routes.json"),
            upstreams: upstreams.filter { !$0.value.isEmpty },
            internalSecret: try settings.requiredSecret("internal.secret", minimumLength: 32),
            keyRingURL: try settings.requiredString("keyring.url"),
            stateDirectory: settings.string("state.directory", default: ".martlet/gateway"))
        dashboardDirectory = settings.string("dashboard.directory", default: dashboardDirectory)
        host = settings.string("http.host", default: "127.0.0.1")
        port = try settings.integer("http.port", default: 8080, in: 0...65_535)
        isPortShared = try settings.flag("http.shared", default: false)
        openFiles = OpenFileLimit.current
        if let certificate = settings.optionalString("tls.certificate") {
            tls = TLS(certificateFile: certificate, keyFile: try settings.requiredString("tls.key"))
        }
        if settings.optionalString("tls.redirect.port") != nil {
            redirect = Redirect(
                port: try settings.integer("tls.redirect.port", default: 80, in: 1...65_535),
                publicURL: try settings.requiredString("public.url"),
                challengeDirectory: settings.optionalString("tls.challenge.directory"))
        } else if settings.optionalString("tls.challenge.directory") != nil {
            throw SettingsError(key: "tls.redirect.port", problem: "is required with tls.challenge.directory")
        }
        if settings.optionalString("event.loops") != nil {
            eventLoopThreads = try settings.integer("event.loops", default: 1, in: 1...256)
        }
        logsRequests = try settings.flag("log.requests", default: true)
        allowedOrigins = settings.list("cors.origins")
        trustedProxies = settings.list("trusted.proxies")
        masterKeyNetworks = settings.list("master.networks", default: masterKeyNetworks)
        requestsPerKey = try Self.rateLimit("key", settings)
        requestsPerAddress = try Self.rateLimit(
            "address", settings, default: RateLimit(requestsPerSecond: 500, burst: 5_000, exemptsLoopback: true))
        requestsPerUser = try Self.rateLimit(
            "user", settings, default: RateLimit(requestsPerSecond: 50, burst: 500, exemptsLoopback: true))
        try readLimits(settings)
        try readTimeouts(settings)
    }

    /// Reads `limit.<name>.rate` (requests per second, or 0 for no limit) and `limit.<name>.burst`. A burst without a
    /// rate changes the default limit, if there is one.
    private static func rateLimit(
        _ name: String, _ settings: Settings, default unset: RateLimit? = nil
    ) throws -> RateLimit? {
        guard settings.optionalString("limit.\(name).rate") != nil else {
            return try unset.map {
                var limit = $0
                limit.burst = try settings.double("limit.\(name).burst", default: $0.burst, in: 1...10_000_000)
                return limit
            }
        }
        let rate = try settings.double("limit.\(name).rate", default: 1, in: 0...1_000_000)
        guard rate > 0 else { return nil }
        let burst = try settings.double("limit.\(name).burst", default: max(1, 2 * rate), in: 1...10_000_000)
        return RateLimit(requestsPerSecond: rate, burst: burst)
    }

    private mutating func readLimits(_ settings: Settings) throws {
        limits.maximumHeaderBytes = try settings.integer(
            "limit.header.bytes", default: limits.maximumHeaderBytes, in: 1_024...1 << 20)
        limits.maximumHeaderCount = try settings.integer(
            "limit.header.count", default: limits.maximumHeaderCount, in: 10...1_000)
        limits.maximumURIBytes = try settings.integer(
            "limit.uri.bytes", default: limits.maximumURIBytes, in: 256...1 << 16)
        limits.maximumBodyBytes = Int64(
            try settings.integer("limit.body.bytes", default: Int(limits.maximumBodyBytes), in: 0...1 << 40))
        limits.maximumRequestsPerAddress = try settings.integer(
            "limit.address.inflight", default: limits.maximumRequestsPerAddress, in: 1...100_000)
        limits.maximumRequestsPerCredential = try settings.integer(
            "limit.key.inflight", default: limits.maximumRequestsPerCredential, in: 1...100_000)
        limits.maximumStreamsPerAddress = try settings.integer(
            "limit.address.streams", default: limits.maximumStreamsPerAddress, in: 1...100_000)
        limits.maximumStreamsPerCredential = try settings.integer(
            "limit.key.streams", default: limits.maximumStreamsPerCredential, in: 1...100_000)
        limits.maximumConnectionsPerAddress = try settings.integer(
            "limit.address.connections", default: limits.maximumConnectionsPerAddress, in: 1...1_000_000)
        limits.minimumBodyBytesPerSecond = try settings.integer(
            "limit.body.rate", default: limits.minimumBodyBytesPerSecond, in: 0...1 << 30)
        limits.minimumAnswerBytesPerSecond = try settings.integer(
            "limit.answer.rate", default: limits.minimumAnswerBytesPerSecond, in: 0...1 << 30)
        limits.shedsLoad = try settings.flag("limit.overload", default: limits.shedsLoad)
        limits.maximumConnections = try settings.integer(
            "limit.connections", default: limits.maximumConnections, in: 1...1_000_000)
    }

    /// Reads `traces.sample` and `traces.proxies`.
    mutating func readTraces(_ settings: Settings, into spans: SpanQueue) throws {
        traces = Traces(
            spans: spans, share: try settings.double("traces.sample", default: 0.01, in: 0...1),
            followsProxies: try settings.flag("traces.proxies", default: false))
    }

    private mutating func readTimeouts(_ settings: Settings) throws {
        timeouts.header = .seconds(try settings.integer("timeout.header", default: 10, in: 1...600))
        timeouts.idle = .seconds(try settings.integer("timeout.idle", default: 75, in: 1...3_600))
        timeouts.connect = .seconds(try settings.integer("timeout.connect", default: 2, in: 1...60))
        timeouts.responseHead = .seconds(try settings.integer("timeout.response", default: 30, in: 1...3_600))
        timeouts.body = .seconds(try settings.integer("timeout.body", default: 90, in: 1...86_399))
        timeouts.bodyStall = .seconds(try settings.integer("timeout.stall", default: 10, in: 1...3_600))
        timeouts.drain = .seconds(try settings.integer("timeout.drain", default: 25, in: 0...25))
        timeouts.drainDelay = .seconds(try settings.integer("drain.delay", default: 0, in: 0...20))
        // The process has 30 s to shut down.
        timeouts.drain = min(timeouts.drain, .seconds(27) - timeouts.drainDelay)
    }
}

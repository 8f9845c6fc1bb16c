public import MartletCore

/// The startup configuration of a gateway.
public struct GatewayConfiguration: Sendable {
    /// Address to listen on.
    public var host = "0.0.0.0"
    /// Port to listen on. 0 selects any free port, see `Gateway.boundPort`.
    public var port = 8080
    /// Lets another gateway of the same user listen on the same address, for restarts without lost connections.
    public var isPortShared = false
    /// Number of descriptors the process may open; nil for no limit.
    public var openFiles: Int?
    /// The route file, see `RouteFile`.
    public var routesFile: String
    /// Directory of the dashboard's files, see `Dashboard`. Without an `index.html` there is no dashboard.
    public var dashboardDirectory: String
    /// Addresses of each upstream as `host:port`, `[v6]:port` or `unix:/path`. A name stands for all addresses it
    /// resolves to.
    public var upstreams: [String: [String]]
    /// Shared by all processes of one Martlet; used to sign principals.
    public var internalSecret: Secret
    /// Base URL of the internal routes of `auth`, such as `http://127.0.0.1:8201`.
    public var keyRingURL: String
    /// Directory for the last valid key ring (`keyring.json`) and the ended sessions (`revocations.txt`), both with
    /// mode 600. Created if missing.
    public var stateDirectory: String
    /// PEM files for TLS, reloaded when they change. Nil serves clear text.
    public var tls: TLS?
    /// The clear-text port beside the TLS port; nil for none. Requires `tls`.
    public var redirect: Redirect?
    /// Number of event loops; nil for one per core.
    public var eventLoopThreads: Int?
    public var limits = Limits()
    public var timeouts = Timeouts()
    /// Rate limit per credential; nil for no limit.
    public var requestsPerKey: RateLimit?
    /// Rate limit per client address, applied before credentials are checked; nil for no limit.
    public var requestsPerAddress: RateLimit?
    /// Rate limit per signed-in end user; nil for no limit.
    public var requestsPerUser: RateLimit?
    /// Origins that browsers may call from, such as `https://app.example`, or `*`. Empty disables CORS headers.
    public var allowedOrigins: [String] = []
    /// Networks of proxies whose `X-Forwarded-For` is trusted. By default none: the peer is the client.
    public var trustedProxies: [String] = []
    /// Networks from which master keys are accepted, unless a key has its own list.
    public var masterKeyNetworks = [
        "127.0.0.0/8", "::1/128", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7",
    ]
    /// Path of the health check on every upstream address. Nil only checks that a TCP connection can be opened.
    public var healthPath: String? = "/health/ready"
    /// Whether to log one line per request.
    public var logsRequests = true
    /// Receives batches of completed request lines, JSON objects that each end in a line feed, several times a second
    /// from any event loop. Must not block. Nil logs each request through the logger at info level, which costs ten
    /// times as much.
    public var requestLines: (@Sendable ([UInt8]) -> Void)?

    /// Nil traces no request.
    public var traces: Traces?

    public init(
        routesFile: String, upstreams: [String: [String]], internalSecret: Secret, keyRingURL: String,
        stateDirectory: String
    ) {
        self.routesFile = routesFile
        dashboardDirectory = Self.dashboardDirectory(beside: routesFile)
        self.upstreams = upstreams
        self.internalSecret = internalSecret
        self.keyRingURL = keyRingURL
        self.stateDirectory = stateDirectory
    }

    /// `dashboard/dist` in the folder of the route file, where `deploy/dashboard` puts it.
    private static func dashboardDirectory(beside routesFile: String) -> String {
        routesFile.split(separator: "/", omittingEmptySubsequences: false).dropLast().map { $0 + "/" }.joined()
            + "dashboard/dist"
    }

    public struct TLS: Sendable {
        /// PEM file with the certificate and its chain.
        public var certificateFile: String
        /// PEM file with the private key.
        public var keyFile: String

        public init(certificateFile: String, keyFile: String) {
            self.certificateFile = certificateFile
            self.keyFile = keyFile
        }
    }

    /// A port that redirects to https and answers ACME challenges (RFC 8555 §8.3).
    public struct Redirect: Sendable {
        /// Port to listen on, at `host`. 0 selects any free port, see `Gateway.boundRedirectPort`.
        public var port: Int
        /// Where clients reach the TLS port, such as `https://api.example.org`.
        public var publicURL: String
        /// Directory in which an ACME client writes a file for each challenge, named after its token; nil for none.
        public var challengeDirectory: String?

        public init(port: Int, publicURL: String, challengeDirectory: String? = nil) {
            self.port = port
            self.publicURL = publicURL
            self.challengeDirectory = challengeDirectory
        }
    }

    public struct Limits: Sendable {
        /// Size of request line and headers. Above it: 431.
        public var maximumHeaderBytes = 16 * 1024
        /// Headers per request. Above it: 431.
        public var maximumHeaderCount = 100
        /// Length of path and query. Above it: 414.
        public var maximumURIBytes = 8 * 1024
        /// Size of a request body, unless the route sets its own limit. Above it: 413.
        public var maximumBodyBytes: Int64 = 1024 * 1024
        /// Client connections. At the limit, a new connection evicts the longest idle connection of the busiest
        /// address; if all are busy, the new one is closed. Reduced automatically if `openFiles` allows fewer.
        public var maximumConnections = 10_000
        /// Connections per client address (IPv6: per /64; trusted proxies are exempt). At the limit, a new connection
        /// evicts the longest idle one; if all are busy, the new one is closed.
        public var maximumConnectionsPerAddress = 1_000
        /// Concurrent streams per HTTP/2 connection.
        public var maximumStreamsPerConnection = 100
        /// Connections per event loop to one upstream address. Above it: 503. Each stream uses one.
        public var maximumUpstreamConnections = 4_096
        /// Requests in progress per event loop from one client address (IPv6: a /64). Above it: 429. Routes with
        /// `streaming` have separate limits. Keep this far below `maximumUpstreamConnections`, or a single client can
        /// block an upstream for all others.
        public var maximumRequestsPerAddress = 128
        /// Requests in progress per event loop with one credential. Above it: 429. Keep this below
        /// `maximumUpstreamConnections`, too. A request with a body counts once its body is complete: all users of an
        /// app share a credential, and one of them could otherwise block the others with bodies that never end.
        public var maximumRequestsPerCredential = 256
        /// Streams per event loop from one client address. Above it: 429.
        public var maximumStreamsPerAddress = 128
        /// Streams per event loop with one credential, which all users of an app share. Above it: 429.
        public var maximumStreamsPerCredential = 2_048
        /// Whether to refuse requests with 503 while more arrive than a service can answer in time, see `LoadLimit`.
        public var shedsLoad = true
        /// Minimum rate of a request body. Below it: 408. 0 means no limit. A client that has sent faster may pause for
        /// `Timeouts.bodyStall`.
        public var minimumBodyBytesPerSecond = 1024
        /// Minimum rate at which a client must read an answer that waits for it, averaged over `Timeouts.reading`.
        /// Below it the connection is closed. 0 means no limit. Routes with `streaming` have separate limits.
        public var minimumAnswerBytesPerSecond = 4096

        public init() {}
    }

    public struct Timeouts: Sendable {
        /// For a complete request head. After it: 408.
        public var header: Duration = .seconds(10)
        /// Between requests, between parts of a body, and for a client that reads nothing.
        public var idle: Duration = .seconds(75)
        /// For connecting to an upstream.
        public var connect: Duration = .seconds(2)
        /// For a complete request body, unless the route sets its own time. After it: 408.
        public var body: Duration = .seconds(90)
        /// How far a request body may fall behind `Limits.minimumBodyBytesPerSecond`. Routes with their own body time
        /// use `idle` instead.
        public var bodyStall: Duration = .seconds(10)
        /// For an upstream's response head, unless the route sets its own time. After it: 504.
        public var responseHead: Duration = .seconds(30)
        /// Window over which `Limits.minimumAnswerBytesPerSecond` is measured.
        public var reading: Duration = .seconds(30)
        /// For answers in progress during shutdown.
        public var drain: Duration = .seconds(25)
        /// How long the gateway keeps serving after the start of a shutdown while it reports not ready, so that load
        /// balancers notice.
        public var drainDelay: Duration = .zero
        /// How long to wait without any traffic after the client closes its sending side. The client may be half-closed
        /// and still reading, or gone.
        public var halfClosed: Duration = .seconds(2)

        public init() {}
    }

    /// Which requests are traced.
    public struct Traces: Sendable {
        /// Receives a span of each traced request.
        public var spans: SpanQueue
        /// The share of requests that are traced, 0 to 1.
        public var share: Double
        /// Whether a request from `trustedProxies` belongs to the trace in its `traceparent`, and the proxy decides
        /// whether it is traced. The header of all others is ignored: a client could have all its requests traced.
        public var followsProxies: Bool

        public init(spans: SpanQueue, share: Double, followsProxies: Bool = false) {
            self.spans = spans
            self.share = share
            self.followsProxies = followsProxies
        }
    }

    /// A token bucket.
    public struct RateLimit: Sendable {
        /// Tokens added per second.
        public var requestsPerSecond: Double
        /// Capacity of the bucket.
        public var burst: Double
        /// Whether requests from the gateway's own machine are not counted.
        public var exemptsLoopback: Bool

        public init(requestsPerSecond: Double, burst: Double, exemptsLoopback: Bool = false) {
            self.requestsPerSecond = requestsPerSecond
            self.burst = burst
            self.exemptsLoopback = exemptsLoopback
        }
    }
}

/// A problem in the configuration or in a file it refers to.
public struct GatewayConfigurationError: Error, CustomStringConvertible, Sendable {
    public var description: String

    init(_ description: String) {
        self.description = description
    }
}

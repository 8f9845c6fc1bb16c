public import MartletCore

/// Everything a gateway is told at its start.
public struct GatewayConfiguration: Sendable {
    /// Address to listen on.
    public var host = "0.0.0.0"
    /// Port to listen on; 0: any free one, see `Gateway.boundPort`.
    public var port = 8080
    /// Another gateway of the same user may listen at the same address: the new one of a restart without loss.
    public var isPortShared = false
    /// How many descriptors the process may have open; nil: no limit.
    public var openFiles: Int?
    /// The route file, see `RouteFile`.
    public var routesFile: String
    /// Addresses of each upstream as `host:port`, `[v6]:port` or `unix:/path`; a name stands for all its addresses.
    public var upstreams: [String: [String]]
    /// Shared by all processes of one Martlet; signs principals.
    public var internalSecret: Secret
    /// Where `auth` serves its internal routes, such as `http://127.0.0.1:8201`.
    public var keyRingURL: String
    /// Directory for the last good key ring (`keyring.json`) and the sessions that have ended (`revocations.txt`), mode 600; made when missing.
    public var stateDirectory: String
    /// PEM files for TLS; nil: clear text. Read again when they change.
    public var tls: TLS?
    /// Event loops; nil: as many as cores.
    public var eventLoopThreads: Int?
    public var limits = Limits()
    public var timeouts = Timeouts()
    /// Requests per credential; nil: unlimited.
    public var requestsPerKey: RateLimit?
    /// Requests per client address, counted before credentials are looked at; nil: unlimited.
    public var requestsPerAddress: RateLimit?
    /// Origins that browsers may call from, such as `https://app.example`, or `*`; empty: no CORS headers.
    public var allowedOrigins: [String] = []
    /// Networks of proxies whose `X-Forwarded-For` is believed. Default none: the peer is the client.
    public var trustedProxies: [String] = []
    /// Where master keys may come from unless the key says otherwise.
    public var masterKeyNetworks = ["127.0.0.0/8", "::1/128", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"]
    /// Asked on every upstream address; nil: a TCP connection that opens is health enough.
    public var healthPath: String? = "/health/ready"
    /// One log line per request.
    public var logsRequests = true
    /// Takes batches of finished request lines, JSON objects ending in line feeds, several times a second from any event
    /// loop; must not block. Nil: each request is logged through the logger at info, which costs ten times as much.
    public var requestLines: (@Sendable ([UInt8]) -> Void)?

    public init(
        routesFile: String, upstreams: [String: [String]], internalSecret: Secret, keyRingURL: String, stateDirectory: String
    ) {
        self.routesFile = routesFile
        self.upstreams = upstreams
        self.internalSecret = internalSecret
        self.keyRingURL = keyRingURL
        self.stateDirectory = stateDirectory
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

    public struct Limits: Sendable {
        /// Request line and headers, beyond it 431.
        public var maximumHeaderBytes = 16 * 1024
        /// Headers per request, beyond it 431.
        public var maximumHeaderCount = 100
        /// Path and query, beyond it 414.
        public var maximumURIBytes = 8 * 1024
        /// Body of a request on a route that does not say, beyond it 413.
        public var maximumBodyBytes: Int64 = 1024 * 1024
        /// Client connections. Beyond it the connection of the busiest address that has been idle longest is closed, or the new
        /// one while all of them are busy. Lower where `openFiles` leaves less.
        public var maximumConnections = 10_000
        /// Connections of one client address (IPv6: a /64; trusted proxies are exempt). Beyond it the one that has been idle longest
        /// is closed, or the new one while all are busy.
        public var maximumConnectionsPerAddress = 1_000
        /// Streams a client may have open on one HTTP/2 connection.
        public var maximumStreamsPerConnection = 100
        /// Connections to one upstream address from one event loop, beyond it 503. Streams hold one each.
        public var maximumUpstreamConnections = 4_096
        /// Requests under way from one client address (IPv6: a /64) on one event loop, beyond it 429. Requests on routes with
        /// `streaming` have limits of their own. Far below `maximumUpstreamConnections`, or one client could keep an upstream from all others.
        public var maximumRequestsPerAddress = 128
        /// Requests under way with one credential on one event loop, beyond it 429. Below `maximumUpstreamConnections` too. A
        /// request with a body counts once the body is complete: all users of an app have the same credential, and one of them
        /// could keep the others out with bodies that never end.
        public var maximumRequestsPerCredential = 256
        /// Streams from one client address on one event loop, beyond it 429.
        public var maximumStreamsPerAddress = 128
        /// Streams with one credential on one event loop, beyond it 429: all users of an app have the same one.
        public var maximumStreamsPerCredential = 2_048
        /// The rate that a request body must keep up, below it 408; 0: no limit. A client that has sent faster may pause for `Timeouts.bodyStall`.
        public var minimumBodyBytesPerSecond = 1024
        /// The rate at which a client must read an answer that waits for it, on average over `Timeouts.reading`, or the connection is
        /// closed; 0: no limit. Routes with `streaming` have limits of their own.
        public var minimumAnswerBytesPerSecond = 4096

        public init() {}
    }

    public struct Timeouts: Sendable {
        /// For a whole request head to arrive, beyond it 408.
        public var header: Duration = .seconds(10)
        /// Between requests, between portions of a body, and for a client that takes no bytes.
        public var idle: Duration = .seconds(75)
        /// For a connection to an upstream.
        public var connect: Duration = .seconds(2)
        /// For a whole request body on a route that does not say, beyond it 408.
        public var body: Duration = .seconds(90)
        /// How far a request body may fall behind `Limits.minimumBodyBytesPerSecond`; `idle` on routes with a body time of their own.
        public var bodyStall: Duration = .seconds(10)
        /// For an upstream's response head on a route that does not say, beyond it 504.
        public var responseHead: Duration = .seconds(30)
        /// Over which `Limits.minimumAnswerBytesPerSecond` holds.
        public var reading: Duration = .seconds(30)
        /// For answers under way when the gateway is told to stop.
        public var drain: Duration = .seconds(25)
        /// How long a gateway that was told to stop goes on serving while it reports that it is not ready, for load balancers to notice.
        public var drainDelay: Duration = .zero
        /// How long a client that has closed its sending side is waited for without any byte moving: it may be
        /// half-closed and reading, or gone.
        public var halfClosed: Duration = .seconds(2)

        public init() {}
    }

    /// A token bucket.
    public struct RateLimit: Sendable {
        /// Tokens added per second.
        public var requestsPerSecond: Double
        /// Tokens it holds when full.
        public var burst: Double

        public init(requestsPerSecond: Double, burst: Double) {
            self.requestsPerSecond = requestsPerSecond
            self.burst = burst
        }
    }
}

/// Something in the configuration or a file of it that the gateway cannot work with.
public struct GatewayConfigurationError: Error, CustomStringConvertible, Sendable {
    public var description: String

    init(_ description: String) {
        self.description = description
    }
}

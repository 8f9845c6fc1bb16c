public import NIOCore

/// The APNs environment: sandbox or production.
public enum APNsEnvironment: String, Sendable, CaseIterable, Codable {
    case production, sandbox

    public var host: String { self == .production ? "api.push.apple.com" : "api.sandbox.push.apple.com" }
}

/// The address of APNs, and limits on its use. The defaults are for Apple's servers.
public struct APNsConfiguration: Sendable {
    public var host: String
    /// 443, or 2197 for firewalls that must distinguish push from web traffic.
    public var port = 443
    /// Trusted root certificates (PEM); nil for those of the system.
    public var trustedCertificates: String?

    /// The maximum number of open connections. Apple asks for few, long-lived ones.
    public var maximumConnections = 2
    /// Another connection is opened when more requests than this are waiting.
    public var waitingForAnotherConnection = 500
    /// The maximum number of concurrent requests on a connection, if the server allows more or sets no limit.
    public var maximumStreams = 1_000
    /// The maximum number of waiting requests; further ones fail as `notSent`.
    public var maximumWaiting = 10_000
    /// The maximum number of times that a request is sent when servers say that they did not process it.
    public var maximumAttempts = 3

    /// How long a request may wait before it is sent.
    public var waitLimit: TimeAmount = .seconds(30)
    /// How long to wait for an answer.
    public var answerLimit: TimeAmount = .seconds(30)
    /// How long establishing TLS and receiving the server's settings may take.
    public var connectLimit: TimeAmount = .seconds(10)
    /// The pause after a failed connection attempt; doubled with each further failure.
    public var firstDelay: TimeAmount = .seconds(1)
    public var maximumDelay: TimeAmount = .seconds(60)
    /// How long a connection may be silent before it is pinged.
    public var pingInterval: TimeAmount = .seconds(60)
    public var pingLimit: TimeAmount = .seconds(15)
    /// How long a connection may have nothing to send before it is closed.
    public var idleLimit: TimeAmount = .minutes(30)
    /// How long to wait for outstanding answers when the client is shut down.
    public var drainLimit: TimeAmount = .seconds(10)

    public init(_ environment: APNsEnvironment) {
        host = environment.host
    }

    public init(host: String, port: Int, trustedCertificates: String? = nil) {
        self.host = host
        self.port = port
        self.trustedCertificates = trustedCertificates
    }
}

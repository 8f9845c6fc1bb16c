public import NIOCore

/// Which of Apple's two worlds a device token belongs to.
public enum APNsEnvironment: String, Sendable, CaseIterable, Codable {
    case production, sandbox

    public var host: String { self == .production ? "api.push.apple.com" : "api.sandbox.push.apple.com" }
}

/// Where APNs is, and how much of it is used. The defaults are for Apple.
public struct APNsConfiguration: Sendable {
    public var host: String
    /// 443, or 2197 where a firewall wants to tell push from the web.
    public var port = 443
    /// Certificates (PEM) that the server's may be signed by; nil: those of the system.
    public var trustedCertificates: String?

    /// Connections to hold open at the most. Apple wants few, kept for long.
    public var maximumConnections = 2
    /// Another one is opened when more than this many requests wait.
    public var waitingForAnotherConnection = 500
    /// Requests under way on a connection, where the server allows more or says nothing.
    public var maximumStreams = 1_000
    /// Requests that wait for a place; further ones fail as `notSent`.
    public var maximumWaiting = 10_000
    /// How often a request is sent at the most when servers say that they did not work on it.
    public var maximumAttempts = 3

    /// How long a request may wait until it is sent.
    public var waitLimit: TimeAmount = .seconds(30)
    /// How long an answer may take.
    public var answerLimit: TimeAmount = .seconds(30)
    /// Until a connection is secured and the server has sent its settings.
    public var connectLimit: TimeAmount = .seconds(10)
    /// Behind a failed connection; doubled with each further one.
    public var firstDelay: TimeAmount = .seconds(1)
    public var maximumDelay: TimeAmount = .seconds(60)
    /// A connection that has been silent for so long is asked for a sign of life.
    public var pingInterval: TimeAmount = .seconds(60)
    public var pingLimit: TimeAmount = .seconds(15)
    /// A connection that has had nothing to send for so long is closed.
    public var idleLimit: TimeAmount = .minutes(30)
    /// How long requests under way have when the client is shut down.
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

public import Foundation

extension Martlet {
    /// Where the server is, and how a client talks to it.
    public struct Configuration: Sendable {
        /// The server's address, without `/api`.
        public var url: URL
        public var appKey: String
        public var secret: String
        /// `.test` sends a live app key's calls to the test environment. Nil: the app key's own environment.
        public var environment: Environment?
        /// How long one attempt of a call may take, in seconds.
        public var timeout: TimeInterval = 30
        public var retries = RetryPolicy()
        /// Where the session is kept. By default the keychain, or on Linux a file in the user's home directory.
        public var sessionStore: any SessionStore
        public var transport: any HTTPTransport = URLSessionTransport()
        /// How stored values may differ from what a type declares.
        public var tolerance = Tolerance.standard
        /// Whether lists leave out objects that do not fit their type, with a warning in the log. Otherwise the call
        /// throws ``MartletError/Code/undecodable``.
        public var skipsUndecodableObjects = false
        /// The name of this device in the user's list of sessions.
        public var deviceName: String?
        /// Called with each log entry of the client. Entries contain no secrets, tokens or bodies.
        public var log: (@Sendable (LogEntry) -> Void)?
        /// The folder that keeps configuration, texts, flags, events and crash reports between starts.
        public var folder: URL
        /// The app and the device, as described to the server for its conditions.
        public var device = DeviceInfo.current
        /// The app's defaults, `Martlet.json` in the main bundle. See <doc:ConfiguringAnApp>.
        public var defaults = Bundle.main.url(forResource: "Martlet", withExtension: "json")
        public var analytics = AnalyticsOptions()
        public var offline = OfflineOptions()
        /// Where reports of errors and crashes go, `https://key@host/crash/1`: `sentryDSN` of the server's
        /// `connection.json`. Nil: nothing is reported.
        public var sentryDSN: String?
        /// The keys that may sign app definitions, which the product `MartletScreens` shows.
        public var definitionKeys: [DefinitionKey] = []
        /// For tests.
        package var clock = WallClock()

        public init(url: URL, appKey: String, secret: String) {
            self.url = url
            self.appKey = appKey
            self.secret = secret
            sessionStore = DefaultSessionStore.make(appKey: appKey)
            folder = LocalFolder.standard(appKey: appKey)
        }
    }

    /// Which failed calls are repeated, and how often.
    ///
    /// A call is repeated if it was certainly not carried out (no connection, 429, 503), or if repeating does no harm:
    /// reads, and writes to storage, which carry an `Idempotency-Key`. Delays double and are random, so that many
    /// devices do not retry at the same moment. The server's `Retry-After` takes precedence.
    public struct RetryPolicy: Sendable, Hashable {
        /// How many times a call is sent at most, including the first.
        public var maximumAttempts = 4
        /// The longest delay before the first retry, in seconds.
        public var firstDelay: TimeInterval = 0.4
        /// The longest delay, in seconds. If the server asks for a longer one, the call fails with
        /// ``MartletError/retryAfter``.
        public var maximumDelay: TimeInterval = 10

        public init() {}

        /// Sends each call only once.
        public static let never: RetryPolicy = {
            var policy = RetryPolicy()
            policy.maximumAttempts = 1
            return policy
        }()
    }

    /// Something that the client did.
    public struct LogEntry: Sendable {
        public enum Level: String, Sendable { case debug, info, warning, error }

        public let level: Level
        /// A fixed sentence.
        public let message: String
        /// Details: `request.method`, `request.path`, `response.status` and so on.
        public let metadata: [String: String]
    }
}

/// The clock, replaceable in tests.
package struct WallClock: Sendable {
    package var now: @Sendable () -> Date = { Date() }
    var sleep: @Sendable (TimeInterval) async throws -> Void = { seconds in
        try await Task.sleep(nanoseconds: UInt64(max(0, min(seconds, 1_000_000)) * 1_000_000_000))
    }
    /// A number from 0 to 1.
    var random: @Sendable () -> Double = { Double.random(in: 0...1) }
}

extension Martlet.Configuration {
    @inline(never)
    package func log(_ level: Martlet.LogEntry.Level, _ message: String, _ metadata: [String: String] = [:]) {
        log?(Martlet.LogEntry(level: level, message: message, metadata: metadata))
    }
}

/// Limits for look-ups of user data in another service.
public struct LookupLimits: Sendable {
    /// Concurrent look-ups: as many as `ServiceCalls` keeps connections.
    public var concurrent = 8
    /// Requests that may wait for a look-up; further ones fail at once.
    public var waiting = 512
    /// Number of consecutive failures after which no look-ups are made for `pause`.
    public var failures = 3
    public var pause: Duration = .seconds(5)

    public init() {}
}

/// The maximum number of requests is already waiting for a look-up.
public struct LookupsFull: Error {}

/// A circuit breaker for look-ups. After the pause, one request makes a look-up; others fail until it has a result.
struct LookupBreaker: Sendable {
    private let limit: Int
    private let length: Duration
    private var failures = 0
    private var pause: (until: ContinuousClock.Instant, cause: any Error)?
    private var isTrying = false

    init(failures limit: Int, pause length: Duration) {
        self.limit = limit
        self.length = length
    }

    /// - Throws: The last failure, if no look-up may be made now.
    func check(at now: ContinuousClock.Instant) throws {
        if let pause, isTrying || pause.until > now { throw pause.cause }
    }

    /// Call before a look-up, and `succeed`, `fail` or `giveUp` after it.
    ///
    /// - Returns: Whether the look-up is the trial after a pause.
    /// - Throws: The errors of `check`.
    mutating func begin(at now: ContinuousClock.Instant) throws -> Bool {
        try check(at: now)
        isTrying = pause != nil
        return isTrying
    }

    mutating func succeed() {
        (failures, pause, isTrying) = (0, nil, false)
    }

    mutating func fail(_ error: any Error, isTrial: Bool, at now: ContinuousClock.Instant) {
        failures += 1
        if isTrial { isTrying = false }
        if isTrial || failures >= limit { pause = (now + length, error) }
    }

    /// Ends a trial whose result says nothing about the service.
    mutating func giveUp() {
        isTrying = false
    }
}

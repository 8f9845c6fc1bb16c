/// How much is asked of another service about users.
public struct LookupLimits: Sendable {
    /// Look-ups at a time: as many as `ServiceCalls` keeps connections.
    public var underWay = 8
    /// Requests that wait for their turn; those beyond do without.
    public var waiting = 512
    /// So many failures without an answer in between, and nobody is asked for the pause.
    public var failures = 3
    public var pause: Duration = .seconds(5)

    public init() {}
}

/// So many look-ups wait that one more does without.
public struct LookupsFull: Error {}

/// Whether a service is asked, by what came of it lately. After a pause one request tries, and the others go on doing without until it has an answer.
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

    /// - Throws: what failed last, where nobody is to be asked now.
    func check(at now: ContinuousClock.Instant) throws {
        if let pause, isTrying || pause.until > now { throw pause.cause }
    }

    /// Somebody is about to ask; `succeed`, `fail` or `giveUp` has to follow.
    ///
    /// - Returns: whether it is the one that tries.
    /// - Throws: as `check`.
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

    /// What tried has no answer, and says nothing of the service.
    mutating func giveUp() {
        isTrying = false
    }
}

import NIOCore

/// Decides when to open a connection: events go in, the next step comes out.
///
/// A connection that ends before its first answer counts as a failed attempt: both increase the pause before the next
/// one.
struct ConnectionPlan {
    enum Step: Equatable {
        case nothing
        case connect
        /// Ask again at this time.
        case wait(until: NIODeadline)
    }

    private let maximum: Int
    private let waitingForAnother: Int
    private let firstDelay: TimeAmount
    private let maximumDelay: TimeAmount
    private(set) var isConnecting = false
    private(set) var failures = 0
    private var notBefore = NIODeadline.uptimeNanoseconds(0)

    init(_ configuration: APNsConfiguration) {
        maximum = max(1, configuration.maximumConnections)
        waitingForAnother = configuration.waitingForAnotherConnection
        firstDelay = configuration.firstDelay
        maximumDelay = configuration.maximumDelay
    }

    /// - Parameter open: The number of connections that take requests.
    mutating func next(waiting: Int, open: Int, now: NIODeadline) -> Step {
        guard !isConnecting, waiting > 0, open == 0 || (open < maximum && waiting > waitingForAnother) else {
            return .nothing
        }
        guard now >= notBefore else { return .wait(until: notBefore) }
        isConnecting = true
        return .connect
    }

    mutating func opened() {
        isConnecting = false
    }

    /// A connection received its first answer, so the server works.
    mutating func receivedFirstAnswer() {
        failures = 0
    }

    /// A connection attempt failed.
    ///
    /// - Parameter jitter: From 0 to 1.
    mutating func failed(now: NIODeadline, jitter: Double) {
        isConnecting = false
        wait(now, jitter)
    }

    /// A connection ended.
    mutating func ended(hadAnswered: Bool, now: NIODeadline, jitter: Double) {
        if !hadAnswered { wait(now, jitter) }
    }

    private mutating func wait(_ now: NIODeadline, _ jitter: Double) {
        let doubled = firstDelay.nanoseconds << min(failures, 20)
        let delay = Double(min(doubled, maximumDelay.nanoseconds))
        failures += 1
        notBefore = now + .nanoseconds(Int64(delay * (0.5 + 0.5 * jitter)))
    }
}

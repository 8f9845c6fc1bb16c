import NIOCore

/// Limits how many requests of one route may wait for one upstream address, so that the requests it accepts are
/// answered quickly even if far more arrive than it can serve. A value type without its own clock.
///
/// An address is overloaded if requests queue in it all the time. Then even the fastest answer of a whole window takes
/// much longer than the fastest answer known for the route, as in CoDel (RFC 8289), which also goes by the minimum
/// delay: some slow answers among fast ones do not mean a queue. Each window with a queue lowers the limit by a fifth,
/// and each without one raises it by a tenth until it is no longer needed.
struct LoadLimit {
    /// So many requests may always wait.
    static let minimum = 8
    /// A window ends after this time if it has enough answers, and otherwise after `longestWindow`.
    static let window = TimeAmount.milliseconds(100)
    static let longestWindow = TimeAmount.seconds(1)
    /// Fewer answers than this do not show a queue.
    static let fewestAnswers = 20
    /// There is a queue if the fastest answer of a window took this much longer than the fastest known, and more than
    /// twice as long.
    static let target = TimeAmount.milliseconds(5)
    /// The fastest known answer is one of the last two periods of this length.
    static let memory = TimeAmount.seconds(60)

    /// Requests that were sent completely and have no answer yet.
    private(set) var waiting = 0
    /// Nil as long as there is no queue.
    private(set) var limit: Int?

    private var windowBegan = NIODeadline.uptimeNanoseconds(0)
    private var answers = 0
    private var mostWaiting = 0
    private var fastestInWindow = TimeAmount.hours(1)
    private var periodBegan = NIODeadline.uptimeNanoseconds(0)
    private var fastestInPeriod = TimeAmount.hours(1)
    private var fastestBefore = TimeAmount.hours(1)

    var admits: Bool { limit.map { waiting < $0 } ?? true }

    mutating func begin(at now: NIODeadline) {
        if answers == 0, waiting == 0 { windowBegan = now }
        waiting += 1
        mostWaiting = max(mostWaiting, waiting)
    }

    /// Records that the head of a successful answer arrived `time` after the end of its request.
    mutating func answered(after time: TimeAmount, at now: NIODeadline) {
        waiting -= 1
        answers += 1
        fastestInWindow = min(fastestInWindow, time)
        let age = now - windowBegan
        guard age >= Self.longestWindow || age >= Self.window && answers >= Self.fewestAnswers else { return }
        endWindow(at: now)
    }

    /// Records that a request ended without a successful answer. Refusals are quick and say nothing about the load.
    mutating func failed() { waiting -= 1 }

    private mutating func endWindow(at now: NIODeadline) {
        let fastestKnown = min(fastestBefore, fastestInPeriod)
        let excess = fastestInWindow - fastestKnown
        let hasQueue =
            (limit != nil || mostWaiting > Self.minimum) && answers >= Self.fewestAnswers && excess > Self.target
            && excess > fastestKnown
        if hasQueue {
            limit = max(Self.minimum, min(limit ?? mostWaiting, mostWaiting) * 4 / 5)
        } else if let limit {
            self.limit = limit > 2 * mostWaiting + Self.minimum ? nil : limit + max(1, limit / 10)
        }
        remember(at: now)
        windowBegan = now
        answers = 0
        mostWaiting = waiting
        fastestInWindow = .hours(1)
    }

    /// While the limit holds requests back, every answer is slowed by others, so nothing is forgotten. At the minimum
    /// that cannot be the reason: the address has become slower.
    private mutating func remember(at now: NIODeadline) {
        fastestInPeriod = min(fastestInPeriod, fastestInWindow)
        guard limit == nil || limit == Self.minimum else { return periodBegan = now }
        guard now - periodBegan >= Self.memory else { return }
        periodBegan = now
        fastestBefore = fastestInPeriod
        fastestInPeriod = .hours(1)
    }
}

import NIOCore

/// Limits how many requests of one kind may wait for one upstream address, so that the requests it accepts are
/// answered quickly even if far more arrive than it can serve. Has no clock of its own, and belongs to one event loop.
///
/// An address is overloaded if requests queue in it all the time. Then few answers of a window are about as fast as the
/// fastest one known. Like CoDel (RFC 8289), this does not measure the slow answers: slow answers among fast ones do
/// not mean a queue. Each window with a queue lowers the limit by a fifth, and each without one raises it by a tenth
/// until it is no longer needed.
final class LoadLimit {
    /// This many requests may always wait: enough to keep an address busy, and few enough to be answered in time.
    static let minimum = 32
    /// A window ends after this time if it has enough answers, and otherwise after `longestWindow`.
    static let window = TimeAmount.milliseconds(100)
    static let longestWindow = TimeAmount.seconds(1)
    /// Fewer answers than this do not show a queue.
    static let fewestAnswers = 20
    /// An answer is quick if it took at most this much longer than the fastest known, or at most twice as long.
    static let target = TimeAmount.milliseconds(5)
    /// A window has a queue if fewer than one in this many of its answers were quick.
    static let quickShare = 4
    /// The fastest known answer is one of the last two periods of this length.
    static let memory = TimeAmount.seconds(60)

    /// Requests that were sent completely and have no answer yet.
    private(set) var waiting = 0
    /// Nil as long as there is no queue.
    private(set) var limit: Int?

    private var windowBegan = NIODeadline.uptimeNanoseconds(0)
    private var lastAnswer = NIODeadline.uptimeNanoseconds(0)
    private var answers = 0
    private var quickAnswers = 0
    private var mostWaiting = 0
    private var periodBegan = NIODeadline.uptimeNanoseconds(0)
    private var fastestInPeriod = TimeAmount.hours(1)
    private var fastestBefore = TimeAmount.hours(1)

    /// Admits everything if nothing was answered for a while, because then nothing is known about the load.
    func admits(at now: NIODeadline) -> Bool {
        guard let limit, waiting >= limit else { return true }
        return now > lastAnswer + Self.longestWindow * 2
    }

    func begin(at now: NIODeadline) {
        if answers == 0, waiting == 0 { windowBegan = now }
        waiting += 1
        mostWaiting = max(mostWaiting, waiting)
    }

    /// Records that the head of a successful answer arrived `time` after the end of its request.
    ///
    /// - Parameter waited: For how much of this time the service waited for others, which says nothing about its load.
    func answered(after time: TimeAmount, waited: TimeAmount = .zero, at now: NIODeadline) {
        guard time > waited else { return failed() }
        let time = time - waited
        waiting -= 1
        answers += 1
        lastAnswer = now
        if time <= quickTime { quickAnswers += 1 }
        fastestInPeriod = min(fastestInPeriod, time)
        let age = now - windowBegan
        guard age >= Self.longestWindow || age >= Self.window && answers >= Self.fewestAnswers else { return }
        endWindow(at: now)
    }

    /// Records that a request ended without a successful answer. Refusals are quick and say nothing about the load.
    func failed() { waiting -= 1 }

    private var quickTime: TimeAmount {
        let fastest = min(fastestBefore, fastestInPeriod)
        return max(fastest + Self.target, fastest * 2)
    }

    private func endWindow(at now: NIODeadline) {
        let hasQueue =
            (limit != nil || mostWaiting > Self.minimum) && answers >= Self.fewestAnswers
            && quickAnswers < answers / Self.quickShare
        if hasQueue {
            limit = max(Self.minimum, min(limit ?? mostWaiting, mostWaiting) * 4 / 5)
        } else if let limit {
            self.limit = limit > 2 * mostWaiting + Self.minimum ? nil : limit + max(1, limit / 10)
        }
        endPeriod(at: now)
        windowBegan = now
        answers = 0
        quickAnswers = 0
        mostWaiting = waiting
    }

    /// Forgets the fastest answer of the period before last. Forgets nothing while the limit holds requests back,
    /// because other requests then slow down every answer; at the minimum, the address itself must have become slower.
    private func endPeriod(at now: NIODeadline) {
        guard limit == nil || limit == Self.minimum else { return periodBegan = now }
        guard now - periodBegan >= Self.memory else { return }
        periodBegan = now
        fastestBefore = fastestInPeriod
        fastestInPeriod = .hours(1)
    }
}

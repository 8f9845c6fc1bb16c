import NIOCore

/// Keeps requests off an address that keeps failing: a value machine without clocks of its own.
///
/// Closed until `threshold` failures in a row; then open for a while; then one request is let through as a probe, and its
/// outcome closes it, or opens it for twice as long, `longestPause` at most. Failures of requests that were under way when it
/// opened change nothing. A probe may be a long poll or a stream: the head of its answer counts as success, and after `probeTime`
/// without one the next request is let through.
struct Breaker {
    static let threshold = 5
    static let firstPause = TimeAmount.milliseconds(500)
    static let longestPause = TimeAmount.seconds(10)
    static let probeTime = TimeAmount.seconds(1)

    private var failures = 0
    private var openUntil: NIODeadline?
    private var pause = firstPause
    private var isProbing = false
    private var probeEnds = NIODeadline.uptimeNanoseconds(0)

    func allowsRequest(at now: NIODeadline) -> Bool {
        guard let openUntil else { return true }
        return now >= openUntil && (!isProbing || now >= probeEnds)
    }

    mutating func begin(at now: NIODeadline) {
        guard openUntil != nil else { return }
        isProbing = true
        probeEnds = now + Self.probeTime
    }

    /// A request has an answer that is still to be read to its end.
    mutating func answered() {
        if isProbing { self = Breaker() }
    }

    mutating func end(_ outcome: Backend.Outcome, at now: NIODeadline) {
        switch outcome {
        case .success:
            self = Breaker()
        case .failure:
            failures += 1
            if openUntil == nil {
                if failures >= Self.threshold { openUntil = now + pause }
            } else if isProbing {
                pause = min(pause * 2, Self.longestPause)
                openUntil = now + pause
                isProbing = false
            }
        case .unknown:
            isProbing = false
        }
    }
}

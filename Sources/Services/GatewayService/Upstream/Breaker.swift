import NIOCore

/// A circuit breaker for an address that keeps failing, as a value type without its own clock.
///
/// Closed until `threshold` consecutive failures, then open for a pause. After the pause it admits one request as a
/// probe. If the probe succeeds, the breaker closes; if it fails, the pause doubles, up to `longestPause`. Failures of
/// requests that were in progress when it opened do not extend the pause. A probe may be a long poll or a stream: the
/// head of a stream's answer counts as success, and after `probeTime` without a result the next request is admitted.
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

    /// Records that a request has received the head of its answer.
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

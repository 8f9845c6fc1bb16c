import NIOCore

/// Keeps requests off an address that keeps failing: a value machine without clocks of its own.
///
/// Closed until `threshold` failures in a row; then open for a while; then one request is let through as a probe, and its
/// outcome closes it, or opens it for twice as long, `longestPause` at most. Failures of requests that were under way when it
/// opened change nothing.
struct Breaker {
    static let threshold = 5
    static let firstPause = TimeAmount.milliseconds(500)
    static let longestPause = TimeAmount.seconds(10)

    private var failures = 0
    private var openUntil: NIODeadline?
    private var pause = firstPause
    private var isProbing = false

    func allowsRequest(at now: NIODeadline) -> Bool {
        guard let openUntil else { return true }
        return now >= openUntil && !isProbing
    }

    mutating func begin(at now: NIODeadline) {
        if openUntil != nil { isProbing = true }
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

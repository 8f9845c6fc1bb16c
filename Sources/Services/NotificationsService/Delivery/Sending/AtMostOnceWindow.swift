import Foundation

/// The limit for at-most-once deliveries in flight per instance. If the instance dies, all of them end as `unknown`,
/// whether they were sent or not. The limit therefore stays near what is sent at once, and starts very low until the
/// first answers arrive.
struct AtMostOnceWindow {
    static let minimum = 10
    static let maximum = 200

    private(set) var size = minimum

    mutating func record(_ verdict: Verdict) {
        switch verdict {
        case .again(_, Verdict.quietHours, _): break
        case .ended(.accepted, _, _): size = min(size + 1, Self.maximum)
        // Nothing gets through now, so further claims would only wait.
        case .ended(.unknown, _, _), .again(_, _, counts: false): size = Self.minimum
        case .ended, .again: break
        }
    }
}

import Foundation

/// The limit for at-most-once deliveries in flight per instance. If the instance dies, all of them end as `unknown`,
/// whether they were sent or not. The limit therefore stays near what is sent at once, and starts very low until the
/// first answers arrive.
struct OnceWindow {
    static let first = 10
    static let most = 200

    private(set) var size = first

    mutating func note(_ verdict: Verdict) {
        switch verdict {
        case .again(_, Verdict.quietHours, _): break
        case .ended(.accepted, _, _): size = min(size + 1, Self.most)
        // Nothing gets through now, so further claims would only wait.
        case .ended(.unknown, _, _), .again(_, _, counts: false): size = Self.first
        case .ended, .again: break
        }
    }
}

import Foundation

/// How many deliveries that are to arrive at most once a copy of the service may have in hand. Each of them ends as
/// `unknown` when the copy dies, whether it had left or not: so there are few, as many as are sent at once, and at
/// first, while nobody has answered yet, very few.
struct OnceWindow {
    static let first = 10
    static let most = 200

    private(set) var size = first

    mutating func note(_ verdict: Verdict) {
        switch verdict {
        case .again(_, Verdict.quietHours, _): break
        case .ended(.accepted, _, _): size = min(size + 1, Self.most)
        // Nothing gets through now: what is claimed would only wait.
        case .ended(.unknown, _, _), .again(_, _, counts: false): size = Self.first
        case .ended, .again: break
        }
    }
}

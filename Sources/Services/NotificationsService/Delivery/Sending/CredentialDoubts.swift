import Foundation

/// When a credential counts as broken: a push service may refuse one for a moment that is good the next, so it has to
/// do so several times, for a while, without believing it in between.
struct CredentialDoubts {
    private struct Doubt {
        var version: Date?
        var since: Date
        var times = 0
    }

    static let minimumTimes = 3
    private static let maximumLanes = 2_000

    private var doubts: [DeliveryLane: Doubt] = [:]

    /// It was refused, for the first time since the last hold ended.
    ///
    /// - Parameters:
    ///   - version: another one is another credential.
    ///   - patience: for how long it has to be refused.
    /// - Returns: whether it is broken.
    mutating func note(_ lane: DeliveryLane, version: Date?, patience: Duration, at now: Date) -> Bool {
        if doubts.count >= Self.maximumLanes, doubts[lane] == nil { doubts = [:] }
        var doubt = doubts[lane].flatMap { $0.version == version ? $0 : nil } ?? Doubt(version: version, since: now)
        doubt.times += 1
        doubts[lane] = doubt
        return doubt.times >= Self.minimumTimes && now.timeIntervalSince(doubt.since) >= patience / .seconds(1)
    }

    /// It was believed.
    mutating func clear(_ lane: DeliveryLane) {
        guard !doubts.isEmpty else { return }
        doubts[lane] = nil
    }
}

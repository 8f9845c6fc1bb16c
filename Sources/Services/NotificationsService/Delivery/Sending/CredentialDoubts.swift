import Foundation

/// Decides when a credential counts as broken. A push service may reject a good credential for a moment, so only
/// repeated rejections over some time count, without any success in between.
struct CredentialDoubts {
    private struct Doubt {
        var version: Date?
        var since: Date
        var times = 0
    }

    static let minimumTimes = 3
    private static let maximumLanes = 2_000

    private var doubts: [DeliveryLane: Doubt] = [:]

    /// Records a rejection, the first since the last hold ended.
    ///
    /// - Parameters:
    ///   - version: The version of the credential; a new version starts from zero.
    ///   - patience: How long the rejections must last.
    /// - Returns: Whether the credential now counts as broken.
    mutating func note(_ lane: DeliveryLane, version: Date?, patience: Duration, at now: Date) -> Bool {
        if doubts.count >= Self.maximumLanes, doubts[lane] == nil { doubts = [:] }
        var doubt = doubts[lane].flatMap { $0.version == version ? $0 : nil } ?? Doubt(version: version, since: now)
        doubt.times += 1
        doubts[lane] = doubt
        return doubt.times >= Self.minimumTimes && now.timeIntervalSince(doubt.since) >= patience / .seconds(1)
    }

    /// Records that the push service accepted the credential.
    mutating func clear(_ lane: DeliveryLane) {
        guard !doubts.isEmpty else { return }
        doubts[lane] = nil
    }
}

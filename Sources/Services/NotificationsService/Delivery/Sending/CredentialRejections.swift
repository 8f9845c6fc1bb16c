import Foundation

/// Decides when a credential counts as broken. A push service may reject a good credential for a moment, so only
/// repeated rejections over some time count, without any success in between.
struct CredentialRejections {
    private struct Rejections {
        var version: Date?
        var since: Date
        var times = 0
    }

    static let minimumTimes = 3
    private static let maximumLanes = 2_000

    private var rejections: [DeliveryLane: Rejections] = [:]

    /// Records a rejection, the first since the last hold ended.
    ///
    /// - Parameters:
    ///   - version: The version of the credential; a new version starts from zero.
    ///   - rejectionPeriod: How long the rejections must last.
    /// - Returns: Whether the credential now counts as broken.
    mutating func record(_ lane: DeliveryLane, version: Date?, rejectionPeriod: Duration, at now: Date) -> Bool {
        if rejections.count >= Self.maximumLanes, rejections[lane] == nil { rejections = [:] }
        var entry =
            rejections[lane].flatMap { $0.version == version ? $0 : nil } ?? Rejections(version: version, since: now)
        entry.times += 1
        rejections[lane] = entry
        return entry.times >= Self.minimumTimes && now.timeIntervalSince(entry.since) >= rejectionPeriod / .seconds(1)
    }

    /// Records that the push service accepted the credential.
    mutating func clear(_ lane: DeliveryLane) {
        guard !rejections.isEmpty else { return }
        rejections[lane] = nil
    }
}

import Foundation

/// Backs off from push services that requested a delay or could not be reached.
///
/// The first hold is short. After it a few deliveries are tried; each time they fail, the next hold doubles, up to the
/// delay that the service requested. A single `503` thus does not stop an app for a quarter of an hour, and a service
/// that is down is not flooded.
struct Holds {
    /// The target that a hold applies to.
    struct Target: Hashable, Sendable {
        /// Nil applies the hold to all spaces.
        var space: Int32?
        var service: PushService
        var isSandbox = false
        /// The host of a browser's web push service; nil stands for the whole service.
        var host: String?
    }

    private struct Hold {
        var until: Date
        var times: Int
        /// The number of trials admitted after the hold.
        var tried = 0
    }

    static let first: TimeInterval = 1
    /// The number of deliveries tried at once after a hold.
    static let trialCount = 20
    /// The delay for deliveries beyond the trials.
    private static let trialDelay: TimeInterval = 5
    /// A hold is dropped this long after its end if its trials have had no outcome.
    private static let trialLifetime: TimeInterval = 120
    private static let maximumTargets = 2_000

    private var holds: [Target: Hold] = [:]

    var isEmpty: Bool { holds.isEmpty }

    /// - Parameter delay: The delay that the service requested; doubled holds do not exceed it.
    /// - Returns: The length of the hold.
    mutating func backOff(_ target: Target, upTo delay: TimeInterval, at now: Date) -> TimeInterval {
        // Answers to deliveries sent before the hold carry no new information.
        if let hold = holds[target], hold.until > now { return hold.until.timeIntervalSince(now) }
        let times = holds[target]?.times ?? 0
        let length = min(max(delay, Self.first), Self.first * Double(1 << min(times, 16)))
        if holds.count >= Self.maximumTargets { holds = holds.filter { $0.value.until > now } }
        if holds.count < Self.maximumTargets || holds[target] != nil {
            holds[target] = Hold(until: now + length, times: times + 1)
        }
        return length
    }

    /// Ends the holds of targets that accepted something.
    mutating func clear(_ targets: [Target]) {
        guard !holds.isEmpty else { return }
        for target in targets { holds[target] = nil }
    }

    /// The time until which the space sends nothing through the service; nil if it is not held.
    func end(_ space: Int32, _ service: PushService, isSandbox: Bool, at now: Date) -> Date? {
        guard !holds.isEmpty else { return nil }
        let targets = [
            Target(space: space, service: service, isSandbox: isSandbox),
            Target(space: nil, service: service, isSandbox: isSandbox),
        ]
        return targets.compactMap { holds[$0]?.until }.filter { $0 > now }.max()
    }

    /// The time until which the next delivery to the target must wait; nil if it may be sent.
    ///
    /// For targets that `limit` does not count, such as hosts. After a hold a few deliveries are admitted, and the
    /// others wait for the outcome of those.
    mutating func admit(_ target: Target, at now: Date) -> Date? {
        guard !holds.isEmpty, let hold = holds[target] else { return nil }
        if hold.until > now { return hold.until }
        guard hold.until + Self.trialLifetime > now else {
            holds[target] = nil
            return nil
        }
        guard hold.tried < Self.trialCount else { return now + Self.trialDelay }
        holds[target]?.tried += 1
        return nil
    }

    /// How many deliveries of the space may be claimed now; nil for no limit.
    ///
    /// Ignores holds of the APNs sandbox and of single hosts, because a delivery's environment and host are known only
    /// when it is sent.
    ///
    /// - Parameter services: The services that may deliver them.
    func limit(_ space: Int32, _ services: [PushService], at now: Date) -> Int? {
        guard !holds.isEmpty else { return nil }
        let limits = services.map { service in
            let own = holds.filter { target, _ in
                target.service == service && !target.isSandbox && target.host == nil && (target.space ?? space) == space
            }.values
            return own.contains { $0.until > now } ? 0 : own.isEmpty ? Int.max : Self.trialCount
        }
        guard let most = limits.max() else { return nil }
        return most == Int.max ? nil : most
    }
}

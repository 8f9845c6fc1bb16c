import Foundation

/// What nothing is sent with for a while, because a push service said so or could not be reached: what it answered goes in, when to try again comes out.
///
/// The first hold is short. Then a few deliveries are tried; each time they fare no better the next hold is twice as long, up to what the service
/// asked for. So one answer `503` does not stop an app for a quarter of an hour, and a service that is down is not flooded.
struct Holds {
    /// With what something was sent.
    struct Place: Hashable, Sendable {
        /// Nil: whatever goes to the service, whoever sends it.
        var space: Int32?
        var service: PushService
        var isSandbox: Bool
    }

    private struct Hold {
        var until: Date
        var times: Int
    }

    static let first: TimeInterval = 1
    /// As long as nothing is known of how it goes, so many are tried at once.
    static let trialCount = 20
    private static let maximumPlaces = 2_000

    private var holds: [Place: Hold] = [:]

    var isEmpty: Bool { holds.isEmpty }

    /// - Parameter delay: what the service asked for, at the least.
    /// - Returns: how long it is held.
    mutating func backOff(_ place: Place, atLeast delay: TimeInterval, at now: Date) -> TimeInterval {
        // Answers to what had been sent before say nothing new.
        if let hold = holds[place], hold.until > now { return hold.until.timeIntervalSince(now) }
        let times = holds[place]?.times ?? 0
        let length = min(max(delay, Self.first), Self.first * Double(1 << min(times, 16)))
        if holds.count >= Self.maximumPlaces { holds = holds.filter { $0.value.until > now } }
        if holds.count < Self.maximumPlaces || holds[place] != nil { holds[place] = Hold(until: now + length, times: times + 1) }
        return length
    }

    /// Something was taken there: all is well.
    mutating func clear(_ places: [Place]) {
        guard !holds.isEmpty else { return }
        for place in places { holds[place] = nil }
    }

    /// Until when nothing of the space is sent by the service; nil: now.
    func end(_ space: Int32, _ service: PushService, isSandbox: Bool, at now: Date) -> Date? {
        guard !holds.isEmpty else { return nil }
        let places = [Place(space: space, service: service, isSandbox: isSandbox), Place(space: nil, service: service, isSandbox: isSandbox)]
        return places.compactMap { holds[$0]?.until }.filter { $0 > now }.max()
    }

    /// How many deliveries of the space may be claimed now; nil: as many as there is room for.
    ///
    /// What is for Apple's sandbox holds up nothing else: that a device is of the sandbox shows only when it is sent to.
    ///
    /// - Parameter services: those that the space has credentials for.
    func limit(_ space: Int32, _ services: [PushService], at now: Date) -> Int? {
        guard !holds.isEmpty else { return nil }
        let limits = services.map { service in
            let own = holds.filter { $0.key.service == service && !$0.key.isSandbox && ($0.key.space ?? space) == space }.values
            return own.contains { $0.until > now } ? 0 : own.isEmpty ? Int.max : Self.trialCount
        }
        guard let most = limits.max() else { return nil }
        return most == Int.max ? nil : most
    }
}

import Foundation

/// What nothing is sent with for a while, because a push service said so or could not be reached: what it answered goes
/// in, when to try again comes out.
///
/// The first hold is short. Then a few deliveries are tried; each time they fare no better the next hold is twice as
/// long, up to what the service asked for. So one answer `503` does not stop an app for a quarter of an hour, and a
/// service that is down is not flooded.
struct Holds {
    /// With what something was sent.
    struct Place: Hashable, Sendable {
        /// Nil: whatever goes to the service, whoever sends it.
        var space: Int32?
        var service: PushService
        var isSandbox = false
        /// One of many servers, which browsers choose; nil: the service as a whole.
        var host: String?
    }

    private struct Hold {
        var until: Date
        var times: Int
        /// Sent to see whether it is well again, of those that are admitted one by one.
        var tried = 0
    }

    static let first: TimeInterval = 1
    /// As long as nothing is known of how it goes, so many are tried at once.
    static let trialCount = 20
    /// What is not among them comes again after it.
    private static let trialDelay: TimeInterval = 5
    /// Trials that nobody has heard of for so long do not count.
    private static let trialLifetime: TimeInterval = 120
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
        if holds.count < Self.maximumPlaces || holds[place] != nil {
            holds[place] = Hold(until: now + length, times: times + 1)
        }
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
        let places = [
            Place(space: space, service: service, isSandbox: isSandbox),
            Place(space: nil, service: service, isSandbox: isSandbox),
        ]
        return places.compactMap { holds[$0]?.until }.filter { $0 > now }.max()
    }

    /// Until when the next delivery to the place has to wait; nil: it may go. For places that claims know nothing of:
    /// behind a hold a few may go, the others wait for what becomes of them.
    mutating func admit(_ place: Place, at now: Date) -> Date? {
        guard !holds.isEmpty, let hold = holds[place] else { return nil }
        if hold.until > now { return hold.until }
        guard hold.until + Self.trialLifetime > now else {
            holds[place] = nil
            return nil
        }
        guard hold.tried < Self.trialCount else { return now + Self.trialDelay }
        holds[place]?.tried += 1
        return nil
    }

    /// How many deliveries of the space may be claimed now; nil: as many as there is room for.
    ///
    /// What is for Apple's sandbox holds up nothing else: that a device is of the sandbox shows only when it is sent
    /// to. Nor does one of many hosts.
    ///
    /// - Parameter services: those that they may go by.
    func limit(_ space: Int32, _ services: [PushService], at now: Date) -> Int? {
        guard !holds.isEmpty else { return nil }
        let limits = services.map { service in
            let own = holds.filter { place, _ in
                place.service == service && !place.isSandbox && place.host == nil && (place.space ?? space) == space
            }.values
            return own.contains { $0.until > now } ? 0 : own.isEmpty ? Int.max : Self.trialCount
        }
        guard let most = limits.max() else { return nil }
        return most == Int.max ? nil : most
    }
}

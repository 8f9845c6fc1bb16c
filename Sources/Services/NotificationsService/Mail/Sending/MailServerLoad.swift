import Synchronization

/// How much goes to which mail server by this copy of the service, and which of them make trouble: one that does not
/// answer holds up its own apps' mail and nobody else's.
///
/// Of the places that there are one server has at most half. Servers that did not answer, or took long, share a
/// quarter, one place each; those that did not answer rest before they are tried again, twice as long each time.
struct MailServerLoad: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// Mails under way at a time.
    static let places = 16
    static let placesOfOne = 8
    static let placesOfTroubled = 4
    static let slowness: Duration = .seconds(10)
    static let firstRest: Duration = .seconds(15)
    static let longestRest: Duration = .seconds(120)
    /// What is known of servers, beyond which the longest rested are forgotten.
    static let maximumTroubled = 1_000

    private struct Server {
        var running = 0
        /// How often in a row it did not answer.
        var failures = 0
        var isSlow = false
        /// When the present rest ends.
        var end: Instant

        var isTroubled: Bool { failures > 0 || isSlow }
    }

    private var servers: [String: Server] = [:]

    /// Takes a place.
    ///
    /// - Returns: nil: there was one. Else how long to wait before asking again.
    mutating func enter(_ name: String, at now: Instant) -> Duration? {
        var server = servers[name] ?? Server(end: now)
        if server.end > now { return server.end - now }
        if server.isTroubled {
            let others = servers.values.reduce(0) { $0 + ($1.isTroubled ? $1.running : 0) }
            guard server.running == 0, others < Self.placesOfTroubled else { return .seconds(3) }
        }
        guard server.running < Self.placesOfOne else { return .seconds(3) }
        server.running += 1
        servers[name] = server
        return nil
    }

    /// Gives the place back.
    ///
    /// - Parameter didAnswer: whatever it said; nil: it was not asked.
    mutating func leave(_ name: String, didAnswer: Bool?, took: Duration, at now: Instant) {
        guard var server = servers[name] else { return }
        server.running -= 1
        if didAnswer != nil { server.isSlow = took > Self.slowness }
        if didAnswer == true {
            server.failures = 0
            server.end = now
        } else if didAnswer == false, server.end <= now {
            // Of several that failed at once the first counts.
            server.failures += 1
            server.end = now + min(Self.firstRest * (1 << min(server.failures - 1, 10)), Self.longestRest)
        }
        servers[name] = server.running > 0 || server.isTroubled ? server : nil
        if servers.count > Self.maximumTroubled,
            let oldest = servers.filter({ $0.value.running == 0 }).min(by: { $0.value.end < $1.value.end })
        {
            servers[oldest.key] = nil
        }
    }
}

/// The load that all jobs of a process share.
final class MailServerPlaces: Sendable {
    private let load = Mutex(MailServerLoad())

    /// - Returns: nil: there was a place. Else how long to wait, so that not all come back at once.
    func enter(_ server: String) -> Duration? {
        load.withLock { $0.enter(server, at: .now) }.map { $0 * Double.random(in: 1...1.5) }
    }

    func leave(_ server: String, didAnswer: Bool?, since start: ContinuousClock.Instant) {
        load.withLock { $0.leave(server, didAnswer: didAnswer, took: .now - start, at: .now) }
    }
}

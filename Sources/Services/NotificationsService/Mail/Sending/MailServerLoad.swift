import Synchronization

/// The load of each mail server from this instance. A server that does not respond delays only the mail of its own
/// apps.
///
/// A server may use at most half of the slots. Slow and unresponsive servers share a quarter, one slot each.
/// Unresponsive servers are also paused, twice as long after each failure.
struct MailServerLoad: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// The number of mails sent at once.
    static let slots = 16
    static let slotsPerServer = 8
    static let slotsForTroubledServers = 4
    static let slowness: Duration = .seconds(10)
    static let firstPause: Duration = .seconds(15)
    static let longestPause: Duration = .seconds(120)
    /// The maximum number of troubled servers to remember; the one whose pause ended first is forgotten.
    static let maximumTroubled = 1_000

    private struct Server {
        var running = 0
        /// The number of consecutive failures to respond.
        var failures = 0
        var isSlow = false
        /// When the current pause ends.
        var end: Instant

        var isTroubled: Bool { failures > 0 || isSlow }
    }

    private var servers: [String: Server] = [:]

    /// Takes a slot.
    ///
    /// - Returns: Nil if there was one, otherwise how long to wait before trying again.
    mutating func enter(_ name: String, at now: Instant) -> Duration? {
        var server = servers[name] ?? Server(end: now)
        if server.end > now { return server.end - now }
        if server.isTroubled {
            let others = servers.values.reduce(0) { $0 + ($1.isTroubled ? $1.running : 0) }
            guard server.running == 0, others < Self.slotsForTroubledServers else { return .seconds(3) }
        }
        guard server.running < Self.slotsPerServer else { return .seconds(3) }
        server.running += 1
        servers[name] = server
        return nil
    }

    /// Releases the slot.
    ///
    /// - Parameter didAnswer: Whether the server responded at all; nil if it was not contacted.
    mutating func leave(_ name: String, didAnswer: Bool?, took: Duration, at now: Instant) {
        guard var server = servers[name] else { return }
        server.running -= 1
        if didAnswer != nil { server.isSlow = took > Self.slowness }
        if didAnswer == true {
            server.failures = 0
            server.end = now
        } else if didAnswer == false, server.end <= now {
            // Of several concurrent failures, only the first counts.
            server.failures += 1
            server.end = now + min(Self.firstPause * (1 << min(server.failures - 1, 10)), Self.longestPause)
        }
        servers[name] = server.running > 0 || server.isTroubled ? server : nil
        if servers.count > Self.maximumTroubled,
            let oldest = servers.filter({ $0.value.running == 0 }).min(by: { $0.value.end < $1.value.end })
        {
            servers[oldest.key] = nil
        }
    }
}

/// The load shared by all jobs of a process.
final class MailServerSlots: Sendable {
    private let load = Mutex(MailServerLoad())

    /// - Returns: Nil if there was a slot, otherwise how long to wait, with jitter.
    func enter(_ server: String) -> Duration? {
        load.withLock { $0.enter(server, at: .now) }.map { $0 * Double.random(in: 1...1.5) }
    }

    func leave(_ server: String, didAnswer: Bool?, since start: ContinuousClock.Instant) {
        load.withLock { $0.leave(server, didAnswer: didAnswer, took: .now - start, at: .now) }
    }
}

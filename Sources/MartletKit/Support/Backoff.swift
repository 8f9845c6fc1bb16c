package import Foundation

/// Increasing random delays for an unlimited number of attempts.
package struct Backoff {
    private static let longest: TimeInterval = 30

    let clock: WallClock
    /// The delay after a connection that worked.
    package var shortest: TimeInterval = 0.5
    private var failures = 0

    package init(clock: WallClock) { self.clock = clock }

    mutating func reset() { failures = 0 }

    package mutating func wait(atLeast seconds: TimeInterval? = nil) async throws {
        let limit = min(Self.longest, shortest * pow(2, Double(min(failures, 16))))
        failures += 1
        // Half of it is random, so that devices do not all reconnect at once after an outage.
        try await clock.sleep(max(seconds ?? 0, limit * (0.5 + clock.random() / 2)))
    }
}

extension MartletError {
    /// Whether the error may be temporary.
    package var mayPass: Bool {
        isConnectionFailure || code == .unexpectedAnswer || [408, 429, 500, 502, 503, 504].contains(status)
    }
}

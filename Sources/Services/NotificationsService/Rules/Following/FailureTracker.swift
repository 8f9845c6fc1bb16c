import Foundation
import MartletHTTP
import MartletPostgres

/// Tracks repeated failures. They are logged at first and then once an hour.
struct FailureTracker: Sendable {
    private static let interval: Duration = .seconds(3_600)
    /// The number of failures after which the failure is stored: the first after about five seconds, then one a minute.
    private static let firstStoredFailure = 6
    private static let storedFailureInterval = 12

    private(set) var failures = 0
    private var lastLogged: ContinuousClock.Instant?

    /// - Returns: Whether to log the failure.
    mutating func recordFailure() -> Bool {
        failures += 1
        let now = ContinuousClock.now
        if let lastLogged, now - lastLogged < Self.interval { return false }
        lastLogged = now
        return true
    }

    mutating func reset() { failures = 0 }

    /// Whether to store the failure, so that it is shown with the rules.
    var shouldStoreFailure: Bool {
        failures == Self.firstStoredFailure
            || failures > Self.firstStoredFailure && failures.isMultiple(of: Self.storedFailureInterval)
    }

    /// The delay before the next attempt.
    var pause: Duration { .seconds(min(5, 0.1 * Double(1 << min(failures, 6)))) }

    /// A description for the app's developers; the log has the cause.
    static func sentence(_ error: any Error) -> String {
        switch error {
        case ServiceCalls.Failure.status(let status, let service): "\(service) answered with the status \(status)."
        case is ServiceCalls.Failure, is OutgoingFailure: "Storage is unavailable."
        case let error as PostgresError: "A database statement failed" + (error.sqlState.map { " (\($0))." } ?? ".")
        default: "Processing failed; the server log has the cause."
        }
    }
}

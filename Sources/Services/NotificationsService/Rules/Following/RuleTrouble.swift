import Foundation
import MartletHTTP
import MartletPostgres

/// What goes wrong again and again: said at first and then once an hour, however often it happens.
struct RuleTrouble: Sendable {
    private static let interval: Duration = .seconds(3_600)
    /// After which it is no moment's any more: about five seconds of attempts, then every minute.
    private static let firstNote = 6
    private static let laterNotes = 12

    private(set) var failures = 0
    private var said: ContinuousClock.Instant?

    /// - Returns: whether to log it.
    mutating func happened() -> Bool {
        failures += 1
        let now = ContinuousClock.now
        if let said, now - said < Self.interval { return false }
        said = now
        return true
    }

    mutating func isOver() { failures = 0 }

    /// Whether whoever looks at the rules should read of it.
    var isToBeNoted: Bool {
        failures == Self.firstNote || failures > Self.firstNote && failures.isMultiple(of: Self.laterNotes)
    }

    /// Before the next attempt.
    var pause: Duration { .seconds(min(5, 0.1 * Double(1 << min(failures, 6)))) }

    /// In words for an app's people: the log has the cause.
    static func sentence(_ error: any Error) -> String {
        switch error {
        case ServiceCalls.Failure.status(let status, let service): "\(service) answered with the status \(status)."
        case is ServiceCalls.Failure, is OutgoingFailure: "Storage cannot be asked."
        case let error as PostgresError: "The database refused it" + (error.sqlState.map { " (\($0))." } ?? ".")
        default: "It fails for a reason that the server's log names."
        }
    }
}

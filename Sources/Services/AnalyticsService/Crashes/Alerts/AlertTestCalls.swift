import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import Synchronization

/// Calls that somebody waits for, to see whether a target can be reached: a limited number at a time, and none is repeated.
final class AlertTestCalls: Sendable {
    private static let maximum = 8
    /// How long mail may take to leave.
    private static let patience: Duration = .seconds(10)

    private let underWay = Mutex(0)

    /// - Throws: `unavailable` when there are too many.
    func send(to address: AlertAddress, signedBy secrets: [WebhookSecret], by target: any AlertTarget, in space: Space) async throws -> AlertOutcome {
        let isBusy = underWay.withLock { count in
            guard count < Self.maximum else { return true }
            count += 1
            return false
        }
        guard !isBusy else { throw HTTPProblem(.unavailable, "Too many tests are under way.") }
        defer { underWay.withLock { $0 -= 1 } }
        let data = #"{"app":\#(JSONValue.quote(space.appID)),"environment":"\#(space.environment.rawValue)","test":true}"#
        let body = #"{"type":"crash.alert.test","timestamp":"\#(Date().formatted(.iso8601))","data":\#(data)}"#
        var message = AlertMessage(id: UUIDv7.make(), body: body, secrets: secrets)
        let end = ContinuousClock.now + Self.patience
        while true {
            let outcome = try await target.send(message, to: address)
            guard let readers = outcome.readers, readers.contains(where: { $0.state == .waiting }), outcome.retryAfter != nil, .now < end else {
                return outcome
            }
            // The mail is under way: the same one is asked for, not another.
            message.readers = readers
            try await Task.sleep(for: .milliseconds(300))
        }
    }
}

import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import Synchronization

/// Test deliveries, which a client waits for. Their number at a time is limited, and none is retried.
final class AlertTestCalls: Sendable {
    private static let maximum = 8
    /// How long to wait for mail to be sent.
    private static let timeout: Duration = .seconds(10)

    private let now: @Sendable () -> Date
    private let underWay = Mutex(0)

    init(now: @escaping @Sendable () -> Date) {
        self.now = now
    }

    /// - Throws: `unavailable` if too many tests are running.
    func send(to address: AlertAddress, signedBy secrets: [WebhookSecret], by target: any AlertTarget, in space: Space)
        async throws -> AlertOutcome
    {
        let isBusy = underWay.withLock { count in
            guard count < Self.maximum else { return true }
            count += 1
            return false
        }
        guard !isBusy else { throw ServiceError(.unavailable, "Too many tests are running. Try again later.") }
        defer { underWay.withLock { $0 -= 1 } }
        let data =
            #"{"app":\#(JSONValue.quote(space.appID)),"environment":"\#(space.environment.rawValue)","test":true}"#
        let body = #"{"type":"crash.alert.test","timestamp":"\#(now().formatted(.iso8601))","data":\#(data)}"#
        var message = AlertMessage(id: UUIDv7.make(), body: body, secrets: secrets)
        let end = ContinuousClock.now + Self.timeout
        while true {
            let outcome = try await target.send(message, to: address)
            guard let recipients = outcome.recipients, recipients.contains(where: { $0.state == .waiting }),
                outcome.retryAfter != nil, .now < end
            else {
                return outcome
            }
            // The mail is queued: poll its state instead of requesting another one.
            message.recipients = recipients
            try await Task.sleep(for: .milliseconds(300))
        }
    }
}

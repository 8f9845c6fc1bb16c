import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import NIOCore
import Synchronization

/// Looks up in the notifications service whether an app's mail to an address has bounced because the mailbox does not
/// exist.
final class BounceCheck: Sendable {
    private struct Request: Encodable {
        var app: String
        var environment: AppEnvironment
        var address: String
    }

    private struct Answer: Decodable {
        var isReturned: Bool
    }

    private let notifications: ServiceAddress
    private let calls: ServiceCalls
    private let pause: Duration
    private let timeout: Duration
    private let pausedUntil = Mutex<ContinuousClock.Instant?>(nil)

    /// - Parameters:
    ///   - pause: How long to wait after a failed call before the next one, so that not every mail waits for the time
    ///     limit.
    ///   - timeout: Limits the delay of mail that a user is waiting for.
    init(notifications: ServiceAddress, calls: ServiceCalls, pause: Duration = .seconds(5), timeout: Duration) {
        self.notifications = notifications
        self.calls = calls
        self.pause = pause
        self.timeout = timeout
    }

    /// Returns false if the notifications service cannot be reached, so that an outage there prevents no sign-in.
    ///
    /// - Throws: `CancellationError`.
    func hasBounced(_ address: String, in space: AppSpace) async throws -> Bool {
        if let end = pausedUntil.withLock({ $0 }), end > .now { return false }
        do {
            let request = Request(app: space.appID, environment: space.environment, address: address)
            let answer = try await calls.post(
                "/internal/mail/returned", request, to: notifications, upTo: 1 << 10, within: timeout)
            return try JSONDecoder().decode(Answer.self, from: Data(answer.body.readableBytesView)).isReturned
        } catch {
            try Task.checkCancellation()
            pausedUntil.withLock { $0 = .now + pause }
            return false
        }
    }
}

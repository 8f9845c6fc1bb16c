import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import NIOCore
import Synchronization

/// Where an app's mail has come back from, because there is no such mailbox. Notifications keeps the list.
final class ReturnedMail: Sendable {
    private struct Question: Encodable {
        var app: String
        var environment: AppEnvironment
        var address: String
    }

    private struct Answer: Decodable {
        var isReturned: Bool
    }

    /// Mail that somebody waits for is not held up for long.
    private static let patience: Duration = .seconds(2)

    private let notifications: ServiceAddress
    private let calls: ServiceCalls
    private let pause: Duration
    private let resting = Mutex<ContinuousClock.Instant?>(nil)

    /// - Parameter pause: so long nobody asks again after there was no answer, so that not each mail waits for one.
    init(notifications: ServiceAddress, calls: ServiceCalls, pause: Duration = .seconds(5)) {
        self.notifications = notifications
        self.calls = calls
        self.pause = pause
    }

    /// Where it is not known, it has not: no sign-in fails because notifications is away.
    ///
    /// - Throws: `CancellationError`.
    func isKnown(from address: String, in space: UserSpace) async throws -> Bool {
        if let end = resting.withLock({ $0 }), end > .now { return false }
        do {
            let question = Question(app: space.appID, environment: space.environment, address: address)
            let answer = try await calls.post(
                "/internal/mail/returned", question, to: notifications, upTo: 1 << 10, within: Self.patience)
            return try JSONDecoder().decode(Answer.self, from: Data(answer.body.readableBytesView)).isReturned
        } catch {
            try Task.checkCancellation()
            resting.withLock { $0 = .now + pause }
            return false
        }
    }
}

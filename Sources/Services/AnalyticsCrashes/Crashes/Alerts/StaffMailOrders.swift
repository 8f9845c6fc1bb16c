import Foundation
import MartletHTTP
import NIOCore

/// Requests mail from the notifications service and returns its state. A mail is sent once per `origin`; requesting it
/// again only returns its state.
struct StaffMailOrders: Sendable {
    private static let timeout: Duration = .seconds(20)
    private static let maximumAnswerSizeInBytes = 64 << 10

    struct Mail: Codable, Sendable {
        var origin: String
        var to: String
        var subject: String
        var text: String
    }

    struct Answer: Codable, Sendable {
        struct Mail: Codable, Sendable {
            var origin: String
            /// The state in the mail's record.
            var state: String
            var reason: String?
        }

        /// False if there is no mail server; then nothing is queued.
        var canSend: Bool
        var mails: [Mail]
    }

    /// - Throws: As `ServiceCalls.post`.
    let place: @Sendable (_ mails: [Mail], _ app: String, _ environment: String) async throws -> Answer

    init(place: @escaping @Sendable (_ mails: [Mail], _ app: String, _ environment: String) async throws -> Answer) {
        self.place = place
    }

    init(of notifications: ServiceAddress, calls: ServiceCalls) {
        self.init { mails, app, environment in
            let answer = try await calls.post(
                "/internal/notifications/mail", Question(app: app, environment: environment, mails: mails),
                to: notifications,
                upTo: Self.maximumAnswerSizeInBytes, within: Self.timeout)
            return try JSONDecoder().decode(Answer.self, from: Data(answer.body.readableBytesView))
        }
    }

    private struct Question: Encodable {
        var app: String
        var environment: String
        var mails: [Mail]
    }
}

import Foundation
import MartletCore
import MartletHTTP

/// Triggers the app's notification rules for alerts. The notifications service deduplicates messages by id.
struct NotificationTarget: Sendable {
    private static let timeout: Duration = .seconds(20)
    private static let maximumAnswerSizeInBytes = 64 << 10

    private let notifications: ServiceAddress
    private let calls: ServiceCalls

    init(_ settings: AlertSettings) {
        notifications = settings.notifications
        calls = ServiceCalls(caller: ServiceName.analytics.rawValue, internalSecret: settings.internalSecret)
    }

    /// - Throws: `CancellationError`.
    func send(_ message: AlertMessage) async throws -> AlertOutcome {
        guard let data = try? JSONValue(parsing: message.body.utf8)["data"], case .string(let app) = data["app"],
            case .string(let environment) = data["environment"]
        else { return AlertOutcome(failure: "The message does not name an app.") }
        do {
            _ = try await calls.post(
                "/internal/notifications/alerts",
                Body(app: app, environment: environment, id: message.id, alert: data.text), to: notifications,
                upTo: Self.maximumAnswerSizeInBytes, within: Self.timeout)
            return AlertOutcome(status: 200)
        } catch ServiceCalls.Failure.status(let status, _) {
            return AlertOutcome(status: status, failure: "The notifications service answered with status \(status).")
        } catch let failure as OutgoingFailure {
            return AlertOutcome(failure: "The notifications service could not be reached.", cause: failure.cause)
        }
    }

    private struct Body: Encodable {
        var app: String
        var environment: String
        var id: String
        /// JSON.
        var alert: String
    }
}

import AnalyticsShared
import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import NIOCore

/// A way to deliver alerts.
protocol AlertTarget: Sendable {
    /// Checks that alerts could be delivered to the address.
    ///
    /// - Throws: `ServiceError` naming the field.
    func check(_ address: AlertAddress, in space: Space) async throws

    /// Makes one attempt to deliver a message.
    ///
    /// - Throws: `CancellationError`. Any other failure is part of the outcome.
    func send(_ message: AlertMessage, to address: AlertAddress) async throws -> AlertOutcome
}

/// A message to deliver.
struct AlertMessage: Sendable {
    /// The same for every attempt.
    var id: String
    /// JSON.
    var body: String
    /// The signing secrets: the current one, and the former one while it is still valid.
    var secrets: [WebhookSecret]
    /// The recipients and their state so far, for mail.
    var recipients: [AlertRecipient] = []
    /// This attempt's number, from 1.
    var attempt = 1
}

/// The outcome of an attempt to deliver a message.
struct AlertOutcome: Sendable, Equatable {
    /// The HTTP status of the response, if there was one.
    var status: Int?
    /// Why delivery failed, worded for the people who manage alerts; nil if it succeeded.
    var failure: String?
    /// For the log.
    var cause: String?
    /// How long to wait before the next attempt, as requested by the receiver.
    var retryAfter: Duration?
    /// Whether a retry would be pointless.
    var isFinal = false
    /// The state of each recipient, for mail; nil for other targets.
    var recipients: [AlertRecipient]?

    /// Whether the receiver wants no further messages (Standard Webhooks).
    var isGone: Bool { status == 410 && recipients == nil }
}

/// Dispatches each alert to the target that its address names.
struct AlertTargets: AlertTarget {
    private let webhooks: WebhookSender
    private let notifications: NotificationTarget
    private let mail: MailTarget

    init(_ settings: AlertSettings, staff: StaffDirectory) {
        webhooks = WebhookSender(arePrivateAddressesAllowed: settings.arePrivateAddressesAllowed)
        notifications = NotificationTarget(settings)
        let calls = ServiceCalls(caller: ServiceName.analytics.rawValue, internalSecret: settings.internalSecret)
        mail = MailTarget(
            orders: settings.mail ?? StaffMailOrders(of: settings.notifications, calls: calls), staff: staff,
            publicURL: settings.publicURL)
    }

    func check(_ address: AlertAddress, in space: Space) async throws {
        switch address {
        case .webhook(let url): try await webhooks.check(url, field: "target.url")
        case .mail(let staff): try await mail.check(staff, in: space)
        case .notification: break
        }
    }

    func send(_ message: AlertMessage, to address: AlertAddress) async throws -> AlertOutcome {
        switch address {
        case .webhook(let url):
            AlertOutcome(
                try await webhooks.send(
                    ByteBuffer(string: message.body), id: message.id, to: url, signedBy: message.secrets))
        case .mail(let staff): try await mail.send(message, to: staff)
        case .notification: try await notifications.send(message)
        }
    }
}

extension AlertOutcome {
    fileprivate init(_ outcome: WebhookOutcome) {
        self.init(
            status: outcome.status, failure: outcome.failure, cause: outcome.cause, retryAfter: outcome.retryAfter)
    }
}

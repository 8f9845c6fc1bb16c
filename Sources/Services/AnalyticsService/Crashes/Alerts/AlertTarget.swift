import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import NIOCore

/// A way to tell somebody.
protocol AlertTarget: Sendable {
    /// Whether the address is one that this could speak to.
    ///
    /// - Throws: `HTTPProblem` naming the field.
    func check(_ address: AlertAddress, in space: Space) async throws

    /// Tells it once.
    ///
    /// - Throws: `CancellationError`. What comes of it otherwise is in the answer.
    func send(_ message: AlertMessage, to address: AlertAddress) async throws -> AlertOutcome
}

/// What is told.
struct AlertMessage: Sendable {
    /// The same for every attempt to tell the same thing.
    var id: String
    /// JSON.
    var body: String
    /// What it is signed with: the secret in force, then a former one while it signs along.
    var secrets: [WebhookSecret]
    /// Of mail: what became of it until now.
    var readers: [AlertReader] = []
    /// The how manieth it is, from 1.
    var attempt = 1
}

/// What became of an attempt to tell.
struct AlertOutcome: Sendable, Equatable {
    /// That was answered.
    var status: Int?
    /// Why it was not accepted, in words for whoever manages alerts; nil: it was.
    var failure: String?
    /// For the log.
    var cause: String?
    /// What the receiver asks to wait for.
    var retryAfter: Duration?
    /// Trying again would change nothing.
    var isFinal = false
    /// Of mail: what became of each; nil: it goes elsewhere.
    var readers: [AlertReader]?

    /// The receiver wants no more (Standard Webhooks).
    var isGone: Bool { status == 410 && readers == nil }
}

/// Each alert by the way that its address says.
struct AlertTargets: AlertTarget {
    private let webhooks: WebhookSender
    private let notifications: NotificationTarget
    private let mail: MailTarget

    init(_ settings: AlertSettings, staff: StaffDirectory) {
        webhooks = WebhookSender(arePrivateAddressesAllowed: settings.arePrivateAddressesAllowed)
        notifications = NotificationTarget(settings)
        let calls = ServiceCalls(caller: AnalyticsService.name, internalSecret: settings.internalSecret)
        mail = MailTarget(orders: settings.mail ?? StaffMailOrders(of: settings.notifications, calls: calls), staff: staff, publicURL: settings.publicURL)
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
            AlertOutcome(try await webhooks.send(ByteBuffer(string: message.body), id: message.id, to: url, signedBy: message.secrets))
        case .mail(let staff): try await mail.send(message, to: staff)
        case .notification: try await notifications.send(message)
        }
    }
}

extension AlertOutcome {
    fileprivate init(_ outcome: WebhookOutcome) {
        self.init(status: outcome.status, failure: outcome.failure, cause: outcome.cause, retryAfter: outcome.retryAfter)
    }
}

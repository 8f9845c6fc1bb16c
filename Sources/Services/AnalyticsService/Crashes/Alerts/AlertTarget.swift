import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import NIOCore

/// A way to tell somebody.
protocol AlertTarget: Sendable {
    /// Whether the address is one that this could speak to.
    ///
    /// - Throws: `HTTPProblem` naming the field.
    func check(_ address: AlertAddress) async throws

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

    /// The receiver wants no more (Standard Webhooks).
    var isGone: Bool { status == 410 }
}

/// Each alert by the way that its address says.
struct AlertTargets: AlertTarget {
    private let webhooks: WebhookSender
    private let notifications: NotificationTarget

    init(_ settings: AlertSettings) {
        webhooks = WebhookSender(arePrivateAddressesAllowed: settings.arePrivateAddressesAllowed)
        notifications = NotificationTarget(settings)
    }

    func check(_ address: AlertAddress) async throws {
        if case .webhook(let url) = address { try await webhooks.check(url, field: "target.url") }
    }

    func send(_ message: AlertMessage, to address: AlertAddress) async throws -> AlertOutcome {
        switch address {
        case .webhook(let url):
            AlertOutcome(try await webhooks.send(ByteBuffer(string: message.body), id: message.id, to: url, signedBy: message.secrets))
        case .notification: try await notifications.send(message)
        }
    }
}

extension AlertOutcome {
    fileprivate init(_ outcome: WebhookOutcome) {
        self.init(status: outcome.status, failure: outcome.failure, cause: outcome.cause, retryAfter: outcome.retryAfter)
    }
}

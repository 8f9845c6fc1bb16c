import AsyncHTTPClient
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
    private let webhooks: WebhookTarget
    private let notifications: NotificationTarget
    private let mail: MailTarget

    init(_ settings: AlertSettings, staff: StaffDirectory) {
        webhooks = WebhookTarget(settings)
        notifications = NotificationTarget(settings)
        let calls = ServiceCalls(caller: AnalyticsService.name, internalSecret: settings.internalSecret)
        mail = MailTarget(orders: settings.mail ?? StaffMailOrders(of: settings.notifications, calls: calls), staff: staff)
    }

    func check(_ address: AlertAddress, in space: Space) async throws {
        switch address {
        case .webhook(let url): try await webhooks.check(url)
        case .mail(let staff): try await mail.check(staff, in: space)
        case .notification: break
        }
    }

    func send(_ message: AlertMessage, to address: AlertAddress) async throws -> AlertOutcome {
        switch address {
        case .webhook(let url): try await webhooks.send(message, to: url)
        case .mail(let staff): try await mail.send(message, to: staff)
        case .notification: try await notifications.send(message)
        }
    }
}

/// Webhooks, signed by the Standard Webhooks scheme.
private struct WebhookTarget: Sendable {
    private static let timeout: Duration = .seconds(10)
    private static let maximumAnswerSizeInBytes = 64 << 10

    private let client: OutgoingClient
    private let arePrivateAddressesAllowed: Bool

    init(_ settings: AlertSettings) {
        arePrivateAddressesAllowed = settings.arePrivateAddressesAllowed
        client = OutgoingClient(arePrivateAddressesAllowed ? .anywhere : .publicAddresses())
    }

    func check(_ url: String) async throws {
        do {
            try await client.check(url) { _ in arePrivateAddressesAllowed }
        } catch let failure as OutgoingFailure {
            throw HTTPProblem(.invalidBody, failure.sentence, field: "target.url")
        }
    }

    func send(_ message: AlertMessage, to url: String) async throws -> AlertOutcome {
        do {
            // The settings may have been others when it was set.
            _ = try OutgoingClient.host(of: url) { _ in arePrivateAddressesAllowed }
            let request = HTTPClientRequest.webhook(url, ByteBuffer(string: message.body), id: message.id, at: Date(), signedBy: message.secrets)
            let answer = try await client.send(request, within: Self.timeout, upTo: Self.maximumAnswerSizeInBytes)
            let isAccepted = (200..<300).contains(answer.status)
            return AlertOutcome(
                status: answer.status, failure: isAccepted ? nil : "It answered with the status \(answer.status).",
                retryAfter: [429, 503].contains(answer.status) ? answer.retryAfter : nil)
        } catch let failure as OutgoingFailure {
            return AlertOutcome(failure: failure.sentence, cause: failure.cause)
        }
    }
}

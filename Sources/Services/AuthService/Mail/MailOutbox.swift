import Foundation
import HTTPTypes
import Logging
import MartletAPI
import MartletCore
import MartletJobs

/// Accepts orders for mail. The user is looked up only when the mail is written, so neither the answer nor its timing
/// reveals whether an account exists.
struct MailOutbox: Sendable {
    let jobs: JobQueue
    let settings: AppSettingsStore
    let counts: MailCountStore
    /// Whether the operator has configured a mail server for all apps.
    let hasMailServer: Bool
    let logger: Logger
    let now: @Sendable () -> Date

    func canSendMail(in space: AppSpace) async throws -> Bool {
        if hasMailServer { return true }
        return try await settings.hasMailServer(in: space)
    }

    /// - Throws: `not-implemented` if there is no mail server; `too-many-requests` if the app has sent too much mail
    ///   this hour.
    func place(_ order: MailOrder) async throws {
        guard try await canSendMail(in: order.space) else {
            throw ServiceError(
                .notImplemented,
                "No mail server is configured. The operator can set MARTLET_MAIL_HOST, or the app's server can use PUT /auth/mail."
            )
        }
        let current = try await settings.current(in: order.space)
        let space = [order.appID, order.environment.rawValue]
        guard try await counts.admit(["app"] + space, limit: current.settings.mailsPerHour) else {
            logger.warning(
                "An app has reached its hourly mail limit; the mail is not sent.",
                metadata: ["app.id": "\(order.appID)", "mail.kind": "\(order.kind.rawValue)"])
            throw ServiceError(
                .tooManyRequests, "The app has reached its hourly mail limit.", retryAfter: 600
            )
        }
        let scope = (["mail"] + space).joined(separator: " ")
        // An app's own mail server that does not answer blocks one worker only.
        let options = JobOptions(
            scope: scope, lane: current.hasMailServer ? scope : nil, priority: order.kind.hasProof ? 10 : 0)
        try await jobs.enqueue(SendMail.self, order, options)
    }

    /// Orders a notice to a user whose password was changed.
    func notifyOfNewPassword(to email: String, of user: UUID, in space: AppSpace) async {
        var order = MailOrder(.passwordChanged, to: email, user: user, in: space)
        order.values["time"] = time
        await sendNotice(order)
    }

    /// The current time in readable form, such as `2026-11-22 02:30 UTC`.
    var time: String {
        let now = now()
        let clock = now.formatted(.iso8601.time(includingFractionalSeconds: false)).prefix(5)
        return now.formatted(.iso8601.year().month().day().dateSeparator(.dash)) + " \(clock) UTC"
    }

    /// Places an order for a notice. Never fails: the user's action is complete without it.
    func sendNotice(_ order: MailOrder) async {
        do {
            let areNoticesWanted = try await settings.current(in: order.space).settings.notices
            guard try await canSendMail(in: order.space), order.kind.hasProof || areNoticesWanted else { return }
            try await place(order)
        } catch {
            let cause = (error as? ServiceError)?.code.rawValue ?? "\(error)"
            logger.warning(
                "Could not queue a notice to a user; the user is not notified.",
                metadata: [
                    "app.id": "\(order.appID)", "mail.kind": "\(order.kind.rawValue)", "error.cause": "\(cause)",
                ])
        }
    }
}

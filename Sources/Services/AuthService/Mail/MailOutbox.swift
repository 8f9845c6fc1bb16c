import HTTPTypes
import Logging
import MartletAPI
import MartletHTTP
import MartletJobs

/// Takes orders for mail. Who the order is about is looked up when the mail is written, so that placing one tells
/// nobody whether there is an account, by the answer or by the time that it takes.
struct MailOutbox: Sendable {
    let jobs: JobQueue
    let settings: AppSettingsStore
    let counts: MailCountStore
    /// Whether the operator has named a mail server for all apps.
    let hasMailServer: Bool
    let logger: Logger

    func isThere(in space: UserSpace) async throws -> Bool {
        if hasMailServer { return true }
        return try await settings.current(in: space).hasMailServer
    }

    /// - Throws: `not-implemented` when there is no mail server; `too-many-requests` when the app has mailed too much
    ///   in this hour.
    func place(_ order: MailOrder) async throws {
        let current = try await settings.current(in: order.space)
        guard hasMailServer || current.hasMailServer else {
            throw HTTPProblem(
                .notImplemented,
                "This server sends no mail: the operator sets MARTLET_MAIL_HOST, or the app's server PUT /auth/mail.")
        }
        let space = [order.appID, order.environment.rawValue]
        guard try await counts.take(["app"] + space, limit: current.settings.mailsPerHour) else {
            logger.warning(
                "An app has used up its mail of this hour.",
                metadata: ["app.id": "\(order.appID)", "mail.kind": "\(order.kind.rawValue)"])
            throw HTTPProblem(
                .tooManyRequests, "The app has sent all the mail that it may in an hour.", headers: [.retryAfter: "600"]
            )
        }
        let scope = (["mail"] + space).joined(separator: " ")
        // A server of the app's own that does not answer keeps one worker waiting, not all.
        let options = JobOptions(
            scope: scope, lane: current.hasMailServer ? scope : nil, priority: order.kind.hasProof ? 10 : 0)
        try await jobs.enqueue(SendMail.self, order, options)
    }

    /// Places an order that nobody asked for: when it cannot be, what the user did is done all the same.
    func tell(_ order: MailOrder) async {
        do {
            let areNoticesWanted = try await settings.current(in: order.space).settings.notices
            guard try await isThere(in: order.space), order.kind.hasProof || areNoticesWanted else { return }
            try await place(order)
        } catch {
            let cause = (error as? HTTPProblem)?.code.rawValue ?? "\(error)"
            logger.warning(
                "A user is not told by mail.",
                metadata: [
                    "app.id": "\(order.appID)", "mail.kind": "\(order.kind.rawValue)", "error.cause": "\(cause)",
                ])
        }
    }
}

import AnalyticsShared
import Foundation
import HTTPTypes
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// Mails staff members one by one. The notifications service sends each message to each member once, however often it
/// is requested. Each attempt first looks up in auth whether the member exists, may read the app's crashes and has an
/// address.
struct MailTarget: Sendable {
    private static let noServer =
        "This server cannot send mail: set MARTLET_MAIL_HOST, or store a credential smtp with a host for the app."

    let orders: StaffMailOrders
    let staff: StaffDirectory
    /// The base of links.
    let publicURL: URL

    /// - Throws: `invalid-body` if a member does not exist or may not read crashes; `not-implemented` without a mail
    ///   server; `unavailable`.
    func check(_ ids: [UUID], in space: Space) async throws {
        try await staff.check(ids, space.appID, .crashes, field: "target.staff")
        let answer: StaffMailOrders.Answer
        do {
            answer = try await orders.place([], space.appID, space.environment.rawValue)
        } catch let error where !(error is CancellationError) {
            throw ServiceError(
                .unavailable, "The notifications service could not be reached. Try again.", cause: "\(error)",
                retryAfter: 5)
        }
        guard answer.canSend else { throw ServiceError(.notImplemented, Self.noServer, field: "target") }
    }

    /// - Throws: `CancellationError`.
    func send(_ message: AlertMessage, to ids: [UUID]) async throws -> AlertOutcome {
        guard let text = AlertText(message.body, linkingTo: publicURL) else {
            return AlertOutcome(failure: "The message does not name an app.")
        }
        var recipients = ids.map { id in
            message.recipients.first { UUID(uuidString: $0.staff) == id } ?? AlertRecipient(id)
        }
        do {
            let mails = try await mails(&recipients, message.id, text)
            guard !mails.isEmpty else { return AlertOutcome(recipients, attempt: message.attempt) }
            let answer = try await orders.place(mails, text.app, text.environment)
            guard answer.canSend else { return AlertOutcome(failure: Self.noServer, recipients: recipients) }
            for index in recipients.indices {
                guard let mail = answer.mails.first(where: { $0.origin == recipients[index].origin(of: message.id) })
                else { continue }
                (recipients[index].state, recipients[index].reason) = (.init(mail: mail.state), mail.reason)
            }
            return AlertOutcome(recipients, attempt: message.attempt)
        } catch ServiceCalls.Failure.status(let status, let service) {
            let more = status == 429 ? ": the app has reached its mail limit" : ""
            return AlertOutcome(
                status: status, failure: "The \(service) service answered with status \(status)\(more).",
                recipients: recipients)
        } catch let failure as OutgoingFailure {
            return AlertOutcome(
                failure: "The auth or notifications service could not be reached.", cause: failure.cause,
                recipients: recipients)
        }
    }

    /// The mails for waiting recipients. For all other recipients, records why they get no mail.
    private func mails(_ recipients: inout [AlertRecipient], _ message: String, _ text: AlertText) async throws
        -> [StaffMailOrders.Mail]
    {
        let waiting = recipients.indices.filter { recipients[$0].state == .waiting }
        guard !waiting.isEmpty else { return [] }
        let known = try await staff.members(
            waiting.compactMap { UUID(uuidString: recipients[$0].staff) }, text.app, .crashes)
        var mails: [StaffMailOrders.Mail] = []
        for index in waiting {
            guard let member = known.first(where: { $0.id == UUID(uuidString: recipients[index].staff) }) else {
                (recipients[index].state, recipients[index].reason) = (
                    .skipped, "no longer a staff member, or may not read the app's crashes"
                )
                continue
            }
            guard let address = member.email else {
                (recipients[index].state, recipients[index].reason) = (.failed, "no e-mail address")
                continue
            }
            mails.append(
                .init(
                    origin: recipients[index].origin(of: message), to: address, subject: text.subject, text: text.text))
        }
        return mails
    }
}

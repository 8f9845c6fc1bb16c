import Foundation
import MartletHTTP
import MartletJobs
import MartletMail
import MartletPostgres

/// Writes a mail and hands it to the mail server, then notes what that said.
///
/// Who is sent to is found out here, as late as can be. A process that dies between the server's answer and the note hands the mail in again, with the
/// same Message-ID.
struct SendAppMail: JobHandler {
    struct Parameters: Codable, Sendable {
        var mail: UUID
    }

    static let kind = "notifications.mail.send"
    /// About two hours.
    static let retries = JobRetries(maximumAttempts: 10, firstDelay: .seconds(15), maximumDelay: .seconds(3_600))
    static let timeLimit: Duration = .seconds(120)

    let spaces: Spaces
    let mails: MailStore
    let unsubscribed: UnsubscribedStore
    let writer: MailWriter
    let senders: MailSenders
    let contacts: MailContactBook
    let client: SMTPClient
    let options: AppMailOptions

    func run(_ parameters: Parameters, _ job: RunningJob) async throws -> JobNoResult {
        guard let mail = try await mails.queued(parameters.mail), let space = try await spaces.space(mail.space) else { return JobNoResult() }
        do {
            try await send(mail, in: space)
            try await mails.finish(mail.id, .sent)
        } catch let refusal as MailWriter.Refusal {
            try await mails.finish(mail.id, refusal == .unsubscribed ? .skipped : .failed, reason: refusal.reason)
        } catch SMTPError.cancelled {
            throw CancellationError()
        } catch let error as SMTPError {
            try await note(error.reason, mail, isFinal: error.isFinal || job.isLastAttempt)
            throw JobFailure(code: error.code, detail: error.sentence, isFinal: error.isFinal, cause: "\(error)")
        } catch let error where error is OutgoingFailure || error is ServiceCalls.Failure {
            try await note("users not reached", mail, isFinal: job.isLastAttempt)
            throw JobFailure(code: "mail-failed", detail: "The users' addresses are not known right now.", isFinal: false, cause: "\(error)")
        }
        return JobNoResult()
    }

    private func note(_ reason: String, _ mail: QueuedMail, isFinal: Bool) async throws {
        if isFinal { try await mails.finish(mail.id, .failed, reason: reason) } else { try await mails.note(mail.id, reason: reason) }
    }

    /// - Throws: `MailWriter.Refusal`, `SMTPError`, and as `ServiceCalls.post`.
    private func send(_ mail: QueuedMail, in space: Space) async throws {
        guard let content = mail.content else { throw MailWriter.Refusal(reason: "sealed under another internal secret") }
        let (app, contact) = try await contact(of: mail.recipient, in: space)
        guard let address = contact.email else { throw MailWriter.Refusal(reason: "no verified address") }
        if let topic = mail.topic, try await unsubscribed.contains(address, topic, in: space) { throw MailWriter.Refusal.unsubscribed }
        guard let count = try await mails.begin(mail, to: address) else { return }
        guard count < options.mailsPerAddressAndHour else { throw MailWriter.Refusal(reason: "address had \(count) in an hour") }
        guard let way = try await senders.way(of: space, app: app) else { throw MailWriter.Refusal(reason: "no mail server") }
        // It is wrong until somebody stores another one or tries it: asking again and again would lock the mailbox.
        if way.own?.isBroken == true { throw SMTPError.notAuthenticated }
        let user: String? = if case .user(let id) = mail.recipient { id } else { nil }
        let message = try await writer.message(
            content, id: mail.id, topic: mail.topic, to: address, user: user, language: contact.language, app: app, way, in: space)
        do {
            try await client.send(message, by: way.server)
            // The mail has left: what is not noted now is noted with the next one.
            try? await senders.note(nil, way, in: space)
        } catch let error as SMTPError {
            try await senders.note(error, way, in: space)
            throw error
        }
    }

    private func contact(of recipient: MailRecipient, in space: Space) async throws -> (app: String, MailContacts.Contact) {
        let users: [String] = if case .user(let id) = recipient { [id] } else { [] }
        let found = try await contacts.contacts(users, in: space)
        guard let app = found.app else { throw MailWriter.Refusal(reason: "no such app any more") }
        switch recipient {
        case .address(let address): return (app, MailContacts.Contact(id: "", email: address.text, language: nil))
        case .user(let id):
            guard let contact = found.users.first(where: { $0.id == id }) else { throw MailWriter.Refusal(reason: "no such user") }
            return (app, contact)
        }
    }
}

extension MailWriter.Refusal {
    static let unsubscribed = MailWriter.Refusal(reason: "unsubscribed")
}

import Foundation
import Logging
import MartletHTTP
import MartletJobs
import MartletMail
import MartletPostgres

/// Sends a space's due mail for a few seconds, one message at a time, and then yields to other spaces.
///
/// A space has one job at a time regardless of the amount of mail, so an app with a lot of mail delays no other.
/// Recipients are looked up as late as possible. If the process dies between the mail server's answer and the database
/// write, the mail is sent again with the same Message-ID.
struct SendAppMail: JobHandler {
    struct Parameters: Codable, Sendable {
        var space: Int32
    }

    static let kind = "notifications.mail.space"
    static let timeLimit: Duration = .seconds(300)
    private static let timeSlice: Duration = .seconds(10)
    private static let authRetryDelay: Duration = .seconds(15)
    private static let maximumRecordAttempts = 8

    static func options(of space: Int32) -> JobOptions { JobOptions(scope: "mail \(space)", uniqueKey: String(space)) }

    let spaces: Spaces
    let mails: MailStore
    let permission: MailPermission
    let suppressed: SuppressedStore
    let writer: MailWriter
    let senders: MailSenders
    let contacts: MailContactClient
    let client: SMTPClient
    let slots: MailServerSlots
    let options: AppMailOptions
    let logger: Logger

    func run(_ parameters: Parameters, _ job: RunningJob) async throws -> JobNoResult {
        guard let space = try await spaces.space(parameters.space) else { return JobNoResult() }
        let start = ContinuousClock.now
        repeat {
            try job.check()
            guard try await mails.isAnyDue(in: space) else { return JobNoResult() }
            let transport = try await senders.transport(of: space)
            if let transport, let wait = slots.enter(transport.server.name) { throw JobPostponement(by: wait) }
            let begun = ContinuousClock.now
            var didAnswer: Bool?
            defer { if let transport { slots.leave(transport.server.name, didAnswer: didAnswer, since: begun) } }
            guard let mail = try await mails.claim(in: space) else { return JobNoResult() }
            didAnswer = try await send(mail, transport, in: space)
        } while ContinuousClock.now - start < Self.timeSlice
        throw JobPostponement(by: .zero)
    }

    /// - Returns: False if the mail server could not be reached; nil if it was not contacted.
    private func send(_ mail: QueuedMail, _ transport: MailSenders.Transport?, in space: Space) async throws -> Bool? {
        do {
            guard try await write(mail, transport, in: space) else { return nil }
            try await recordSent(mail)
            return true
        } catch let refusal as MailWriter.Refusal {
            try await mails.finish(mail.id, refusal.end, reason: refusal.reason)
            return nil
        } catch SMTPError.cancelled {
            throw CancellationError()
        } catch let error as SMTPError {
            try await record(error.reason, mail, isFinal: error.isFinal)
            // A refusal of one mail is already in that mail's record.
            let level: Logger.Level =
                if case .refused = error { .debug } else if case .noMailbox = error { .debug } else { .notice }
            logger.log(
                level: level, "A mail server did not accept a mail.",
                metadata: ["space.id": "\(space.id)", "error.cause": "\(error)"])
            return error.isAnswer
        } catch let error where error is OutgoingFailure || error is ServiceCalls.Failure {
            try await mails.release(mail, reason: "users not reached", for: Self.authRetryDelay)
            throw JobPostponement(by: Self.authRetryDelay)
        } catch let error where !(error is CancellationError || error is PostgresError) {
            // Record the failure, so that the mail is retried later without delaying others.
            try await record("internal error", mail, isFinal: false)
            throw error
        }
    }

    /// Retries the write, so that a sent mail is not sent again after a short outage of the database.
    private func recordSent(_ mail: QueuedMail) async throws {
        for _ in 0..<Self.maximumRecordAttempts {
            do {
                return try await mails.finish(mail.id, .sent)
            } catch is PostgresError where !Task.isCancelled {
                try await Task.sleep(for: .seconds(1))
            }
        }
        try await mails.finish(mail.id, .sent)
    }

    private func record(_ reason: String, _ mail: QueuedMail, isFinal: Bool) async throws {
        if isFinal || mail.isLastAttempt {
            try await mails.finish(mail.id, .failed, reason: reason)
        } else {
            try await mails.record(mail.id, reason: reason)
        }
    }

    /// - Returns: False if the mail was deleted in the meantime.
    /// - Throws: `MailWriter.Refusal`, `SMTPError`, and the errors of `ServiceCalls.post`.
    private func write(_ mail: QueuedMail, _ transport: MailSenders.Transport?, in space: Space) async throws -> Bool {
        // All attempts are used up, because the process died during each of them.
        guard mail.attempts <= QueuedMail.maximumAttempts else { throw MailWriter.Refusal(reason: "given up") }
        guard let content = mail.content else {
            throw MailWriter.Refusal(reason: "sealed under another internal secret")
        }
        let (app, address, language) = try await reader(of: mail, in: space)
        if let refusal = try await permission.refusal(of: address, user: mail.user, topic: mail.topic, in: space.id) {
            throw refusal
        }
        guard let count = try await mails.begin(mail, to: address, in: space) else { return false }
        guard count < options.mailsPerAddressAndHour else {
            throw MailWriter.Refusal(reason: "address had \(count) in an hour")
        }
        guard let transport else { throw MailWriter.Refusal(reason: "no mail server") }
        // Do not try a rejected password again: repeated failures could lock the mailbox. It counts as wrong until a
        // new one is stored or a test succeeds.
        if transport.own?.isBroken == true { throw SMTPError.notAuthenticated }
        let message = try await writer.message(
            content, id: mail.id, topic: mail.topic, to: address, user: mail.user, language: language, app: app,
            transport,
            in: space)
        do {
            try await client.send(message, by: transport.server)
            return true
        } catch let error as SMTPError {
            try await senders.record(error, transport, in: space)
            if case .noMailbox(let status) = error { try await suppress(address, mail, "refused \(status)", in: space) }
            throw error
        }
    }

    /// Treats a refusal of the mailbox itself like a hard bounce.
    private func suppress(_ address: String, _ mail: QueuedMail, _ reason: String, in space: Space) async throws {
        _ = try await mails.record(.hard, reason: reason, of: mail.id, in: space)
        _ = try await suppressed.add(address, .hard, reason: reason, user: mail.user, mail: mail.id, in: space.id)
    }

    private func reader(of mail: QueuedMail, in space: Space) async throws -> (
        app: String, address: String, language: String?
    ) {
        let found = try await contacts.contacts(mail.user.map { [$0] } ?? [], in: space)
        guard let app = found.app else { throw MailWriter.Refusal(reason: "no such app any more") }
        guard let user = mail.user else { return (app, mail.address ?? "", nil) }
        guard let contact = found.users.first(where: { $0.id == user }) else {
            throw MailWriter.Refusal(reason: "no such user")
        }
        guard let address = contact.email else { throw MailWriter.Refusal(reason: "no verified address") }
        return (app, address, contact.language)
    }
}

extension MailWriter.Refusal {
    static let unsubscribed = MailWriter.Refusal(reason: "unsubscribed", end: .skipped)

    static func suppressed(_ reason: String) -> MailWriter.Refusal {
        MailWriter.Refusal(reason: reason, end: .suppressed)
    }
}

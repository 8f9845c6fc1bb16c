import Foundation
import Logging
import MartletAPI
import MartletCore
import MartletHTTP
import MartletJobs
import MartletMail

/// Writes a mail and hands it to the mail server.
///
/// Each attempt makes a proof of its own, which replaces the one before: what lies in the table is never good for
/// anything.
struct SendMail: JobHandler {
    static let kind = "auth.mail.send"
    static let retries = JobRetries(maximumAttempts: 6, firstDelay: .seconds(15), maximumDelay: .seconds(600))
    static let timeLimit: Duration = .seconds(120)
    /// Of one app to one recipient.
    static let mailsPerRecipientAndHour = 20

    let users: UserStore
    let apps: AppStore
    let settings: AppSettingsStore
    let senders: MailSenderStore
    let templates: MailTemplateStore
    let proofs: MailProofStore
    let invitations: InvitationStore
    let counts: MailCountStore
    let server: MailSettings
    let client: SMTPClient
    /// Nil: nobody knows.
    let returned: ReturnedMail?

    func run(_ order: MailOrder, _ job: RunningJob) async throws -> JobNoResult {
        let space = order.space
        let settings = try await self.settings.current(in: space).settings
        guard let app = try await apps.find(space.appID), let recipient = try await recipient(of: order, settings)
        else { return JobNoResult() }
        if job.attempt == 1 {
            let counted = ["recipient", space.appID, space.environment.rawValue, order.email]
            let isAllowed = try await counts.take(counted, limit: Self.mailsPerRecipientAndHour)
            guard isAllowed else {
                throw JobFailure(code: "mail-limit", detail: "The recipient has got too much mail in this hour.")
            }
        }
        if let returned, try await returned.isKnown(from: order.email, in: space) {
            throw JobFailure(
                code: "mail-returned",
                detail: "Mail of the app has come back from this address: there is no such mailbox.")
        }
        let sender = try await senders.find(in: space)
        guard let way = server.way(of: sender, app: app.name) else {
            throw JobFailure(code: "mail-unavailable", detail: "There is no mail server.")
        }
        guard let proof = try await values(order, recipient, settings) else { return JobNoResult() }
        let values = order.values.merging(["app": app.name, "email": order.email]) { $1 }.mapValues(Self.onOneLine)
            .merging(proof) { $1 }
        let filled = try await template(order, recipient, settings).filled(values)
        var message = MailMessage(
            from: way.from, to: try MailAddress(address: order.email), subject: filled.subject, text: filled.text,
            html: filled.html)
        message.bounces = way.bounces
        message.replyTo = way.replyTo
        do {
            try await client.send(message, by: way.server)
        } catch SMTPError.cancelled {
            throw CancellationError()
        } catch let error as SMTPError {
            throw JobFailure(code: error.code, detail: error.sentence, isFinal: error.isFinal, cause: "\(error)")
        }
        return JobNoResult()
    }

    // MARK: Whom

    private enum Recipient {
        case user(MailedUser)
        case stranger

        var user: MailedUser? { if case .user(let user) = self { user } else { nil } }
    }

    /// Nil: nobody gets this mail, or nobody any more.
    private func recipient(of order: MailOrder, _ settings: AppSettings) async throws -> Recipient? {
        switch order.kind {
        case .invitation: return .stranger
        case .resetPassword:
            return try await users.mailed(order.email, in: order.space).flatMap { $0.isDisabled ? nil : .user($0) }
        case .signIn:
            if let user = try await users.mailed(order.email, in: order.space) {
                return user.isDisabled ? nil : .user(user)
            }
            return settings.allowsSignUpByMail(order.email) ? .stranger : nil
        default: break
        }
        guard let id = order.userID, let user = try await users.mailed(id, in: order.space) else { return nil }
        switch order.kind {
        case .verifyEmail:
            return !user.isDisabled && user.email == order.email && !user.isEmailVerified ? .user(user) : nil
        case .changeEmail:
            // Who has the address already is not written to: they would learn who wants it.
            let isFree = try await users.mailed(order.email, in: order.space) == nil
            return isFree && !user.isDisabled ? .user(user) : nil
        default: return .user(user)
        }
    }

    // MARK: What

    /// Token and code, in the values that a template of this kind takes; nil: the invitation is gone.
    private func values(_ order: MailOrder, _ recipient: Recipient, _ settings: AppSettings) async throws -> [String:
        String]?
    {
        func proof(_ token: String, _ code: String, _ seconds: Int64) -> [String: String] {
            // Of an invitation a few seconds are over already.
            var values = ["code": code, "minutes": "\((seconds + 59) / 60)", "hours": "\((seconds + 3_599) / 3_600)"]
            // One that was taken off the list meanwhile is taken no more.
            let link = order.link.flatMap { settings.linkURLs.contains($0) ? $0 : nil } ?? settings.linkURLs.first
            values["link"] = link.map { MailLink.fill($0, kind: order.kind, token: token) }
            return values
        }
        if let id = order.invitationID {
            return try await invitations.renewCode(of: id, in: order.space).map {
                proof($0.code, $0.code, $0.secondsLeft)
            }
        }
        guard let seconds = order.kind.proofLifetimeInSeconds else { return [:] }
        let user = recipient.user?.id
        let subject = order.kind == .changeEmail ? user?.uuidString ?? "" : order.email
        let made = try await proofs.make(
            order.kind, subject: subject, email: order.email, of: user, lifetimeInSeconds: seconds, in: order.space)
        return proof(made.token, made.code, seconds)
    }

    /// The app's own templates of the kind, if it has any, else ours; of them the one in the language that the
    /// recipient reads best.
    private func template(_ order: MailOrder, _ recipient: Recipient, _ settings: AppSettings) async throws
        -> MailTemplate
    {
        // A notice may have been caused by somebody else than the one who reads it.
        let user = [recipient.user?.language].compactMap(\.self)
        let wanted =
            (order.kind.hasProof ? order.languages + user : user + order.languages) + [settings.language, "en"]
        let chain = wanted.compactMap { LanguageTag($0) }.flatMap(\.chain)
        if let source = try await templates.find(order.kind, chain, in: order.space) {
            return try MailTemplate(order.kind, subject: source.subject, text: source.text, html: source.html)
        }
        guard let template = chain.lazy.compactMap({ BuiltInTemplates.template(order.kind, $0) }).first else {
            throw JobFailure(code: "mail-template", detail: "There is no template.")
        }
        return template
    }

    /// A name that somebody chose must not look like a text of ours.
    private static func onOneLine(_ value: String) -> String {
        let parts = value.split {
            $0.isNewline || $0.unicodeScalars.contains { $0.properties.generalCategory == .control }
        }
        return String(parts.joined(separator: " ").prefix(254))
    }
}

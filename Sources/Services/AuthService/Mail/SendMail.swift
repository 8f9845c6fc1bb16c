import Foundation
import Logging
import MartletAPI
import MartletCore
import MartletJobs
import MartletMail

/// Writes a mail and passes it to the mail server.
///
/// Each attempt makes a new proof that replaces the previous one, so the stored order never contains a valid proof.
struct SendMail: JobHandler {
    static let kind = "auth.mail.send"
    static let retries = JobRetries(maximumAttempts: 6, firstDelay: .seconds(15), maximumDelay: .seconds(600))
    static let timeLimit: Duration = .seconds(120)
    /// The limit for one app and recipient.
    static let mailsPerRecipientAndHour = 20

    let users: UserStore
    let apps: AppStore
    let settings: AppSettingsStore
    let senders: MailSenderStore
    let templates: MailTemplateStore
    let proofs: MailProofStore
    let invitations: InvitationStore
    let codes: SealedCodes
    let counts: MailCountStore
    let server: MailSettings
    let client: SMTPClient
    /// Nil if bounces are not recorded.
    let bounceCheck: BounceCheck?

    func run(_ order: MailOrder, _ job: RunningJob) async throws -> JobNoResult {
        let space = order.space
        let settings = try await self.settings.current(in: space).settings
        guard let app = try await apps.find(space.appID), let recipient = try await recipient(of: order, settings)
        else { return JobNoResult() }
        if job.attempt == 1 {
            let counted = ["recipient", space.appID, space.environment.rawValue, order.email]
            let isAllowed = try await counts.admit(counted, limit: Self.mailsPerRecipientAndHour)
            guard isAllowed else {
                throw JobFailure(code: "mail-limit", detail: "The recipient has reached the hourly limit of mails.")
            }
        }
        if let bounceCheck, try await bounceCheck.hasBounced(order.email, in: space) {
            throw JobFailure(
                code: "mail-returned",
                detail: "Earlier mail to this address was returned because the mailbox does not exist.")
        }
        let sender = try await senders.find(in: space)
        guard let transport = server.transport(of: sender, app: app.name) else {
            throw JobFailure(code: "mail-unavailable", detail: "No mail server is configured.")
        }
        let (template, language) = try await self.template(order, recipient, settings)
        guard let proof = try await values(order, recipient, settings, language) else { return JobNoResult() }
        let values = order.values.merging(["app": app.name, "email": order.email]) { $1 }.mapValues(Self.onOneLine)
            .merging(proof) { $1 }
        let filled = template.filled(values)
        var message = MailMessage(
            from: transport.from, to: try MailAddress(address: order.email), subject: filled.subject, text: filled.text,
            html: filled.html)
        message.bounces = transport.bounces
        message.replyTo = transport.replyTo
        do {
            try await client.send(message, by: transport.server)
        } catch SMTPError.cancelled {
            throw CancellationError()
        } catch let error as SMTPError {
            throw JobFailure(code: error.code, detail: error.sentence, isFinal: error.isFinal, cause: "\(error)")
        }
        return JobNoResult()
    }

    // MARK: Recipient

    private enum Recipient {
        case user(MailedUser)
        case stranger

        var user: MailedUser? { if case .user(let user) = self { user } else { nil } }
    }

    /// The recipient of a mail; nil if it must not be sent, for example because the account is disabled.
    private func recipient(of order: MailOrder, _ settings: AppSettings) async throws -> Recipient? {
        switch order.kind {
        case .invitation, .roleInvitation: return .stranger
        case .resetPassword:
            return try await users.findForMail(order.email, in: order.space).flatMap { $0.isDisabled ? nil : .user($0) }
        case .signIn:
            if let user = try await users.findForMail(order.email, in: order.space) {
                return user.isDisabled ? nil : .user(user)
            }
            return settings.allowsSignUpByMail(order.email) ? .stranger : nil
        default: break
        }
        guard let id = order.userID, let user = try await users.findForMail(id, in: order.space) else { return nil }
        switch order.kind {
        case .verifyEmail:
            return !user.isDisabled && user.email == order.email && !user.isEmailVerified ? .user(user) : nil
        case .changeEmail:
            // Nothing is mailed to an address that already belongs to an account. Its owner would learn who wants the
            // address.
            let isFree = try await users.findForMail(order.email, in: order.space) == nil
            return isFree && !user.isDisabled ? .user(user) : nil
        default: return .user(user)
        }
    }

    // MARK: Content

    /// The token and code as values for this kind of template; nil if the invitation no longer exists.
    ///
    /// - Parameter language: That of the template.
    private func values(
        _ order: MailOrder, _ recipient: Recipient, _ settings: AppSettings, _ language: String
    ) async throws -> [String: String]? {
        func proof(_ token: String, _ code: String, _ seconds: Int64) -> [String: String] {
            // Rounded up, because a few seconds of an invitation's lifetime have already passed.
            var values = ["code": code, "minutes": "\((seconds + 59) / 60)", "hours": "\((seconds + 3_599) / 3_600)"]
            values["duration"] = DurationText.text(seconds: seconds, language: language)
            // A link that was removed from the settings in the meantime is not used.
            let link = order.link.flatMap { settings.linkURLs.contains($0) ? $0 : nil } ?? settings.linkURLs.first
            values["link"] = link.map { MailLink.fill($0, kind: order.kind, token: token) }
            return values
        }
        if let id = order.invitationID {
            return try await invitations.renewCode(of: id, in: order.space).map {
                proof($0.code, $0.code, $0.secondsLeft)
            }
        }
        if order.kind == .roleInvitation {
            return codes.code(of: order).map { proof($0.code, $0.code, $0.secondsLeft) }
        }
        guard let seconds = order.kind.proofLifetimeInSeconds else { return [:] }
        let user = recipient.user?.id
        let subject = order.kind == .changeEmail ? user?.uuidString ?? "" : order.email
        let created = try await proofs.make(
            order.kind, subject: subject, email: order.email, of: user, lifetimeInSeconds: seconds, in: order.space)
        return proof(created.token, created.code, seconds)
    }

    /// The app's own template of the kind if there is one, otherwise the built-in one; with its language, the first
    /// available one of the recipient's preferred languages.
    private func template(_ order: MailOrder, _ recipient: Recipient, _ settings: AppSettings) async throws
        -> (MailTemplate, language: String)
    {
        // The recipient's own language comes first in a notice, because someone else may have caused the notice.
        let user = [recipient.user?.language].compactMap(\.self)
        let preferred =
            (order.kind.hasProof ? order.languages + user : user + order.languages) + [settings.language, "en"]
        let chain = preferred.compactMap { LanguageTag($0) }.flatMap(\.chain)
        if let source = try await templates.find(order.kind, chain, in: order.space) {
            let own = try MailTemplate(order.kind, subject: source.subject, text: source.text, html: source.html)
            return (own, source.language)
        }
        for language in chain {
            if let template = BuiltInTemplates.template(order.kind, language) { return (template, language) }
        }
        throw JobFailure(code: "mail-template", detail: "There is no template for this kind of mail.")
    }

    /// Collapses line breaks and control characters, so that a user-chosen name cannot pass for text of the mail.
    private static func onOneLine(_ value: String) -> String {
        let parts = value.split {
            $0.isNewline || $0.unicodeScalars.contains { $0.properties.generalCategory == .control }
        }
        return String(parts.joined(separator: " ").prefix(254))
    }
}

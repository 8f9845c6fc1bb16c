import Foundation
import Logging
import MartletCore
import MartletJobs
import MartletMail
import MartletPostgres
import ServiceLifecycle

/// Mail to users, and the apps' settings for it.
struct Mailing: Sendable {
    let settings: AppSettingsStore
    let senders: MailSenderStore
    let templates: MailTemplateStore
    let proofs: MailProofStore
    let invitations: InvitationStore
    let outbox: MailOutbox
    let client: SMTPClient
    let counts: MailCountStore
    let codes: SealedCodes
    private let server: MailSettings
    private let bounceCheck: BounceCheck?

    init(
        _ server: MailSettings, bounceCheck: BounceCheck?, postgres: PostgresClient, keys: ServerKeys, jobs: JobQueue,
        logger: Logger,
        now: @escaping @Sendable () -> Date
    ) {
        settings = AppSettingsStore(postgres: postgres)
        senders = MailSenderStore(postgres: postgres, sealing: keys.sealing, logger: logger)
        templates = MailTemplateStore(postgres: postgres)
        proofs = MailProofStore(postgres: postgres, codeKey: keys.mailCodes)
        invitations = InvitationStore(postgres: postgres)
        codes = SealedCodes(sealing: keys.sealing, now: now)
        counts = MailCountStore(postgres: postgres)
        outbox = MailOutbox(
            jobs: jobs, settings: settings, counts: counts, hasMailServer: server.server != nil, logger: logger,
            now: now)
        client = SMTPClient()
        self.server = server
        self.bounceCheck = bounceCheck
    }

    /// Mails a verification code to the address of a new user, if the app's settings require this.
    func verify(
        _ email: EmailAddress?, of user: UUID, _ settings: AppSettings, _ languages: [String], in space: AppSpace
    ) async {
        guard let email, settings.verifyOnSignUp || settings.requireVerifiedEmail else { return }
        var order = MailOrder(.verifyEmail, to: email.text, user: user, in: space)
        order.languages = languages
        await outbox.sendNotice(order)
    }

    /// The handler that writes and sends queued mail.
    func handler(users: UserStore, apps: AppStore) -> SendMail {
        SendMail(
            users: users, apps: apps, settings: settings, senders: senders, templates: templates, proofs: proofs,
            invitations: invitations, codes: codes,
            counts: counts, server: server, client: client, bounceCheck: bounceCheck)
    }
}

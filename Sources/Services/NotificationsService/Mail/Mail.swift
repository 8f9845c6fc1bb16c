import Foundation
import Logging
import MartletCore
import MartletHTTP
import MartletJobs
import MartletMail
import MartletPostgres
import ServiceLifecycle

/// The mail of apps to people.
struct Mail: Sendable {
    let spaces: Spaces
    let mails: MailStore
    let templates: AppMailTemplateStore
    let unsubscribed: UnsubscribedStore
    let suppressed: SuppressedStore
    let permission: MailPermission
    let eraser: AddressEraser
    let unsubscribeLinks: UnsubscribeLinks
    let orders: MailOrders
    let senders: MailSenders
    let contacts: MailContactClient
    let client = SMTPClient(concurrency: MailServerLoad.slots)
    /// A separate client, so that test mails and other mail do not wait for each other.
    let testClient = SMTPClient()
    let tests = MailTestLimit()
    let writer: MailWriter
    private let jobs: JobQueue
    private let slots = MailServerSlots()
    private let postgres: PostgresClient
    private let options: AppMailOptions
    private let logger: Logger
    private let now: @Sendable () -> Date

    init(
        postgres: PostgresClient, spaces: Spaces, credentials: PushCredentials, options: NotificationsOptions,
        logger: Logger, now: @escaping @Sendable () -> Date
    ) {
        self.postgres = postgres
        self.spaces = spaces
        self.options = options.mail
        self.logger = logger
        self.now = now
        mails = MailStore(
            postgres: postgres,
            sealing: SealingKey(internalSecret: options.internalSecret, for: "martlet-notifications-mails"))
        templates = AppMailTemplateStore(postgres: postgres)
        let digest = AddressDigest(internalSecret: options.internalSecret)
        unsubscribed = UnsubscribedStore(postgres: postgres, digest: digest)
        suppressed = SuppressedStore(postgres: postgres, digest: digest)
        permission = MailPermission(postgres: postgres, digest: digest)
        eraser = AddressEraser(postgres: postgres, digest: digest)
        unsubscribeLinks = UnsubscribeLinks(
            sealing: SealingKey(internalSecret: options.internalSecret, for: "martlet-notifications-unsubscribe"),
            publicURL: options.mail.publicURL)
        jobs = JobQueue(postgres: postgres, schema: NotificationsService.name)
        orders = MailOrders(postgres: postgres, mails: mails, templates: templates, jobs: jobs, options: options.mail)
        senders = MailSenders(credentials: credentials, settings: options.mail.server)
        contacts =
            options.mail.contacts
            ?? MailContactClient(
                of: options.auth,
                calls: ServiceCalls(caller: NotificationsService.name, internalSecret: options.internalSecret))
        writer = MailWriter(templates: templates, unsubscribeLinks: unsubscribeLinks)
    }

    /// Each job sends one mail at a time.
    static var workers: JobWorker.Configuration {
        var configuration = JobWorker.Configuration()
        configuration.concurrency = MailServerLoad.slots
        return configuration
    }

    var background: [any Service] {
        [
            client, testClient, MailWaker(mails: mails, jobs: jobs, logger: logger),
            MailHousekeeping(postgres: postgres, retentionInDays: options.retentionInDays, logger: logger, now: now),
        ]
    }

    var handlers: [any JobHandler] {
        [
            SendAppMail(
                spaces: spaces, mails: mails, permission: permission, suppressed: suppressed, writer: writer,
                senders: senders, contacts: contacts,
                client: client, slots: slots, options: options, logger: logger)
        ]
    }

    var userData: any UserDataHolder { MailUserData(postgres: postgres, spaces: spaces, eraser: eraser) }
}

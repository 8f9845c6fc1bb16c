import Logging
import MartletCore
import MartletHTTP
import MartletJobs
import MartletMail
import MartletPostgres
import ServiceLifecycle

/// Mail of apps to people.
struct Mail: Sendable {
    let spaces: Spaces
    let mails: MailStore
    let templates: AppMailTemplateStore
    let unsubscribed: UnsubscribedStore
    let unsubscribing: Unsubscribing
    let orders: MailOrders
    let senders: MailSenders
    let contacts: MailContactBook
    let client = SMTPClient()
    let tests = MailTestLimit()
    let writer: MailWriter
    private let postgres: PostgresClient
    private let options: AppMailOptions
    private let logger: Logger

    init(postgres: PostgresClient, spaces: Spaces, credentials: PushCredentials, options: NotificationsOptions, logger: Logger) {
        self.postgres = postgres
        self.spaces = spaces
        self.options = options.mail
        self.logger = logger
        mails = MailStore(postgres: postgres, sealing: SealingKey(internalSecret: options.internalSecret, for: "martlet-notifications-mails"))
        templates = AppMailTemplateStore(postgres: postgres)
        unsubscribed = UnsubscribedStore(postgres: postgres)
        unsubscribing = Unsubscribing(
            sealing: SealingKey(internalSecret: options.internalSecret, for: "martlet-notifications-unsubscribe"), publicURL: options.mail.publicURL)
        let jobs = JobQueue(postgres: postgres, schema: NotificationsService.name)
        orders = MailOrders(postgres: postgres, mails: mails, templates: templates, jobs: jobs, options: options.mail)
        senders = MailSenders(credentials: credentials, settings: options.mail.server)
        contacts = options.mail.contacts ?? MailContactBook(of: options.auth, calls: ServiceCalls(caller: NotificationsService.name, internalSecret: options.internalSecret))
        writer = MailWriter(templates: templates, unsubscribing: unsubscribing)
    }

    var background: [any Service] {
        [client, MailHousekeeping(postgres: postgres, retentionInDays: options.retentionInDays, logger: logger)]
    }

    var handlers: [any JobHandler] {
        [
            SendAppMail(
                spaces: spaces, mails: mails, unsubscribed: unsubscribed, writer: writer, senders: senders, contacts: contacts, client: client,
                options: options)
        ]
    }

    var userData: any UserDataHolder { MailUserData(postgres: postgres, spaces: spaces) }
}

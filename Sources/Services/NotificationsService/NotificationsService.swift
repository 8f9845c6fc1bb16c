import Foundation
public import Logging
import MartletCore
public import MartletHTTP
import MartletJobs
import MartletPostgres
public import ServiceLifecycle

/// The service for push notifications, mail, and the rules that send them.
///
/// Settings: `database.url` (secret; role `martlet_notifications`), `database.connections` (4), `internal.secret`
/// (secret), `services.storage` and `services.auth` (by default their usual ports on this machine), `public.url`,
/// `hooks.private.allowed` (false), and those of `DeviceSettings`, `DeliverySettings`, `RuleSettings` and
/// `AppMailOptions`.
public struct NotificationsService: ServiceDefinition {
    public static let name = ServiceName.notifications.rawValue
    public static let defaultPort = ServiceName.notifications.port

    let postgres: PostgresClient
    let spaces: Spaces
    let devices: Devices
    let messages: Messages
    let delivery: Delivery
    let rules: Rules
    let mail: Mail
    let worker: JobWorker
    /// Separate workers for mail and webhooks, so that unresponsive servers delay nothing else.
    let mailWorker: JobWorker
    let webhookWorker: JobWorker

    public init(settings: Settings, logger: Logger) throws {
        let configuration = PostgresConfiguration(
            url: try settings.requiredSecret("database.url"), applicationName: "martlet-notifications",
            maximumConnections: try settings.integer("database.connections", default: 4, in: 1...64))
        self.init(
            postgres: PostgresClient(configuration: configuration, logger: logger),
            options: try NotificationsOptions(settings), logger: logger, now: { Date() })
    }

    init(
        postgres: PostgresClient, options: NotificationsOptions, logger: Logger, now: @escaping @Sendable () -> Date
    ) {
        self.postgres = postgres
        spaces = Spaces(postgres: postgres, schema: Self.name)
        let sealing = SealingKey(internalSecret: options.internalSecret, for: "martlet-notifications-credentials")
        devices = Devices(
            postgres: postgres, spaces: spaces, sealing: sealing, settings: options.devices, logger: logger, now: now)
        let storage = StorageClient(
            options.rules, calls: ServiceCalls(caller: Self.name, internalSecret: options.internalSecret))
        messages = Messages(
            postgres: postgres, spaces: spaces, storage: storage, settings: options.messages, logger: logger, now: now)
        delivery = Delivery(
            postgres: postgres, spaces: spaces, devices: devices, settings: options.delivery, logger: logger,
            now: now)
        mail = Mail(
            postgres: postgres, spaces: spaces, credentials: devices.credentials, options: options, logger: logger,
            now: now)
        rules = Rules(
            postgres: postgres, spaces: spaces, messages: messages, mail: mail, options: options, logger: logger,
            now: now)
        let queue = JobQueue(postgres: postgres, schema: Self.name)
        worker = JobWorker(queue: queue, handlers: messages.handlers, logger: logger)
        mailWorker = JobWorker(queue: queue, handlers: mail.handlers, configuration: Mail.workers, logger: logger)
        webhookWorker = JobWorker(queue: queue, handlers: rules.handlers, logger: logger)
    }

    public var background: [any Service] {
        [postgres, worker, mailWorker, webhookWorker] + devices.background + messages.background + delivery.background
            + rules.background + mail.background
    }

    /// The user data of all parts of the service.
    public var userData: any UserDataHolder {
        UserDataParts(parts: [("devices", devices.userData), ("messages", messages.userData), ("mail", mail.userData)])
    }

    public func isReady() async -> Bool { postgres.isReady }
}

/// The options of all parts of the service.
struct NotificationsOptions: Sendable {
    var internalSecret: Secret
    var devices = DeviceSettings()
    var messages = MessageSettings()
    var delivery = DeliverySettings()
    var mail = AppMailOptions()
    var auth = ServiceAddress(.auth)
    var rules = RuleSettings.standard

    init(internalSecret: Secret) {
        self.internalSecret = internalSecret
    }

    init(_ settings: Settings) throws {
        internalSecret = try settings.requiredSecret("internal.secret")
        devices = try DeviceSettings(settings)
        messages = try MessageSettings(settings)
        delivery = try DeliverySettings(settings)
        mail = try AppMailOptions(settings)
        auth = try ServiceAddress(.auth, settings)
        rules = try RuleSettings(settings)
    }
}

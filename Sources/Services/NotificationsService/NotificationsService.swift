public import Logging
public import MartletHTTP
public import MartletPostgres
public import ServiceLifecycle

/// Installations, push and mail. So far the process, its schema and its role: the endpoints come with their own issue.
///
/// Settings: `database.url` (secret; role `martlet_notifications`), `database.connections` (4).
public struct NotificationsService: ServiceDefinition {
    public static let name = "notifications"
    public static let defaultPort = 8205

    /// The schema `notifications`, step by step. None yet.
    public static let migrations: [Migration] = []

    private let postgres: PostgresClient

    public init(settings: Settings, logger: Logger) throws {
        let configuration = PostgresConfiguration(
            url: try settings.requiredSecret("database.url"), applicationName: "martlet-notifications",
            maximumConnections: try settings.integer("database.connections", default: 4, in: 1...64))
        self.postgres = PostgresClient(configuration: configuration, logger: logger)
    }

    public var background: [any Service] { [postgres] }

    /// Nothing yet: there is no table.
    public var userData: any UserDataHolder { NoUserData() }

    public func isReady() async -> Bool { postgres.isReady }
}

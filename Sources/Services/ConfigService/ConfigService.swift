public import Logging
public import MartletHTTP
public import MartletPostgres
public import ServiceLifecycle

/// Remote configuration, themes, translations, experiments and app definitions. So far the process, its schema and its role: the endpoints come with their own issue.
///
/// Settings: `database.url` (secret; role `martlet_config`), `database.connections` (4).
public struct ConfigService: ServiceDefinition {
    public static let name = "config"
    public static let defaultPort = 8203

    /// The schema `config`, step by step. None yet.
    public static let migrations: [Migration] = []

    private let postgres: PostgresClient

    public init(settings: Settings, logger: Logger) throws {
        let configuration = PostgresConfiguration(
            url: try settings.requiredSecret("database.url"), applicationName: "martlet-config",
            maximumConnections: try settings.integer("database.connections", default: 4, in: 1...64))
        self.postgres = PostgresClient(configuration: configuration, logger: logger)
    }

    public var background: [any Service] { [postgres] }

    /// Nothing yet: there is no table.
    public var userData: any UserDataHolder { NoUserData() }

    public func isReady() async -> Bool { postgres.isReady }
}

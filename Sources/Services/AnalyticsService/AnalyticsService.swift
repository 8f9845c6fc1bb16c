public import Logging
public import MartletHTTP
public import MartletPostgres
public import ServiceLifecycle

/// Events, exceptions, tickets and board. So far the process, its schema and its role: the endpoints come with their own issue.
///
/// Settings: `database.url` (secret; role `martlet_analytics`), `database.connections` (4).
public struct AnalyticsService: ServiceDefinition {
    public static let name = "analytics"
    public static let defaultPort = 8204

    /// The schema `analytics`, step by step. None yet.
    public static let migrations: [Migration] = []

    private let postgres: PostgresClient

    public init(settings: Settings, logger: Logger) throws {
        let configuration = PostgresConfiguration(
            url: try settings.requiredSecret("database.url"), applicationName: "martlet-analytics",
            maximumConnections: try settings.integer("database.connections", default: 4, in: 1...64))
        self.postgres = PostgresClient(configuration: configuration, logger: logger)
    }

    public var background: [any Service] { [postgres] }

    /// Nothing yet: there is no table.
    public var userData: any UserDataHolder { NoUserData() }

    public func isReady() async -> Bool { postgres.isReady }
}

public import Logging
public import MartletHTTP
public import MartletPostgres
public import ServiceLifecycle

/// Apps with their keys, and the feed by which gateways know them.
///
/// Settings: `database.url` (secret; role `martlet_auth`), `database.connections` (2).
public struct AuthService: ServiceDefinition {
    public static let name = "auth"
    public static let defaultPort = 8201

    private let postgres: PostgresClient
    let credentials: CredentialStore
    let feed: KeyRingFeed

    public init(settings: Settings, logger: Logger) throws {
        let configuration = PostgresConfiguration(
            url: try settings.requiredSecret("database.url"), applicationName: "martlet-auth",
            maximumConnections: try settings.integer("database.connections", default: 2, in: 1...64))
        self.init(postgres: PostgresClient(configuration: configuration, logger: logger), logger: logger)
    }

    public init(postgres: PostgresClient, logger: Logger) {
        self.postgres = postgres
        self.credentials = CredentialStore(postgres: postgres)
        self.feed = KeyRingFeed(store: KeyRingStore(postgres: postgres), postgres: postgres, logger: logger)
    }

    public var background: [any Service] { [postgres, feed] }

    public func isReady() async -> Bool { postgres.isReady && feed.current != nil }
}

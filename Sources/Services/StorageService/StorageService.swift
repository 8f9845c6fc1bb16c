public import Logging
public import MartletHTTP
public import MartletPostgres
public import ServiceLifecycle

/// Objects, their collections and indexes, for every app: rows A1 to A3 of the requirements.
///
/// Settings: `database.url` (secret; role `martlet_storage`), `database.connections` (4), `changes.retention.days` (7),
/// `live.subscribers` (10000) and `live.subscribers.app` (5000) on one copy.
public struct StorageService: ServiceDefinition {
    public static let name = "storage"
    public static let defaultPort = 8202

    private let postgres: PostgresClient
    let objects: ObjectStore
    let collections: CollectionStore
    let indexes: IndexStore
    let rights: RightsStore
    let housekeeping: Housekeeping
    let rules: RulesStore
    let roles: RoleStore
    let idempotency: Idempotency
    let batch: Batch
    let signal: ChangeSignal
    let live: Live
    let feed: SyncFeed

    public init(settings: Settings, logger: Logger) throws {
        let configuration = PostgresConfiguration(
            url: try settings.requiredSecret("database.url"), applicationName: "martlet-storage",
            maximumConnections: try settings.integer("database.connections", default: 4, in: 1...64))
        var limits = Live.Limits()
        limits.subscribers = try settings.integer("live.subscribers", default: 10_000, in: 1...100_000)
        limits.subscribersPerApp = try settings.integer("live.subscribers.app", default: 5_000, in: 1...100_000)
        self.init(
            postgres: PostgresClient(configuration: configuration, logger: logger), logger: logger,
            retentionInDays: try settings.integer("changes.retention.days", default: 7, in: 1...365), limits: limits)
    }

    public init(
        postgres: PostgresClient, logger: Logger = Logger(label: "storage") { _ in SwiftLogNoOpLogHandler() }, retentionInDays: Int = 7
    ) {
        self.init(postgres: postgres, logger: logger, retentionInDays: retentionInDays, limits: Live.Limits())
    }

    init(postgres: PostgresClient, logger: Logger, retentionInDays: Int, limits: Live.Limits) {
        let signal = ChangeSignal(postgres: postgres)
        self.signal = signal
        let spaces = Spaces(postgres: postgres)
        self.postgres = postgres
        self.housekeeping = Housekeeping(postgres: postgres, logger: logger, retentionInDays: retentionInDays)
        self.collections = CollectionStore(postgres: postgres, spaces: spaces)
        self.rights = RightsStore(postgres: postgres, spaces: spaces)
        self.objects = ObjectStore(
            postgres: postgres, spaces: spaces, collections: collections, rights: rights, signal: signal)
        self.rules = RulesStore(postgres: postgres, spaces: spaces, collections: collections, rights: rights)
        self.roles = RoleStore(postgres: postgres, spaces: spaces, rights: rights)
        self.idempotency = Idempotency(postgres: postgres, objects: objects, collections: collections)
        self.batch = Batch(postgres: postgres, objects: objects, collections: collections, rights: rights)
        self.indexes = IndexStore(postgres: postgres, spaces: spaces)
        let changes = ChangeStore(postgres: postgres, spaces: spaces)
        self.live = Live(changes: changes, rights: rights, signal: signal, limits: limits)
        self.feed = SyncFeed(changes: changes, signal: signal)
    }

    public var background: [any Service] {
        [
            postgres, RightsWatch(rights: rights, postgres: postgres), ChangeWatch(signal: signal, postgres: postgres), housekeeping,
        ]
    }

    public func isReady() async -> Bool { postgres.isReady }
}

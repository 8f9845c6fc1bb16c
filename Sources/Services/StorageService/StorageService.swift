public import Logging
public import MartletHTTP
public import MartletPostgres
public import ServiceLifecycle

/// Objects, their collections and indexes, for every app: rows A1 to A3 of the requirements.
///
/// Settings: `database.url` (secret; role `martlet_storage`), `database.connections` (4), `changes.retention.days` (7),
/// `files.…` (`FileSettings`).
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
    let signal = ChangeSignal()

    // Files
    let fileSettings: FileSettings
    let files: FileStore
    let thumbnails: ThumbnailStore
    let intake: FileIntake
    let transfers: Transfers
    let orphans: OrphanCollection

    public init(settings: Settings, logger: Logger) throws {
        let configuration = PostgresConfiguration(
            url: try settings.requiredSecret("database.url"), applicationName: "martlet-storage",
            maximumConnections: try settings.integer("database.connections", default: 4, in: 1...64))
        self.init(
            postgres: PostgresClient(configuration: configuration, logger: logger), files: try FileSettings(settings), logger: logger,
            retentionInDays: try settings.integer("changes.retention.days", default: 7, in: 1...365))
    }

    public init(
        postgres: PostgresClient, files fileSettings: FileSettings,
        logger: Logger = Logger(label: "storage") { _ in SwiftLogNoOpLogHandler() }, retentionInDays: Int = 7
    ) {
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
        self.fileSettings = fileSettings
        self.files = FileStore(postgres: postgres, spaces: spaces)
        self.thumbnails = ThumbnailStore(files: files, settings: fileSettings)
        self.intake = FileIntake(files: files, settings: fileSettings)
        self.transfers = Transfers(store: TransferStore(files: files), intake: intake)
        self.orphans = OrphanCollection(postgres: postgres, files: files, settings: fileSettings, logger: logger)
    }

    public var background: [any Service] { [postgres, RightsWatch(rights: rights, postgres: postgres), housekeeping, orphans] }

    public func isReady() async -> Bool { postgres.isReady }
}

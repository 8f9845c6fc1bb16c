import Foundation
public import Logging
import MartletCore
public import MartletHTTP
import MartletJobs
import MartletPostgres
public import ServiceLifecycle

/// Stores the objects and files of every app, with their collections, indexes, rules, roles and hooks.
///
/// Settings: `database.url` (secret; role `martlet_storage`), `database.connections` (4), `changes.retention.days` (7),
/// `files.…` (`FileSettings`), `jobs.concurrency` (2), `jobs.retention.hours` (168), `import.limit.bytes` (1 GiB),
/// `live.subscribers` (10000) and `live.subscribers.app` (5000) on one copy, `hooks.private.allowed` (false),
/// `services.config` (http://127.0.0.1:8203; the source of the live versions in lists).
public struct StorageService: ServiceDefinition {
    public static let name = ServiceName.storage.rawValue
    public static let defaultPort = ServiceName.storage.port

    private let postgres: PostgresClient
    private let transferClient: PostgresClient?
    private let builder: PostgresClient?
    private let spaces: Spaces
    let objects: ObjectStore
    let quota: ObjectQuota
    let collections: CollectionStore
    let indexes: IndexStore
    let indexSweep: IndexSweep
    let slowQueries: SlowQueries
    let listedIndexes: ListedIndexes
    let rights: RightsStore
    let housekeeping: Housekeeping
    let rules: RulesStore
    var ruleVersions: RuleVersions { RuleVersions(postgres: postgres, spaces: spaces) }
    let schemas: SchemaStore
    let roles: RoleStore
    let idempotency: Idempotency
    let batch: Batch
    let signal: ChangeSignal
    let live: Live
    let feed: SyncFeed
    let changeFeed: ChangeFeed
    let lookUp: ObjectLookUp
    let transfers: TransferStores
    let worker: JobWorker
    let maximumImportSizeInBytes: Int

    /// Nil if no service publishes live versions.
    let configFeed: ConfigFeed?
    let roleInvitationMailing: RoleInvitationMailing
    let versions: KnownVersions

    // Files
    let fileSettings: FileSettings
    let files: FileStore
    let thumbnails: ThumbnailStore
    let receiver: FileReceiver
    let tusUploads: TusUploads
    let orphans: OrphanFileSweep

    // Hooks
    let hookSettings: HookSettings
    let hooks: HookStore
    let hookClient: HookClient
    let hookLedger: HookLedger
    let before: BeforeHooks
    let deliveries: DeliveryStore
    let hookDelivery: HookDelivery

    public init(settings: Settings, logger: Logger) throws {
        var configuration = PostgresConfiguration(
            url: try settings.requiredSecret("database.url"), applicationName: "martlet-storage",
            maximumConnections: try settings.integer("database.connections", default: 4, in: 1...64))
        // JIT compilation and parallel workers take longer to start than most queries run, and would let one app's
        // large query use all processors.
        configuration.sessionSettings["jit"] = "off"
        configuration.sessionSettings["max_parallel_workers_per_gather"] = "0"
        var transferConfiguration = configuration
        var jobs = JobWorker.Configuration()
        jobs.concurrency = try settings.integer("jobs.concurrency", default: 2, in: 1...32)
        jobs.retention = .seconds(try settings.integer("jobs.retention.hours", default: 7 * 24, in: 1...10_000) * 3_600)
        // One connection for each job and each streaming export, which hold transactions; one for hook deliveries, and
        // one for short statements.
        transferConfiguration.maximumConnections = jobs.concurrency + TransferStores.maximumExports + 2
        var buildConfiguration = configuration
        // One connection for a job's build, one for an immediate build, one for dropping a half-built index, and one
        // that transactions do not get.
        buildConfiguration.maximumConnections = 4
        var limits = Live.Limits()
        limits.subscribers = try settings.integer("live.subscribers", default: 10_000, in: 1...100_000)
        limits.subscribersPerApp = try settings.integer("live.subscribers.app", default: 5_000, in: 1...100_000)
        self.init(
            postgres: PostgresClient(configuration: configuration, logger: logger), files: try FileSettings(settings),
            logger: logger,
            retentionInDays: try settings.integer("changes.retention.days", default: 7, in: 1...365),
            transfers: PostgresClient(configuration: transferConfiguration, logger: logger),
            builder: PostgresClient(configuration: buildConfiguration, logger: logger), jobs: jobs,
            maximumImportSizeInBytes: try settings.integer("import.limit.bytes", default: 1 << 30, in: 1...(1 << 40)),
            limits: limits,
            hooks: try HookSettings(settings),
            internalSecret: try settings.requiredSecret("internal.secret", minimumLength: 32),
            configFeed: ConfigFeed(
                url: try settings.url("services.config", default: Self.defaultConfigURL),
                internalSecret: try settings.requiredSecret("internal.secret", minimumLength: 32), logger: logger),
            auth: try ServiceAddress(.auth, settings))
    }

    static let defaultConfigURL = ServiceName.config.localURL

    /// - Parameters:
    ///   - transfers: The client for imports, exports and copies; nil to use `postgres`.
    ///   - builder: The client for building indexes; nil to use `postgres`.
    init(
        postgres: PostgresClient, files fileSettings: FileSettings,
        logger: Logger = Logger(label: "storage") { _ in SwiftLogNoOpLogHandler() }, retentionInDays: Int = 7,
        transfers: PostgresClient? = nil, builder: PostgresClient? = nil,
        jobs: JobWorker.Configuration = JobWorker.Configuration(),
        maximumImportSizeInBytes: Int = 1 << 30, limits: Live.Limits = Live.Limits(),
        hooks hookSettings: HookSettings = HookSettings(secret: .random()), internalSecret: Secret = .random(),
        configFeed: ConfigFeed? = nil, auth: ServiceAddress = ServiceAddress(.auth),
        ruleTrials: RuleTrial.Limits = RuleTrial.Limits()
    ) {
        let signal = ChangeSignal(postgres: postgres)
        self.signal = signal
        let spaces = Spaces(postgres: postgres)
        self.spaces = spaces
        self.postgres = postgres
        self.configFeed = configFeed
        self.versions = configFeed?.versions ?? KnownVersions()
        self.housekeeping = Housekeeping(
            postgres: postgres, logger: logger, retentionInDays: retentionInDays,
            fileHistoryInDays: fileSettings.historyInDays)
        self.collections = CollectionStore(postgres: postgres, spaces: spaces)
        self.rights = RightsStore(postgres: postgres, spaces: spaces, logger: logger)
        let quota = ObjectQuota(postgres: postgres, logger: logger)
        self.quota = quota
        self.objects = ObjectStore(
            postgres: postgres, spaces: spaces, collections: collections, rights: rights, signal: signal,
            quota: quota)
        self.slowQueries = SlowQueries(postgres: postgres, advice: objects.advice, logger: logger)
        self.rules = RulesStore(
            postgres: postgres, spaces: spaces, collections: collections, rights: rights, trialLimits: ruleTrials)
        self.roleInvitationMailing = RoleInvitationMailing(
            of: auth, calls: ServiceCalls(caller: Self.name, internalSecret: internalSecret))
        self.roles = RoleStore(postgres: postgres, spaces: spaces, rights: rights)
        self.idempotency = Idempotency(postgres: postgres, objects: objects, collections: collections)
        self.hookSettings = hookSettings
        self.hooks = HookStore(postgres: postgres, spaces: spaces, rights: rights)
        self.hookClient = HookClient(settings: hookSettings)
        self.hookLedger = HookLedger(postgres: transfers ?? postgres, spaces: spaces, logger: logger)
        self.before = BeforeHooks(
            hooks: hooks, client: hookClient, ledger: hookLedger, postgres: postgres, settings: hookSettings)
        self.batch = Batch(
            postgres: postgres, objects: objects, collections: collections, rights: rights, before: before)

        self.fileSettings = fileSettings
        self.files = FileStore(postgres: postgres, spaces: spaces, quota: fileSettings.quota, signal: signal)
        self.thumbnails = ThumbnailStore(files: files, settings: fileSettings)
        self.receiver = FileReceiver(files: files, rights: rights, settings: fileSettings)
        self.tusUploads = TusUploads(store: TusUploadStore(files: files), receiver: receiver)
        self.orphans = OrphanFileSweep(postgres: postgres, files: files, settings: fileSettings, logger: logger)

        let background = transfers ?? postgres
        self.schemas = SchemaStore(
            postgres: background, spaces: spaces, collections: collections, rights: rights)
        self.deliveries = DeliveryStore(postgres: background, spaces: spaces)
        self.hookDelivery = HookDelivery(
            postgres: background, hooks: hooks, deliveries: deliveries, client: hookClient, ledger: hookLedger,
            scan: FileScan(
                deliveries: deliveries, verdicts: FileVerdicts(files: files),
                fileSettings: fileSettings, client: hookClient, ledger: hookLedger, settings: hookSettings,
                logger: logger),
            signal: signal, settings: hookSettings, logger: logger)
        let queue = JobQueue(postgres: background, schema: Self.name)
        let stores = TransferStores(
            postgres: background, spaces: spaces, collections: collections, rights: rights, signal: signal,
            quota: quota, jobs: queue,
            spool: Spool(postgres: background, schema: Self.name), files: fileSettings.backend)
        self.transferClient = transfers
        self.builder = builder
        self.transfers = stores
        let buildClient = builder ?? postgres
        let builds = IndexBuilds(postgres: postgres, jobs: queue)
        self.indexes = IndexStore(postgres: postgres, builder: buildClient, spaces: spaces, builds: builds)
        self.listedIndexes = ListedIndexes(postgres: background, jobs: queue, logger: logger)
        self.indexSweep = IndexSweep(postgres: background, builder: buildClient, logger: logger)
        self.maximumImportSizeInBytes = maximumImportSizeInBytes
        self.worker = JobWorker(
            queue: queue,
            handlers: [
                ImportCollection(transfers: stores), ExportCollection(transfers: stores),
                CopyEnvironment(transfers: stores), CheckSchema(schemas: schemas),
                BuildIndex(builds: builds, builder: buildClient, transfers: stores),
                BuildListedIndex(builder: buildClient, postgres: background),
            ],
            configuration: jobs, logger: logger)

        let changes = ChangeStore(postgres: postgres, spaces: spaces, signer: CursorSigner(secret: internalSecret))
        self.live = Live(changes: changes, rights: rights, signal: signal, limits: limits)
        self.feed = SyncFeed(changes: changes, signal: signal, rights: rights)
        self.changeFeed = ChangeFeed(changes: changes, signal: signal)
        self.lookUp = ObjectLookUp(postgres: postgres, spaces: spaces)
    }

    public var background: [any Service] {
        var services: [any Service] = [postgres]
        services += [transferClient, builder].compactMap(\.self)
        if let configFeed { services.append(configFeed) }
        return services + [
            RightsWatch(rights: rights, postgres: postgres), ChangeWatch(signal: signal, postgres: postgres),
            housekeeping, quota, orphans, worker,
            hookDelivery, indexSweep, listedIndexes, slowQueries,
        ]
    }

    public var userData: any UserDataHolder {
        StoredUserData(postgres: postgres, spaces: spaces, rights: rights, signal: signal)
    }

    public func isReady() async -> Bool { postgres.isReady }

    var userDocuments: UserDocumentStore { UserDocumentStore(postgres: postgres, spaces: spaces, objects: objects) }

    var roleInvitations: RoleInvitationStore {
        RoleInvitationStore(postgres: postgres, spaces: spaces, rights: rights)
    }

    var fileVerdicts: FileVerdicts { FileVerdicts(files: files) }

    var blocks: BlockStore { BlockStore(postgres: postgres, spaces: spaces) }

    var reports: ReportStore { ReportStore(postgres: postgres, spaces: spaces, objects: objects) }

    var envelope: Envelope { Envelope(versions: versions) }
}

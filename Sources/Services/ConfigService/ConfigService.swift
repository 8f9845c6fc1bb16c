import Foundation
public import Logging
import MartletCore
public import MartletHTTP
import MartletPostgres
public import ServiceLifecycle

/// Remote configuration, flags, experiments, translations and app definitions. All are documents that are edited as
/// drafts, published as immutable versions and served to clients from memory.
///
/// Settings: `database.url` (secret; role `martlet_config`), `database.connections` (4), `internal.secret` (secret),
/// `memory.bytes` (512 MiB; published documents in memory), `live.streams` (10000) and `live.streams.app` (5000) per
/// instance, `services.storage`, `services.auth` and `services.analytics` (by default the services' usual ports on this
/// machine).
public struct ConfigService: ServiceDefinition {
    public static let name = ServiceName.config.rawValue
    public static let defaultPort = ServiceName.config.port

    let postgres: PostgresClient
    let logger: Logger
    let kinds: Kinds
    let live: LiveDocuments
    let documents: DocumentStore
    let versions: VersionStore
    let schedules: ScheduleStore
    let publisher: Publisher
    let exchange: Exchange
    let streams: EventStreams
    let liveVersions: LiveVersionsFeed
    let experiments: Experiments
    let definitionKeys: DefinitionKeyStore
    let users: UserAttributes
    let conversions: Conversions
    let previews: DefinitionPreviews
    let now: @Sendable () -> Date
    private let scheduler: Scheduler

    public init(settings: Settings, logger: Logger) throws {
        let configuration = PostgresConfiguration(
            url: try settings.requiredSecret("database.url"), applicationName: "martlet-config",
            maximumConnections: try settings.integer("database.connections", default: 4, in: 1...64))
        var limits = LiveDocuments.Limits()
        limits.sizeInBytes = try settings.integer(
            "memory.bytes", default: limits.sizeInBytes, in: (16 << 20)...(1 << 40))
        var streams = EventStreams.Limits()
        streams.streams = try settings.integer("live.streams", default: streams.streams, in: 1...100_000)
        streams.streamsPerApp = try settings.integer(
            "live.streams.app", default: streams.streamsPerApp, in: 1...100_000)
        let internalSecret = try settings.requiredSecret("internal.secret", minimumLength: 32)
        let calls = ServiceCalls(caller: Self.name, internalSecret: internalSecret)
        self.init(
            postgres: PostgresClient(configuration: configuration, logger: logger), internalSecret: internalSecret,
            others: OtherServices(
                roles: RoleNames(of: try ServiceAddress(.storage, settings), calls: calls),
                profiles: UserProfiles(of: try ServiceAddress(.auth, settings), calls: calls),
                conversions: Conversions(of: try ServiceAddress(.analytics, settings), calls: calls)),
            logger: logger, limits: limits, streams: streams)
    }

    /// The other services that this one calls.
    struct OtherServices: Sendable {
        var roles: RoleNames
        var profiles: UserProfiles
        var conversions: Conversions
    }

    init(
        postgres: PostgresClient, internalSecret: Secret, others: OtherServices, logger: Logger,
        limits: LiveDocuments.Limits = LiveDocuments.Limits(),
        streams: EventStreams.Limits = EventStreams.Limits(), kinds: Kinds = ConfigService.kinds,
        now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.postgres = postgres
        self.logger = logger
        self.now = now
        self.kinds = kinds
        users = UserAttributes(roles: others.roles, profiles: others.profiles, logger: logger)
        conversions = others.conversions
        live = LiveDocuments(
            store: LiveDocumentStore(postgres: postgres, kinds: kinds, logger: logger), postgres: postgres,
            limits: limits, logger: logger)
        documents = DocumentStore(postgres: postgres)
        versions = VersionStore(postgres: postgres)
        schedules = ScheduleStore(postgres: postgres)
        publisher = Publisher(postgres: postgres, kinds: kinds, live: live, now: now)
        exchange = Exchange(postgres: postgres, publisher: publisher, kinds: kinds)
        self.streams = EventStreams(live: live, limits: streams)
        liveVersions = LiveVersionsFeed(postgres: postgres, logger: logger)
        let exposures = ExposureStore(postgres: postgres)
        experiments = Experiments(
            exposures: exposures, log: ExposureLog(store: exposures, logger: logger), logger: logger, now: now)
        definitionKeys = DefinitionKeyStore(postgres: postgres, internalSecret: internalSecret)
        previews = DefinitionPreviews(
            internalSecret: internalSecret, store: PreviewStore(postgres: postgres), documents: documents, live: live,
            now: now)
        scheduler = Scheduler(schedules: schedules, publisher: publisher, logger: logger)
    }

    static let kinds = Kinds([
        .configuration: ConfigurationKind(), .definition: DefinitionKind(), .experiment: ExperimentKind(),
        .flags: FlagsKind(),
        .translation: TranslationKind(),
    ])

    public var background: [any Service] { [postgres, live, scheduler, liveVersions, experiments.log] }

    /// The variations that users were given. Documents belong to apps, not to their users.
    public var userData: any UserDataHolder { ExperimentUserData(exposures: experiments.exposures) }

    public func isReady() async -> Bool { postgres.isReady && liveVersions.isRead }
}

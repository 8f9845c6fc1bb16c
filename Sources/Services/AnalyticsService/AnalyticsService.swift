import AnalyticsCrashes
import AnalyticsEvents
import AnalyticsShared
import AnalyticsTickets
import Foundation
public import Logging
import MartletCore
import MartletFiles
public import MartletHTTP
import MartletJobs
import MartletPostgres
public import ServiceLifecycle

/// Analytics events and the queries on them, crash reports grouped into issues, and tickets with their board.
///
/// Settings: `database.url` (secret; role `martlet_analytics`), `database.connections` (4), `files.…` (`FileBackends`;
/// attachments and debug symbols), `internal.secret` (secret), `services.auth`, `hooks.private.allowed` (false), and
/// those of `EventSettings`, `CrashSettings` and `SymbolSettings`.
public struct AnalyticsService: ServiceDefinition {
    public static let name = ServiceName.analytics.rawValue
    public static let defaultPort = ServiceName.analytics.port

    let postgres: PostgresClient
    let spaces: Spaces
    let events: Events
    let questions: Questions
    let crashes: Crashes
    let symbols: Symbols
    let tickets: Tickets
    let worker: JobWorker

    public init(settings: Settings, logger: Logger) throws {
        var configuration = PostgresConfiguration(
            url: try settings.requiredSecret("database.url"), applicationName: "martlet-analytics",
            maximumConnections: try settings.integer("database.connections", default: 4, in: 1...64))
        // Starting the JIT compiler or parallel workers would take longer than a query should. Parallel workers would
        // also let one app's large query occupy all cores.
        configuration.sessionSettings["jit"] = "off"
        configuration.sessionSettings["max_parallel_workers_per_gather"] = "0"
        // Keeps the person sets and sorts of a query in memory.
        configuration.sessionSettings["work_mem"] = "32MB"
        var options = AnalyticsOptions()
        options.events = try EventSettings(settings)
        options.crashes = try CrashSettings(settings)
        options.symbols = try SymbolSettings(settings)
        let calls = ServiceCalls(
            caller: Self.name, internalSecret: try settings.requiredSecret("internal.secret", minimumLength: 32))
        options.staff = StaffDirectory(of: try ServiceAddress(.auth, settings), calls: calls)
        self.init(
            postgres: PostgresClient(configuration: configuration, logger: logger),
            files: try FileBackends.backend(
                settings, directory: settings.string("files.directory", default: ".martlet/analytics-files")),
            options: options, logger: logger)
    }

    /// - Parameter now: The clock.
    init(
        postgres: PostgresClient, files: any FileBackend, options: AnalyticsOptions = AnalyticsOptions(),
        logger: Logger, now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.postgres = postgres
        spaces = Spaces(postgres: postgres, schema: Self.name)
        events = Events(postgres: postgres, spaces: spaces, settings: options.events, logger: logger, now: now)
        questions = Questions(postgres: postgres, spaces: spaces, logger: logger, now: now)
        let symbols = Symbols(
            postgres: postgres, spaces: spaces, files: files, settings: options.symbols, logger: logger, now: now)
        let changes = IssueChanges(postgres: postgres)
        let tickets = Tickets(
            postgres: postgres, spaces: spaces, files: files, staff: options.staff, logger: logger, now: now,
            lockReports: IssueStore.lock
        ) { issues, version, author, space, transaction in
            try await changes.resolve(issues, in: version, by: author, in: space, transaction)
        }
        let crashes = Crashes(
            postgres: postgres, spaces: spaces, files: files, settings: options.crashes, staff: options.staff,
            symbols: symbols, tickets: tickets, logger: logger, now: now)
        self.symbols = symbols
        self.tickets = tickets
        self.crashes = crashes
        worker = JobWorker(
            queue: JobQueue(postgres: postgres, schema: Self.name),
            handlers: crashes.handlers(symbols: symbols), logger: logger)
    }

    public var background: [any Service] {
        [postgres, worker] + events.background + questions.background + crashes.background + symbols.background
            + tickets.background
    }

    /// Tickets come before crashes, because a user's feedback is found through the crash reports.
    public var userData: any UserDataHolder {
        UserDataParts(parts: events.userData + [("tickets", tickets.userData), ("crashes", crashes.userData)])
    }

    public func isReady() async -> Bool { postgres.isReady }
}

/// Settings and collaborators of the service's parts.
struct AnalyticsOptions: Sendable {
    var events = EventSettings()
    var crashes = CrashSettings()
    var symbols = SymbolSettings()
    /// Looks up the staff members that tickets and issues can be assigned to.
    var staff = StaffDirectory.empty
}

import AsyncHTTPClient
import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import NIOHTTP1

/// Checks whether the services and the database work, as seen by this process.
struct ServerHealth: Sendable {
    /// The usual limit of each statement and each request.
    static let timeLimit: Duration = .seconds(2)

    let postgres: PostgresClient
    /// All services but this one.
    let services: [ServiceAddress]
    let backups: BackupRecords
    let timeLimit: Duration
    private let client = OutgoingClient(.anywhere)

    init(
        postgres: PostgresClient, services: [ServiceAddress], backups: BackupRecords,
        timeLimit: Duration = ServerHealth.timeLimit
    ) {
        self.postgres = postgres
        self.services = services
        self.backups = backups
        self.timeLimit = timeLimit
    }

    struct Report: Encodable {
        var services: [ServiceHealth]
        /// Nil if the database does not answer.
        var database: DatabaseHealth?
        /// Nil if no backup was made by `martlet backup` on this machine.
        var backup: BackupRecords.Summary?
        /// Nil if no archive of an app is kept on this machine.
        var appBackups: [BackupRecords.AppArchives]?
    }

    struct ServiceHealth: Encodable {
        var name: String
        var isReady: Bool
        /// Nil if the service does not answer.
        var version: String?
        var milliseconds: Double?
        /// Nil for services without jobs, and while the database does not answer.
        var waitingJobs: Int?
    }

    struct DatabaseHealth: Encodable {
        var version: String
        /// Nil if it took too long to read.
        var sizeInBytes: Int?
        var connections: Int
        var maximumConnections: Int
        var milliseconds: Double
    }

    /// Takes at most twice `timeLimit`.
    func report() async -> Report {
        async let database = readDatabase()
        async let others = checkServices()
        let (found, jobs) = await database ?? (nil, [:])
        let own = ServiceHealth(
            name: ServiceName.auth.rawValue, isReady: found != nil, version: MartletVersion.current)
        let services = ([own] + (await others)).map { service in
            var service = service
            service.waitingJobs = jobs[service.name]
            return service
        }
        return Report(
            services: services, database: found, backup: backups.summary(), appBackups: backups.appArchives())
    }

    private func checkServices() async -> [ServiceHealth] {
        await withTaskGroup(of: (Int, ServiceHealth).self) { group in
            for (index, service) in services.enumerated() {
                group.addTask { (index, await check(service)) }
            }
            var found: [(Int, ServiceHealth)] = []
            for await result in group { found.append(result) }
            return found.sorted { $0.0 < $1.0 }.map { $0.1 }
        }
    }

    private func check(_ service: ServiceAddress) async -> ServiceHealth {
        let base = service.url.absoluteString
        let request = HTTPClientRequest(url: (base.hasSuffix("/") ? String(base.dropLast()) : base) + "/health/ready")
        let start = ContinuousClock.now
        guard let answer = try? await client.send(request, within: timeLimit, upTo: 1 << 10) else {
            return ServiceHealth(name: service.name, isReady: false)
        }
        return ServiceHealth(
            name: service.name, isReady: answer.status == 200,
            version: answer.headers.first(name: HeaderName.version).map { String($0.prefix(40)) },
            milliseconds: Self.milliseconds(since: start))
    }

    /// The database's state, and the number of waiting jobs by service. Nil if the database does not answer.
    func readDatabase() async -> (DatabaseHealth?, [String: Int])? {
        let start = ContinuousClock.now
        let rows = try? await postgres.query(
            """
            SELECT current_setting('server_version'), (SELECT coalesce(sum(numbackends), 0) FROM pg_stat_database)::bigint,
                current_setting('max_connections')::bigint, auth.waiting_jobs()::text
            """, timeout: timeLimit)
        guard let row = rows?.first, let jobs = try? row.decode(3, as: String.self) else { return nil }
        let milliseconds = Self.milliseconds(since: start)
        // Reads the size of every file, which can take longer than everything else.
        let size = try? await postgres.query(
            "SELECT pg_database_size(current_database())", timeout: timeLimit
        ).first?.decode(0, as: Int.self)
        let database = try? DatabaseHealth(
            version: row.decode(0), sizeInBytes: size, connections: row.decode(1),
            maximumConnections: row.decode(2), milliseconds: milliseconds)
        return (database, (try? JSONDecoder().decode([String: Int].self, from: Data(jobs.utf8))) ?? [:])
    }

    private static func milliseconds(since start: ContinuousClock.Instant) -> Double {
        let milliseconds: Double = start.duration(to: .now) / Duration.milliseconds(1)
        return (milliseconds * 10).rounded() / 10
    }
}

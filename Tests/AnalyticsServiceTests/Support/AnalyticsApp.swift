import Foundation
import Hummingbird
import HummingbirdTesting
import MartletAPI
import MartletCore
import MartletFiles
import MartletHTTP
import MartletPostgres
import MartletTesting
import ServiceTesting
import Testing

@testable import AnalyticsCrashes
@testable import AnalyticsService

/// The analytics service with its own database and running background tasks, called as by the gateway.
struct AnalyticsApp: ServiceApp {
    let database: MigratedDatabase
    /// Logged in as `martlet_analytics`.
    let postgres: PostgresClient
    let service: AnalyticsService
    let gateway: ServiceClient
    var appID = "app1"
    var appNumber = 1
    var environment = AppEnvironment.live

    /// - Parameter now: The service's clock. Tests of limits per minute or hour stop it.
    static func run(
        _ options: AnalyticsOptions = .withColleagues, now: @escaping @Sendable () -> Date = { Date() },
        _ body: @Sendable (AnalyticsApp) async throws -> Void
    ) async throws {
        try await MigratedDatabase.with { try await run(options, on: $0, now: now, body) }
    }

    static func run(
        _ options: AnalyticsOptions = .withColleagues, on database: MigratedDatabase,
        now: @escaping @Sendable () -> Date = { Date() }, _ body: @Sendable (AnalyticsApp) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "martlet-analytics-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        var options = options
        if options.crashes.spoolDirectory == CrashSettings().spoolDirectory {
            options.crashes.spoolDirectory = folder.appending(path: "spool").path
        }
        // A slow machine takes long to start a program; tests of this limit set a shorter one.
        if options.symbols.time == SymbolSettings().time { options.symbols.time = .seconds(120) }
        (options.symbols.reportTime, options.symbols.demanglerTime) = (.seconds(240), .seconds(120))
        let postgres = database.client(for: "analytics")
        let service = AnalyticsService(
            postgres: postgres, files: LocalFiles(directory: folder.path), options: options, logger: .silent, now: now)
        let router = ServiceProcess.makeRouter(service, signer: ServiceClient.signer)
        let application = Application(router: router, services: service.background, logger: .silent)
        try await application.test(.router) { client in
            try await eventually("the service is ready") { await service.isReady() }
            try await body(
                AnalyticsApp(
                    database: database, postgres: postgres, service: service,
                    gateway: ServiceClient(client, principal: nil)))
        }
    }

    /// Sends a request with an ingest key.
    func ingest(_ method: String, _ path: String, _ body: String? = nil, headers: [String: String] = [:]) async throws
        -> Answer
    {
        try await gateway.acting(as: principal(.ingest)).send(method, path, body, headers: headers)
    }
}

import Foundation
import Hummingbird
import HummingbirdTesting
import MartletAPI
import MartletCore
import MartletFiles
import MartletHTTP
import MartletPostgres
import MartletTesting
import Testing

@testable import AnalyticsService

/// The analytics service with a database of its own, its background running, as the gateway sees it.
struct AnalyticsApp: Sendable {
    let database: MigratedDatabase
    /// Logged in as `martlet_analytics`.
    let postgres: PostgresClient
    let service: AnalyticsService
    let gateway: ServiceClient
    var appID = "app1"
    var appNumber = 1
    var environment = AppEnvironment.live

    static func run(_ options: AnalyticsOptions = AnalyticsOptions(), _ body: @Sendable (AnalyticsApp) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "martlet-analytics-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        var options = options
        if options.crashes.spoolDirectory == CrashSettings().spoolDirectory { options.crashes.spoolDirectory = folder.appending(path: "spool").path }
        let database = try await MigratedDatabase.make()
        let postgres = database.client(for: "analytics")
        let service = AnalyticsService(
            postgres: postgres, files: LocalFiles(directory: folder.path), options: options, logger: .silent)
        let router = ServiceProcess.makeRouter(service, signer: ServiceClient.signer)
        let application = Application(router: router, services: service.background, logger: .silent)
        try await application.test(.router) { client in
            while !(await service.isReady()) { try await Task.sleep(for: .milliseconds(5)) }
            try await body(
                AnalyticsApp(database: database, postgres: postgres, service: service, gateway: ServiceClient(client, principal: nil)))
        }
    }

    func principal(_ kind: Principal.Kind, user: String? = nil, staff: StaffGrant? = nil) -> Principal {
        Principal(
            kind: kind, appID: appID, appNumber: appNumber, environment: environment, credentialID: "c1", userID: user,
            sessionID: user.map { _ in "s1" }, staff: staff)
    }

    /// By an ingest key.
    func ingest(_ method: String, _ path: String, _ body: String? = nil, headers: [String: String] = [:]) async throws -> Answer {
        try await gateway.asking(as: principal(.ingest)).send(method, path, body, headers: headers)
    }

    /// As the app's own server.
    @discardableResult
    func master(_ method: String, _ path: String, _ body: String? = nil, headers: [String: String] = [:]) async throws -> Answer {
        try await gateway.asking(as: principal(.master)).send(method, path, body, headers: headers)
    }

    /// As the app on a device, and perhaps somebody who is signed in there.
    func client(
        _ method: String, _ path: String, _ body: String? = nil, user: String? = nil, headers: [String: String] = [:]
    ) async throws -> Answer {
        try await gateway.asking(as: principal(.client, user: user)).send(method, path, body, headers: headers)
    }

    /// As a staff member.
    func staff(
        _ method: String, _ path: String, _ body: String? = nil, rights: StaffRights = .none, headers: [String: String] = [:]
    ) async throws -> Answer {
        let grant = StaffGrant(id: "0193a000-0000-7000-8000-000000000001", userName: "sam", rights: rights)
        return try await gateway.asking(as: principal(.staff, staff: grant)).send(method, path, body, headers: headers)
    }
}

import Foundation
import Hummingbird
import HummingbirdTesting
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import MartletTesting
import ServiceTesting

@testable import NotificationsService

/// The notifications service with its own database and running background tasks, called as by the gateway.
struct NotificationsApp: ServiceApp {
    static let internalSecret = Secret("an-internal-secret-of-the-tests-0123456789")

    let database: MigratedDatabase
    /// Logged in as `martlet_notifications`.
    let postgres: PostgresClient
    let service: NotificationsService
    let gateway: ServiceClient
    var appID = "app1"
    var environment = AppEnvironment.live

    static func run(
        _ options: NotificationsOptions = NotificationsOptions(internalSecret: internalSecret),
        database given: MigratedDatabase? = nil,
        _ body: @Sendable (NotificationsApp) async throws -> Void
    ) async throws {
        guard let database = given else {
            return try await MigratedDatabase.with { try await run(options, database: $0, body) }
        }
        let postgres = database.client(for: "notifications")
        let service = NotificationsService(postgres: postgres, options: options, logger: .silent, now: { Date() })
        let router = ServiceProcess.makeRouter(service, signer: ServiceClient.signer)
        let application = Application(router: router, services: service.background, logger: .silent)
        try await application.test(.router) { client in
            try await eventually("the service is ready") { await service.isReady() }
            try await body(
                NotificationsApp(
                    database: database, postgres: postgres, service: service,
                    gateway: ServiceClient(client, principal: nil)))
        }
    }

    /// The app's space.
    var space: Space {
        get async throws { try await service.spaces.space(of: appID, environment) }
    }
}

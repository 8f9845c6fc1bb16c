import Foundation
import Hummingbird
import HummingbirdTesting
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import MartletTesting
import ServiceTesting
import Testing

@testable import ConfigService

/// The config service with its own database and running background tasks, called as by the gateway.
struct ConfigApp: ServiceApp {
    static let internalSecret = Secret("an-internal-secret-of-the-tests-0123456789")

    let database: MigratedDatabase
    /// Logged in as `martlet_config`.
    let postgres: PostgresClient
    let service: ConfigService
    let gateway: ServiceClient
    var appID = "app1"
    var environment = AppEnvironment.live

    struct Away: Error {}

    /// - Parameters:
    ///   - roles: The answers of storage.
    ///   - profiles: The answers of auth.
    ///   - conversions: The answers of analytics, which is unavailable by default.
    static func run(
        kinds: Kinds = ConfigService.kinds,
        roles: @escaping @Sendable (UserDataRequest) async throws -> UserRoles = { _ in UserRoles(roles: []) },
        profiles: @escaping @Sendable (UserDataRequest) async throws -> JSONValue = { _ in throw Away() },
        lookups: LookupLimits = LookupLimits(), conversions: Conversions = Conversions { _ in throw Away() },
        limits: LiveDocuments.Limits = LiveDocuments.Limits(),
        _ body: @Sendable (ConfigApp) async throws -> Void
    ) async throws {
        try await MigratedDatabase.with { database in
            let postgres = database.client(for: "config")
            let service = ConfigService(
                postgres: postgres, internalSecret: internalSecret,
                others: .init(
                    roles: RoleNames(limits: lookups, load: roles),
                    profiles: UserProfiles(limits: lookups, load: profiles), conversions: conversions),
                logger: .silent, limits: limits, kinds: kinds)
            let router = ServiceProcess.makeRouter(service, signer: ServiceClient.signer)
            let application = Application(router: router, services: service.background, logger: .silent)
            try await application.test(.router) { client in
                try await eventually("the service is ready") { await service.isReady() }
                try await body(
                    ConfigApp(
                        database: database, postgres: postgres, service: service,
                        gateway: ServiceClient(client, principal: nil)))
            }
        }
    }

    var space: AppSpace { AppSpace(appID: appID, environment: environment) }

    /// Stores a draft and publishes it.
    @discardableResult
    func publish(_ kind: DocumentKind, _ name: String, _ content: String) async throws -> Answer {
        let path = "/config/\(kind.rawValue)/\(name)"
        let known = try await master("GET", path)
        let condition = known.status == 404 ? ["if-none-match": "*"] : ["if-match": "*"]
        let stored = try await master("PUT", path, content, headers: condition)
        try #require([200, 201].contains(stored.status), "\(stored)")
        return try await master("POST", path + "/publish")
    }
}

extension ConfigService.OtherServices {
    /// No user has a role; the other services are unavailable.
    static var none: ConfigService.OtherServices {
        ConfigService.OtherServices(
            roles: RoleNames { _ in UserRoles(roles: []) }, profiles: UserProfiles { _ in throw ConfigApp.Away() },
            conversions: Conversions { _ in throw ConfigApp.Away() })
    }
}

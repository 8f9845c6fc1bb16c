import AuthService
import Foundation
import Hummingbird
import HummingbirdTesting
import MartletAPI
import MartletCore
import MartletHTTP
import MartletMail
import MartletPostgres
import MartletTesting
import ServiceTesting
import Testing

/// The auth service with its own database and a running feed.
struct AuthApp: Sendable {
    let database: MigratedDatabase
    /// Logged in as `martlet_auth`.
    let postgres: PostgresClient
    /// Calls the service like the gateway.
    let gateway: ServiceClient

    var apps: AppStore { AppStore(postgres: postgres) }
    var credentials: CredentialStore { CredentialStore(postgres: postgres) }

    /// - Parameter services: Created with the database, before the service starts.
    static func run(
        store: StoreSettings = StoreSettings(), mail: MailSettings = MailSettings(),
        services: @Sendable (MigratedDatabase) async throws -> [ServiceAddress] = { _ in [] },
        exportLimitInBytes: Int = 1 << 20,
        _ body: @Sendable (AuthApp) async throws -> Void
    ) async throws {
        try await MigratedDatabase.with { database in
            let postgres = database.client(for: "auth")
            var options = AuthOptions()
            (options.store, options.mail, options.services) = (store, mail, try await services(database))
            (options.passwordConcurrency, options.exportLimitInBytes, options.arePrivateProvidersAllowed) = (
                2, exportLimitInBytes, true
            )
            (options.bounceCheckTimeout, options.statusTimeLimit) = (.seconds(60), .seconds(60))
            let service = AuthService(
                postgres: postgres, internalSecret: Secret("an-internal-secret-of-the-tests-0123456789"),
                logger: .silent, options: options)
            let router = ServiceProcess.makeRouter(service, signer: ServiceClient.signer)
            let application = Application(router: router, services: service.background, logger: .silent)
            try await application.test(.router) { client in
                try await eventually("the service is ready") { await service.isReady() }
                try await body(
                    AuthApp(
                        database: database, postgres: postgres,
                        gateway: ServiceClient(client, principal: .service("gateway"))))
            }
        }
    }

    /// The first ring of the feed newer than `version`; waits for it like a gateway.
    func ring(after version: Int64) async throws -> KeyRing {
        let answer = try await gateway.get("/internal/keyring?after=\(version)&wait=30")
        #expect(answer.status == 200, "\(answer)")
        return try answer.decoded()
    }

    /// The first ring after `version` that satisfies `isWanted`, because a change may arrive in several steps.
    func ring(after version: Int64, where isWanted: (KeyRing) -> Bool) async throws -> KeyRing {
        var ring = try await ring(after: version)
        while !isWanted(ring) { ring = try await self.ring(after: ring.version) }
        return ring
    }
}

extension Answer {
    func decoded<T: Decodable>(_: T.Type = T.self) throws -> T {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        return try decoder.decode(T.self, from: Data(text.utf8))
    }
}

import Foundation
import Logging
import MartletCore
import MartletPostgres
import ServiceLifecycle

/// Waits for PostgreSQL, creates the database, applies pending migrations, creates the first app, and opens the gate.
struct DatabaseStep: Service {
    let superuserURL: Secret
    let makesDatabase: Bool
    let secrets: StoredSecrets
    /// Service name and its database URL.
    let serviceURLs: [(name: String, url: Secret)]
    let announcement: AnnouncementStep
    let gate: StartGate
    /// The log of our own PostgreSQL; nil for an external one.
    let log: URL?

    func run() async throws {
        try await setUp()
        try await announcement.prepare()
        gate.open()
        try? await gracefulShutdown()
    }

    private func setUp() async throws {
        if makesDatabase { try await makeDatabase() }
        try await Database.withClient(url: superuserURL) { client in
            let passwords = secrets.servicePasswords.mapValues(Secret.init)
            _ = try await DatabaseSetup(client: client, passwords: passwords).run()
        }
        for service in serviceURLs { try await checkRole(of: service.name, service.url) }
    }

    /// A service that logs in as superuser would bypass the isolation between services and apps.
    private func checkRole(of service: String, _ url: Secret) async throws {
        let isRight = try await Database.withClient(url: url) { client -> Bool in
            try await client.query(
                "SELECT rolname = \("martlet_" + service) AND NOT rolsuper FROM pg_roles WHERE rolname = current_user")[
                    0
                ].decode(0)
        }
        guard isRight else {
            throw UpError(
                "the database address of \(service) does not log in as martlet_\(service), or this role is a superuser")
        }
    }

    private func makeDatabase() async throws {
        let maintenance = superuserURL.withValue { Secret(String($0.dropLast(Cluster.database.count)) + "postgres") }
        try await Readiness.wait(for: "PostgreSQL", log: log, limit: .seconds(60)) {
            (try? await Database.withClient(url: maintenance) { try await $0.execute("SELECT 1", timeout: .seconds(2)) })
                != nil
        }
        try await Database.withClient(url: maintenance) { client in
            guard let name = PostgresIdentifier(Cluster.database) else { return }
            guard try await client.query("SELECT FROM pg_database WHERE datname = \(Cluster.database)").isEmpty else {
                return
            }
            var create: PostgresQuery = "CREATE DATABASE \(name)"
            create.isPrepared = false
            try await client.execute(create)
        }
    }
}

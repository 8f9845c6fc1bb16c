import Logging
import MartletCore
public import MartletPostgres
public import MartletTesting
import OperatorCommands

/// A database of the shared server with every role, schema and right that `martlet migrate` makes.
///
/// A copy of a template that is migrated once per process. Roles belong to the whole server: a test that changes their
/// passwords needs a server of its own.
public struct MigratedDatabase: Sendable {
    public let server: PostgresServer
    public let name: String

    /// Makes a fresh one.
    public static func make() async throws -> MigratedDatabase {
        let server = try await PostgresServer.shared()
        let name = try await server.makeDatabaseNamed(template: Template.shared.name(on: server), for: Template.services.map { "martlet_" + $0 })
        return MigratedDatabase(server: server, name: name)
    }

    /// Makes one on a server of the test's own, which takes some seconds.
    public static func make(on server: PostgresServer) async throws -> MigratedDatabase {
        let template = try await Template.make(on: server)
        let name = try await server.makeDatabaseNamed(template: template, for: Template.services.map { "martlet_" + $0 })
        return MigratedDatabase(server: server, name: name)
    }

    /// One for as long as `body` runs: some thousand of 15 MB each are more than a disk has.
    public static func with(_ body: (MigratedDatabase) async throws -> Void) async throws {
        let database = try await make()
        do {
            try await body(database)
        } catch {
            await database.drop()
            throw error
        }
        await database.drop()
    }

    /// Drops it, also from under clients that nobody closed.
    private func drop() async {
        do {
            try await server.dropDatabase(named: name)
        } catch {
            print("The database \(name) stays until the server goes: \(error)")
        }
    }

    /// A client that logs in as `martlet_<service>`, as the service does in production.
    public func client(for service: String, maximumConnections: Int = 2) -> PostgresClient {
        let login = "user=martlet_\(service) password=\(server.password)"
        var configuration = PostgresConfiguration(
            connectionString: "host=\(server.directory) port=\(server.port) dbname=\(name) \(login)")
        configuration.maximumConnections = maximumConnections
        configuration.becomePatient()
        return PostgresClient(configuration: configuration, logger: .silent)
    }

    /// A client of the superuser, who sees everything: for looking at what a service did.
    public func superuserClient() -> PostgresClient {
        var configuration = server.configuration(database: name)
        configuration.maximumConnections = 1
        configuration.becomePatient()
        return PostgresClient(configuration: configuration, logger: .silent)
    }

    public func withSuperuser<T: Sendable>(_ body: (PostgresClient) async throws -> T) async throws -> T {
        let client = superuserClient()
        do {
            let value = try await body(client)
            await client.close()
            return value
        } catch {
            await client.close()
            throw error
        }
    }
}

private actor Template {
    static let shared = Template()
    static let services = ServiceName.allCases.map(\.rawValue)

    private var task: Task<String, any Error>?

    func name(on server: PostgresServer) async throws -> String {
        let task = task ?? Task { try await Self.make(on: server) }
        self.task = task
        return try await task.value
    }

    fileprivate static func make(on server: PostgresServer) async throws -> String {
        let database = MigratedDatabase(server: server, name: try await server.makeDatabaseNamed())
        let passwords = Dictionary(uniqueKeysWithValues: services.map { ($0, Secret(server.password)) })
        try await database.withSuperuser { _ = try await DatabaseSetup(client: $0, passwords: passwords).run() }
        return database.name
    }
}

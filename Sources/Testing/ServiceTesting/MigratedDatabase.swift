import Logging
import MartletCore
public import MartletPostgres
public import MartletTesting
import OperatorCommands

/// A database on the shared server with every role, schema and permission that `martlet migrate` creates.
///
/// It is copied from a template that is migrated once per process. Roles belong to the whole server, so a test that
/// changes their passwords needs its own server.
public struct MigratedDatabase: Sendable {
    public let server: PostgresServer
    public let name: String

    /// Creates a database.
    public static func make() async throws -> MigratedDatabase {
        let server = try await PostgresServer.shared()
        let name = try await server.makeDatabaseNamed(
            template: Template.shared.name(on: server), for: Template.services.map { "martlet_" + $0 })
        return MigratedDatabase(server: server, name: name)
    }

    /// Creates a database on the test's own server, which takes some seconds.
    public static func make(on server: PostgresServer) async throws -> MigratedDatabase {
        let template = try await Template.make(on: server)
        let name = try await server.makeDatabaseNamed(
            template: template, for: Template.services.map { "martlet_" + $0 })
        return MigratedDatabase(server: server, name: name)
    }

    /// Creates a database for the duration of `body`. Otherwise thousands of databases, 15 MB each, would fill the
    /// disk.
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

    /// Drops the database even if clients are still connected.
    private func drop() async {
        do {
            try await server.dropDatabase(named: name)
        } catch {
            print("Could not drop the database \(name); it remains until the server stops: \(error)")
        }
    }

    /// A client that logs in as `martlet_<service>`, like the service in production.
    public func client(for service: String, maximumConnections: Int = 2) -> PostgresClient {
        let login = "user=martlet_\(service) password=\(server.password)"
        var configuration = PostgresConfiguration(
            connectionString: "host=\(server.directory) port=\(server.port) dbname=\(name) \(login)")
        configuration.maximumConnections = maximumConnections
        configuration.useTestTimeouts()
        return PostgresClient(configuration: configuration, logger: .silent)
    }

    /// A superuser client, to inspect what a service did.
    public func superuserClient() -> PostgresClient {
        var configuration = server.configuration(database: name)
        configuration.maximumConnections = 1
        configuration.useTestTimeouts()
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

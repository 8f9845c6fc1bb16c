import MartletCore
import MartletPostgres
import MartletTesting
import ServiceTesting
import Testing

@testable import OperatorCommands

/// Uses servers of its own, because roles and passwords belong to a whole server.
@Suite(.serialized) struct DatabaseSetupTests {
    @Test func `a fresh server gets every role and schema, and a second run changes nothing`() async throws {
        try await withServer { server in
            let client = try await superuser(server)
            let passwords = Dictionary(
                uniqueKeysWithValues: ServiceRole.all.map { ($0.name, Secret("password of \($0.name)")) })
            let lines = try await DatabaseSetup(client: client, passwords: passwords).run()
            #expect(lines.contains("auth 1 apps") && lines.contains("storage 1 provision"))
            #expect(lines.count == ServiceRole.all.map(\.migrations.count).reduce(0, +))
            let before = try await Self.rights(client)
            #expect(try await DatabaseSetup(client: client, passwords: passwords).run().isEmpty)
            #expect(try await DatabaseSetup(client: client, passwords: [:]).run().isEmpty)
            #expect(try await Self.rights(client) == before)
            for service in ServiceRole.all {
                let login = self.client(server, user: service.role, password: "password of \(service.name)")
                #expect(
                    try await login.query(
                        "SELECT FROM pg_roles WHERE rolname = CURRENT_USER AND NOT rolsuper AND NOT rolinherit"
                    ).count == 1)
                await login.close()
                let wrong = self.client(server, user: service.role, password: "password", isRefused: true)
                await #expect(throws: PostgresError.self) { try await wrong.query("SELECT 1", timeout: .seconds(2)) }
                await wrong.close()
            }
            await client.close()
        }
    }

    @Test func `setting a password again replaces the old one`() async throws {
        try await withServer { server in
            let client = try await superuser(server)
            for password in ["first", "second"] {
                _ = try await DatabaseSetup(client: client, passwords: ["auth": Secret(password)]).run()
            }
            for (password, isGood) in [("first", false), ("second", true)] {
                let login = self.client(server, user: "martlet_auth", password: password, isRefused: !isGood)
                #expect(((try? await login.query("SELECT 1")) != nil) == isGood)
                await login.close()
            }
            await client.close()
        }
    }

    @Test func `concurrent setups all succeed, on one database and on several of one server`() async throws {
        try await withServer { server in
            var names = ["postgres"]
            for _ in 0..<3 { names.append(try await server.makeDatabaseNamed()) }
            let applied = try await withThrowingTaskGroup(of: Int.self) { group in
                for name in names + names + names {
                    group.addTask {
                        let client = try await superuser(server, database: name)
                        let count = try await DatabaseSetup(
                            client: client, passwords: ["auth": Secret("x"), "storage": Secret("y")]
                        ).run().count
                        await client.close()
                        return count
                    }
                }
                return try await group.reduce(0, +)
            }
            #expect(applied == names.count * ServiceRole.all.map(\.migrations.count).reduce(0, +))
        }
    }

    @Test(arguments: [
        "plain", "with 'quotes' and \"more\"", "back\\slash", "percent%40 and space",
        String(repeating: "long", count: 50),
    ])
    func `PostgreSQL accepts a verifier made here`(_ password: String) async throws {
        let server = try await PostgresServer.shared()
        let client = try await superuser(server)
        let name = "scram_\(Credential.hexDigest(of: password).prefix(12))"
        let role = try #require(PostgresIdentifier(name))
        let verifier = try #require(PostgresLiteral(ScramVerifier.make(of: Secret(password))))
        try await client.execute("CREATE ROLE \(role) LOGIN PASSWORD \(verifier)")
        let quoted = password.replacing("\\", with: "\\\\").replacing("'", with: "\\'")
        let login = self.client(server, user: name, password: "'\(quoted)'")
        #expect(try await login.query("SELECT 1").count == 1)
        await login.close()
        let wrong = self.client(server, user: name, password: "'\(quoted)x'", isRefused: true)
        await #expect(throws: PostgresError.self) { try await wrong.query("SELECT 1", timeout: .seconds(2)) }
        await wrong.close()
        #expect(ScramVerifier.make(of: Secret(password)) != ScramVerifier.make(of: Secret(password)))
        await client.close()
    }

    @Test func `PUBLIC may not connect, become a role, write code, or use the public schema`() async throws {
        let database = try await MigratedDatabase.make()
        let name = try #require(PostgresIdentifier(database.name))
        try await database.withSuperuser { client in
            try await client.execute("GRANT ALL ON DATABASE \(name) TO PUBLIC")
            _ = try await DatabaseSetup(client: client, passwords: [:]).run()
            for (right, sql) in [
                ("connect", "has_database_privilege('public', current_database(), 'CONNECT')"),
                ("temporary", "has_database_privilege('public', current_database(), 'TEMPORARY')"),
                ("schema", "has_schema_privilege('public', 'public', 'USAGE')"),
                (
                    "set_config",
                    "has_function_privilege('public', 'pg_catalog.set_config(text,text,boolean)', 'EXECUTE')"
                ),
                ("plpgsql", "has_language_privilege('public', 'plpgsql', 'USAGE')"),
                ("sql", "has_language_privilege('public', 'sql', 'USAGE')"),
                ("provision", "has_function_privilege('public', 'storage.provision(text,text)', 'EXECUTE')"),
            ] {
                let isGranted: Bool = try await client.query(.init(unescaped: "SELECT \(sql)"))[0].decode(0)
                #expect(!isGranted, "\(right)")
            }
        }
    }

    private static func rights(_ client: PostgresClient) async throws -> [String] {
        try await client.query(
            """
            SELECT datacl::text FROM pg_database WHERE datname = current_database()
            UNION ALL SELECT nspname || nspacl::text FROM pg_namespace WHERE nspname !~ '^pg_' AND nspacl IS NOT NULL
            UNION ALL SELECT rolname || rolpassword FROM pg_authid WHERE rolname = 'never'
            ORDER BY 1
            """
        ).map { try $0.decode(0) }
    }

    /// - Parameter isRefused: Whether the password is wrong, so that no connection succeeds.
    private func client(
        _ server: PostgresServer, user: String, password: String, isRefused: Bool = false
    ) -> PostgresClient {
        let password = password.hasPrefix("'") ? password : "'\(password)'"
        var configuration = PostgresConfiguration(
            connectionString:
                "host=\(server.directory) port=\(server.port) dbname=postgres user=\(user) password=\(password)")
        configuration.maximumConnections = 1
        configuration.useTestTimeouts()
        if isRefused { configuration.waitForConnectionTimeout = .seconds(1) }
        return PostgresClient(configuration: configuration, logger: .silent)
    }

    private func superuser(_ server: PostgresServer, database: String = "postgres") async throws -> PostgresClient {
        var configuration = server.configuration(database: database)
        configuration.maximumConnections = 1
        configuration.useTestTimeouts()
        return PostgresClient(configuration: configuration, logger: .silent)
    }

    private func withServer(_ body: (PostgresServer) async throws -> Void) async throws {
        let server = try await PostgresServer.start()
        do {
            try await body(server)
        } catch {
            try await server.stop()
            throw error
        }
        try await server.stop()
    }
}

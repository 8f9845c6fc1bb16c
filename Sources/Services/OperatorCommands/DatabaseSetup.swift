package import MartletCore
package import MartletPostgres

/// Sets up or updates a database: roles, permissions and the migrations of all services. Requires a superuser; safe to
/// repeat.
package struct DatabaseSetup {
    let client: PostgresClient
    /// Service name → password of its role. A role without an entry keeps its password.
    let passwords: [String: Secret]

    package init(client: PostgresClient, passwords: [String: Secret]) {
        self.client = client
        self.passwords = passwords
    }

    /// Returns a line for each applied migration.
    package func run() async throws -> [String] {
        var lines: [String] = []
        try await prepareDatabase()
        for service in ServiceRole.all {
            try await makeRole(service)
            let applied = try await client.migrate(schema: service.name, service.migrations)
            lines += applied.map { "\(service.name) \($0.number) \($0.name)" }
            try await grantSchema(service)
        }
        return lines
    }

    /// Revokes permissions of PUBLIC that would let SQL injected under an app's role switch to another role.
    ///
    /// `set_config('role', …)` is `SET ROLE` as an expression, and a procedural language could execute `SET ROLE`.
    private func prepareDatabase() async throws {
        let name: String = try await client.query("SELECT current_database()::text")[0].decode(0)
        guard let database = PostgresIdentifier(name) else { return }
        try await client.withTransaction { transaction in
            try await Self.lock(transaction)
            try await transaction.execute("REVOKE ALL ON DATABASE \(database) FROM PUBLIC")
            try await transaction.execute("REVOKE ALL ON SCHEMA public FROM PUBLIC")
            try await transaction.execute(
                "REVOKE EXECUTE ON FUNCTION pg_catalog.set_config(text, text, boolean) FROM PUBLIC")
            try await transaction.execute("REVOKE USAGE ON LANGUAGE plpgsql, sql FROM PUBLIC")
            try await Self.createStatementStatistics(transaction)
        }
    }

    /// Creates the extension `pg_stat_statements` where the server has loaded its library. `auth.statement_counts()`
    /// reads it for the history of statements.
    private static func createStatementStatistics(_ transaction: PostgresTransaction) async throws {
        let isPossible: Bool = try await transaction.query(
            """
            SELECT 'pg_stat_statements'
                    = ANY (string_to_array(replace(current_setting('shared_preload_libraries'), ' ', ''), ','))
                AND EXISTS (SELECT FROM pg_available_extensions WHERE name = 'pg_stat_statements')
                AND EXISTS (SELECT FROM pg_namespace WHERE nspname = 'public')
            """)[0].decode(0)
        guard isPossible else { return }
        try await transaction.execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements SCHEMA public")
        // The extension lets every role read it, so an app's role could count the statements of other apps.
        try await transaction.execute(
            "REVOKE ALL ON public.pg_stat_statements, public.pg_stat_statements_info FROM PUBLIC")
    }

    private func makeRole(_ service: ServiceRole) async throws {
        guard let role = PostgresIdentifier(service.role) else { return }
        let database: String = try await client.query("SELECT current_database()::text")[0].decode(0)
        try await client.withTransaction { transaction in
            try await Self.lock(transaction)
            if try await transaction.query("SELECT FROM pg_roles WHERE rolname = \(service.role)").isEmpty {
                try await transaction.execute("CREATE ROLE \(role) LOGIN NOINHERIT")
            }
            if let password = passwords[service.name], let verifier = PostgresLiteral(ScramVerifier.make(of: password))
            {
                try await transaction.execute("ALTER ROLE \(role) PASSWORD \(verifier)")
            }
            if let database = PostgresIdentifier(database) {
                try await transaction.execute("GRANT CONNECT ON DATABASE \(database) TO \(role)")
            }
        }
    }

    private func grantSchema(_ service: ServiceRole) async throws {
        guard let role = PostgresIdentifier(service.role), let schema = PostgresIdentifier(service.name) else { return }
        try await client.withTransaction { transaction in
            try await Self.lock(transaction)
            try await transaction.execute("GRANT USAGE ON SCHEMA \(schema) TO \(role)")
        }
    }

    /// Serializes setups, because concurrent changes to the same role or permission would fail.
    ///
    /// Roles belong to the whole server, where another setup may be running on a different database. An advisory lock
    /// is limited to one database, so the lock is on the table of roles, which all databases share.
    private static func lock(_ transaction: PostgresTransaction) async throws {
        // Other setups may take longer than the usual lock timeout.
        try await transaction.execute("SET LOCAL lock_timeout = 0")
        try await transaction.execute("LOCK TABLE pg_catalog.pg_authid IN SHARE ROW EXCLUSIVE MODE")
        try await transaction.execute("SET LOCAL lock_timeout TO DEFAULT")
    }
}

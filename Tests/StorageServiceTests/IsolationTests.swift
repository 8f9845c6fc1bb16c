import Foundation
import MartletAPI
import MartletPostgres
import MartletTesting
import ServiceTesting
import Testing

@testable import StorageService

/// Statements that could be injected under an app's role. No route allows this; the role is the second line of defence.
@Suite struct IsolationTests {
    /// `$B` is the other app's schema, which is also the name of its role; `$L` is a large object of the other app.
    private static let attempts: [(sql: String, state: String)] = [
        // The rows themselves
        (#"SELECT doc::text FROM "$B"."Secret""#, "42501"),
        (#"SELECT 'x' UNION ALL SELECT doc::text FROM "$B"."Secret""#, "42501"),
        (#"SELECT (SELECT string_agg(doc::text, ',') FROM "$B"."Secret")"#, "42501"),
        (#"SELECT 'x' WHERE EXISTS (SELECT FROM "$B"."Secret" WHERE doc->>'pin' LIKE '1%')"#, "42501"),
        (#"TABLE "$B"."Secret""#, "42501"),
        (#"INSERT INTO "$B"."Secret" (id, doc) VALUES ('x', '{}')"#, "42501"),
        (#"WITH gone AS (DELETE FROM "$B"."Secret" RETURNING doc) SELECT * FROM gone"#, "42501"),
        (#"SELECT pg_catalog.pg_relation_filepath('"$B"."Secret"'::regclass)"#, "42501"),
        // SQL in a string
        (#"SELECT query_to_xml('SELECT doc FROM "$B"."Secret"', TRUE, TRUE, '')"#, "42501"),
        (#"SELECT query_to_xml('SET ROLE "$B"', TRUE, TRUE, '')"#, "0A000"),
        (#"SELECT query_to_xml('RESET ROLE', TRUE, TRUE, '')"#, "0A000"),
        (#"SELECT query_to_xml('SELECT set_config(''role'', ''$B'', FALSE)', TRUE, TRUE, '')"#, "42501"),
        (#"SELECT table_to_xml('"$B"."Secret"'::regclass, TRUE, TRUE, '')"#, "42501"),
        (#"SELECT ts_stat('SELECT to_tsvector(doc::text) FROM "$B"."Secret"')"#, "42501"),
        (
            #"SELECT ts_rewrite('a'::tsquery, 'SELECT doc::text::tsquery, doc::text::tsquery FROM "$B"."Secret"')"#,
            "42501"
        ),
        // Becoming another role
        ("SELECT set_config('role', '$B', FALSE)", "42501"),
        ("SELECT set_config('role', 'none', TRUE)", "42501"),
        ("SELECT set_config('session_authorization', 'postgres', FALSE)", "42501"),
        ("UPDATE pg_settings SET setting = '$B' WHERE name = 'role'", "42501"),
        ("ALTER ROLE martlet_storage SUPERUSER", "42501"),
        ("ALTER ROLE martlet_storage SET role = '$B'", "42501"),
        ("GRANT \"$B\" TO CURRENT_USER", "42501"),
        ("CREATE ROLE other", "42501"),
        ("SELECT 1; SET ROLE \"$B\"", "42601"),
        // Code
        ("DO $$ BEGIN SET ROLE \"$B\"; END $$", "42501"),
        ("CREATE FUNCTION \"$A\".f() RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN 1; END'", "42501"),
        ("CREATE FUNCTION \"$A\".f() RETURNS int LANGUAGE sql SET role = '$B' AS 'SELECT 1'", "42501"),
        ("CREATE EXTENSION dblink", "42501"),
        ("CREATE LANGUAGE mine HANDLER plpgsql_call_handler", "42501"),
        ("SELECT * FROM dblink('dbname=postgres', 'SELECT 1') AS t (x int)", "42883"),
        // Files and large objects
        ("SELECT pg_read_file('/etc/passwd')", "42501"),
        ("SELECT pg_read_binary_file('PG_VERSION')", "42501"),
        ("SELECT pg_ls_dir('.')", "42501"),
        ("SELECT pg_stat_file('PG_VERSION')", "42501"),
        ("SELECT lo_get($L)", "42501"),
        ("SELECT lo_put($L, 0, 'x')", "42501"),
        ("SELECT loread(lo_open($L, 262144), 100)", "42501"),
        ("SELECT lo_unlink($L)", "42501"),
        ("SELECT lo_import('/etc/passwd')", "42501"),
        ("SELECT lo_export($L, '/tmp/x')", "42501"),
        ("SELECT data FROM pg_largeobject", "42501"),
        // Other services, the server, and places to hide things
        ("SELECT sha256 FROM auth.credentials", "42501"),
        ("SELECT storage.provision('other', 'live')", "42501"),
        ("SELECT rolpassword FROM pg_authid", "42501"),
        ("SELECT passwd FROM pg_shadow", "42501"),
        ("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename <> CURRENT_USER", "42501"),
        ("SELECT pg_reload_conf()", "42501"),
        ("CREATE SCHEMA other", "42501"),
        ("CREATE TABLE public.x (y int)", "42501"),
        ("CREATE TABLE \"$B\".x (y int)", "42501"),
        ("CREATE TEMPORARY TABLE x (y int)", "42501"),
        ("CREATE VIEW \"$A\".v AS SELECT * FROM \"$B\".\"Secret\"", "42501"),
        ("ALTER TABLE \"$B\".\"Secret\" RENAME TO mine", "42501"),
        ("DROP SCHEMA \"$B\" CASCADE", "42501"),
    ]

    @Test(arguments: attempts.map(\.sql), [AppEnvironment.live, .test])
    func `an app's role reaches nothing of another app, nor of the app's other environment`(
        _ sql: String, _ environment: AppEnvironment
    ) async throws {
        let apps = try await Self.apps.value
        let state = try #require(Self.attempts.first { $0.sql == sql }?.state)
        let other = environment == .live ? try apps.b.space() : try apps.a.space(.test)
        let large = environment == .live ? apps.largeObject : apps.testLargeObject
        let text = sql.replacing("$A", with: try apps.a.space().schema).replacing("$B", with: other.schema).replacing(
            "$L", with: "\(large)")
        let error = await #expect(throws: PostgresError.self) { try await Self.run(text, as: apps.a) }
        #expect(error?.sqlState == state, "\(error?.message ?? "")")
    }

    @Test(arguments: [
        "COPY \"$B\".\"Secret\" TO STDOUT", "COPY (SELECT 1) TO PROGRAM 'id'", "SET ROLE \"$B\"", "RESET ROLE",
        "SET SESSION AUTHORIZATION DEFAULT",
        "BEGIN", "PREPARE x AS SELECT 1", "LISTEN x", " /* x */ SET ROLE \"$B\"",
    ]) func `statements that would change a shared connection are not even sent`(_ sql: String) async throws {
        let apps = try await Self.apps.value
        let text = sql.replacing("$B", with: try apps.b.space().schema)
        let error = await #expect(throws: PostgresError.self) { try await Self.run(text, as: apps.a) }
        #expect(error?.code == .misuse)
    }

    @Test func `the refused statements would find rows if the app's own role ran them`() async throws {
        let apps = try await Self.apps.value
        let schema = try apps.b.space().schema
        #expect(try await Self.run(#"SELECT doc::text FROM "\#(schema)"."Secret""#, as: apps.b).count == 1)
        #expect(try await Self.run("SELECT lo_get(\(apps.largeObject))", as: apps.b).count == 1)
    }

    @Test func `the activity of others and their data's statistics are hidden`() async throws {
        let apps = try await Self.apps.value
        let schema = try apps.b.space().schema
        var analyze = PostgresQuery(unescaped: #"ANALYZE "\#(schema)"."Secret""#)
        analyze.isPrepared = false
        try await apps.b.superuser.execute(analyze)
        #expect(try await apps.b.superuser.query("SELECT FROM pg_stats WHERE schemaname = \(schema)").isEmpty == false)
        #expect(try await Self.run("SELECT * FROM pg_stats WHERE schemaname = '\(schema)'", as: apps.a).isEmpty)
        let queries: [String] = try await Self.run(
            "SELECT DISTINCT query FROM pg_stat_activity WHERE usename <> CURRENT_USER AND query <> ''", as: apps.a
        ).map { try $0.decode(0) }
        #expect(queries == ["<insufficient privilege>"])
    }

    @Test func `the storage service itself reads an app only in the app's role`() async throws {
        let apps = try await Self.apps.value
        let error = await #expect(throws: PostgresError.self) {
            try await apps.a.postgres.query(
                .init(unescaped: #"SELECT doc FROM "\#(try apps.b.space().schema)"."Secret""#))
        }
        #expect(error?.sqlState == "42501")
    }

    @Test(arguments: ["auth", "config", "analytics", "notifications"])
    func `no other service can read an app, become its role, or create apps`(_ service: String) async throws {
        let apps = try await Self.apps.value
        let client = apps.a.database.client(for: service, maximumConnections: 1)
        let schema = try apps.b.space().schema
        for sql in [
            #"SELECT doc FROM "\#(schema)"."Secret""#, "SELECT storage.provision('x', 'live')",
            "SELECT * FROM storage.migrations",
        ] {
            let error = await #expect(throws: PostgresError.self) { try await client.query(.init(unescaped: sql)) }
            #expect(error?.sqlState == "42501", "\(sql)")
        }
        let error = await #expect(throws: PostgresError.self) {
            try await client.executeScript("SET ROLE \"\(schema)\"")
        }
        #expect(error?.sqlState == "42501")
        await client.close()
    }

    @Test(arguments: ["storage", "config", "analytics", "notifications"])
    func `only auth can read credentials and staff`(_ service: String) async throws {
        let database = try await Self.apps.value.a.database
        let client = database.client(for: service, maximumConnections: 1)
        for table in ["credentials", "staff", "apps", "key_ring", "migrations"] {
            let error = await #expect(throws: PostgresError.self) {
                try await client.query(.init(unescaped: "SELECT * FROM auth.\(table)"))
            }
            #expect(error?.sqlState == "42501", "\(table)")
        }
        await client.close()
        let auth = database.client(for: "auth", maximumConnections: 1)
        #expect(try await auth.query("SELECT FROM auth.credentials").isEmpty)
        await auth.close()
    }

    @Test(
        arguments: ["Live", "live'", "", "prod"],
        ["good", "Bad", "a_b", "a\"b", "", "1a", String(repeating: "a", count: 33)])
    func `only valid apps and environments are provisioned`(_ environment: String, _ app: String) async throws {
        let postgres = try await Self.apps.value.a.postgres
        let error = await #expect(throws: PostgresError.self) {
            try await postgres.execute("SELECT storage.provision(\(app), \(environment))")
        }
        #expect(error?.sqlState == "22023")
    }

    private struct Apps: Sendable {
        let a: StorageApp
        let b: StorageApp
        /// Large objects that belong to `b` and to the test environment of `a`.
        let largeObject: Int
        let testLargeObject: Int
    }

    private static let apps = Task {
        // Both in one database: only there can SQL of the one name the other's tables and large objects.
        let a = try await StorageApp()
        let b = a.neighbour()
        #expect(try await a.client.post("/storage/Mine", "{}").status == 201)
        #expect(try await a.testClient.post("/storage/Secret", #"{"pin":1234}"#).status == 201)
        #expect(try await b.client.post("/storage/Secret", #"{"pin":1234}"#).status == 201)
        let make = "SELECT lo_from_bytea(0, 'secret')::bigint"
        return Apps(
            a: a, b: b, largeObject: try await run(make, as: b)[0].decode(0),
            testLargeObject: try await run(make, as: a, .test)[0].decode(0))
    }

    @discardableResult
    private static func run(
        _ sql: String, as app: StorageApp, _ environment: AppEnvironment = .live
    ) async throws -> PostgresRows {
        var query = PostgresQuery(unescaped: sql)
        query.role = try app.space(environment).role
        query.isPrepared = false
        return try await app.postgres.query(query)
    }
}

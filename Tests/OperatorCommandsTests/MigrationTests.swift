import Foundation
import MartletCore
import MartletPostgres
import MartletTesting
import Testing

@Suite struct MigrationTests {
    private static let first = migration(1, "CREATE TABLE s.a (x int); INSERT INTO s.a VALUES (1);")
    private static let second = migration(
        2, "ALTER TABLE s.a ADD y text DEFAULT 'it''s $1'; -- no statement after this")

    @Test func `migrations are applied in order, each once`() async throws {
        try await withDatabase { client in
            #expect(try await client.migrate(schema: "s", [Self.second, Self.first]).map(\.number) == [1, 2])
            #expect(try await client.migrate(schema: "s", [Self.first, Self.second]).isEmpty)
            let rows = try await client.query("SELECT x, y FROM s.a")
            #expect(rows.count == 1)
            #expect(try rows[0].decode(1, as: String.self) == "it's $1")
            #expect(try await Self.numbers(client) == [1, 2])
        }
    }

    @Test func `a later migration is applied to the existing schema`() async throws {
        try await withDatabase { client in
            _ = try await client.migrate(schema: "s", [Self.first])
            #expect(try await client.migrate(schema: "s", [Self.first, Self.second]).map(\.number) == [2])
        }
    }

    @Test func `a schema is compared with a program without changing it`() async throws {
        try await withDatabase { client in
            #expect(
                try await client.migrationState(schema: "s", [Self.second, Self.first])
                    == MigrationState(pending: [1, 2]))
            _ = try await client.migrate(schema: "s", [Self.first, Self.second])
            #expect(try await client.migrationState(schema: "s", [Self.first, Self.second]) == MigrationState())
            let edited = migration(1, "SELECT 1")
            #expect(
                try await client.migrationState(schema: "s", [edited, migration(3, "SELECT 1")])
                    == MigrationState(pending: [3], edited: [1], unknown: [2]))
            #expect(try await Self.numbers(client) == [1, 2])
        }
    }

    @Test func `an edited migration is refused, and nothing after it is applied`() async throws {
        try await withDatabase { client in
            _ = try await client.migrate(schema: "s", [Self.first])
            let edited = migration(1, "CREATE TABLE s.a (x int); INSERT INTO s.a VALUES (2);")
            await #expect(throws: MigrationError.self) { try await client.migrate(schema: "s", [edited, Self.second]) }
            #expect(try await Self.numbers(client) == [1])
        }
    }

    @Test func `a failing migration leaves nothing of itself or of those before it`() async throws {
        try await withDatabase { client in
            let failing = migration(2, "CREATE TABLE s.b (x int); SELECT 1/0;")
            await #expect(throws: PostgresError.self) { try await client.migrate(schema: "s", [Self.first, failing]) }
            let tables = try await client.query("SELECT FROM pg_tables WHERE schemaname = 's'")
            #expect(tables.isEmpty)
            #expect(try await client.migrate(schema: "s", [Self.first, Self.second]).count == 2)
        }
    }

    @Test func `twenty concurrent runs apply each migration once`() async throws {
        let configuration = try await PostgresServer.shared().makeDatabase()
        let counts = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<20 {
                group.addTask {
                    var configuration = configuration
                    configuration.useTestTimeouts()
                    configuration.maximumConnections = 1
                    let client = PostgresClient(configuration: configuration, logger: .silent)
                    let count = try await client.migrate(schema: "s", [Self.first, Self.second]).count
                    await client.close()
                    return count
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(counts.sorted() == Array(repeating: 0, count: 19) + [2])
    }

    @Test(arguments: ["", String(repeating: "s", count: 64)]) func `an invalid schema name is refused`(
        _ name: String
    ) async throws {
        try await withDatabase { client in
            await #expect(throws: MigrationError.self) { try await client.migrate(schema: name, [Self.first]) }
            let tables = try await client.query("SELECT FROM pg_tables WHERE tablename = 'migrations'")
            #expect(tables.isEmpty)
        }
    }

    private static func numbers(_ client: PostgresClient) async throws -> [Int] {
        try await client.query("SELECT number FROM s.migrations ORDER BY number").map { try $0.decode(0) }
    }
}

private func migration(_ number: Int, _ sql: String) -> Migration {
    Migration(number: number, name: "step", sql: Array(sql.utf8))
}

/// Lends an empty database, as superuser.
private func withDatabase(_ body: (PostgresClient) async throws -> Void) async throws {
    var configuration = try await PostgresServer.shared().makeDatabase()
    configuration.useTestTimeouts()
    configuration.maximumConnections = 1
    let client = PostgresClient(configuration: configuration, logger: .silent)
    do {
        try await body(client)
    } catch {
        await client.close()
        throw error
    }
    await client.close()
}

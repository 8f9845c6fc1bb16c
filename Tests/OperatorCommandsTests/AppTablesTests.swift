import Foundation
import MartletPostgres
import ServiceTesting
import Testing

/// `deploy/debian/libexec/app-tables.sql` says which rows of each table belong to an app's archive.
@Suite struct AppTablesTests {
    private struct Table: Decodable {
        var name: String
        var policy: String?
        var condition: String?
    }

    @Test func `every table of the services is in an app's archive, or is listed with the reason`() async throws {
        let tables = try await Self.tables()
        #expect(tables.count > 100)
        #expect(tables.filter { $0.policy == nil }.map(\.name) == [])
        // Rows that are archived or deleted with an app must be found by the app's id.
        #expect(tables.filter { $0.policy != "keep" && $0.condition == nil }.map(\.name) == [])
    }

    @Test(arguments: [
        ("auth.users", "replace", "app_id = '@app' AND environment = '@environment'"),
        ("auth.credentials", "app", "app_id = '@app'"), ("auth.sessions", "keep", nil),
        ("storage.spaces", "replace", "schema = '@schema'"),
        (
            "notifications.deliveries", "replace",
            "space = (SELECT id FROM notifications.spaces WHERE app_id = '@app' AND environment = '@environment')"
        ),
        ("auth.passkeys", "replace", "app_id = '@app' AND environment = '@environment'"),
        (
            "auth.recovery_codes", "replace",
            "(user_id) IN (SELECT user_id FROM auth.second_factors WHERE (user_id) IN (SELECT id FROM auth.users WHERE app_id = '@app' AND environment = '@environment'))"
        ),
    ])
    func `rows are found by their app, or by the rows they refer to`(
        name: String, policy: String, condition: String?
    ) async throws {
        let table = try #require(try await Self.tables().first { $0.name == name })
        #expect(table.policy == policy)
        if let condition { #expect(table.condition == condition) }
    }

    private static func tables() async throws -> [Table] {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let file = root.appending(path: "deploy/debian/libexec/app-tables.sql")
        let sql = try String(contentsOf: file, encoding: .utf8)
        var tables: [Table] = []
        try await MigratedDatabase.with { database in
            let text: String = try await database.withSuperuser { client in
                try await client.query(PostgresQuery(unescaped: sql))[0].decode(0)
            }
            tables = try JSONDecoder().decode([Table].self, from: Data(text.utf8))
        }
        return tables
    }
}

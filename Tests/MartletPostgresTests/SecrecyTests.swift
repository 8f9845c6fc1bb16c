import Foundation
import MartletPostgres
import MartletTesting
import Testing

/// Nothing that may be logged contains a secret or a value.
@Suite struct SecrecyTests {
    private func check(_ value: Any, hides secrets: [String], sourceLocation: SourceLocation = #_sourceLocation) {
        var dumped = ""
        dump(value, to: &dumped)
        for text in ["\(value)", String(reflecting: value), dumped] {
            for secret in secrets { #expect(!text.contains(secret), "\(text)", sourceLocation: sourceLocation) }
        }
    }

    @Test(arguments: [
        "host=127.0.0.1 port=PORT user=postgres dbname=postgres password=hunter2",
        "postgres://hunter2:hunter2@127.0.0.1:PORT/postgres",
        "host=hunter2.invalid user=hunter2", "host=/tmp/hunter2 password=hunter2", "postgres://hunter2:hunter2@[",
        "hunter2", "a=hunter2",
    ])
    func `A failed connection reveals nothing`(connectionString: String) async throws {
        let port = try await sharedServer().port
        var configuration = PostgresConfiguration(
            connectionString: connectionString.replacingOccurrences(of: "PORT", with: "\(port)"))
        configuration.waitForConnectionTimeout = .milliseconds(300)
        check(configuration, hides: ["hunter2"])
        try await withClient(configuration) { client async throws in
            let error = try #require(await postgresError { try await client.query("SELECT 1") })
            #expect(error.code == .unavailable)
            check(error, hides: ["hunter2", "127.0.0.1", "/tmp", "\(port)"])
        }
    }

    @Test func `A value refused by PostgreSQL is not revealed`() async throws {
        try await withClient { client async throws in
            try await client.execute("CREATE TABLE t (id int PRIMARY KEY, x text CHECK (length(x) < 3), y int)")
            try await client.execute("INSERT INTO t VALUES (4711)")
            let secret = "hunter2"
            let failures: [(PostgresQuery, String)] = [
                ("INSERT INTO t VALUES (\(4711))", "23505"), ("INSERT INTO t VALUES (2, \(secret))", "23514"),
                ("SELECT \(secret)::int", "22P02"), ("SELECT \(secret)::uuid", "22P02"),
                ("SELECT \(secret)::timestamptz", "22007"),
                ("SELECT \(secret + " x")::tsquery", "42601"), ("SELECT \(secret + "[")::jsonpath", "42601"),
                ("SELECT \(PostgresJSON(secret))", "22P02"), ("DO $$ BEGIN RAISE 'hunter2'; END $$", "P0001"),
                ("SELECT 'x' ~ \(secret + "[")", "2201B"),
            ]
            for (query, state) in failures {
                let error = try #require(await postgresError { try await client.query(query) })
                #expect(error.sqlState == state)
                #expect(!error.mayHaveExecuted)
                check(error, hides: [secret, "4711"])
            }
            let error = await postgresError { try await client.query(failures[0].0) }
            #expect(error?.constraint == "t_pkey" && error?.table == "t" && error?.detail?.contains("4711") == true)
        }
    }
}

import Foundation
import MartletCore
import MartletPostgres
import MartletTesting
import Synchronization
import Testing

/// Only the role whose statements wait for a lock is delayed.
@Suite struct BlockingTests {
    private final class Counter: Sendable {
        let value = Atomic<Int>(0)
    }

    private struct Roles {
        let client: PostgresClient
        let a: PostgresIdentifier
        let b: PostgresIdentifier
    }

    /// Runs `body` while another client holds a lock on the table `t`; `body` releases it by calling the closure it
    /// gets.
    private func withLockedTable(
        _ configure: (inout PostgresConfiguration) -> Void = { _ in },
        _ body: (Roles, _ release: () async throws -> Void) async throws -> Void
    ) async throws {
        var configuration = try await PostgresServer.shared().makeDatabase()
        configuration.useTestTimeouts()
        let plain = configuration
        configure(&configuration)
        try await withClient(plain) { locker async throws in
            let suffix = UInt32.random(in: 0 ... .max)
            let a = try #require(PostgresIdentifier("blocked_\(suffix)")),
                b = try #require(PostgresIdentifier("free_\(suffix)"))
            try await locker.execute("CREATE TABLE t (x int)")
            try await locker.execute("CREATE TABLE u (x int)")
            for role in [a, b] {
                try await locker.execute("CREATE ROLE \(role)")
                try await locker.execute("GRANT ALL ON t, u TO \(role)")
            }
            let (locked, didLock) = AsyncStream.makeStream(of: Void.self)
            let (wanted, release) = AsyncStream.makeStream(of: Void.self)
            let holder = Task {
                try await locker.withTransaction { transaction in
                    try await transaction.execute("LOCK TABLE t IN ACCESS EXCLUSIVE MODE")
                    didLock.finish()
                    for await _ in wanted {}
                }
            }
            for await _ in locked {}
            try await withClient(configuration) { client async throws in
                try await body(Roles(client: client, a: a, b: b)) {
                    release.finish()
                    try await holder.value
                }
            }
            release.finish()
            try await holder.value
        }
    }

    /// Opens all four connections: transactions hold three, and a statement needs one more.
    private func connectAll(_ client: PostgresClient) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<3 {
                group.addTask { try await client.withTransaction { _ = try await $0.query("SELECT pg_sleep(0.5)") } }
            }
            try await Task.sleep(for: .milliseconds(200))
            group.addTask { _ = try await client.query("SELECT 1") }
            try await group.waitForAll()
        }
    }

    private func isLockWaitedFor(_ client: PostgresClient) async throws -> Bool {
        try await !client.query(
            "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        ).isEmpty
    }

    private func under(_ role: PostgresIdentifier?, _ query: PostgresQuery) -> PostgresQuery {
        var query = query
        query.role = role
        return query
    }

    @Test func `Statements that wait for a lock do not stop those of other roles`() async throws {
        try await withLockedTable { roles, release async throws in
            let client = roles.client
            try await connectAll(client)
            for role in [roles.a, roles.b, nil] { try await client.execute(under(role, "SELECT x FROM u")) }
            let answered = Counter()
            let inserts = (0..<50).map { number in
                Task {
                    try await client.execute(under(roles.a, "INSERT INTO t VALUES (\(number))"))
                    answered.value.add(1, ordering: .relaxed)
                }
            }
            try await eventually("an insert waits for the lock") { try await isLockWaitedFor(client) }
            // The lock is held until all of these are done.
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<100 {
                    let query: PostgresQuery = "SELECT x FROM u WHERE x = \(number)"
                    group.addTask { try await client.execute(under(number % 2 == 0 ? roles.b : nil, query)) }
                }
                // A transaction gets a connection, too.
                group.addTask {
                    let count = try await client.withTransaction(role: roles.b) {
                        try await $0.execute("INSERT INTO u VALUES (1)")
                    }
                    #expect(count == 1)
                }
                try await group.waitForAll()
            }
            #expect(answered.value.load(ordering: .relaxed) == 0)
            try await release()
            for insert in inserts { try await insert.value }
            #expect(try await client.query("SELECT count(*) FROM t")[0].decode(0, as: Int.self) == 50)
        }
    }

    /// Statements sent before the client can know that the lock is held.
    @Test func `Statements sent while others begin to wait for a lock do not wait with them`()
        async throws
    {
        try await withLockedTable { roles, release async throws in
            let client = roles.client
            try await connectAll(client)
            let inserts = (0..<30).map { number in
                Task { try await client.execute(under(roles.a, "INSERT INTO t VALUES (\(number))")) }
            }
            // The lock is held until all of these are done.
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<100 {
                    let query: PostgresQuery = "INSERT INTO u VALUES (\(number))"
                    group.addTask { try await client.execute(under(number % 2 == 0 ? roles.b : nil, query)) }
                }
                try await group.waitForAll()
            }
            try await release()
            for insert in inserts { #expect(try await insert.value == 1) }
            #expect(try await client.query("SELECT count(*) FROM t")[0].decode(0, as: Int.self) == 30)
            #expect(try await client.query("SELECT count(*) FROM u")[0].decode(0, as: Int.self) == 100)
        }
    }

    @Test(arguments: [1, 2, 4]) func `A role with endless statements leaves turns to others`(connections: Int)
        async throws
    {
        let roles = (0..<5).compactMap { PostgresIdentifier("turns_\($0)_\(UInt32.random(in: 0 ... .max))") }
        // More statements than fit into the pipelines, answered one by one, so that the pipelines are never empty by
        // themselves.
        try await withClient({
            $0.maximumConnections = connections
            $0.maximumPipelineDepth = 8
        }) { client async throws in
            for role in roles { try await client.execute("CREATE ROLE \(role)") }
            let greedy = roles.prefix(3).flatMap { role in
                (0..<100).map { _ in
                    Task { while !Task.isCancelled { try await client.execute(under(role, "SELECT pg_sleep(0.001)")) } }
                }
            }
            for _ in 0..<10 {
                for role in roles.suffix(2) { try await client.execute(under(role, "SELECT 2")) }
                _ = try await client.withTransaction(role: roles[4]) { try await $0.execute("SELECT 3") }
            }
            for task in greedy {
                task.cancel()
                _ = await task.result
            }
        }
    }

    @Test func `Nothing is queued behind a slow statement while another connection is free`() async throws {
        let plain = try await PostgresServer.shared().makeDatabase()
        var configuration = plain
        configuration.maximumConnections = 3
        try await withClient(configuration) { client async throws in
            _ = try await client.query("SELECT 1")
            let sleeper = Task { try await client.query("SELECT pg_sleep(600)", timeout: .seconds(600)) }
            let sleeping: PostgresQuery =
                "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'"
            try await withClient(plain) { observer async throws in
                try await eventually("the statement runs") { try await !observer.query(sleeping).isEmpty }
            }
            for number in 0..<100 { _ = try await client.query("SELECT \(number)") }
            sleeper.cancel()
            #expect(await postgresError { try await sleeper.value }?.code == .cancelled)
        }
    }

    @Test func `Waiting for a lock ends after the configured time`() async throws {
        try await withLockedTable({ $0.lockTimeout = .milliseconds(300) }) { roles, release async throws in
            let start = ContinuousClock.now
            let error = await postgresError { try await roles.client.execute("INSERT INTO t VALUES (1)") }
            #expect(error?.sqlState == "55P03")
            #expect(error?.condition == .unavailable)
            #expect(ContinuousClock.now - start >= .milliseconds(300))
            #expect(try await roles.client.query("SHOW lock_timeout")[0].decode(0, as: String.self) == "300ms")
            try await release()
            #expect(try await roles.client.execute("INSERT INTO t VALUES (1)") == 1)
        }
    }

    @Test(arguments: [
        (Duration.zero, [:], "0"), (.seconds(5), [:], "5s"), (.microseconds(1), [:], "1ms"),
        (.seconds(5), ["lock_timeout": "7s"], "7s"),
    ])
    func `A session's lock_timeout follows the client's limit and its settings`(
        limit: Duration, settings: [String: String], expected: String
    ) async throws {
        try await withClient({
            $0.lockTimeout = limit
            $0.sessionSettings = settings
        }) { client async throws in
            #expect(try await client.query("SHOW lock_timeout")[0].decode(0, as: String.self) == expected)
        }
    }

    @Test func `A commit is on disk once it is acknowledged, whatever server, database and connection string say`()
        async throws
    {
        // The test server has it off in postgresql.conf.
        let server = try await PostgresServer.shared()
        let name = try await server.makeDatabaseNamed()
        _ = try await withClient(server.configuration(database: name)) { client async throws in
            try await client.execute(PostgresQuery(unescaped: "ALTER DATABASE \(name) SET synchronous_commit = off"))
        }
        let text = server.connectionString(database: name) + " options='-c synchronous_commit=off'"
        try await withClient(PostgresConfiguration(connectionString: text)) { client async throws in
            #expect(try await client.query("SHOW synchronous_commit")[0].decode(0, as: String.self) == "on")
        }
    }

    @Test(arguments: [
        ("55P03", DependencyCondition.unavailable), ("40001", .unavailable), ("40P01", .unavailable),
        ("25006", .unavailable),
        ("57014", .timeout),
        ("53300", .unavailable), ("57P01", .unavailable), ("23505", .fault),
    ])
    func `Each SQLSTATE becomes the right kind of error`(sqlState: String, condition: DependencyCondition) async throws
    {
        try await withClient { client async throws in
            let raise = PostgresQuery(unescaped: "DO $$ BEGIN RAISE 'x' USING ERRCODE = '\(sqlState)'; END $$")
            #expect(await postgresError { try await client.query(raise) }?.condition == condition)
        }
    }
}

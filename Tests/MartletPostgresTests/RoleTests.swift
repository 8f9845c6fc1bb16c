import MartletTesting
import Testing

@testable import MartletPostgres

@Suite struct RoleTests {
    /// Lends two roles with a table each, which may read only their own rows.
    private func withRoles(
        connections: Int,
        _ body: (PostgresClient, _ a: PostgresIdentifier, _ b: PostgresIdentifier) async throws -> Void
    ) async throws {
        try await withClient({ $0.maximumConnections = connections }) { client async throws in
            let suffix = UInt32.random(in: 0 ... .max)
            let a = try #require(PostgresIdentifier("app \"a\" \(suffix)")),
                b = try #require(PostgresIdentifier("app_b_\(suffix)"))
            try await client.execute("CREATE TABLE t (owner text, x int)")
            try await client.execute("ALTER TABLE t ENABLE ROW LEVEL SECURITY")
            try await client.execute("CREATE POLICY own ON t USING (owner = current_user)")
            for role in [a, b] {
                try await client.execute("CREATE ROLE \(role)")
                try await client.execute("GRANT ALL ON t TO \(role)")
                var insert: PostgresQuery = "INSERT INTO t VALUES (current_user, 1)"
                insert.role = role
                try await client.execute(insert)
            }
            try await body(client, a, b)
        }
    }

    private func owners(_ client: PostgresClient, _ role: PostgresIdentifier?, _ salt: Int = 0) async throws -> [String]
    {
        var query: PostgresQuery =
            "SELECT quote_ident(owner) AS owner, quote_ident(current_user) AS me FROM t WHERE \(salt) >= 0"
        query.role = role
        return try await client.query(query).flatMap {
            [try $0.decode("owner", as: String.self), try $0.decode("me", as: String.self)]
        }
    }

    private func isOnly(_ role: PostgresIdentifier, _ found: [String]) -> Bool {
        let bare = role.quoted.contains("\"\"") ? role.quoted : String(role.quoted.dropFirst().dropLast())
        return found == [bare, bare]
    }

    /// A session's list of roles may be outdated from the start if another role is granted while the list is read,
    /// which is likely for long lists.
    @Test func `A role granted a moment ago can be used, however many others are granted meanwhile`()
        async throws
    {
        try await withClient({ $0.maximumConnections = 4 }) { admin async throws in
            let server = try await sharedServer()
            let suffix = UInt32.random(in: 0 ... .max)
            let login = "login_\(suffix)"
            let database = try await admin.query("SELECT current_database()::text")[0].decode(0, as: String.self)
            try await admin.executeScript(
                """
                CREATE ROLE \(login) LOGIN PASSWORD '\(server.password)';
                DO $$ BEGIN FOR i IN 1..300 LOOP EXECUTE format('CREATE ROLE old_%s_\(suffix)', i); EXECUTE format('GRANT old_%s_\(suffix) TO \(login)', i); END LOOP; END $$
                """)
            var configuration = PostgresConfiguration(
                connectionString:
                    "host=\(server.directory) port=\(server.port) dbname=\(database) user=\(login) password=\(server.password)"
            )
            configuration.maximumConnections = 4
            try await withClient(configuration) { client async throws in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for task in 0..<8 {
                        group.addTask {
                            for number in 0..<25 {
                                let role = try #require(PostgresIdentifier("new_\(task)_\(number)_\(suffix)"))
                                try await admin.executeScript(
                                    "CREATE ROLE \(role.quoted); GRANT \(role.quoted) TO \(login)")
                                var query: PostgresQuery = "SELECT current_user::text"
                                query.role = role
                                let name = try await client.query(query)[0].decode(0, as: String.self)
                                #expect(name == "new_\(task)_\(number)_\(suffix)")
                                try await client.withTransaction(role: role) { _ = try await $0.query("SELECT 1") }
                            }
                        }
                    }
                    try await group.waitForAll()
                }
                // A role that it really may not become is refused without harm.
                let foreign = try #require(PostgresIdentifier("foreign_\(suffix)"))
                try await admin.execute("CREATE ROLE \(foreign)")
                var refused: PostgresQuery = "SELECT 1"
                refused.role = foreign
                let error = await postgresError { [refused] in try await client.query(refused) }
                #expect(error?.sqlState == "42501")
                let second = await postgresError {
                    try await client.withTransaction(role: foreign) { _ = try await $0.query("SELECT 1") }
                }
                #expect(second?.sqlState == "42501")
                let user = try await client.query("SELECT current_user::text")[0].decode(0, as: String.self)
                #expect(user == login)
            }
        }
    }

    @Test(arguments: [1, 4]) func `A role never sees another's rows`(connections: Int) async throws {
        try await withRoles(connections: connections) { client, a, b async throws in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<1500 {
                    group.addTask {
                        switch number % 5 {
                        case 0, 1:
                            let found = try await owners(client, a)
                            #expect(isOnly(a, found))
                        case 2:
                            let found = try await owners(client, b)
                            #expect(isOnly(b, found))
                        case 3:
                            // Fails right after the switch, which PostgreSQL then rolls back.
                            var failing: PostgresQuery = "SELECT 1 / \(0)"
                            failing.role = number % 2 == 0 ? a : b
                            #expect(await postgresError { try await client.query(failing) }?.sqlState == "22012")
                        default:
                            let found = try await owners(client, nil)
                            #expect(found.count == 4)
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    @Test func `A role that does not exist runs nothing`() async throws {
        try await withRoles(connections: 1) { client, a, b async throws in
            let ghost = try #require(PostgresIdentifier("ghost"))
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<200 {
                    group.addTask {
                        if number % 2 == 0 {
                            let found = try await owners(client, a)
                            #expect(isOnly(a, found))
                        } else {
                            var write: PostgresQuery = "INSERT INTO t VALUES ('ghost', 2)"
                            write.role = ghost
                            #expect(await postgresError { try await client.execute(write) }?.sqlState == "22023")
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await client.query("SELECT 1 FROM t WHERE x = 2").isEmpty)
            #expect(isOnly(b, try await owners(client, b)))
        }
    }

    @Test func `A transaction has its role and resets it afterwards`() async throws {
        try await withRoles(connections: 1) { client, a, b async throws in
            for _ in 0..<3 {
                #expect(isOnly(a, try await owners(client, a)))
                try await client.withTransaction(role: b) { transaction in
                    let rows = try await transaction.query("SELECT owner FROM t")
                    #expect(rows.count == 1)
                }
                try await client.withTransaction { transaction in
                    let rows = try await transaction.query("SELECT owner FROM t")
                    #expect(rows.count == 2)
                }
                #expect(isOnly(a, try await owners(client, a)))
            }
            let ghost = PostgresIdentifier("ghost")
            #expect(
                await postgresError {
                    try await client.withTransaction(role: ghost) {
                        try await $0.execute("INSERT INTO t VALUES ('ghost', 2)")
                    }
                } != nil)
            #expect(try await client.query("SELECT 1 FROM t WHERE x = 2").isEmpty)
        }
    }

    @Test func `The tracker relies only on what was answered`() throws {
        let a = PostgresIdentifier("a"), b = PostgresIdentifier("b")
        var tracker = RoleTracker()
        #expect(!tracker.needsSwitch(to: nil))
        tracker.didSendSwitch(to: a, segment: 1)
        #expect(tracker.needsSwitch(to: a) && tracker.needsSwitch(to: nil))
        tracker.didAnswer(segment: 1, switchedTo: .some(a))
        #expect(!tracker.needsSwitch(to: a) && tracker.needsSwitch(to: nil))
        tracker.didSendSwitch(to: b, segment: 2)
        #expect(tracker.needsSwitch(to: a) && tracker.needsSwitch(to: b))
        tracker.didSendSwitch(to: a, segment: 3)
        #expect(tracker.needsSwitch(to: a))
        // The switch to b failed or was rolled back: the role is still a, and only a is in flight.
        tracker.didAnswer(segment: 2, switchedTo: nil)
        #expect(!tracker.needsSwitch(to: a) && tracker.needsSwitch(to: b))
        tracker.didAnswer(segment: 3, switchedTo: nil)
        #expect(!tracker.needsSwitch(to: a))
        tracker.invalidate()
        #expect(tracker.needsSwitch(to: a))
    }
}

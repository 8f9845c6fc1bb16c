import MartletPostgres
import MartletTesting
import Testing

@Suite struct TransactionTests {
    private struct Stop: Error {}

    private func withTable(_ body: (PostgresClient) async throws -> Void) async throws {
        try await withClient { client async throws in
            try await client.execute("CREATE TABLE t (x int PRIMARY KEY, y int NOT NULL DEFAULT 0)")
            try await body(client)
        }
    }

    private func count(_ client: PostgresClient) async throws -> Int {
        try await client.query("SELECT count(*) FROM t")[0].decode(0, as: Int.self)
    }

    @Test func `A transaction commits when its body returns`() async throws {
        try await withTable { client async throws in
            let value = try await client.withTransaction { transaction in
                try await transaction.execute("INSERT INTO t VALUES (1)")
                #expect(try await count(client) == 0)
                return try await transaction.query("SELECT count(*) FROM t")[0].decode(0, as: Int.self)
            }
            #expect(value == 1)
            #expect(try await count(client) == 1)
        }
    }

    @Test func `A transaction is rolled back when its body throws`() async throws {
        try await withTable { client async throws in
            await #expect(throws: Stop.self) {
                try await client.withTransaction { transaction in
                    try await transaction.execute("INSERT INTO t VALUES (1)")
                    throw Stop()
                }
            }
            #expect(try await count(client) == 0)
        }
    }

    @Test func `A transaction is rolled back when its task is cancelled, and the connection survives`() async throws {
        try await withTable { client async throws in
            let task = Task {
                try await client.withTransaction { transaction in
                    try await transaction.execute("INSERT INTO t VALUES (1)")
                    try await transaction.execute("SELECT pg_sleep(60)")
                }
            }
            try await Task.sleep(for: .milliseconds(200))
            task.cancel()
            #expect(await postgresError { try await task.value }?.code == .cancelled)
            #expect(try await count(client) == 0)
            try await eventually("the statement has ended") {
                try await client.query(
                    "SELECT 1 FROM pg_stat_activity WHERE query LIKE '%pg_sleep(60)%' AND state = 'active' AND pid <> pg_backend_pid()"
                ).isEmpty
            }
            for number in 1...20 {
                try await client.withTransaction { try await $0.execute("INSERT INTO t VALUES (\(number))") }
            }
            #expect(try await count(client) == 20)
        }
    }

    @Test func `A body that hides a failure cannot commit`() async throws {
        try await withTable { client async throws in
            let error = await postgresError {
                try await client.withTransaction { transaction in
                    try await transaction.execute("INSERT INTO t VALUES (1)")
                    _ = try? await transaction.execute("SELECT 1/0")
                }
            }
            #expect(error?.sqlState == "25P02")
            #expect(try await count(client) == 0)
        }
    }

    @Test func `A transaction is retried after a serialization failure`() async throws {
        try await withTable { client async throws in
            try await client.execute("INSERT INTO t VALUES (1)")
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<12 {
                    group.addTask {
                        try await client.withTransaction(isolation: .serializable, serializationRetries: 50) {
                            transaction in
                            let y = try await transaction.query("SELECT y FROM t WHERE x = 1")[0].decode(
                                0, as: Int.self)
                            try await transaction.execute("UPDATE t SET y = \(y + 1) WHERE x = 1")
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await client.query("SELECT y FROM t")[0].decode(0, as: Int.self) == 12)
        }
    }

    @Test func `A transaction can be read-only and run scripts, and refuses BEGIN and COMMIT`() async throws {
        try await withTable { client async throws in
            let error = await postgresError {
                try await client.withTransaction(readOnly: true) { try await $0.execute("INSERT INTO t VALUES (1)") }
            }
            #expect(error?.sqlState == "25006")
            try await client.withTransaction {
                try await $0.executeScript("INSERT INTO t VALUES (1); INSERT INTO t VALUES (2)")
            }
            await #expect(throws: PostgresError.self) {
                try await client.withTransaction { transaction in
                    try await transaction.executeScript("INSERT INTO t VALUES (3)")
                    try await transaction.executeScript("SELECT 1; SELECT 1/0")
                }
            }
            #expect(try await count(client) == 2)
            #expect(
                await postgresError { try await client.withTransaction { try await $0.execute("COMMIT") } }?.code
                    == .misuse)
        }
    }

    @Test func `A longer time-out applies to its statement within a transaction`() async throws {
        // PostgreSQL's own limit, without the client's margin of five seconds.
        try await withClient({
            $0.maximumConnections = 1
            $0.queryTimeout = .seconds(1)
            $0.sessionSettings["statement_timeout"] = "1000"
        }) { client async throws in
            try await client.withTransaction { transaction in
                try await transaction.execute("SELECT pg_sleep(1.5)", timeout: .seconds(60))
                try await transaction.executeScript("SELECT 1; SELECT pg_sleep(1.5)", timeout: .seconds(60))
                try await transaction.execute("SELECT pg_sleep(1.5)", timeout: .seconds(60))
                let limit = try await transaction.query("SHOW statement_timeout")
                #expect(try limit[0].decode(0, as: String.self) == "1s")
            }
            try await client.withTransaction { transaction in
                try await transaction.execute("SAVEPOINT s")
                #expect(
                    await postgresError { try await transaction.execute("SELECT 1/0", timeout: .seconds(60)) }?.sqlState
                        == "22012")
                try await transaction.execute("ROLLBACK TO s")
                let limit = try await transaction.query("SHOW statement_timeout")
                #expect(try limit[0].decode(0, as: String.self) == "1s")
            }
            #expect(try await client.query("SHOW statement_timeout")[0].decode(0, as: String.self) == "1s")
        }
    }

    @Test func `A time limit applies to its statement, and to no other one`() async throws {
        try await withClient({ $0.maximumConnections = 1 }) { client async throws in
            func limited(_ query: PostgresQuery, _ limit: Duration?) -> PostgresQuery {
                var query = query
                query.timeLimit = limit
                return query
            }
            func shown(_ limit: Duration? = nil) async throws -> String {
                let query = limited("SELECT current_setting('statement_timeout')", limit)
                return try await client.query(query)[0].decode(0)
            }
            let usual = try await shown()
            #expect(try await shown(.milliseconds(1_500)) == "1500ms")
            #expect(try await shown() == usual)
            let locks = limited("SELECT current_setting('lock_timeout')", .milliseconds(1_500))
            #expect(try await client.query(locks)[0].decode(0, as: String.self) == "1s", "ends first")
            #expect(try await client.query("SHOW lock_timeout")[0].decode(0, as: String.self) == "30s")
            let slow = limited("SELECT pg_sleep(30)", .milliseconds(200))
            async let failure = postgresError { try await client.query(slow) }
            async let neighbour = client.query("SELECT pg_sleep(0.3), current_setting('statement_timeout')")
            let (error, rows) = (await failure, try await neighbour)
            #expect(error?.sqlState == "57014")
            #expect(try rows[0].decode(1, as: String.self) == usual)
            let inTransaction = try await client.withTransaction { transaction in
                try await transaction.query("SHOW statement_timeout")[0].decode(0, as: String.self)
            }
            #expect(inTransaction == usual)
        }
    }

    @Test func `More transactions than connections take turns, with queries in between`() async throws {
        try await withTable { client async throws in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<60 {
                    group.addTask {
                        try await client.withTransaction { transaction in
                            try await transaction.execute("INSERT INTO t VALUES (\(number))")
                            _ = try await client.query("SELECT 1")
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await count(client) == 60)
        }
    }
}

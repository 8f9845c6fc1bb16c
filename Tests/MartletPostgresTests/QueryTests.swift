import MartletCore
import MartletPostgres
import MartletTesting
import Testing

@Suite struct QueryTests {
    @Test func `Fragments carry their parameters`() async throws {
        let name: PostgresQuery = "name = \("x")"
        let age: PostgresQuery = "age > \(1) AND age < \(9)"
        let both = [name, age].joined(separator: " OR ")
        let query: PostgresQuery = "SELECT \(0) WHERE \(both) LIMIT \(5)\(unescaped: " FOR UPDATE")"
        #expect(query.sql == "SELECT $1 WHERE name = $2 OR age > $3 AND age < $4 LIMIT $5 FOR UPDATE")

        try await withClient { client async throws in
            let part: PostgresQuery = "\("ü") || \("b")"
            let rows = try await client.query("SELECT \("a") || \(part) || \("c")")
            #expect(try rows[0].decode(0, as: String.self) == "aübc")
        }
    }

    @Test func `The description contains no values`() {
        let query: PostgresQuery = "SELECT \("geheim")"
        #expect(!"\(query) \(String(reflecting: query))".contains("geheim"))
        var dumped = ""
        dump(query, to: &dumped)
        #expect(!dumped.contains("geheim"))
    }

    @Test(arguments: ["", String(repeating: "x", count: 64), "a\0b", String(repeating: "ü", count: 32)])
    func `Names that PostgreSQL would truncate are not valid identifiers`(name: String) {
        #expect(PostgresIdentifier(name) == nil)
    }

    @Test(arguments: ["a", "A b", "x\"; DROP TABLE t; --", "\"", "'", "ü", "$1", "a.b", "\\", "%s\n"])
    func `No identifier escapes its quotes`(name: String) async throws {
        try await withClient { client async throws in
            let table = try #require(PostgresIdentifier(name)), column = try #require(PostgresIdentifier(name))
            try await client.execute("CREATE TABLE \(table) (\(column) text)")
            try await client.execute("INSERT INTO \(table) (\(column)) VALUES (\(name))")
            let rows = try await client.query("SELECT \(column) FROM \(table)")
            #expect(try rows[0].decode(name, as: String.self) == name)
            #expect(
                try await client.query("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'")[0].decode(
                    0, as: Int.self) == 1)
        }
    }

    @Test(arguments: ["'; DROP TABLE t; --", "$1", "\\'; --", "') OR ('1'='1", "a\0b"])
    func `No value becomes SQL`(value: String) async throws {
        try await withClient { client async throws in
            try await client.execute("CREATE TABLE t (x text)")
            do {
                try await client.execute("INSERT INTO t VALUES (\(value))")
                #expect(try await client.query("SELECT x FROM t WHERE x = \(value)").count == 1)
                #expect(try await client.query("SELECT \([value])")[0].decode(0, as: [String].self) == [value])
            } catch let error as PostgresError {
                #expect(value.contains("\0") && error.sqlState == "22021")
            }
            #expect(try await client.query("SELECT count(*) FROM t WHERE false")[0].decode(0, as: Int.self) == 0)
        }
    }

    @Test func `Statements on columns that only look alike are different`() async throws {
        try await withClient({ $0.maximumConnections = 1 }) { client async throws in
            let columns = ["a\u{b7}b", "a\u{387}b"]
            #expect(columns[0] == columns[1])
            let first = try #require(PostgresIdentifier(columns[0])),
                second = try #require(PostgresIdentifier(columns[1]))
            try await client.execute("CREATE TABLE t (\(first) int, \(second) int)")
            try await client.execute("INSERT INTO t VALUES (1, 2)")
            for _ in 0..<2 {
                #expect(try await client.query("SELECT \(first) FROM t")[0].decode(0, as: Int.self) == 1)
                #expect(try await client.query("SELECT \(second) FROM t")[0].decode(0, as: Int.self) == 2)
            }
        }
    }

    @Test func `A failing statement does not affect its neighbours`() async throws {
        try await withClient({ $0.maximumConnections = 1 }) { client async throws in
            try await client.execute("CREATE TABLE t (x int PRIMARY KEY)")
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<300 {
                    group.addTask {
                        do {
                            switch number % 3 {
                            case 0: #expect(try await client.execute("INSERT INTO t VALUES (\(number))") == 1)
                            case 1:
                                #expect(
                                    await postgresError { try await client.query("SELECT 1 / \(0)") }?.sqlState
                                        == "22012")
                            default:
                                #expect(
                                    await postgresError { try await client.query("SELEC \(number)") }?.sqlState
                                        == "42601")
                            }
                        } catch { Issue.record(error) }
                    }
                }
            }
            #expect(try await client.query("SELECT count(*) FROM t")[0].decode(0, as: Int.self) == 100)
        }
    }

    @Test func `A constraint that fails at commit fails only its own statement`() async throws {
        try await withClient({ $0.maximumConnections = 1 }) { client async throws in
            try await client.execute("CREATE TABLE t (x int UNIQUE DEFERRABLE INITIALLY DEFERRED)")
            try await client.execute("INSERT INTO t VALUES (1)")
            async let failing = postgresError { try await client.execute("INSERT INTO t VALUES (\(Int32(1)))") }
            async let good = client.query("SELECT 7")
            #expect(await failing?.isUniqueViolation == true)
            #expect(try await good[0].decode(0, as: Int.self) == 7)
            #expect(try await client.query("SELECT count(*) FROM t")[0].decode(0, as: Int.self) == 1)
        }
    }

    @Test func `10,000 concurrent queries all succeed on four connections`() async throws {
        try await withClient { client async throws in
            let sum = try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 0..<10_000 {
                    group.addTask { try await client.query("SELECT \(number)")[0].decode(0, as: Int.self) }
                }
                var sum = 0
                for try await value in group { sum += value }
                return sum
            }
            #expect(sum == 49_995_000)
            let used = try await client.query(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()")
            #expect(try used[0].decode(0, as: Int.self) <= 4)
        }
    }

    @Test func `Large results and parameters are transferred`() async throws {
        try await withClient { client async throws in
            let big = String(repeating: "abcdefgh", count: 1_000_000)
            try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<6 {
                    group.addTask { try await client.query("SELECT \(big)")[0].decode(0, as: String.self) }
                }
                for try await back in group { #expect(back == big) }
            }
            #expect(try await client.query("SELECT generate_series(1, 50000)").count == 50_000)
        }
    }

    @Test func `Statements beyond the cache are evicted and deallocated`() async throws {
        try await withClient({
            $0.maximumConnections = 1
            $0.preparedStatementCacheSize = 4
        }) { client async throws in
            for round in 0..<3 {
                for number in 0..<12 {
                    let rows = try await client.query(PostgresQuery(unescaped: "SELECT \(number) + ") + "\(round)")
                    #expect(try rows[0].decode(0, as: Int.self) == number + round)
                }
            }
            #expect(
                try await client.query("SELECT count(*) FROM pg_prepared_statements")[0].decode(0, as: Int.self) <= 5)
        }
    }

    @Test(arguments: [(64, 0, 1), (65, 0, 0), (1, 8200, 0)])
    func `Statements with many parameters or long text are not prepared`(binds: Int, padding: Int, prepared: Int)
        async throws
    {
        try await withClient({ $0.maximumConnections = 1 }) { client async throws in
            let query =
                PostgresQuery(unescaped: "SELECT /* wide \(String(repeating: "x", count: padding)) */ ")
                + (0..<binds).map { "\($0)" as PostgresQuery }.joined(separator: " + ")
            for _ in 0..<2 {
                #expect(try await client.query(query)[0].decode(0, as: Int.self) == (0..<binds).reduce(0, +))
            }
            let find: PostgresQuery =
                "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE 'SELECT /* wide%'"
            #expect(try await client.query(find)[0].decode(0, as: Int.self) == prepared)
        }
    }

    @Test func `Statements are prepared again after a table changes or they vanish`() async throws {
        try await withClient({ $0.maximumConnections = 1 }) { client async throws in
            try await client.execute("CREATE TABLE t (x int)")
            try await client.execute("INSERT INTO t VALUES (1)")
            for _ in 0..<6 { _ = try await client.query("SELECT * FROM t") }
            try await client.execute("ALTER TABLE t ADD y int DEFAULT 2")
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<20 {
                    group.addTask {
                        do {
                            #expect(try await client.query("SELECT * FROM t")[0].decode("y", as: Int.self) == 2)
                        } catch { Issue.record(error) }
                    }
                }
            }
            try await client.execute("DO $$ BEGIN EXECUTE 'DEALLOCATE ALL'; END $$")
            for _ in 0..<3 { #expect(try await client.query("SELECT * FROM t")[0].decode("x", as: Int.self) == 1) }
        }
    }

    @Test(arguments: [
        "BEGIN", " commit", "/* x */ ROLLBACK", "-- x\nSET role TO x", "COPY t TO STDOUT", "LISTEN x", "DISCARD ALL",
    ])
    func `Statements that would change a shared connection are refused`(sql: String) async throws {
        try await withClient { client async throws in
            #expect(await postgresError { try await client.query(PostgresQuery(unescaped: sql)) }?.code == .misuse)
        }
    }

    @Test func `A statement with isPlannedForValues is planned for its values, also behind others and after failures`()
        async throws
    {
        try await withClient { client async throws in
            func mode(planned: Bool, _ sql: PostgresQuery = "SELECT current_setting('plan_cache_mode')") async throws
                -> String
            {
                var query = sql
                query.isPlannedForValues = planned
                return try await client.query(query)[0].decode(0)
            }
            for planned in [false, true, true, false, true] {
                // The first execution of a statement prepares it, the second one uses the prepared one.
                for _ in 0..<2 {
                    #expect(try await mode(planned: planned) == (planned ? "force_custom_plan" : "auto"))
                }
                #expect(await postgresError { try await mode(planned: !planned, "SELECT (1 / \(0))::text") } != nil)
                await #expect(throws: CancellationError.self) {
                    try await client.withTransaction { transaction in
                        var query: PostgresQuery = "SELECT \(1)"
                        query.isPlannedForValues = planned
                        _ = try await transaction.query(query)
                        throw CancellationError()
                    }
                }
            }
            #expect(try await mode(planned: true) == "force_custom_plan")
        }
    }

    @Test func `Statements with many parameters or a long text are prepared, up to a limit of all texts together`()
        async throws
    {
        let server = try await sharedServer()
        var configuration = server.configuration(database: try await server.makeDatabaseNamed())
        configuration.maximumConnections = 1
        try await withClient(configuration) { client async throws in
            func bytes() async throws -> Int {
                try await client.query(
                    "SELECT coalesce(sum(octet_length(statement)), 0) FROM pg_prepared_statements")[0].decode(0)
            }
            let many = (0..<60).map { "\($0)::int" as PostgresQuery }.joined(separator: " + ")
            for _ in 0..<2 { _ = try await client.query("SELECT \(many)") }
            let found = try await client.query(
                "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE 'SELECT $1::int + $2::int%'")
            #expect(try found[0].decode(0, as: Int.self) == 1)
            let long = String(repeating: "-", count: 8_000)
            for number in 0..<100 {
                _ = try await client.query(PostgresQuery(unescaped: "SELECT \(number) /*\(long)*/"))
            }
            let held = try await bytes()
            #expect(held > 400 << 10 && held < 540 << 10, "\(held)")
            _ = try await client.query(PostgresQuery(unescaped: "SELECT 1 /*\(long)\(long)*/"))
            #expect(try await bytes() <= held + 300, "too long to be prepared")
        }
    }

    @Test func `Queries work over TCP, unprepared, and outside transactions`() async throws {
        let server = try await sharedServer()
        let configuration = server.configuration(database: try await server.makeDatabaseNamed(), overTCP: true)
        try await withClient(configuration) { client async throws in
            var query: PostgresQuery = "SELECT \("x")"
            query.isPrepared = false
            #expect(try await client.query(query)[0].decode(0, as: String.self) == "x")
            try await client.execute("CREATE TABLE t (x int)")
            try await client.execute("VACUUM t", timeout: .seconds(100))
            try await client.executeScript("CREATE INDEX CONCURRENTLY i ON t (x)")
            try await client.executeScript("CREATE TABLE u (x int); INSERT INTO u VALUES (1)", timeout: .seconds(100))
            #expect(try await client.query("SELECT x FROM u").count == 1)
            #expect(try await client.query("SHOW statement_timeout")[0].decode(0, as: String.self) == "35s")
            #expect(try await client.query("SHOW timezone")[0].decode(0, as: String.self) == "UTC")
        }
    }

    @Test func `A task's usage counts its queries`() async throws {
        try await withClient { client async throws in
            let usage = RequestUsage()
            try await RequestUsage.$current.withValue(usage) {
                _ = try await client.query("SELECT pg_sleep(0.02)")
                _ = try await client.query("SELECT 1")
            }
            #expect(usage.queries == 2)
            #expect(usage.databaseTimeInNanoseconds > 20_000_000)
        }
    }
}

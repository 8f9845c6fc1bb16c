import Foundation
import Logging
import MartletAPI
import MartletPostgres
import MartletTesting
import ServiceTesting
import Testing

@testable import AuthService

@Suite struct StatementTests {
    private static let noon = Date(timeIntervalSince1970: 1_800_014_400)

    private static func count(_ id: Int, _ calls: Int, _ milliseconds: Double) -> StatementStore.Count {
        StatementStore.Count(id: id, text: "SELECT \(id)", calls: calls, milliseconds: milliseconds)
    }

    private static func sample(_ id: Int, _ milliseconds: Double) -> StatementStore.Sample {
        StatementStore.Sample(
            id: id, text: "SELECT \(id)", calls: 2, milliseconds: milliseconds, maximum: milliseconds / 2)
    }

    @Test func `counters are turned into what was added since the last reading, also after a reset`() {
        var counters = StatementCounters()
        func taken(_ counts: StatementStore.Count...) -> [String] {
            counters.samples(from: counts).map { "\($0.id) \($0.calls) \($0.milliseconds) \($0.maximum)" }
        }
        #expect(taken(Self.count(1, 10, 100), Self.count(2, 5, 50)) == [], "the first reading has nothing before it")
        #expect(taken(Self.count(1, 14, 120), Self.count(2, 5, 50)) == ["1 4 20.0 5.0"])
        #expect(taken(Self.count(1, 15, 130), Self.count(3, 2, 8)) == ["1 1 10.0 10.0", "3 2 8.0 4.0"])
        #expect(taken(Self.count(1, 3, 9)) == ["1 3 9.0 3.0"], "the statistics were reset")
    }

    @Test func `a statement that was left out of a full list has unknown earlier counts and gives no sample`() {
        var counters = StatementCounters()
        let many = (1...StatementStore.maximumCounts).map { Self.count($0, 1, 1) }
        _ = counters.samples(from: many)
        #expect(counters.samples(from: many + [Self.count(1_000, 9, 9)]).isEmpty)
    }

    @Test func `an hour sums its minutes and keeps the statements that took the most time`() async throws {
        try await MigratedDatabase.with { database in
            let postgres = database.client(for: "auth")
            let store = StatementStore(postgres: postgres, timeLimit: .seconds(60))
            // Of each minute, ten statements are kept.
            try await store.add((1...12).map { Self.sample($0, Double($0)) }, at: Self.noon)
            try await store.add([Self.sample(12, 30), Self.sample(12, 30)], at: Self.noon + 60)
            try await store.add([], at: Self.noon + 60)
            try await store.add([Self.sample(12, 5)], at: Self.noon + 3_600)
            let rows = try await store.rows(from: Self.noon, to: Self.noon + 7_200, limit: 2)
            #expect(
                rows.map { "\($0.id) \($0.text) \($0.start == Self.noon) \($0.calls) \($0.milliseconds) \($0.maximum)" }
                    == [
                        "12 SELECT 12 true 4 42.0 15.0", "12 SELECT 12 false 2 5.0 2.5",
                        "11 SELECT 11 true 2 11.0 5.5",
                    ])
            let history = ListStatements.history(rows, from: Self.noon, to: Self.noon + 7_200)
            #expect(history.statements.map(\.id) == ["12", "11"])
            #expect(history.statements[0].calls == 6 && history.statements[0].maximumMilliseconds == 15)
            #expect(history.statements[0].hourlyMilliseconds == [42, 5])
            for minute in 1...4 {
                let first = minute * 100
                try await store.add((first..<first + 10).map { Self.sample($0, 100) }, at: Self.noon)
            }
            func left() async throws -> [Int] {
                try await postgres.query(
                    "SELECT count(*) FROM auth.statement_samples UNION ALL SELECT count(*) FROM auth.statements"
                ).map { try $0.decode(0) }
            }
            try await store.prune(at: Self.noon + 3_600)
            #expect(try await left() == [51, 50], "the current hour is kept")
            try await store.prune(at: Self.noon + 3_601)
            #expect(try await left() == [31, 31])
            try await store.prune(at: Self.noon + 32 * 86_400)
            #expect(try await left() == [0, 0])
            await postgres.close()
        }
    }

    @Test func `staff see what runs and what it waits for, but not the texts of other roles`() async throws {
        try await StaffClient.run { client, root async throws in
            let (auth, storage) = (client.auth.postgres, client.auth.database.client(for: "storage"))
            let superuser = client.auth.database.superuserClient()
            let store = StatementStore(postgres: auth, timeLimit: .seconds(60))
            let waiter = try await storage.withTransaction { transaction in
                let rows = try await transaction.query("SELECT pg_backend_pid() FROM pg_advisory_xact_lock(23)")
                let holder = try rows[0].decode(0, as: Int.self)
                let waiter = Task { try await superuser.execute("SELECT pg_advisory_xact_lock_shared(23), 'secret'") }
                let waiting = try await eventually("the lock is waited for") {
                    try await store.running(longerThan: 0).first { $0.waitsFor == "Lock: advisory" }
                }
                #expect(waiting.blockers == [holder] && waiting.statement == nil && waiting.state == "active")
                let running = try await store.running(longerThan: 0)
                let open = try #require(running.first { $0.pid == holder })
                #expect(open.state == "idle in transaction" && open.role == "martlet_storage")
                #expect(open.statement?.contains("pg_advisory_xact_lock(23)") == true && open.waitsFor == nil)
                let answer = try await client.send("GET", "database", as: root)
                #expect(answer.status == 200 && !"\(answer)".contains("secret"), "\(answer)")
                #expect(answer["risks.archiveFails"] == "false" && answer["tables.0.sizeInBytes"] != nil)
                return waiter
            }
            _ = try await waiter.value
            try await store.add([Self.sample(7, 70)], at: Date())
            let answer = try await client.send("GET", "database/statements", as: root)
            #expect(answer["statements.0.text"] == #""SELECT 7""# && answer["statements.0.id"] == #""7""#, "\(answer)")
            for query in ["limit=31", "limit=0", "from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z", "from=x"] {
                let answer = try await client.send("GET", "database/statements?\(query)", as: root)
                #expect(answer.isProblem(.invalidParameter), "\(query) \(answer)")
            }
            _ = try await client.make("tim", rights: #"{"*":{"audit":["read"]}}"#, by: root)
            let tim = try await client.signIn("tim")
            for path in ["database", "database/statements"] {
                #expect(try await client.send("GET", path, as: tim).isProblem(.forbidden))
            }
            await storage.close()
            await superuser.close()
        }
    }

    @Test func `a server with pg_stat_statements counts the statements of services, and no others`() async throws {
        var options = PostgresServer.Options()
        options.settings["shared_preload_libraries"] = "pg_stat_statements"
        let server = try await PostgresServer.start(options)
        do {
            let database = try await MigratedDatabase.make(on: server)
            let postgres = database.client(for: "auth", maximumConnections: 1)
            let store = StatementStore(postgres: postgres, timeLimit: .seconds(60))
            var counters = StatementCounters()
            _ = counters.samples(from: try await store.counts())
            for _ in 0..<3 { _ = try await postgres.query("SELECT count(*) AS watched FROM auth.apps") }
            try await database.withSuperuser { _ = try await $0.query("SELECT count(*) AS unwatched FROM auth.apps") }
            let samples = counters.samples(from: try await store.counts())
            let watched = try #require(samples.first { $0.text.contains("AS watched") })
            #expect(watched.calls == 3 && watched.milliseconds > 0 && watched.maximum <= watched.milliseconds)
            #expect(!samples.contains { $0.text.contains("unwatched") })
            await postgres.close()
        } catch {
            try? await server.kill()
            throw error
        }
        try await server.kill()
    }
}

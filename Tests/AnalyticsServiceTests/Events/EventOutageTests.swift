import Foundation
import MartletAPI
import MartletPostgres
import MartletTesting
import ServiceTesting
import Testing

@testable import AnalyticsEvents
@testable import AnalyticsService

/// Answers to clients while PostgreSQL cannot store anything, and what is stored afterwards.
@Suite struct EventOutageTests {
    /// Sends each message until it is accepted, as clients do; returns the statuses of all answers.
    private static func sendAll(_ count: Int, _ app: AnalyticsApp) async throws -> Set<Int> {
        try await withThrowingTaskGroup(of: Set<Int>.self) { group in
            for number in 0..<count {
                group.addTask {
                    var statuses = Set<Int>()
                    while true {
                        let answer = try await app.batch(track("a", id: "m\(number)", at: Date()))
                        statuses.insert(Int(answer.status))
                        if answer.status == 200 { return statuses }
                        #expect(answer.header("retry-after") != nil, "\(answer)")
                        try await Task.sleep(for: .milliseconds(50))
                    }
                }
            }
            return try await group.reduce(into: []) { $0.formUnion($1) }
        }
    }

    @Test
    func
        `while PostgreSQL refuses connections, clients are told to retry, and acknowledged events are stored once`()
        async throws
    {
        try await AnalyticsApp.run { app async throws in
            try await app.batch(track("before", id: "before"))
            let name: String = try await app.postgres.query("SELECT current_database()")[0].decode(0)
            let database = try #require(PostgresIdentifier(name))
            var configuration = app.database.server.configuration()
            configuration.useTestTimeouts()
            let admin = PostgresClient(configuration: configuration, logger: .silent)
            try await admin.execute("ALTER DATABASE \(database) ALLOW_CONNECTIONS false")
            try await admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = \(name)")
            async let sent = Self.sendAll(20, app)
            try await Task.sleep(for: .seconds(1))
            try await admin.execute("ALTER DATABASE \(database) ALLOW_CONNECTIONS true")
            await admin.close()
            let statuses = try await sent
            #expect(statuses.isSubset(of: [200, 429, 503]), "\(statuses)")
            let (keys, events) = (
                try await app.count("(SELECT DISTINCT key FROM analytics.events) AS keys"),
                try await app.count("analytics.events")
            )
            #expect(keys == events)
            #expect(try await app.events().filter { $0.name == "a" }.count == 20)
        }
    }

    @Test func `while the disk is full, clients are told to retry later`() async throws {
        try await AnalyticsApp.run { app async throws in
            try await app.batch(track("a", id: "before"))
            try await app.database.withSuperuser { database in
                // PostgreSQL's error for a full disk (53100).
                try await database.execute(
                    """
                    CREATE FUNCTION public.disk_full() RETURNS trigger LANGUAGE plpgsql AS
                    $$BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; END$$
                    """)
                try await database.execute(
                    "CREATE TRIGGER full_disk BEFORE INSERT ON analytics.events FOR EACH ROW EXECUTE FUNCTION public.disk_full()"
                )
            }
            for _ in 0..<3 {
                let answer = try await app.batch(track("a", id: "1"), track("b", id: "2"))
                #expect(answer.isProblem(.unavailable) && answer.header("retry-after") != nil, "\(answer)")
            }
            _ = try await app.database.withSuperuser {
                try await $0.execute("DROP TRIGGER full_disk ON analytics.events")
            }
            #expect(try await app.batch(track("a", id: "1"), track("b", id: "2"))["accepted"] == "2")
            #expect(try await app.count("analytics.events") == 3)
        }
    }

    @Test func `an app with ever-changing names fills neither the table nor the cache`() async throws {
        try await AnalyticsApp.run { app async throws in
            let before = day(0)
            for round in 0..<6 {
                let messages = (0..<1_000).map { track("random \(round) \($0)") }
                let answer = try await app.ingest(
                    "POST", "/segment/v1/batch", #"{"batch":[\#(messages.joined(separator: ","))]}"#)
                #expect(answer["accepted"] == "1000" && answer["rejected"] == nil)
            }
            #expect(try await app.count("analytics.terms WHERE kind = \(TermKind.name.rawValue)") == 2_001)
            try await app.rollUp()
            // All are counted, those beyond the limit as one.
            let lines = try await app.ask("counts?interval=none&group=event&limit=1&from=\(before)")
            #expect(lines == ["\(before),(other),false,4000,", "\(before),,true,2000,"], "\(lines)")
        }
    }
}

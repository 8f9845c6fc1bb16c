import Foundation
import MartletAPI
import MartletHTTP
import MartletPostgres
import MartletTesting
import ServiceTesting
import Testing

@testable import AnalyticsEvents
@testable import AnalyticsService

@Suite struct RollUpTests {
    private static func total(_ app: AnalyticsApp) async throws -> [Int] {
        let row = try await app.postgres.query(
            """
            SELECT (SELECT coalesce(sum(events), 0)::bigint FROM analytics.hours WHERE dimension = 0),
                (SELECT coalesce(sum(events), 0)::bigint FROM analytics.days WHERE dimension = 0),
                (SELECT coalesce(sum(bit_count(members)), 0)::bigint FROM analytics.people_sets WHERE dimension = 0),
                (SELECT coalesce(sum(sessions), 0)::bigint FROM analytics.session_quarters), (SELECT count(*) FROM analytics.batch)
            """)[0]
        return try (0..<5).map { try row.decode($0) }
    }

    @Test func `Every event counts once, however often and by however many instances it is rolled up`() async throws {
        try await AnalyticsApp.run { app in
            let others = (0..<3).map { _ in app.database.client(for: "analytics") }
            for round in 1...4 {
                try await app.insert(
                    (0..<50).map { TestEvent("2026-05-0\(round)T10:00:00Z", "a", $0 + 1) }, by: app.postgres)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for client in others {
                        group.addTask { while try await RollUpStore(postgres: client).step()?.isLast == false {} }
                    }
                    try await group.waitForAll()
                }
                try await app.rollUp()
                #expect(try await Self.total(app) == [50 * round, 50 * round, 50 * round, 50 * round, 0])
            }
            for client in others { await client.close() }
        }
    }

    @Test
    func
        `An event whose transaction began before a roll-up and committed after it counts, and its neighbours do not count again`()
        async throws
    {
        try await AnalyticsApp.run { app in
            let other = app.database.client(for: "analytics")
            try await app.record([TestEvent("2026-05-01T10:00:00Z", "a", 1)])
            try await other.withTransaction { transaction in
                try await app.insert(
                    [TestEvent("2026-05-01T10:00:00Z", "a", 2), TestEvent("2026-05-01T10:00:00Z", "a", 3)], transaction)
                try await app.record([TestEvent("2026-05-01T10:00:00Z", "a", 4)])
                #expect(try await Self.total(app) == [2, 2, 2, 2, 0])
            }
            try await app.rollUp()
            #expect(try await Self.total(app) == [4, 4, 4, 4, 0])
            try await app.rollUp()
            #expect(try await Self.total(app) == [4, 4, 4, 4, 0])
            await other.close()
        }
    }

    @Test func `Rolled-back events never count`() async throws {
        try await AnalyticsApp.run { app in
            struct Stop: Error {}
            try await app.makeDay()
            try? await app.postgres.withTransaction { transaction in
                try await app.insert([TestEvent("2026-05-01T10:00:00Z", "a", 2)], transaction)
                throw Stop()
            }
            try await app.rollUp()
            #expect(try await Self.total(app) == [0, 0, 0, 0, 0])
        }
    }

    @Test func `After a restore that changes the meaning of transaction ids, nothing counts twice`()
        async throws
    {
        try await AnalyticsApp.run { app in
            try await app.record([TestEvent("2026-05-01T10:00:00Z", "a", 1)])
            try await app.postgres.execute("UPDATE analytics.rollups SET epoch = 'another', seen = '1:1:'")
            try await app.record([TestEvent("2026-05-01T11:00:00Z", "a", 2)])
            #expect(try await Self.total(app) == [2, 2, 2, 2, 0])
        }
    }

    @Test func `Events that reuse transaction ids lost in a crash of PostgreSQL count`() async throws {
        let server = try await PostgresServer.start()
        do {
            try await AnalyticsApp.run(on: MigratedDatabase.make(on: server)) { app in
                try await app.record([TestEvent("2026-05-01T10:00:00Z", "a", 1)])
                _ = try await server.spendTransactions(100)
                try await app.rollUp()
                _ = try await server.spendTransactions(100)
                try await server.kill()
                try await server.start()
                try await eventually("PostgreSQL answers again") { (try? await app.postgres.query("SELECT 1")) != nil }
                for person in 2...30 {
                    try await app.insert([TestEvent("2026-05-01T10:00:00Z", "a", person)], by: app.postgres)
                }
                try await app.rollUp()
                #expect(try await Self.total(app) == [30, 30, 30, 30, 0])
            }
        } catch {
            // Some of its processes may be stopped and would not end by themselves.
            try? await server.kill()
            throw error
        }
        try await server.kill()
    }

    @Test func `A late event changes the buckets of the time when it happened`() async throws {
        try await AnalyticsApp.run { app in
            try await app.record([TestEvent("2026-05-03T10:00:00Z", "a", 1)])
            try await app.record([TestEvent("2026-05-01T23:00:00Z", "a", 1), TestEvent("2026-05-03T10:00:00Z", "b", 1)])
            #expect(
                try await app.ask("counts?from=2026-05-01&to=2026-05-03") == [
                    "2026-05-01,,false,1,", "2026-05-03,,false,2,",
                ])
            #expect(
                try await app.ask("people?from=2026-05-01&to=2026-05-03") == [
                    "2026-05-01,1,1", "2026-05-02,0,0", "2026-05-03,1,0",
                ])
        }
    }

    @Test func `Days are rebuilt in another time zone from the same events`() async throws {
        try await AnalyticsApp.run { app in
            let night = [
                TestEvent("2026-05-01T23:30:00Z", "a", 1), TestEvent("2026-05-02T12:00:00Z", "a", 1),
                TestEvent("2026-05-02T12:00:00Z", "a", 2),
            ]
            try await app.record(night)
            let question = "counts?from=2026-05-01&to=2026-05-02&people=true"
            #expect(try await app.ask(question) == ["2026-05-01,,false,1,1", "2026-05-02,,false,2,2"])
            try await app.use(timeZone: "Europe/Berlin")
            #expect(try await app.ask(question) == ["2026-05-02,,false,3,2"])
            #expect(try await app.master("GET", "/analytics/" + question)["source"] == #""rolled""#)
            try await app.record([TestEvent("2026-05-01T21:59:59Z", "a", 3)])
            #expect(try await app.ask(question) == ["2026-05-01,,false,1,1", "2026-05-02,,false,3,2"])
            try await app.use(timeZone: "UTC")
            #expect(try await app.ask(question) == ["2026-05-01,,false,2,2", "2026-05-02,,false,2,2"])
        }
    }

    @Test func `Days are rebuilt in steps over all events, and answered from hours and events until then`()
        async throws
    {
        try await AnalyticsApp.run { app in
            let id = try await app.space.id
            // Received within six hours of three days each. Events at half past eleven at night belong to the next day
            // in Berlin.
            try await app.postgres.withTransaction { transaction in
                // The service's own roll-up, which catches up from midnight when it starts, must see all of this or
                // nothing. Otherwise it would count an event before the watermark moves back, and again afterwards.
                try await transaction.execute("SELECT FROM analytics.rollups FOR UPDATE")
                try await transaction.execute(
                    "SELECT analytics.make_events_day((now() AT TIME ZONE 'UTC')::date - day) FROM generate_series(0, 2) AS day"
                )
                try await transaction.execute(
                    """
                    INSERT INTO analytics.events (received, at, person, key, space, name, release, os, device, configuration, variants, country, kind, properties)
                    SELECT least(now(), date_trunc('day', now()) - day * interval '1 day' + hour * interval '1 hour'), timestamptz '2026-05-01T23:30:00Z',
                        hour + 1, day * 100 + hour, \(id), 0, 0, 0, 0, 0, 0, 0, 1, '{}' FROM generate_series(0, 2) AS day, generate_series(0, 23, 6) AS hour
                    """)
                try await transaction.execute("UPDATE analytics.rollups SET reached = '-infinity', seen = '1:1:'")
            }
            try await app.rollUp()
            let question = "counts?from=2026-05-01&to=2026-05-02&people=true"
            let inUTC = try await app.ask(question)
            #expect(inUTC == ["2026-05-01,,false,12,4"], "\(inUTC)")
            try await app.use(timeZone: "Europe/Berlin")
            #expect(try await app.ask(question) == ["2026-05-02,,false,12,4"])
            #expect(try await app.master("GET", "/analytics/" + question)["source"] == #""rolled""#)
            let other = app.database.client(for: "analytics")
            try await other.withTransaction { transaction in
                // No one else rolls up meanwhile.
                try await transaction.execute("SELECT FROM analytics.rollups FOR UPDATE")
                try await app.postgres.execute(
                    "UPDATE analytics.rolled_spaces SET again_from = now() - interval '1 day', again_to = now(), again_day = 0"
                )
                #expect(try await app.ask(question) == ["2026-05-02,,false,12,4"])
                let byRelease = try await app.master("GET", "/analytics/" + question + "&group=release")
                #expect(byRelease["source"] == #""events""# && byRelease["data.0.people"] == "4", "\(byRelease)")
                let retention = try await app.master("GET", "/analytics/retention?from=2026-05-01&to=2026-05-02")
                #expect(retention.isProblem(.unavailable) && retention.header("retry-after") == "60", "\(retention)")
            }
            await other.close()
        }
    }

    @Test func `Persons with no data but their number are removed, and are new when they return`() async throws {
        try await AnalyticsApp.run { app in
            let id = try await app.space.id
            // One of two chunks of bits is empty.
            try await app.postgres.execute(
                "INSERT INTO analytics.person_numbers (space, person, number) SELECT \(id), n, 16384 + n FROM generate_series(1, 3) AS n"
            )
            try await app.postgres.execute(
                "INSERT INTO analytics.person_starts (space, number, first_at) SELECT \(id), 16384 + n, now() FROM generate_series(1, 3) AS n"
            )
            let day = Date().formatted(.iso8601.year().month().day())
            try await app.record([TestEvent("\(day)T00:00:00Z", "a", 9)])
            try await app.postgres.execute("UPDATE analytics.person_numbers SET number = 4 WHERE person = 9")
            try await app.postgres.execute("UPDATE analytics.person_starts SET number = 4 WHERE number > 16387")
            try await app.postgres.execute("UPDATE analytics.people_sets SET chunk = 0")
            // Does nothing while another instance rolls up.
            try await eventually("one person is left") {
                try await app.service.questions.rollUp.store.prune()
                return try await app.count("analytics.person_numbers") == 1
            }
            #expect(try await app.count("analytics.person_starts WHERE number = 4") == 1)
            try await app.record([TestEvent("\(day)T00:00:00Z", "a", 1), TestEvent("\(day)T00:00:00Z", "a", 9)])
            #expect(try await app.ask("people?from=\(day)&to=\(day)") == ["\(day),2,2"])
        }
    }

    @Test func `Closed sessions are removed, however many there are`() async throws {
        try await AnalyticsApp.run { app in
            try await app.postgres.execute(
                """
                INSERT INTO analytics.sessions (started, ended, space, number) SELECT now() - interval '40 days', now() - interval '40 days', 1, n
                FROM generate_series(1, 100001) AS n
                """)
            try await app.service.questions.rollUp.store.prune()
            #expect(try await app.count("analytics.sessions") == 0)
        }
    }

    @Test func `A device and the account that signed in on it are one person`() async throws {
        try await AnalyticsApp.run { app in
            // Recent events, because sessions that can no longer change are removed when the service starts.
            let day = Date(timeIntervalSinceNow: -2 * 86_400).formatted(.iso8601.year().month().day())
            try await app.record([TestEvent("\(day)T10:00:00Z", "a", 70)])
            try await app.postgres.execute(
                "INSERT INTO analytics.people (space, person, account) VALUES (\(try await app.space.id), 70, 7)")
            try await app.record([TestEvent("\(day)T10:05:00Z", "a", 7), TestEvent("\(day)T10:06:00Z", "a", 70)])
            #expect(try await app.ask("people?from=\(day)&to=\(day)") == ["\(day),1,1"])
            let sessions = try await app.ask("sessions?from=\(day)&to=\(day)")
            #expect(sessions == ["\(day),1,360.0"])
        }
    }

    @Test func `A roll-up that began before the last one does not move the watermark back`() async throws {
        try await AnalyticsApp.run { app in
            try await app.record([TestEvent("2026-05-01T10:00:00Z", "a", 1)])
            // Suppose that the last roll-up began two seconds after the one that follows here.
            try await app.postgres.execute("UPDATE analytics.rollups SET reached = now() + interval '2 seconds'")
            _ = try await app.service.questions.rollUp.catchUp()
            try await Task.sleep(for: .seconds(2))
            try await app.record([TestEvent("2026-05-01T10:05:00Z", "a", 1)])
            let lines = try await app.ask("counts?from=2026-05-01&to=2026-05-01")
            #expect(lines.count == 1 && lines[0].hasPrefix("2026-05-01,,false,2"), "\(lines)")
        }
    }

    @Test func `Persons beyond one chunk of bits are distinguished`() async throws {
        try await AnalyticsApp.run { app in
            let id = try await app.space.id
            try await app.postgres.execute(
                "INSERT INTO analytics.person_numbers (space, person, number) SELECT \(id), n, n * 5000 FROM generate_series(1, 10) AS n"
            )
            try await app.record((1...20).map { TestEvent("2026-05-01T10:00:00Z", "a", $0) })
            #expect(try await app.ask("people?from=2026-05-01&to=2026-05-01") == ["2026-05-01,20,20"])
            let chunks: Int = try await app.postgres.query(
                "SELECT count(*) FROM analytics.people_sets WHERE dimension = 0")[0].decode(0)
            #expect(chunks == 4)
        }
    }
}

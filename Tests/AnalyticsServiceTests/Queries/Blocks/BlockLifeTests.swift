import Foundation
import MartletAPI
import MartletHTTP
import MartletPostgres
import MartletTesting
import ServiceTesting
import Testing

@testable import AnalyticsEvents
@testable import AnalyticsService
@testable import AnalyticsShared

@Suite struct BlockLifeTests {
    @Test func `Small apps have one block a day, and events outside blocks are counted`() async throws {
        try await AnalyticsApp.run { app in
            for hour in [1, 5, 9] {
                for daysAgo in [1, 2] {
                    try await app.receive(
                        [TestEvent(day(daysAgo) + "T00:30:00Z", "a", hour)], at: day(daysAgo) + "T0\(hour):00:00Z")
                }
            }
            try await app.insert([TestEvent(day(1) + "T00:30:00Z", "a", 9)], by: app.postgres)
            #expect(try await app.makeBlocks() == 2)
            #expect(try await app.eventsInBlocks() == 6)
            let span = try await app.span(day(2), day(0), .day)
            let (blocks, events) = try await app.both(CountQuestion(event: "a", withPeople: true), in: span)
            #expect(
                blocks == events && blocks?.map(\.events) == [3, 4] && blocks?.map(\.people) == [3, 3],
                "\(String(describing: blocks))")
        }
    }

    @Test func `A day ends with a block, wherever planning continues`() async throws {
        try await AnalyticsApp.run { app in
            for received in [day(2) + "T23:59:45Z", day(1) + "T00:00:05Z"] {
                try await app.receive([TestEvent(day(2) + "T12:00:00Z", "a", 1)], at: received)
            }
            try await app.postgres.execute(
                "UPDATE analytics.block_reach SET reached = \(day(2) + "T23:59:40Z")::text::timestamptz")
            #expect(try await app.makeFurtherBlocks() == 2)
            let midnight = day(1) + "T00:00:00Z"
            #expect(try await app.count("analytics.blocks WHERE received_to = \(midnight)::text::timestamptz") == 1)
            #expect(try await app.count("analytics.blocks WHERE received_from = \(midnight)::text::timestamptz") == 1)
        }
    }

    @Test func `A block that cannot be built does not stop others`() async throws {
        try await AnalyticsApp.run { app in
            for daysAgo in [1, 2] {
                try await app.receive([TestEvent(day(2) + "T12:00:00Z", "a", 1)], at: day(daysAgo) + "T13:00:00Z")
            }
            try await app.postgres.execute("UPDATE analytics.block_reach SET reached = '-infinity'")
            let store = app.blockStore()
            while try await store.plan() {}
            let first: Int = try await app.postgres.query(
                "SELECT id FROM analytics.blocks ORDER BY received_from DESC LIMIT 1")[0].decode(0)
            let check = PostgresQuery(unescaped: "ALTER TABLE analytics.block_names ADD CHECK (block <> \(first))")
            try await app.database.withSuperuser { _ = try await $0.execute(check) }
            let builder = BlockBuilder(store: store, logger: .silent)
            var failed: [Int: ContinuousClock.Instant] = [:]
            await builder.round(skipping: &failed)
            #expect(Array(failed.keys) == [first])
            #expect(try await app.count("analytics.blocks WHERE is_built") == 0)
            await builder.round(skipping: &failed)
            #expect(try await app.count("analytics.blocks WHERE is_built AND id <> \(first)") == 1)
            #expect(try await store.planned() == 1)
            let (blocks, events) = try await app.both(CountQuestion(event: "a"), in: try await app.span(day(2), day(0)))
            #expect(blocks == events && blocks?.map(\.events) == [2])
        }
    }

    @Test func `A block never covers time in which a transaction may still insert`() async throws {
        try await AnalyticsApp.run { app in
            try await app.receive([TestEvent(day(1) + "T10:00:00Z", "a", 1)], at: day(1) + "T10:00:01Z")
            let other = app.database.client(for: "analytics")
            try await app.makeDay()
            let began: Date = try await other.withTransaction { transaction in
                try await app.insert([TestEvent(day(1) + "T11:00:00Z", "a", 2)], transaction)
                let began: Date = try await transaction.query("SELECT now()")[0].decode(0)
                // Waits until a block could end at that time.
                try await eventually("a slot has begun since") {
                    try await app.postgres.query("SELECT date_bin('10 seconds', now(), 'epoch') > \(began)")[0].decode(
                        0)
                }
                try await app.makeBlocks(eventsPerBlock: 1)
                return began
            }
            await other.close()
            #expect(try await app.postgres.query("SELECT reached <= \(began) FROM analytics.block_reach")[0].decode(0))
            let span = try await app.span(day(1), day(0))
            #expect(try await app.both(CountQuestion(event: "a"), in: span).blocks?.map(\.events) == [2])
            try await app.makeFurtherBlocks(eventsPerBlock: 1)
            #expect(try await app.eventsInBlocks() == 2)
            #expect(try await app.both(CountQuestion(event: "a"), in: span).blocks?.map(\.events) == [2])
        }
    }

    @Test func `An erased user is in no block, and blocks are rebuilt from the remaining events`()
        async throws
    {
        try await AnalyticsApp.run { app in
            let user = "0193a000-0000-7000-8000-00000000000f"
            let space = try await app.space
            let account = Int(Person.account(user, in: space)), device = Int(Person.device("d1", in: space))
            for (hour, persons) in [(1, [account, 5]), (2, [6, 7]), (3, [device, 5])] {
                try await app.receive(
                    persons.map {
                        TestEvent(day(1) + "T0\(hour):00:00Z", "a", $0) { $0.properties = #"{"of":"\#($0.person)"}"# }
                    }, at: day(1) + "T0\(hour):00:01Z")
            }
            try await app.link(device, to: account)
            #expect(try await app.makeBlocks(eventsPerBlock: 2) == 3)
            var after: String?
            repeat {
                after = try await app.service.userData.erase(
                    UserDataRequest(app: app.appID, environment: app.environment, user: user, after: after)
                ).next
            } while after != nil
            #expect(try await app.count("analytics.blocks WHERE is_built") == 1)
            #expect(try await app.eventsInBlocks() == 2)
            let bytes = try await app.postgres.query("SELECT persons FROM analytics.blocks WHERE is_built")[0].decode(
                0, as: [UInt8].self)
            #expect(try BlockProfiles.persons(bytes) == [6, 7])
            #expect(
                try await app.count("analytics.block_properties, analytics.blocks WHERE block = id AND NOT is_built")
                    == 0)
            let question = CountQuestion(event: "a", withPeople: true)
            let span = try await app.span(day(1), day(1))
            #expect(try await app.both(question, in: span).blocks?.map { [$0.events, $0.people] } == [[4, 3]])
            try await app.makeFurtherBlocks()
            #expect(try await app.count("analytics.blocks WHERE is_built") == 3)
            #expect(try await app.eventsInBlocks() == 4)
            #expect(try await app.both(question, in: span).blocks?.map { [$0.events, $0.people] } == [[4, 3]])
            #expect(
                try await app.count(
                    "analytics.block_properties WHERE content::text LIKE '%' || \(String(String(account).utf8.map { String($0, radix: 16) }.joined())) || '%'"
                ) == 0)
        }
    }

    @Test func `A day whose events are gone has no blocks`() async throws {
        try await AnalyticsApp.run { app in
            for daysAgo in [1, 9] {
                try await app.receive([TestEvent(day(daysAgo) + "T01:00:00Z", "a", 1)], at: day(daysAgo) + "T01:00:01Z")
            }
            #expect(try await app.makeBlocks() == 2)
            let question = CountQuestion(event: "a")
            let span = try await app.span(day(10), day(0), .day)
            #expect(try await app.both(question, in: span).blocks?.map(\.events) == [1, 1])
            try await app.postgres.execute(
                """
                INSERT INTO analytics.settings (space, retention_days, privacy, is_collecting, time_zone, changed_by)
                VALUES (\(try await app.space.id), 5, 'standard', true, 'UTC', 'test')
                """)
            try await EventDaysTests.sweep(app.service.events.days)
            #expect(try await app.count("analytics.blocks") == 1)
            #expect(try await app.eventsInBlocks() == 1)
            #expect(try await app.both(question, in: span).blocks?.map(\.events) == [1])
        }
    }
}

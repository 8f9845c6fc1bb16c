import Foundation
import MartletAPI
import MartletPostgres
import MartletTesting
import ServiceTesting
import Testing

@testable import AnalyticsEvents
@testable import AnalyticsService
@testable import AnalyticsShared

/// Repeated messages: to another instance, on the next day, and with a wrong clock.
@Suite struct RepeatedEventTests {
    /// Two instances of the service with the same database.
    private static func withTwo(_ body: @Sendable (AnalyticsApp, EventQueue, EventQueue, Space) async throws -> Void)
        async throws
    {
        try await AnalyticsApp.run { app async throws in
            let other = app.database.client(for: "analytics")
            let queues = [app.postgres, other].map {
                EventQueue(
                    store: EventStore(postgres: $0, now: { Date() }), people: PeopleStore(postgres: $0),
                    limits: EventQueue.Limits(),
                    logger: .silent)
            }
            let running = queues.map { queue in Task { try await queue.run() } }
            try await body(app, queues[0], queues[1], try await app.space)
            for task in running {
                task.cancel()
                try await task.value
            }
            await other.close()
        }
    }

    /// The last UTC midnight.
    private static var midnight: Date {
        Date(timeIntervalSince1970: (Date().timeIntervalSince1970 / 86_400).rounded(.down) * 86_400)
    }

    @Test func `messages sent to two instances at once are stored once`() async throws {
        try await Self.withTwo { app, first, second, space in
            let midnight = Self.midnight
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<40 {
                    // Out of 30 messages, each sent several times and in another order.
                    let keys = (0..<20).map { Int64(($0 * 7 + number * 11) % 30 + 1) }.shuffled()
                    let rows = keys.map {
                        EventRow(
                            space: Int(space.id), kind: .track, at: Date(), earliest: Date() - 3_600, key: $0,
                            subject: .init(person: 1), properties: "{}")
                    }
                    group.addTask {
                        try await (number % 2 == 0 ? first : second).write(
                            EventSubmission(rows: rows, sizeInBytes: 4_000))
                    }
                }
                try await group.waitForAll()
            }
            let stored = try await app.count("analytics.events")
            // Two statements at the same time, one before and one after midnight, do not see each other's events.
            #expect(stored == 30 || Self.midnight != midnight, "\(stored)")
            try await app.rollUp()
            #expect(
                try await app.postgres.query("SELECT sum(events)::bigint FROM analytics.hours WHERE dimension = 0")[0]
                    .decode(0, as: Int.self) == stored)
        }
    }

    /// Simulates an answer lost over midnight: the partition of the day before has the message.
    private static func store(_ id: String, before midnight: Date, _ app: AnalyticsApp) async throws {
        let space = try await app.space
        try await app.database.withSuperuser { database in
            try await database.execute(
                "SELECT analytics.make_events_day((\(midnight)::timestamptz AT TIME ZONE 'UTC')::date - 1)")
            try await database.execute(
                """
                INSERT INTO analytics.events SELECT received, received, 1, \(Int(Person.key(ofMessage: id, in: space))),
                    \(space.id), 0, 0, 0, 0, 0, 0, 0, 1, '{}'
                FROM (SELECT \(midnight)::timestamptz - interval '1 second' AS received) AS message
                """)
        }
    }

    /// How far the client's clock is ahead, in hours, and whether the client sends `sentAt`.
    static let clocks: [(Double, Bool)] = [
        (0, true), (5, true), (-5, true), (0, false), (-5, false), (5, false), (14, false), (23, false),
    ]

    @Test(arguments: clocks)
    func `a message repeated after midnight is stored once, whatever the client's clock shows`(
        _ ahead: Double, _ saysWhen: Bool
    ) async throws {
        try await AnalyticsApp.run { app async throws in
            let midnight = Self.midnight
            try await Self.store("m1", before: midnight, app)
            let now = Date()
            let claimed = midnight - 2 + ahead * 3_600
            // A time that no client's clock could show then is refused anyway.
            let answer = try await app.batch(
                track("a", id: "m1", at: claimed), track("new", id: "m2", at: claimed),
                sentAt: saysWhen ? now + ahead * 3_600 : nil)
            #expect(answer["accepted"] == "2", "\(answer)")
            let names = try await app.events().map { $0.name ?? "stored" }
            #expect(names.sorted() == ["new", "stored"])
        }
    }

    @Test func `an event in the TBAnalytics format with a wrong device clock is also stored once`()
        async throws
    {
        try await AnalyticsApp.run { app async throws in
            let midnight = Self.midnight
            try await Self.store("a1", before: midnight, app)
            // Ten hours east of Greenwich, without an offset.
            let local = (Date() + 10 * 3_600).ISO8601Format(.init(dateTimeSeparator: .standard)).dropLast()
            #expect(
                try await app.client("POST", "/thesis/events", #"{"_id":"a1","type":"x","timeStamp":"\#(local)"}"#)
                    .status == 201)
            let stored = try await app.count("analytics.events")
            // After the next midnight, the message would be too old to be looked for.
            #expect(stored == 1 || Self.midnight != midnight, "\(stored)")
        }
    }

    @Test func `an event of three days ago counts once, on its day, and one from the future counts now`() async throws {
        try await AnalyticsApp.run { app async throws in
            let now = Date()
            func day(_ date: Date) -> String { date.formatted(.iso8601.year().month().day()) }
            let late = now - 3 * 86_400
            try await app.batch(track("a", id: "1", at: now))
            try await app.rollUp()
            for _ in 0..<2 {
                try await app.batch(track("a", id: "2", at: late), track("b", user: "u2", id: "3", at: now + 7_200))
            }
            #expect(
                try await app.batch(track("c", id: "4", at: now + 2 * 86_400))["rejected.0.field"] == #""timestamp""#)
            try await app.rollUp()
            let events = try await app.events()
            #expect(
                events.map(\.name) == ["a", "a", "b"] && abs(events[0].at.timeIntervalSince(late)) < 5
                    && events.allSatisfy { $0.at <= $0.received })
            // Midnight may lie between the two.
            let days = Dictionary(grouping: events) { day($0.at) }.map {
                "\($0),,false,\($1.count),\(Set($1.map(\.person)).count)"
            }
            let answer = try await app.ask("counts?people=true&from=\(day(late))&to=\(day(events[2].at))")
            #expect(answer == days.sorted(), "\(answer)")
        }
    }
}

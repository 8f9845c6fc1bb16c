import MartletAPI
import MartletPostgres
import MartletTesting
import Testing

@testable import AnalyticsService

@Suite struct PeopleTests {
    @Test func `A session ends after more than 30 minutes without events`() async throws {
        try await AnalyticsApp.run { app in
            let times = ["10:00:00", "10:30:00", "11:00:00", "11:30:01", "23:50:00"]
            try await app.record(
                times.map { TestEvent("2026-05-01T\($0)Z", "a", 1) } + [
                    TestEvent("2026-05-02T00:10:00Z", "a", 1), TestEvent("2026-05-01T10:00:00Z", "a", 2),
                ])
            // Person 1: an hour, a moment, and 20 minutes across midnight. Person 2: a moment.
            #expect(
                try await app.ask("sessions?from=2026-05-01&to=2026-05-02") == ["2026-05-01,4,1200.0", "2026-05-02,0,"])
        }
    }

    /// The same events in every order, in portions of one, of two, and all at once.
    @Test(arguments: [[0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [0, 4, 2, 1, 3], [2, 0, 4, 3, 1]], [1, 2, 5])
    func `Sessions do not depend on the order in which events arrive`(_ order: [Int], _ portion: Int) async throws {
        try await AnalyticsApp.run { app in
            let events = ["10:00", "10:20", "10:50", "11:19", "11:50"].map { TestEvent("2026-05-01T\($0):00Z", "a", 1) }
            var rest = order[...]
            while !rest.isEmpty {
                try await app.record(rest.prefix(portion).map { events[$0] })
                rest = rest.dropFirst(portion)
            }
            // A session of 79 minutes and, 31 minutes later, one of a moment.
            #expect(try await app.ask("sessions?from=2026-05-01&to=2026-05-01") == ["2026-05-01,2,2370.0"])
        }
    }

    /// First seen: 1 and 2 on Monday 2026-05-04, 3 on Tuesday, 4 on the next Monday.
    private static func makeReturns(_ app: AnalyticsApp) async throws {
        let days = ["04": [1, 2], "05": [1, 3], "06": [3], "11": [1, 2, 4], "12": [3]]
        try await app.record(
            days.flatMap { day, people in people.map { TestEvent("2026-05-\(day)T12:00:00Z", "a", $0) } })
    }

    @Test func `Daily retention follows the persons first seen on each day`() async throws {
        try await AnalyticsApp.run { app in
            try await Self.makeReturns(app)
            #expect(
                try await app.ask("retention?from=2026-05-04&to=2026-05-06") == [
                    "2026-05-04,2,0,2", "2026-05-04,2,1,1", "2026-05-04,2,2,0", "2026-05-05,1,0,1", "2026-05-05,1,1,1",
                ])
            // Persons seen before the span are in no cohort.
            #expect(
                try await app.ask("retention?from=2026-05-05&to=2026-05-06") == [
                    "2026-05-05,1,0,1", "2026-05-05,1,1,1",
                ])
        }
    }

    @Test func `Weekly retention follows the persons first seen in each week`() async throws {
        try await AnalyticsApp.run { app in
            try await Self.makeReturns(app)
            #expect(
                try await app.ask("retention?interval=week&from=2026-05-04&to=2026-05-17") == [
                    "2026-05-04,3,0,3", "2026-05-04,3,1,3", "2026-05-11,1,0,1",
                ])
        }
    }

    private static func at(_ minute: Int, _ name: String, _ person: Int) -> TestEvent {
        TestEvent("2026-05-01T10:\(minute < 10 ? "0" : "")\(minute):00Z", name, person)
    }

    private static let ways: [([(Int, String, Int)], [Int])] = [
        // The events happen in order, with other events between them.
        ([(0, "open", 1), (1, "x", 1), (2, "cart", 1), (3, "buy", 1)], [1, 1, 1]),
        // Out of order.
        ([(0, "cart", 1), (1, "open", 1), (2, "buy", 1)], [1, 0, 0]),
        // The first start is too early for the end, the second is not.
        ([(0, "open", 1), (5, "open", 1), (6, "cart", 1), (12, "buy", 1)], [1, 1, 1]),
        // The window lasts from the first step to the last.
        ([(0, "open", 1), (6, "cart", 1), (12, "buy", 1)], [1, 1, 0]),
        ([(0, "open", 1), (6, "cart", 1), (10, "buy", 1)], [1, 1, 1]),
        // A later start does not help a step it has not led to.
        ([(0, "open", 1), (4, "cart", 1), (8, "open", 1), (9, "buy", 1), (15, "cart", 1), (16, "buy", 1)], [1, 1, 1]),
        ([(0, "open", 1), (1, "cart", 2), (2, "buy", 1), (0, "open", 2)], [2, 1, 0]),
        // Steps too early or too late precede one that counts.
        ([(0, "cart", 1), (1, "buy", 1), (2, "open", 1), (3, "cart", 1), (4, "buy", 1)], [1, 1, 1]),
        (
            [(0, "open", 1), (11, "cart", 1), (12, "buy", 1), (13, "open", 1), (14, "cart", 1), (15, "buy", 1)],
            [1, 1, 1]
        ),
        (
            [
                (0, "open", 1), (1, "open", 1), (2, "cart", 1), (3, "cart", 1), (12, "buy", 1), (0, "buy", 2),
                (1, "open", 2),
            ], [2, 1, 0]
        ),
        // The events happen at the same instant.
        ([(0, "buy", 1), (0, "cart", 1), (0, "open", 1)], [1, 1, 1]), ([(0, "open", 0), (1, "cart", 0)], [0, 0, 0]),
    ]

    @Test(arguments: ways)
    func `A funnel counts how far persons came within the window`(_ events: [(Int, String, Int)], _ expected: [Int])
        async throws
    {
        try await AnalyticsApp.run { app in
            try await app.record(events.map { Self.at($0.0, $0.1, $0.2) })
            let body = #"{"steps":["open","cart","buy"],"windowSeconds":600}"#
            let answer = try await app.master("POST", "/analytics/funnel?from=2026-05-01&to=2026-05-01", body)
            #expect((0..<3).map { answer["data.\($0).people"] } == expected.map { "\($0)" }, "\(answer)")
            #expect(answer["data.0.event"] == #""open""# && answer["windowSeconds"] == "600")
        }
    }

    @Test func `A funnel over random events agrees with trying every first event`() async throws {
        let (steps, window, people) = (["a", "b", "c", "d"], 12, 1...60)
        var generator = SystemRandomNumberGenerator()
        var events: [(minute: Int, name: String, person: Int)] = []
        for person in people {
            for _ in 0..<Int.random(in: 1...14, using: &generator) {
                events.append(
                    (Int.random(in: 0..<40, using: &generator), steps.randomElement(using: &generator) ?? "a", person))
            }
        }
        var expected = [Int](repeating: 0, count: steps.count)
        for person in people {
            let own = events.filter { $0.person == person }
            let reached = own.filter { $0.name == steps[0] }.map { first in
                // The earliest event of each step is as good as any.
                var (time, count) = (first.minute, 1)
                for step in steps.dropFirst() {
                    guard let next = own.filter({ $0.name == step && $0.minute >= time }).map(\.minute).min(),
                        next <= first.minute + window
                    else { break }
                    (time, count) = (next, count + 1)
                }
                return count
            }
            for step in 0..<(reached.max() ?? 0) { expected[step] += 1 }
        }
        try await AnalyticsApp.run { [events, expected] app in
            try await app.record(events.map { Self.at($0.minute, $0.name, $0.person) })
            let body = #"{"steps":["a","b","c","d"],"windowSeconds":\#(window * 60)}"#
            let answer = try await app.master("POST", "/analytics/funnel?from=2026-05-01&to=2026-05-01", body)
            #expect((0..<4).map { answer["data.\($0).people"] } == expected.map { "\($0)" }, "\(events)")
        }
    }

    @Test func `A funnel reports shares, and counts a device with its account`() async throws {
        try await AnalyticsApp.run { app in
            try await app.postgres.execute(
                "INSERT INTO analytics.people (space, person, account) VALUES (\(try await app.space.id), 70, 7)")
            try await app.record([
                Self.at(0, "open", 70), Self.at(1, "buy", 7), Self.at(0, "open", 2), Self.at(0, "open", 3),
                Self.at(0, "open", 4),
            ])
            let body = #"{"steps":["open","buy"]}"#
            #expect(
                try await app.ask("funnel?from=2026-05-01&to=2026-05-01", body) == [
                    "1,open,4,1.0,1.0", "2,buy,1,0.25,0.25",
                ])
        }
    }
}

import MartletPostgres
import MartletTesting
import Testing

@testable import AnalyticsEvents
@testable import AnalyticsService

@Suite struct BlockAnswerTests {
    private static let names = ["open", "look", "buy", "leave", "Home"]

    /// Hundreds of events of three days, including late and simultaneous ones, of persons linked to accounts, in many
    /// blocks and outside.
    private static func fill(_ app: AnalyticsApp, seed: UInt64) async throws {
        var numbers = SeededGenerator(state: seed)
        for batch in 0..<30 {
            let received = batch < 27 ? Int.random(in: 120...220_000, using: &numbers) : 0
            let events = (0..<Int.random(in: 5...25, using: &numbers)).map { _ in
                randomEvent(receivedAgo: received, &numbers)
            }
            if received == 0 {
                try await app.insert(events, by: app.postgres)
            } else {
                try await app.receive(events, at: ago(received, microseconds: batch))
            }
            if batch == 20 { try await app.makeBlocks(eventsPerBlock: 40) }
            // Devices 1 to 3 belong to an account with events and to one without.
            if batch == 22 {
                for (device, account) in [(1, 7), (2, 7), (3, 99)] { try await app.link(device, to: account) }
            }
        }
        try await app.makeBlocks(eventsPerBlock: 40)
    }

    private static func randomEvent(receivedAgo: Int, _ numbers: inout SeededGenerator) -> TestEvent {
        let late = Bool.random(using: &numbers) ? Int.random(in: 0...100_000, using: &numbers) : 0
        // Many events happen at whole minutes.
        let seconds = (receivedAgo + late) / 60 * 60 + 60
        let microseconds =
            Int.random(in: 0...4, using: &numbers) == 0 ? Int.random(in: 0...999_999, using: &numbers) : 0
        var event = TestEvent(
            ago(seconds, microseconds: microseconds), names.randomElement(using: &numbers) ?? "",
            Int.random(in: 0...14, using: &numbers))
        if event.name == "Home" { event.kind = .screen }
        event.release = ["", "1.0", "1.1", "2.0"].randomElement(using: &numbers) ?? ""
        event.os = event.person % 2 == 0 ? "iOS 17" : "iOS 18"
        event.country = ["IE", "DE"].randomElement(using: &numbers) ?? ""
        event.variants = ["", "a=1", "a=1, b=2"].randomElement(using: &numbers) ?? ""
        event.properties =
            [
                "{}", #"{"plan":"pro","cart":{"size":2,"cur\"rency":"€"}}"#, #"{"plan":"free","cart":{"size":10}}"#,
                #"{"plan":null,"n":1.50,"is":true}"#,
                #"{"plan":"a\n\"\\\u0001b","cart":7,"list":[1,{"a":2}]}"#,
            ].randomElement(using: &numbers) ?? "{}"
        return event
    }

    @Test(arguments: [1, 2, 3])
    func `Counts from blocks agree with counts from events`(_ seed: Int) async throws {
        try await AnalyticsApp.run { app in
            try await Self.fill(app, seed: UInt64(seed))
            #expect(try await app.count("analytics.blocks") > 5)
            let groups: [CountQuestion.Group] = [
                .none, .dimension(.event), .dimension(.screen), .dimension(.release), .dimension(.os),
                .dimension(.country), .variants, .property(["plan"]),
                .property(["cart", "size"]), .property(["n"]), .property(["nothing"]),
            ]
            let filters: [[CountQuestion.Filter]] = [
                [],
                [.init(group: .dimension(.release), value: "1.1"), .init(group: .property(["plan"]), value: "pro")],
                [.init(group: .variants, value: "a=1")],
                [.init(group: .dimension(.os), value: "none")],
            ]
            for (number, (interval, zone)) in [
                (Span.Interval.none, "UTC"), (.day, "Asia/Kathmandu"), (.hour, "Europe/Dublin"),
            ].enumerated() {
                let span = try await app.span(day(number == 1 ? 1 : 3), day(0), interval, timeZone: zone)
                for group in groups {
                    for filter in filters {
                        var question = CountQuestion(
                            event: ["buy", nil, "open"][number], group: group, filters: filter, withPeople: number != 2,
                            limit: 3)
                        if group == .dimension(.screen) { question.event = nil }
                        let (blocks, events) = try await app.both(question, in: span)
                        #expect(blocks == events, "\(question) \(interval)")
                    }
                }
            }
        }
    }

    @Test(arguments: [4, 5, 6])
    func `Funnels from blocks agree with funnels from events`(_ seed: Int) async throws {
        try await AnalyticsApp.run { app in
            try await Self.fill(app, seed: UInt64(seed))
            var total = 0
            for steps in [
                ["open", "look"], ["open", "look", "buy"], ["buy", "open", "Home", "leave"], ["open", "none", "buy"],
                ["none", "open"],
            ] {
                for window in [60, 600, 7_200, 86_400] {
                    for zone in ["UTC", "Asia/Kathmandu"] {
                        let span = try await app.span(day(2), day(window == 600 ? 1 : 0), timeZone: zone)
                        let (blocks, events) = try await app.both(
                            FunnelQuestion(steps: steps, windowInSeconds: window), in: span)
                        #expect(blocks == events, "\(steps) \(window)")
                        total += events.reduce(0, +)
                    }
                }
            }
            #expect(total > 100)
        }
    }

    /// One person visits on a device, signs in and buys; one is too late; one does two steps at the same instant; one
    /// has them in reverse order.
    @Test func `A funnel over blocks and loose events counts a device with its account`() async throws {
        try await AnalyticsApp.run { app in
            let noon = day(2) + "T12:00:00Z", later = day(2) + "T12:30:00Z", evening = day(2) + "T20:00:00Z"
            try await app.receive(
                [
                    TestEvent(noon, "open", 1), TestEvent(noon, "open", 2), TestEvent(noon, "open", 3),
                    TestEvent(noon, "buy", 3),
                ], at: day(1) + "T00:00:05Z")
            try await app.receive(
                [TestEvent(later, "buy", 5), TestEvent(evening, "buy", 2), TestEvent(later, "open", 4)],
                at: day(1) + "T00:00:25Z")
            #expect(try await app.makeBlocks(eventsPerBlock: 3) == 2)
            try await app.link(1, to: 5)
            // Late, and in no block.
            try await app.insert(
                [TestEvent(day(2) + "T12:45:00Z", "buy", 4), TestEvent(day(2) + "T11:59:00Z", "buy", 2)],
                by: app.postgres)
            let body = #"{"steps":["open","buy"],"windowSeconds":3600}"#
            #expect(
                try await app.ask("funnel?from=\(day(2))&to=\(day(2))", body) == [
                    "1,open,4,1.0,1.0", "2,buy,3,0.75,0.75",
                ])
            let (blocks, events) = try await app.both(
                FunnelQuestion(steps: ["open", "buy"], windowInSeconds: 3_600), in: try await app.span(day(2), day(2)))
            #expect(blocks == [4, 3] && events == [4, 3])
        }
    }

    @Test func `Questions that need too much memory are answered from events`() async throws {
        try await AnalyticsApp.run { app in
            try await app.receive([TestEvent(day(1) + "T12:00:00Z", "a", 1)], at: day(1) + "T12:00:01Z")
            try await app.makeBlocks()
            try await app.insert(
                (0..<5_100).map { number in
                    TestEvent(day(1) + "T12:00:00Z", "a", 1) { $0.properties = #"{"id":\#(number)}"# }
                }, by: app.postgres)
            let question = CountQuestion(event: "a", group: .property(["id"]))
            #expect(try await app.both(question, in: try await app.span(day(1), day(1))).blocks?.count == 11)
            #expect(try await app.both(question, in: try await app.span(day(799), day(0), .day)).blocks == nil)
        }
    }

    @Test(arguments: ["profiles", "times"])
    func `Questions to a damaged block are answered from events`(_ column: String) async throws {
        try await AnalyticsApp.run { app in
            let noon = day(1) + "T12:00:00Z"
            try await app.receive(
                [TestEvent(noon, "open", 1), TestEvent(noon, "buy", 1), TestEvent(noon, "open", 2)],
                at: day(1) + "T12:00:05Z")
            #expect(try await app.makeBlocks(eventsPerBlock: 3) == 1)
            let question = FunnelQuestion(steps: ["open", "buy"], windowInSeconds: 3_600),
                span = try await app.span(day(1), day(1))
            #expect(try await app.both(question, in: span).blocks == [2, 1])
            let name = try #require(PostgresIdentifier(column))
            try await app.postgres.execute("UPDATE analytics.block_names SET \(name) = ''")
            #expect(try await app.both(question, in: span).blocks == nil)
            #expect(
                try await app.ask("funnel?from=\(day(1))&to=\(day(1))", #"{"steps":["open","buy"]}"#) == [
                    "1,open,2,1.0,1.0", "2,buy,1,0.5,0.5",
                ])
        }
    }
}

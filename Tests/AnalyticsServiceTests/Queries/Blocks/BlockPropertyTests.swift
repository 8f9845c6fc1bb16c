import MartletPostgres
import Testing

@testable import AnalyticsEvents
@testable import AnalyticsService

@Suite struct BlockPropertyTests {
    @Test func `A property with too many values or with lists is answered from events, any other from blocks`()
        async throws
    {
        try await AnalyticsApp.run { app in
            let events = (0..<1_100).map { number in
                TestEvent(day(1) + "T12:00:00Z", "a", number) {
                    $0.properties = #"{"id":\#(number),"plan":"p\#(number % 3)","list":[\#(number % 2)]}"#
                }
            }
            try await app.receive(events, at: day(1) + "T12:00:01Z")
            try await app.makeBlocks()
            let span = try await app.span(day(1), day(1))
            for (path, isKept) in [
                (["plan"], true), (["id"], false), (["list"], false), (["list", "0"], false), (["plan", "x"], true),
                (["none"], true),
            ] {
                let (blocks, rows) = try await app.both(
                    CountQuestion(event: "a", group: .property(path), withPeople: true, limit: 5), in: span)
                #expect(isKept ? blocks == rows : blocks == nil, "\(path) \(String(describing: blocks))")
                let line = try await app.ask(
                    "counts?from=\(day(1))&to=\(day(1))&interval=none&event=a&group=property&limit=1&property=\(path.joined(separator: "."))"
                )
                #expect(line.first.map { $0.hasPrefix(day(1)) } == true && line.count == min(2, rows.count), "\(line)")
            }
        }
    }

    @Test func `Texts are compared by their bytes, in blocks and outside`() async throws {
        try await AnalyticsApp.run { app in
            let one = "\u{E9}", other = "e\u{301}"
            let events = [#"{"plan":"\#(one)"}"#, #"{"plan":"\#(one)"}"#, #"{"plan":"\#(other)"}"#, #"{"\#(one)":1}"#]
                .map { properties in
                    TestEvent(day(1) + "T12:00:00Z", "a", 1) { $0.properties = properties }
                }
            try await app.receive(events, at: day(1) + "T12:00:01Z")
            try await app.makeBlocks()
            let span = try await app.span(day(1), day(0))
            for factor in [1, 2] {
                for (path, counts) in [(["plan"], [2, 1, 1]), ([one], [3, 1]), ([other], [4])] {
                    let (blocks, rows) = try await app.both(CountQuestion(event: "a", group: .property(path)), in: span)
                    #expect(
                        blocks == rows && blocks?.map(\.events) == counts.map { $0 * factor },
                        "\(path) \(String(describing: blocks))")
                }
                let filter = CountQuestion.Filter(group: .property(["plan"]), value: other)
                #expect(
                    try await app.both(CountQuestion(event: "a", filters: [filter]), in: span).blocks?.map(\.events)
                        == [factor])
                // The same events again, outside blocks.
                try await app.insert(events, by: app.postgres)
            }
        }
    }

    @Test func `Questions about a block with too many bytes of properties are answered from events`() async throws {
        try await AnalyticsApp.run { app in
            let event = TestEvent(day(1) + "T12:00:00Z", "a", 1) { $0.properties = #"{"plan":"pro"}"# }
            try await app.receive([event, event, event], at: day(1) + "T13:00:00Z")
            try await app.postgres.execute("UPDATE analytics.block_reach SET reached = '-infinity'")
            var store = app.blockStore()
            store.maximumPropertiesInBytes = 20
            while try await store.plan() {}
            while try await store.buildNext() {}
            let span = try await app.span(day(1), day(1))
            #expect(
                try await app.both(CountQuestion(event: "a", withPeople: true), in: span).blocks?.map(\.events) == [3])
            for path in ["plan", "none"] {
                #expect(try await app.both(CountQuestion(event: "a", group: .property([path])), in: span).blocks == nil)
            }
        }
    }
}

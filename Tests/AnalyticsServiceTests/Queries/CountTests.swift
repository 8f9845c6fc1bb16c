import MartletAPI
import MartletTesting
import Testing

@testable import AnalyticsEvents
@testable import AnalyticsService

@Suite struct CountTests {
    /// Dublin changes from UTC+0 to UTC+1 on 2026-03-29 at 01:00, and back on 2026-10-25 at 01:00 UTC.
    private static let night = [
        "2026-03-28T23:59:59Z", "2026-03-29T00:00:00Z", "2026-03-29T00:59:00Z", "2026-03-29T01:00:00Z",
        "2026-03-29T22:59:59Z", "2026-03-29T23:00:00Z",
        "2026-10-24T22:59:59Z", "2026-10-24T23:00:00Z", "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z",
        "2026-10-25T23:59:59Z", "2026-10-26T00:00:00Z",
    ]

    private static func makeNights(_ app: AnalyticsApp) async throws {
        try await app.record(night.enumerated().map { TestEvent($1, "a", $0 + 1) })
    }

    private static let dublin = ["2026-03-28,,false,1,1", "2026-03-29,,false,4,4", "2026-03-30,,false,1,1"]
    private static let dublinInAutumn = ["2026-10-24,,false,1,1", "2026-10-25,,false,4,4", "2026-10-26,,false,1,1"]

    @Test(arguments: ["Europe/Dublin", "UTC"])
    func `A day with a clock change has 23 or 25 hours, in the app's time zone and others`(
        _ zone: String
    ) async throws {
        try await AnalyticsApp.run { app in
            try await app.use(timeZone: zone)
            try await Self.makeNights(app)
            let suffix = "&people=true&timeZone=Europe/Dublin"
            #expect(try await app.ask("counts?from=2026-03-28&to=2026-03-30" + suffix) == Self.dublin)
            #expect(try await app.ask("counts?from=2026-10-24&to=2026-10-26" + suffix) == Self.dublinInAutumn)
            // Hourly roll-ups have no persons for a single event, so this uses another source.
            #expect(try await app.ask("counts?event=a&from=2026-03-28&to=2026-03-30" + suffix) == Self.dublin)
            let hours = try await app.ask("people?interval=hour&timeZone=Europe/Dublin&from=2026-03-29&to=2026-03-29")
            #expect(hours.count == 23)
            #expect(
                hours.prefix(3) == [
                    "2026-03-29T00:00+00:00,2,2", "2026-03-29T02:00+01:00,1,1", "2026-03-29T03:00+01:00,0,0",
                ])
            let autumn = try await app.ask("people?interval=hour&timeZone=Europe/Dublin&from=2026-10-25&to=2026-10-25")
            #expect(autumn.count == 25)
            #expect(
                autumn.prefix(3) == [
                    "2026-10-25T00:00+01:00,1,1", "2026-10-25T01:00+01:00,1,1", "2026-10-25T01:00+00:00,1,1",
                ])
        }
    }

    /// Hourly counts cannot answer for such a time zone. Daily counts can, if the zone is the app's own.
    @Test func `Time zones with fractional hours are answered from events, and by days if it is the app's own`()
        async throws
    {
        try await AnalyticsApp.run { app in
            // Kathmandu is UTC+5:45: its day begins at 18:15.
            try await app.record([
                TestEvent("2026-05-01T18:14:59Z", "a", 1), TestEvent("2026-05-01T18:15:00Z", "a", 1),
                TestEvent("2026-05-02T18:14:59Z", "a", 2),
            ])
            let question = "counts?from=2026-05-01&to=2026-05-02&people=true&timeZone=Asia/Kathmandu"
            let expected = ["2026-05-01,,false,1,1", "2026-05-02,,false,2,2"]
            #expect(try await app.master("GET", "/analytics/" + question)["source"] == #""events""#)
            #expect(try await app.ask(question) == expected)
            #expect(
                try await app.ask("sessions?from=2026-05-01&to=2026-05-02&timeZone=Asia/Kathmandu") == [
                    "2026-05-01,1,1.0", "2026-05-02,1,0.0",
                ])
            try await app.use(timeZone: "Asia/Kathmandu")
            #expect(try await app.master("GET", "/analytics/" + question)["source"] == #""rolled""#)
            #expect(try await app.ask(question) == expected)
        }
    }

    /// 2026-05-01 is a Friday, so the span covers the last five days of one week and the first two of the next; and the
    /// last two days of April and the first five of May.
    @Test func `Persons count once in a day, a week, a month and a span`() async throws {
        try await AnalyticsApp.run { app in
            let days = [
                "2026-04-30": [1, 2], "2026-05-01": [1, 3], "2026-05-03": [1], "2026-05-04": [2, 3, 4],
                "2026-05-05": [4],
            ]
            try await app.record(days.flatMap { day, people in people.map { TestEvent(day + "T12:00:00Z", "a", $0) } })
            let span = "from=2026-04-29&to=2026-05-05"
            #expect(
                try await app.ask("people?interval=day&" + span) == [
                    "2026-04-29,0,0", "2026-04-30,2,2", "2026-05-01,2,1", "2026-05-02,0,0", "2026-05-03,1,0",
                    "2026-05-04,3,1", "2026-05-05,1,0",
                ])
            #expect(try await app.ask("people?interval=week&" + span) == ["2026-04-29,3,3", "2026-05-04,3,1"])
            #expect(try await app.ask("people?interval=month&" + span) == ["2026-04-29,2,2", "2026-05-01,4,2"])
            #expect(try await app.ask("people?interval=none&" + span) == ["2026-04-29,4,4"])
            let answer = try await app.master("GET", "/analytics/people?interval=week&" + span)
            #expect(
                answer["total"] == #"{"active":4,"new":4}"# && answer["timeZone"] == #""UTC""# && answer["count"] == "2"
            )
        }
    }

    private static func makeGroups(_ app: AnalyticsApp) async throws {
        func event(
            _ hour: Int, _ name: String, _ person: Int, _ release: String, _ plan: String, _ country: String = "IE"
        ) -> TestEvent {
            TestEvent("2026-05-01T1\(hour):00:00Z", name, person) {
                $0.release = release
                $0.country = country
                $0.os = "iOS 17.2"
                $0.device = "Apple iPhone15,2"
                $0.configuration = "12"
                $0.properties = plan.isEmpty ? "{}" : #"{"plan":"\#(plan)","cart":{"size":3}}"#
            }
        }
        try await app.record([
            event(0, "buy", 1, "1.0", "pro"), event(0, "buy", 1, "1.0", "pro"), event(1, "buy", 2, "1.0", "free"),
            event(1, "buy", 3, "1.1", ""),
            event(2, "look", 1, "1.1", "pro", "DE"), event(2, "look", 2, "1.2", "", "DE"),
            event(3, "leave", 4, "", "free"),
        ])
        try await app.record([
            TestEvent("2026-05-01T10:00:00Z", "Home", 1) { $0.kind = .screen },
            TestEvent("2026-05-01T10:00:00Z", "Start", 2) { $0.kind = .page },
        ])
    }

    @Test(arguments: [
        ("group=event", ["buy,false,4,3", "look,false,2,2", "leave,false,1,1"]),
        ("group=screen", ["Home,false,1,1", "Start,false,1,1"]),
        ("group=release", [",false,3,3", "1.0,false,3,2", "1.1,false,2,2", "1.2,false,1,1"]),
        ("group=release&limit=1", [",false,3,3", ",true,6,3"]),
        ("group=release&limit=2", [",false,3,3", "1.0,false,3,2", ",true,3,3"]),
        ("group=country", ["IE,false,5,4", ",false,2,2", "DE,false,2,2"]),
        ("group=os", ["iOS 17.2,false,7,4", ",false,2,2"]),
        ("group=device", ["Apple iPhone15,2,false,7,4", ",false,2,2"]),
        ("group=configuration", ["12,false,7,4", ",false,2,2"]),
        ("event=buy&group=release", ["1.0,false,3,2", "1.1,false,1,1"]), ("event=buy", [",false,4,3"]),
        ("event=Home", [",false,1,1"]), ("event=none", []),
        ("event=buy&group=property&property=plan", ["pro,false,2,1", ",false,1,1", "free,false,1,1"]),
        ("group=property&property=cart.size&limit=1", ["3,false,5,3", ",true,4,3"]),
        ("event=buy&release=1.0&where=plan%3Dpro", [",false,2,1"]),
        ("group=event&country=DE&limit=1", ["look,false,2,2"]), ("os=Android", []),
        ("", [",false,9,4"]),
    ])
    func `Values are listed by number of events, and the others are summed up`(
        _ question: String, _ expected: [String]
    ) async throws {
        try await AnalyticsApp.run { app in
            try await Self.makeGroups(app)
            let query = question.isEmpty ? "" : "&" + question
            // Outside the macro, because the compiler (6.3) gives both closures the same symbol, and the second would
            // then do what the first does.
            let all = expected.map { "2026-05-01," + $0 }
            #expect(try await app.ask("counts?interval=none&people=true&from=2026-05-01&to=2026-05-01" + query) == all)
            // The counts without persons are the same, from whatever source is fastest.
            let counts: [String] = expected.map { line in
                let end = line.lastIndex(of: ",") ?? line.startIndex
                return "2026-05-01," + String(line[..<end]) + ","
            }
            for zone in ["UTC", "Asia/Kolkata"] {
                let lines = try await app.ask(
                    "counts?interval=none&from=2026-05-01&to=2026-05-01&timeZone=\(zone)" + query)
                #expect(lines == counts, "\(lines) \(counts)")
            }
        }
    }

    @Test func `Top screens and hourly series agree with the events`() async throws {
        try await AnalyticsApp.run { app in
            try await Self.makeGroups(app)
            #expect(
                try await app.ask("screens?from=2026-05-01&to=2026-05-01") == [
                    "2026-05-01,Home,false,1,1", "2026-05-01,Start,false,1,1",
                ])
            #expect(
                try await app.ask("counts?interval=hour&group=event&limit=1&from=2026-05-01&to=2026-05-01") == [
                    "2026-05-01T10:00+00:00,buy,false,2,", "2026-05-01T11:00+00:00,buy,false,2,",
                    "2026-05-01T12:00+00:00,,true,2,",
                    "2026-05-01T13:00+00:00,,true,1,",
                ])
        }
    }

    @Test func `Other apps and environments are separate`() async throws {
        try await AnalyticsApp.run { app in
            try await Self.makeGroups(app)
            var other = app
            other.appID = "app2"
            #expect(try await other.ask("counts?interval=none&from=2026-05-01&to=2026-05-01&people=true") == [])
            other = app
            other.environment = .test
            #expect(try await other.ask("counts?group=property&property=plan&from=2026-05-01&to=2026-05-01") == [])
            #expect(try await other.ask("events?from=2026-05-01T00:00:00Z") == [])
        }
    }
}

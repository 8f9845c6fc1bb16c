import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import MartletTesting
import ServiceTesting
import Synchronization
import Testing

@testable import AnalyticsEvents
@testable import AnalyticsService

private final class Refusals: Sendable {
    let count = Mutex(0)
}

@Suite struct EventReadTests {
    private static func text(_ date: Date) -> String { date.formatted(.iso8601) }

    @Test func `Events are read unchanged, page by page, each once`() async throws {
        try await AnalyticsApp.run { app in
            try await app.insert(
                (1...25).map { TestEvent("2026-05-01T10:00:00Z", $0 % 5 == 0 ? "five" : "a", $0) }, by: app.postgres)
            try await app.insert(
                [
                    TestEvent("2026-05-01T10:00:00.250Z", "Home", 255) {
                        $0.kind = .screen
                        $0.release = "1.2.3"
                        $0.variants = "checkout=dark"
                        $0.properties = #"{"a":[1,2]}"#
                    }
                ], by: app.postgres)
            var seen: [String] = []
            var path = "/analytics/events?limit=10"
            for page in [10, 10, 6] {
                let answer = try await app.master("GET", path)
                #expect(answer["count"] == "\(page)")
                seen += (0..<page).compactMap { answer["data.\($0).person"] }
                guard let next = answer["next"] else { break }
                path = "/analytics/events?limit=10&after=" + next.replacing("\"", with: "")
            }
            #expect(seen.count == 26 && Set(seen).count == 26)
            let last = try await app.master("GET", "/analytics/events?person=00000000000000ff")
            #expect(
                last.text.contains(
                    #""at":"2026-05-01T10:00:00.250Z","type":"screen","name":"Home","person":"00000000000000ff","release":"1.2.3","os":null,"device":null,"configuration":null,"variants":"checkout=dark","country":null,"properties":{"a": [1, 2]}}"#
                ), "\(last)")
            #expect(last["next"] == nil)
            #expect(try await app.ask("events?event=five").count == 5)
            #expect(try await app.ask("events?to=" + Self.text(Date().addingTimeInterval(-3_600))) == [])
            let csv = try await app.master("GET", "/analytics/events?limit=10&format=csv")
            #expect(
                csv.header("x-next-cursor")?.count == 32 && csv.header("content-type")?.hasPrefix("text/csv") == true)
        }
    }

    @Test func `Cells that a spreadsheet would take for formulas are guarded`() async throws {
        try await AnalyticsApp.run { app in
            try await app.record([TestEvent("2026-05-01T10:00:00Z", #"=HYPERLINK("http://evil")"#, 1)])
            let answer = try await app.master(
                "GET", "/analytics/counts?group=event&interval=none&from=2026-05-01&to=2026-05-01&format=csv")
            #expect(answer.text.contains(#""'=HYPERLINK(""http://evil"")""#), "\(answer)")
            // A quote must be doubled even before a combining mark, with which it forms one `Character` in Swift.
            try await app.record([TestEvent("2026-05-02T10:00:00Z", "a\"\u{301},=1", 1)])
            let marked = try await app.master(
                "GET", "/analytics/counts?group=event&interval=none&from=2026-05-02&to=2026-05-02&format=csv")
            #expect(Array(marked.text.utf8).firstRange(of: Array("\"a\"\"\u{301},=1\"".utf8)) != nil, "\(marked)")
        }
    }

    @Test func `The last 30 minutes are reported without waiting for a roll-up`() async throws {
        try await AnalyticsApp.run { app in
            let now = Date()
            func at(_ minutes: Double) -> String { Self.text(now.addingTimeInterval(-60 * minutes)) }
            try await app.insert(
                [
                    TestEvent(at(0), "a", 1), TestEvent(at(5), "a", 2), TestEvent(at(5), "b", 1),
                    TestEvent(at(25), "Home", 1) { $0.kind = .screen },
                    TestEvent(at(31), "a", 3),
                ], by: app.postgres)
            let answer = try await app.master("GET", "/analytics/live")
            #expect(answer["events"] == "4" && answer["people"] == "2" && answer["count"] == "30", "\(answer)")
            #expect(
                answer["topEvents"] == #"[{"name":"a","events":2},{"name":"b","events":1}]"#
                    && answer["topScreens"] == #"[{"name":"Home","events":1}]"#)
            let minutes = (0..<30).compactMap { answer["data.\($0).events"].flatMap { Int($0) } }
            #expect(minutes.reduce(0, +) == 4 && minutes.count == 30)
        }
    }

    @Test func `Callers without the right get nothing`() async throws {
        try await AnalyticsApp.run { app in
            let paths = ["counts", "screens", "people", "sessions", "retention", "live", "events"]
            for path in paths.map({ "/analytics/" + $0 }) {
                let others = StaffRights(["app1": [.crashes: [.read]], "app2": [.analytics: [.read]]])
                let refusals = [
                    try await app.client("GET", path), try await app.ingest("GET", path),
                    try await app.staff("GET", path, rights: others),
                ]
                #expect(refusals.allSatisfy { $0.isProblem(.forbidden) }, "\(refusals)")
                let answer = try await app.staff("GET", path, rights: StaffRights(["app1": [.analytics: [.read]]]))
                #expect(answer.status == 200, "\(path) \(answer)")
                #expect(try await app.master("GET", path + "?no=1").isProblem(.invalidParameter, field: "no"))
            }
            #expect(try await app.client("POST", "/analytics/funnel", #"{"steps":["a","b"]}"#).isProblem(.forbidden))
        }
    }

    @Test(arguments: [
        ("counts?from=2026-5-1", "invalid-parameter", "from"),
        ("counts?from=2026-02-30&to=2026-03-01", "invalid-parameter", "from"),
        ("counts?from=2026-05-02&to=2026-05-01", "invalid-parameter", "to"),
        ("counts?from=2020-01-01&to=2026-01-01", "limit-exceeded", "from"),
        ("counts?interval=hour&from=2026-01-01&to=2026-05-01", "limit-exceeded", "interval"),
        ("counts?interval=year", "invalid-parameter", "interval"),
        ("counts?timeZone=Mars/Olympus", "invalid-parameter", "timeZone"),
        ("counts?timeZone=EST5EDT,M3.2.0", "invalid-parameter", "timeZone"),
        ("counts?group=colour", "invalid-parameter", "group"),
        ("counts?group=property", "invalid-parameter", "property"),
        ("counts?group=event&property=a", "invalid-parameter", "property"),
        ("counts?group=property&property=a..b", "invalid-parameter", "property"),
        ("counts?group=event&limit=101", "invalid-parameter", "limit"),
        ("counts?people=yes", "invalid-parameter", "people"),
        ("counts?where=plan", "invalid-parameter", "where"), ("counts?format=xml", "invalid-parameter", "format"),
        ("screens?group=event", "invalid-parameter", "group"), ("screens?property=a", "invalid-parameter", "property"),
        ("screens?people=true", "invalid-parameter", "people"),
        ("retention?timeZone=Asia/Kolkata", "invalid-parameter", "timeZone"),
        ("retention?from=2026-01-01&to=2026-05-01", "limit-exceeded", "interval"),
        ("events?after=xyz", "invalid-parameter", "after"), ("events?person=12", "invalid-parameter", "person"),
        ("events?from=yesterday", "invalid-parameter", "from"),
        ("events?from=2026-05-02T00:00:00Z&to=2026-05-01T00:00:00Z", "invalid-parameter", "from"),
    ])
    func `An invalid question is refused by field`(_ path: String, _ code: String, _ field: String)
        async throws
    {
        try await AnalyticsApp.run { app in
            let answer = try await app.master("GET", "/analytics/" + path)
            #expect(
                answer.status == 400 && answer["code"] == "\"\(code)\"" && answer["field"] == "\"\(field)\"",
                "\(answer)")
        }
    }

    @Test(arguments: [
        (#"{"steps":["a"]}"#, "steps"), (#"{"steps":["a","a"]}"#, "steps"), (#"{"steps":["a",""]}"#, "steps"),
        (#"{"steps":["a","b"],"windowSeconds":1}"#, "windowSeconds"),
        (#"{"steps":["a","b"],"x":1}"#, "x"), (#"{"steps":"a"}"#, "steps"), ("{}", "steps"),
    ])
    func `An invalid funnel is refused by field`(_ body: String, _ field: String) async throws {
        try await AnalyticsApp.run { app in
            let answer = try await app.master("POST", "/analytics/funnel", body)
            #expect(answer.isProblem(.invalidBody, field: field), "\(answer)")
        }
    }

    @Test func `A slow question to the events is cancelled, and only a few run at a time`() async throws {
        try await AnalyticsApp.run { app in
            let store = app.service.questions.store
            do {
                _ = try await store.raw("SELECT pg_sleep(30)", timeout: .milliseconds(200))
                Issue.record("Expected a timeout, but the question was answered.")
            } catch let problem as ServiceError {
                #expect(problem.code == .questionTooLarge)
            }
            let capacity = QuestionStore.maximumRaw + QuestionStore.maximumRawWaiting
            let refused = Refusals()
            let questions = try await app.database.withSuperuser { database in
                try await database.withTransaction { transaction in
                    // The lock holds all answers back until the surplus questions have been refused.
                    try await transaction.execute("SELECT pg_advisory_xact_lock(1)")
                    let questions = (0..<(capacity + 3)).map { _ in
                        Task {
                            do {
                                _ = try await store.raw(
                                    "SELECT pg_advisory_xact_lock_shared(1)", timeout: .seconds(300))
                                return true
                            } catch let problem as ServiceError where problem.code == .tooManyRequests {
                                refused.count.withLock { $0 += 1 }
                                return false
                            }
                        }
                    }
                    try await eventually("three are refused") { refused.count.withLock { $0 } >= 3 }
                    return questions
                }
            }
            var answered = 0
            for question in questions { answered += try await question.value ? 1 : 0 }
            #expect(answered == capacity)
        }
    }
}

import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import Testing

@testable import AnalyticsService

@Suite struct IssueFigureTests {
    private static func time(_ text: String) throws -> Date { try #require(Date(rfc3339: text)) }

    @Test func `time series by month, day and hour have a value for every step`() async throws {
        try await AnalyticsApp.run { app in
            let data = try await CrashData(app)
            let (one, two) = (try await data.issue(1), try await data.issue(2))
            for (day, events) in [
                ("2025-11-30", 100), ("2025-12-01", 1), ("2025-12-31", 2), ("2026-02-28", 4), ("2026-11-01", 8),
                ("2026-11-22", 16),
            ] {
                try await data.days(one, try Self.time(day + "T12:00:00Z"), events)
            }
            try await data.days(two, try Self.time("2026-11-22T23:59:59Z"), 32)
            let at = "to=2026-11-22T10:00:00Z"
            let year = try await app.master("GET", "/crashes/issues/1/counts?\(at)")
            #expect(year.each("events") == ["3", "0", "4", "0", "0", "0", "0", "0", "0", "0", "0", "24"])
            #expect(
                year["data.0.from"] == "\"2025-12-01T00:00:00Z\"" && year["data.11.from"] == "\"2026-11-01T00:00:00Z\"")
            #expect(try await app.master("GET", "/crashes/counts?\(at)").each("events").last == "56")
            #expect(
                try await app.master("GET", "/crashes/issues/1/counts?\(at)&steps=13").each("events").prefix(2) == [
                    "100", "3",
                ])
            #expect(
                try await app.master("GET", "/crashes/issues/1/counts?interval=day&steps=3&\(at)").each("events") == [
                    "0", "0", "16",
                ])
            let days = try await app.master("GET", "/crashes/counts?interval=day&steps=22&\(at)").each("events")
            #expect(days.count == 22 && days.first == "8" && days.last == "48")

            try await data.report(one, received: try Self.time("2026-11-22T08:00:00Z"))
            try await data.report(one, received: try Self.time("2026-11-22T08:59:59.999Z"))
            try await data.report(two, received: try Self.time("2026-11-22T10:59:00Z"))
            try await data.report(one, received: try Self.time("2026-11-22T11:00:00Z"))
            let hours = "interval=hour&steps=4&\(at)"
            #expect(
                try await app.master("GET", "/crashes/issues/1/counts?\(hours)").each("events") == ["0", "2", "0", "0"])
            #expect(try await app.master("GET", "/crashes/counts?\(hours)").each("events") == ["0", "2", "0", "1"])
            for (query, field) in [
                ("interval=year", "interval"), ("steps=0", "steps"), ("steps=37", "steps"),
                ("interval=hour&steps=169", "steps"), ("to=1", "to"),
            ] {
                #expect(
                    try await app.master("GET", "/crashes/counts?\(query)").isProblem(.invalidParameter, field: field),
                    "\(query)")
            }
        }
    }

    @Test func `tag values are listed with their shares, and the rest is counted together`() async throws {
        try await AnalyticsApp.run { app in
            let data = try await CrashData(app)
            let issue = try await data.issue(1)
            for (key, value, events) in [
                ("os", "iOS 18", 30), ("os", "iOS 19", 60), ("os", "", 10), ("locale", "de", 1), ("locale", "fr", 2),
            ] {
                try await data.tag(issue, key, value, events)
            }
            try await data.tag(try await data.issue(2), "os", "iOS 19", 1_000)
            let tags = try await app.master("GET", "/crashes/issues/1/tags?values=1")
            #expect(
                tags.each("key") == ["\"locale\"", "\"os\""] && tags.each("events") == ["3", "100"]
                    && tags.each("distinct") == ["2", "2"])
            #expect(
                tags["data.1.others"] == "10" && tags["data.1.values.0.value"] == "\"iOS 19\""
                    && tags["data.1.values.1"] == nil)
            #expect(tags["data.1.values.0.share"] == "0.6000" && tags["data.0.values.0.share"] == "0.6667")
            let values = try await app.master("GET", "/crashes/issues/1/tags/os")
            #expect(
                values.each("value") == ["\"iOS 19\"", "\"iOS 18\""] && values.each("share") == ["0.6000", "0.3000"])
            #expect(try await app.master("GET", "/crashes/issues/1/tags/none").each("value") == [])
        }
    }

    @Test func `releases of an issue are listed by version, newest first`() async throws {
        try await AnalyticsApp.run { app in
            let data = try await CrashData(app)
            let issue = try await data.issue(1)
            for (name, key, events) in [("app@1.10+5", "0010", 3), ("app@1.9+4", "0009", 9), ("nightly", nil, 8)]
                as [(String, String?, Int)]
            {
                try await data.inRelease(issue, try await data.release(name, sortKey: key), events)
            }
            let answer = try await app.master("GET", "/crashes/issues/1/releases")
            #expect(answer.each("name") == ["\"app@1.10+5\"", "\"app@1.9+4\"", "\"nightly\""])
            #expect(
                answer.each("events") == ["3", "9", "8"] && answer.each("share") == ["0.1500", "0.4500", "0.4000"])
        }
    }

    @Test func `an issue shows the active configurations and the variants of each experiment`() async throws {
        try await AnalyticsApp.run { app in
            let data = try await CrashData(app)
            let issue = try await data.issue(1)
            let reports: [(configuration: String, variants: String, person: Int)] = [
                ("12", "checkout=dark,price=low", 1), ("12", "checkout=dark", 1), ("12", "checkout=light,price=a=b", 2),
                ("13", "", 3), ("", "checkout=dark", 0),
            ]
            for report in reports {
                try await data.report(
                    issue, person: report.person, configuration: report.configuration, variants: report.variants)
            }
            let active = try await app.master("GET", "/crashes/issues/1/active")
            #expect(
                active["configurations"]
                    == #"[{"share":0.6000,"users":2,"value":"12","events":3},{"share":0.2000,"users":1,"value":"13","events":1}]"#,
                "\(active)")
            #expect(
                active["reports"] == "5" && active["experiments.0.experiment"] == "\"checkout\""
                    && active["experiments.0.events"] == "4")
            #expect(
                active["experiments.0.variants"]
                    == #"[{"share":0.7500,"users":1,"value":"dark","events":3},{"share":0.2500,"users":1,"value":"light","events":1}]"#,
                "\(active)")
            #expect(
                active["experiments.1.variants.0.value"] == "\"a=b\""
                    && active["experiments.1.variants.1.value"] == "\"low\"")
        }
    }

    @Test func `releases show crash-free sessions and users, and the issues that first occurred in them`() async throws
    {
        try await AnalyticsApp.run { app in
            let data = try await CrashData(app)
            let old = try await data.release("app@1.0+1", version: "1.0", sortKey: "a")
            let new = try await data.release("app@1.1+2", version: "1.1", sortKey: "b")
            try await data.release("app@1.2+3", version: "1.2", sortKey: "c")
            try await data.issue(1, firstRelease: old)
            try await data.inRelease(try await data.issue(2, firstRelease: new), new, 7)
            try await data.issue(3, firstRelease: new)
            try await data.sessions(old, daysAgo: 0, 50, crashed: 5)
            try await data.sessions(old, daysAgo: 29, 100, crashed: 5)
            try await data.sessions(old, daysAgo: 30, 1_000, crashed: 1_000)
            try await data.sessions(old, daysAgo: 1, 50, crashed: 10, stage: "beta")
            // 1 crashed on one of its days, 2 never, 3 only in beta, 4 too long ago.
            try await data.sessionUser(1, old, daysAgo: 0, crashed: false)
            try await data.sessionUser(1, old, daysAgo: 3, crashed: true)
            try await data.sessionUser(2, old, daysAgo: 2, crashed: false)
            try await data.sessionUser(3, old, daysAgo: 2, crashed: true, stage: "beta")
            try await data.sessionUser(4, old, daysAgo: 31, crashed: true)
            try await data.sessionUser(1, new, daysAgo: 0, crashed: false)
            let all = try await app.master("GET", "/crashes/releases")
            #expect(all.each("name") == ["\"app@1.2+3\"", "\"app@1.1+2\"", "\"app@1.0+1\""])
            #expect(all.each("newIssues") == ["0", "2", "1"] && all.each("events") == ["0", "7", "0"])
            #expect(all.each("sessions") == ["0", "0", "200"] && all.each("crashed") == ["0", "0", "20"])
            #expect(
                all.each("crashFreeSessions") == ["null", "null", "90.000"] && all.each("users") == ["0", "1", "3"])
            #expect(all.each("crashFreeUsers") == ["null", "100.000", "33.333"])
            let production = try await app.master("GET", "/crashes/releases?environment=production&name=1.0")
            #expect(
                production.each("crashFreeSessions") == ["93.333"] && production.each("crashFreeUsers") == ["50.000"])
            #expect(
                try await app.master("GET", "/crashes/releases?days=1&name=1.0").each("crashFreeSessions") == ["90.000"]
            )
            #expect(try await app.master("GET", "/crashes/releases?days=1&name=1.0").each("sessions") == ["50"])
            let page = try await app.master("GET", "/crashes/releases?limit=2")
            #expect(page["next"] == "\"2\"" && page.each("name").count == 2)
            #expect(try await app.master("GET", "/crashes/releases?limit=2&offset=2").each("name") == ["\"app@1.0+1\""])
            #expect(
                try await app.master("GET", "/crashes/releases?days=91").isProblem(.invalidParameter, field: "days"))
        }
    }
}

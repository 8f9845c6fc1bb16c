import Foundation
import MartletAPI
import MartletTesting
import Testing

@testable import AnalyticsCrashes
@testable import AnalyticsService

@Suite struct IssueListTests {
    private static func issues(_ data: CrashData) async throws {
        let (old, new) = (
            try await data.release("app@1.0+1", version: "1.0"), try await data.release("app@1.1+2", version: "1.1")
        )
        let one = try await data.issue(
            1, "EXC_BAD_ACCESS in Cart", culprit: "Cart.total()", kind: .crash, level: .fatal,
            firstSeen: CrashData.day(0), lastSeen: CrashData.day(9),
            events: 10, users: 5)
        let two = try await data.issue(
            2, "NSRangeException", culprit: "List.row(at:)", kind: .crash, level: .fatal, status: "resolved",
            firstSeen: CrashData.day(1),
            lastSeen: CrashData.day(5), events: 500, users: 2)
        let three = try await data.issue(
            3, "Timeout", kind: .error, level: .warning, status: "ignored", firstSeen: CrashData.day(2),
            lastSeen: CrashData.day(7), events: 70, users: 60)
        try await data.issue(
            4, "100% of _cart_", kind: .message, level: .info, regressed: CrashData.day(4), firstSeen: CrashData.day(3),
            lastSeen: CrashData.day(4), events: 4,
            users: 4)
        try await data.inRelease(one, old, 4)
        try await data.inRelease(one, new, 6)
        try await data.inRelease(two, old, 500)
        try await data.inRelease(three, new, 70)
        try await data.tag(one, "locale", "de:AT", 3)
        try await data.tag(one, "os", "iOS 19", 10)
        try await data.tag(three, "os", "iOS 19", 70)
    }

    @Test func `lists are filtered and ordered as requested`() async throws {
        let cases: [(query: String, numbers: [String])] = [
            ("", ["1", "3", "2", "4"]),
            ("?sort=firstSeen", ["4", "3", "2", "1"]),
            ("?sort=events", ["2", "3", "1", "4"]),
            ("?sort=users", ["3", "1", "4", "2"]),
            ("?state=unresolved", ["1"]),
            ("?state=regressed", ["4"]),
            ("?state=unresolved,regressed", ["1", "4"]),
            ("?state=resolved", ["2"]),
            ("?state=ignored", ["3"]),
            ("?level=fatal", ["1", "2"]),
            ("?level=info,warning", ["3", "4"]),
            ("?kind=error", ["3"]),
            ("?kind=crash&state=unresolved", ["1"]),
            ("?release=app@1.0%2B1", ["1", "2"]),
            ("?release=1.1", ["1", "3"]),
            ("?release=9", []),
            ("?text=cart", ["1", "4"]),
            ("?text=ROW(", ["2"]),
            ("?text=%25", ["4"]),
            ("?text=_c", ["4"]),
            ("?tag=os:iOS%2019", ["1", "3"]),
            ("?tag=os:iOS%2019&tag=locale:de:AT", ["1"]),
            ("?tag=os:iOS", []),
            ("?firstSeenFrom=2026-11-03T00:00:00Z", ["3", "4"]),
            ("?firstSeenTo=2026-11-03T00:00:00Z", ["1", "2"]),
            ("?lastSeenFrom=2026-11-06T00:00:00Z&lastSeenTo=2026-11-10T00:00:00Z", ["3", "2"]),
        ]
        try await AnalyticsApp.run { app in
            let data = try await CrashData(app)
            try await Self.issues(data)
            for (query, numbers) in cases {
                let answer = try await app.master("GET", "/crashes/issues\(query)")
                #expect(answer.status == 200 && answer.each("number") == numbers, "\(query): \(answer)")
            }
            let first = try await app.master("GET", "/crashes/issues?limit=1")
            #expect(first["data.0.title"] == "\"EXC_BAD_ACCESS in Cart\"" && first["data.0.level"] == "\"fatal\"")
            #expect(
                first["data.0.events"] == "10" && first["data.0.users"] == "5"
                    && first["data.0.state"] == "\"unresolved\"")
            #expect(first["data.0.lastSeen"] == "\"2026-11-10T00:00:00.000Z\"" && first["data.0.resolvedIn"] == "null")
        }
    }

    @Test func `pages cover the list without gaps in every order`() async throws {
        try await AnalyticsApp.run { app in
            let data = try await CrashData(app)
            // Many issues are equal in the order's key.
            for number in 1...25 {
                try await data.issue(
                    Int32(number), firstSeen: CrashData.day(Double(number / 7) + 0.123_457),
                    lastSeen: CrashData.day(Double(number % 3)),
                    events: number % 4, users: 7)
            }
            for order in IssueOrder.allCases {
                var (numbers, cursor) = ([String](), "")
                for _ in 0..<9 {
                    let page = try await app.master("GET", "/crashes/issues?sort=\(order.rawValue)&limit=3\(cursor)")
                    numbers += page.each("number")
                    guard let next = page["next"] else { break }
                    cursor = "&cursor=" + next.dropFirst().dropLast()
                }
                let whole = try await app.master("GET", "/crashes/issues?sort=\(order.rawValue)")
                #expect(numbers.count == 25 && numbers == whole.each("number"), "\(order)")
            }
            let next = try #require(try await app.master("GET", "/crashes/issues?sort=users&limit=3")["next"])
                .dropFirst().dropLast()
            #expect(
                try await app.master("GET", "/crashes/issues?cursor=\(next)").isProblem(
                    .invalidParameter, field: "cursor"))
        }
    }

    @Test func `invalid parameters are refused by name`() async throws {
        let cases = [
            ("state=open", "state"), ("level=fatal,grave", "level"), ("kind=", "kind"), ("text=", "text"),
            ("tag=os", "tag"), ("tag=:x", "tag"),
            ("tag=a:1&tag=a:2&tag=a:3&tag=a:4&tag=a:5&tag=a:6", "tag"), ("firstSeenFrom=yesterday", "firstSeenFrom"),
            ("sort=title", "sort"),
            ("cursor=abc", "cursor"), ("limit=0", "limit"), ("limit=201", "limit"), ("foo=1", "foo"),
        ]
        try await AnalyticsApp.run { app in
            for (query, field) in cases {
                let answer = try await app.master("GET", "/crashes/issues?\(query)")
                #expect(answer.isProblem(.invalidParameter, field: field), "\(query): \(answer)")
            }
        }
    }

    @Test func `issues can be read by the app's server and by staff with the right in this environment`() async throws {
        try await AnalyticsApp.run { app in
            try await CrashData(app).issue(1)
            #expect(try await app.client("GET", "/crashes/issues").isProblem(.forbidden))
            #expect(try await app.ingest("GET", "/crashes/issues").isProblem(.forbidden))
            #expect(try await app.staff("GET", "/crashes/issues").isProblem(.forbidden))
            let rights = StaffRights(["app1": [.crashes: [.read]]])
            #expect(try await app.staff("GET", "/crashes/issues", rights: rights).each("number") == ["1"])
            #expect(
                try await app.staff("PATCH", "/crashes/issues/1", #"{"state":"resolved"}"#, rights: rights).isProblem(
                    .forbidden))
            #expect(try await app.staff("DELETE", "/crashes/issues/1", rights: rights).isProblem(.forbidden))
            var test = app
            test.environment = .test
            #expect(try await test.master("GET", "/crashes/issues").each("number") == [])
            #expect(try await test.master("GET", "/crashes/issues/1").isProblem(.issueNotFound))
        }
    }

    @Test func `the export has all matching issues, and no cell is a formula`() async throws {
        try await AnalyticsApp.run { app in
            let data = try await CrashData(app)
            try await data.issue(
                1, "=cmd|' /C calc'!A0", culprit: "say \"hi\", twice", lastSeen: CrashData.day(1), events: 3, users: 2)
            try await data.issue(
                2, "Other", lastSeen: CrashData.day(0), firstRelease: try await data.release("app@1.0+1"))
            try await data.issue(3, "Left out", level: .debug)
            let answer = try await app.master("GET", "/crashes/issues/export?level=error")
            let head =
                "number,title,culprit,kind,platform,level,state,events,users,firstSeen,lastSeen,firstRelease,lastRelease,resolvedIn,assignee"
            #expect(answer.header("Content-Type") == "text/csv; charset=utf-8")
            #expect(
                answer.text.replacing("\"\"", with: "<q>").replacing("\"", with: "").replacing("<q>", with: "\"")
                    == [
                        head,
                        "1,'=cmd|' /C calc'!A0,say \"hi\", twice,crash,cocoa,error,unresolved,3,2,2026-11-01T00:00:00.000Z,2026-11-02T00:00:00.000Z,,,,",
                        "2,Other,,crash,cocoa,error,unresolved,0,0,2026-11-01T00:00:00.000Z,2026-11-01T00:00:00.000Z,app@1.0+1,,,",
                        "",
                    ].joined(separator: "\r\n"))
        }
    }
}

import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import MartletTesting
import Testing

@testable import AnalyticsService
@testable import AnalyticsTickets

@Suite struct TicketListTests {
    /// Seven tickets that differ in every field that lists can filter by.
    private static func fill(_ app: AnalyticsApp) async throws {
        try await app.makeIssues(1...2)
        for name in ["ui", "Core"] { try await app.ask("POST", "/tickets/labels", #"{"name":"\#(name)"}"#) }
        for name in ["one", "two"] { try await app.ask("POST", "/tickets/sprints", #"{"name":"\#(name)"}"#) }
        try await app.ask("POST", "/tickets/sprints/2/start")
        try await app.ticket(
            #"{"title":"Login fails","type":"bug","priority":"urgent","assignee":"me","labels":["ui"],"issues":[1]}"#)
        try await app.ticket(#"{"title":"Dark mode","type":"feature","priority":"low","sprint":1,"appVersion":"1.0"}"#)
        try await app.ticket(
            #"{"title":"Crash in ShopView.swift","type":"bug","priority":"high","sprint":2,"labels":["ui","core"],"issues":[1,2]}"#
        )
        try await app.ticket(
            #"{"title":"Update texts","priority":"low","description":"für die Ärztin: name@example.org","appVersion":"1.0.1"}"#
        )
        try await app.ask(
            "POST", "/tickets",
            #"{"title":"Speed","type":"improvement","assignee":"\#(Colleague.bob.id)","labels":["core"]}"#, as: .bob)
        try await app.ticket(#"{"title":"100% =SUM(A1)","status":"onHold"}"#)
        try await app.ticket(#"{"title":"gone login"}"#)
        try await app.ask("DELETE", "/tickets/7")
        try await app.change(4, #"{"status":"complete"}"#)
        try await app.ask("POST", "/tickets/1/links", #"{"kind":"blocks","ticket":2}"#)
        try await app.ask("POST", "/tickets/4/links", #"{"kind":"blocks","ticket":5}"#)
        try await app.ask("POST", "/tickets/5/comments", #"{"text":"The query planner, perhaps?"}"#)
    }

    static let filters: [(query: String, numbers: [Int])] = [
        ("", [6, 5, 4, 3, 2, 1]), ("?status=todo", [5, 3, 2, 1]), ("?status=onHold,complete", [6, 4]),
        ("?type=bug", [3, 1]), ("?type=task,feature", [6, 4, 2]),
        ("?priority=urgent,high", [3, 1]), ("?assignee=me", [1]), ("?assignee=\(Colleague.bob.id)", [5]),
        ("?assignee=none", [6, 4, 3, 2]),
        ("?assignee=none,\(Colleague.bob.id.uppercased())", [6, 5, 4, 3, 2]), ("?label=ui", [3, 1]),
        ("?label=CORE", [5, 3]), ("?label=ui,core", [5, 3, 1]),
        ("?label=none", [6, 4, 2]), ("?label=nope", []), ("?sprint=1", [2]), ("?sprint=active", [3]),
        ("?sprint=none", [6, 5, 4, 1]), ("?sprint=1,active", [3, 2]),
        ("?version=1.0", [2]), ("?version=1.0,1.0.1", [4, 2]), ("?issue=1", [3, 1]), ("?issue=2", [3]),
        ("?issue=9", []),
        ("?createdBy=staff:\(Colleague.bob.id)", [5]), ("?createdBy=\(Colleague.bob.id.uppercased())", [5]),
        ("?createdBy=me", [6, 4, 3, 2, 1]), ("?createdBy=me,client", [6, 4, 3, 2, 1]),
        ("?blocked=true", [2]), ("?blocked=false", [6, 5, 4, 3, 1]), ("?deleted=true", [7]),
        ("?updatedAfter=2020-01-01T00:00:00Z", [6, 5, 4, 3, 2, 1]), ("?updatedAfter=2120-01-01T00:00:00Z", []),
        ("?status=todo&type=bug&label=ui&sprint=active", [3]), ("?type=bug&status=complete", []),
        // Search
        ("?search=login", [1]), ("?search=LOG", [1]), ("?search=fails+login", [1]), ("?search=login+dark", []),
        ("?search=ShopView", [3]), ("?search=shopview.swift", [3]),
        ("?search=swift", [3]), ("?search=%C3%A4rzt", [4]), ("?search=example", [4]), ("?search=name@example.org", [4]),
        ("?search=planner", [5]), ("?search=query+plan", [5]),
        ("?search=4", [4]), ("?search=APP-4", [4]), ("?search=%234", [4]), ("?search=100", [6]), ("?search=sum", [6]),
        ("?search='+OR+1=1+--", []), ("?search=%26+%7C+!+()", []),
        ("?search=login&deleted=true", [7]), ("?search=crash&status=todo", [3]), ("?search=crash&status=complete", []),
    ]

    @Test func `a list matches its filters`() async throws {
        try await AnalyticsApp.run { app in
            try await Self.fill(app)
            for (query, numbers) in Self.filters { #expect(try await app.numbers(query) == numbers, "\(query)") }
        }
    }

    /// Titles, and the searches that find them.
    private static let texts = [
        "Überweisung schlägt fehl", "Cafe\u{301} crème", "支払いで落ちる", "アプリがクラッシュする", "ﾃｽﾄ ＡＢＣ 12", "O'Brien iPhoneで確認",
    ]
    static let searches: [(text: String, numbers: [Int])] = [
        ("U\u{308}berweisung", [1]), ("ÜBERW", [1]), ("Café", [2]), ("cre\u{300}me", [2]), ("落ちる", [3]), ("支払い", [3]),
        ("払い 落", [3]), ("落払", []), ("落で", []),
        ("クラッシュ", [4]), ("アプリ クラッシュ", [4]), ("ラクッシュ", []), ("テスト", [5]), ("abc", [5]), ("ＡＢ", [5]), ("iphoneで", [6]),
        ("iphone", [6]), ("確認", [6]),
        ("o'brien", [6]), ("\"brien\" <-> & :*", [6]), ("'); --", []),
    ]

    @Test func `search finds words however they are typed, also in languages without spaces`() async throws {
        try await AnalyticsApp.run { app in
            for text in Self.texts { try await app.ticket(#"{"title":\#(JSONValue.quote(text))}"#) }
            for (text, numbers) in Self.searches {
                let query = try #require(text.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
                #expect(try await app.numbers("?search=\(query)") == numbers, "\(text)")
            }
            // The search finds words of comments, too.
            try await app.ask("POST", "/tickets/1/comments", #"{"text":"エラーが出ます"}"#)
            #expect(try await app.numbers("?search=%E5%87%BA%E3%81%BE%E3%81%99") == [1])
        }
    }

    static let orders: [(sort: String, numbers: [Int])] = [
        ("number", [1, 2, 3, 4, 5, 6]), ("-number", [6, 5, 4, 3, 2, 1]), ("created", [1, 2, 3, 4, 5, 6]),
        ("-created", [6, 5, 4, 3, 2, 1]),
        ("priority", [2, 4, 5, 6, 3, 1]), ("-priority", [1, 3, 6, 5, 4, 2]), ("-updated", [5, 4, 2, 1, 6, 3]),
        ("updated", [3, 6, 1, 2, 4, 5]),
    ]

    @Test func `a list is ordered, and its pages cover every ticket once`() async throws {
        try await AnalyticsApp.run { app in
            try await Self.fill(app)
            for (sort, numbers) in Self.orders {
                #expect(try await app.numbers("?sort=\(sort)") == numbers, "\(sort)")
                for limit in 1...6 {
                    var (found, cursor): ([Int], String?) = ([], nil)
                    repeat {
                        let page = try await app.ask(
                            "GET", "/tickets?sort=\(sort)&limit=\(limit)" + (cursor.map { "&cursor=\($0)" } ?? ""))
                        #expect(page.numbers("data").count <= limit)
                        found += page.numbers("data")
                        cursor = page["next"].map { String($0.dropFirst().dropLast()) }
                    } while cursor != nil && found.count < 20
                    #expect(found == numbers, "\(sort) by \(limit)")
                }
            }
            let cursor = try #require(try await app.ask("GET", "/tickets?limit=2")["next"]).dropFirst().dropLast()
            #expect(
                try await app.ask("GET", "/tickets?limit=2&sort=number&cursor=\(cursor)").isProblem(
                    .invalidParameter, field: "cursor"))
        }
    }

    @Test func `a ticket in a list has labels, counts and its sprint, but no description`() async throws {
        try await AnalyticsApp.run { app in
            try await Self.fill(app)
            let list = try await app.ask("GET", "/tickets?sort=number")
            #expect(
                list["data.2.labels"] == #"["Core","ui"]"# && list["data.2.issueCount"] == "2"
                    && list["data.2.sprint"] == "2", "\(list)")
            #expect(
                list["data.1.isBlocked"] == "true" && list["data.4.isBlocked"] == "false",
                "what is complete blocks nothing")
            #expect(
                list["data.4.commentCount"] == "1" && list["data.4.createdBy"] == Colleague.bob.author
                    && list["data.4.description"] == nil)
        }
    }

    @Test func `an export has every matching ticket, and no formulas`() async throws {
        try await AnalyticsApp.run { app in
            try await Self.fill(app)
            try await app.ticket(#"{"title":"=cmd|' /C calc'!A0","description":"+1\n\"quoted\", and more"}"#)
            let export = try await app.ask("GET", "/tickets/export")
            #expect(export.status == 200 && export.header("content-type") == "text/csv; charset=utf-8")
            #expect(
                export.header("content-disposition") == #"attachment; filename="tickets.csv""#
                    && export.header("x-content-type-options") == "nosniff")
            let lines = export.text.components(separatedBy: "\r\n")
            #expect(lines.count == 9 && lines[0] == TicketStore.exportHeader.trimmingCharacters(in: .newlines))
            #expect(
                lines[1].hasPrefix(#""APP-1","bug","todo","urgent","Login fails","ada",,,"ui","ada","#), "\(lines[1])")
            #expect(
                lines[3].hasPrefix(#""APP-3","bug","todo","high","Crash in ShopView.swift",,,"two","Core, ui","#)
                    && lines[3].contains(#","1, 2",,"#), "\(lines[3])")
            #expect(lines[6].contains(#""100% =SUM(A1)""#))
            #expect(
                lines[7].hasPrefix(#""APP-8","task","todo","medium","'=cmd|' /C calc'!A0",,"#)
                    && lines[7].hasSuffix("\"'+1\n\"\"quoted\"\", and more\","), "\(lines[7])")
            #expect(
                try await app.ask("GET", "/tickets/export?type=bug&label=core").text.components(separatedBy: "\r\n")
                    .count == 3)
            #expect(try await app.ask("GET", "/tickets/export?type=feedback").text == TicketStore.exportHeader)
        }
    }

    @Test func `an export of several pages has each ticket once`() async throws {
        try await AnalyticsApp.run { app in
            try await app.ticket(#"{"title":"t"}"#)
            try await app.postgres.execute(
                """
                INSERT INTO analytics.tickets (space, number, type, status, priority, title, position, generation, author)
                SELECT space, n, type, status, priority, title, 'a1', 1, author FROM analytics.tickets, generate_series(2, 1201) AS n
                """)
            let lines = try await app.ask("GET", "/tickets/export").text.components(separatedBy: "\r\n").dropFirst()
                .dropLast()
            #expect(lines.map { $0.prefix { $0 != "," } } == (1...1_201).map { "\"APP-\($0)\"" })
        }
    }
}

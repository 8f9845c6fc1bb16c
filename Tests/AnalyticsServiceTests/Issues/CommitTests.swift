import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import Testing

@testable import AnalyticsCrashes
@testable import AnalyticsService

/// What the commits of a release do to issues and tickets.
@Suite struct CommitTests {
    private static let path = "/crash/api/0/organizations/any/releases/"

    private static func commit(
        _ id: String, _ message: String = "change", at time: String = "2026-11-20T10:00:00Z", of paths: [String] = []
    ) -> String {
        let files = paths.map { #"{"path":"\#($0)","type":"M"}"# }.joined(separator: ",")
        return
            #"{"id":"\#(id)","message":"\#(message)","author_name":"Ann \#(id)","timestamp":"\#(time)","patch_set":[\#(files)]}"#
    }

    private static func set(_ app: AnalyticsApp, _ release: String, _ commits: [String]) async throws {
        let answer = try await app.master(
            "PUT", path + release.replacing("+", with: "%2B") + "/",
            #"{"commits":[\#(commits.joined(separator: ","))]}"#)
        try #require(answer.status == 200, "\(answer)")
    }

    private static func crash(_ release: String, _ files: [(name: String, inApp: Bool)]) -> String {
        let frames = files.map { #"{"function":"f","filename":"\#($0.name)","in_app":\#($0.inApp),"lineno":3}"# }
            .joined(separator: ",")
        return
            #"{"platform":"python","release":"\#(release)","exception":{"values":[{"type":"E","value":"v","stacktrace":{"frames":[\#(frames)]}}]}}"#
    }

    private static let files = [
        ("/lib/python3/json.py", false), ("app/views.py", true), ("/srv/build/shop/cart.py", true),
    ]

    @Test
    func
        `Suspects are the newest commits of the issue's first release that changed one of the app's files in its stack`()
        async throws
    {
        try await AnalyticsApp.run { app in
            // A release in use without the issue: its commits are not suspects.
            try await app.report(Self.crash("app@1.0", [("other.py", true)]))
            try await app.digested()
            try await Self.set(app, "app@1.0", [Self.commit("old", of: ["app/views.py"])])
            // A release in between that no one used.
            try await Self.set(
                app, "app@1.1", [Self.commit("between", at: "2026-11-21T10:00:00Z", of: ["src/app/views.py"])])
            try await Self.set(
                app, "app@1.2",
                [
                    Self.commit("late", at: "2026-11-23T10:00:00Z", of: ["shop/cart.py", "README.md"]),
                    Self.commit("lib", at: "2026-11-24T10:00:00Z", of: ["python3/json.py"]),
                    Self.commit("near", at: "2026-11-24T10:00:00Z", of: ["xshop/cart.py", "cart.py.md"]),
                    Self.commit("none", at: "2026-11-24T10:00:00Z"),
                ])
            try await Self.set(app, "app@1.3", [Self.commit("after", at: "2026-11-25T10:00:00Z", of: ["shop/cart.py"])])
            try await Self.set(
                app, "other@1.1", [Self.commit("foreign", at: "2026-11-25T10:00:00Z", of: ["shop/cart.py"])])
            try await app.report(Self.crash("app@1.3", Self.files))
            try await app.report(Self.crash("app@1.2", Self.files))
            try await app.digested()
            let issue = try await app.master("GET", "/crashes/issues/2")
            guard case .array(let suspects)? = issue.json?["suspectCommits"] else { throw CancellationError() }
            #expect(suspects.map { $0["id"]?.text ?? "" } == ["\"late\"", "\"between\""], "\(suspects)")
            #expect(
                issue["suspectCommits.0.author"] == "\"Ann late\""
                    && issue["suspectCommits.0.time"] == "\"2026-11-23T10:00:00.000Z\"")
            #expect(
                issue["suspectCommits.0.files"] == #"["shop/cart.py"]"#
                    && issue["suspectCommits.1.release"] == "\"app@1.1\"")
            #expect(try await app.master("GET", "/crashes/issues/1")["suspectCommits"] == "[]")
            let many = (1...8).map { Self.commit("c\($0)", at: "2026-11-2\($0)T10:00:00Z", of: ["views.py"]) }
            try await Self.set(app, "app@1.2", many)
            let five = try await app.master("GET", "/crashes/issues/2")
            #expect(
                (0..<6).map { five["suspectCommits.\($0).id"] } == [
                    "\"c8\"", "\"c7\"", "\"c6\"", "\"c5\"", "\"c4\"", nil,
                ])
        }
    }

    @Test(arguments: [
        ("app:///src/cart.js?v=2", "src/cart.js"), (#"C:\build\Shop\Cart.cs"#, "C:/build/Shop/Cart.cs"),
        ("./shop/../cart.py", "shop/cart.py"),
        ("/Users/ci/Shop/Cart.swift", "Users/ci/Shop/Cart.swift"), ("<string>", nil), ("<frozen importlib.py>", nil),
        ("", nil), ("main", nil),
    ])
    func `A frame's file is a path that a commit can change`(text: String, path: String?) {
        #expect(SuspectCommits.path(text) == path)
    }

    @Test(arguments: [
        ("fixes CRASH-7", ["CRASH-7"]),
        ("Fix: app-12, APP-13 and crash-7\n\nresolves APP-14", ["APP-12", "APP-13", "CRASH-7", "APP-14"]),
        ("closed APP-1 & APP-2 more APP-3", ["APP-1", "APP-2"]), ("fixed APP-1 fixes app-1", ["APP-1"]),
        ("see CRASH-7", []), ("prefixes CRASH-7", []),
        ("fixes #7", []), ("fixes CRASH-7x", []), ("fixes CRASH-0", []), ("fixes CRASH-99999999999", []),
        ("fixing CRASH-1", []), ("resolved\nAPP-3", ["APP-3"]),
        ("fixes CRASH-4294967303", []), ("", []),
    ])
    func `The issues and tickets that a commit fixes follow a keyword in its message`(
        message: String, references: [String]
    ) {
        #expect(CommitReference.list(in: message).map { "\($0.prefix)-\($0.number)" } == references)
    }

    @Test func `The references in a message are limited`() {
        let many = "fixes " + (1...50).map { "APP-\($0)" }.joined(separator: ", ")
        #expect(CommitReference.list(in: many).count == CommitReference.maximumCount)
    }

    @Test
    func
        `A commit with a fix resolves the issue in its release and completes the ticket, once, and both histories say so`()
        async throws
    {
        try await AnalyticsApp.run { app in
            try await app.makeIssues(1...3)
            for title in ["a", "b", "c"] { try await app.ticket(#"{"title":"\#(title)"}"#) }
            let id = "9abec60fb0a12f004c0a42d789fd8f72dcf1e853"
            let commits = [
                Self.commit(id, "Cart: nil\\n\\nfixes crash-1, APP-2 and CRASH-99, APP-77, JIRA-3"),
                Self.commit("b2", "closes APP-2 CRASH-2"),
            ]
            try await Self.set(app, "app@2.0+5", commits)
            let issue = try await app.master("GET", "/crashes/issues/1")
            #expect(issue["state"] == "\"resolved\"" && issue["resolvedIn"] == "\"app@2.0+5\"", "\(issue)")
            #expect(try await app.master("GET", "/crashes/issues/2")["state"] == "\"resolved\"")
            #expect(try await app.master("GET", "/crashes/issues/3")["state"] == "\"unresolved\"")
            let history = try await app.master("GET", "/crashes/issues/1/history")
            #expect(
                history["data.0.details.how"] == "\"commit\"" && history["data.0.details.commit.id"] == "\"\(id)\""
                    && history["data.0.author"] == "\"service\"")
            let ticket = try await app.ask("GET", "/tickets/2")
            #expect(ticket["status"] == "\"complete\"", "\(ticket)")
            #expect(try await app.ask("GET", "/tickets/1")["status"] == "\"todo\"")
            let acts = try await app.ask("GET", "/tickets/2/history")
            #expect(acts.each("act").contains("\"mendedByCommit\"") && acts.text.contains(id), "\(acts)")
            // A person reopens the issue; the same commits are sent again, and with another release.
            #expect(try await app.master("PATCH", "/crashes/issues/1", #"{"state":"unresolved"}"#).status == 200)
            #expect(try await app.change(2, #"{"status":"todo"}"#).status == 200)
            let before = try await app.rows("SELECT count(*) FROM analytics.issue_history WHERE space = %")
            try await Self.set(app, "app@2.0+5", commits)
            try await Self.set(app, "app@2.1+1", commits)
            #expect(try await app.master("GET", "/crashes/issues/1")["state"] == "\"unresolved\"")
            #expect(try await app.ask("GET", "/tickets/2")["status"] == "\"todo\"")
            #expect(try await app.rows("SELECT count(*) FROM analytics.issue_history WHERE space = %") == before)
            // Only a commit that was not seen before has an effect.
            try await Self.set(app, "app@2.1+1", commits + [Self.commit("c3", "fixes CRASH-1")])
            #expect(try await app.master("GET", "/crashes/issues/1")["resolvedIn"] == "\"app@2.1+1\"")
        }
    }

    @Test func `A merged issue can be fixed by its old number, but not a deleted issue or ticket`()
        async throws
    {
        try await AnalyticsApp.run { app in
            try await app.makeIssues(1...3)
            try await app.ticket(#"{"title":"a"}"#)
            #expect(try await app.master("POST", "/crashes/issues/1/merge", #"{"issues":[2]}"#).status == 200)
            #expect(try await app.master("DELETE", "/crashes/issues/3").status == 204)
            #expect(try await app.ask("DELETE", "/tickets/1").status == 204)
            try await Self.set(app, "app@2.0", [Self.commit("a1", "fixes CRASH-2, CRASH-3, APP-1")])
            #expect(try await app.master("GET", "/crashes/issues/1")["state"] == "\"resolved\"")
            #expect(try await CrashData(app).count("commit_fixes") == 1)
            #expect(try await CrashData(app).count("tickets", where: "status = 'complete'") == 0)
        }
    }
}

import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import Testing

@testable import AnalyticsCrashes
@testable import AnalyticsService

/// Regrouping of issues when symbols arrive after the reports, with real debug files.
@Suite(.enabled(if: DebugFiles.isAvailable && SymbolSettings().symbolizer != nil)) struct RegroupingTests {
    /// A crash without names at an offset in the image of a build.
    private static func report(at offset: Int, of debugID: String, release: String, user: String) -> String {
        #"""
        {"platform":"native","release":"\#(release)","user":{"id":"\#(user)"},"tags":{"t":"\#(release)"},"exception":{"values":[{"type":"SIGSEGV","value":"x",
        "mechanism":{"handled":false},"stacktrace":{"frames":[{"instruction_addr":"\#(0x10_0000 + offset)","in_app":true}]}}]},
        "debug_meta":{"images":[{"type":"macho","debug_id":"\#(debugID)","code_file":"/Users/me/Crash.app/crash","arch":"x86_64","image_addr":"0x100000","image_size":262144}]}}
        """#.replacing("\n", with: "")
    }

    private static let issues =
        "SELECT number, title, culprit, events, users, status, (SELECT count(*) FROM analytics.crash_events AS e WHERE e.issue = i.id) FROM analytics.issues AS i WHERE space = % ORDER BY 1"

    @Test func `symbols merge the same crash of two builds into one issue, with correct counts`()
        async throws
    {
        let otherID = "11111111-1111-1111-1111-111111111111"
        try await AnalyticsApp.run { app in
            // `main` at line 30, at a later offset in the other build, and one crash elsewhere.
            for (offset, id, release, user) in [
                (0xdba0, DebugFiles.debugID, "a@1", "ann"), (0xdba0, DebugFiles.debugID, "a@1", "bob"),
                (0xdba3, otherID, "a@2", "bob"),
                (0xdba3, otherID, "a@2", "cid"), (0xd05c, DebugFiles.debugID, "a@1", "ann"),
            ] {
                try await app.report(Self.report(at: offset, of: id, release: release, user: user))
                try await app.digested()
            }
            #expect(
                try await app.rows("SELECT number, events, users FROM analytics.issues WHERE space = % ORDER BY 1") == [
                    "1|2|2", "2|2|2", "3|1|1",
                ])
            #expect(
                try await app.rows(
                    "SELECT count(*) FROM analytics.crash_events WHERE space = % AND content->'martlet'->'grouping'->>'byPlace' = 'true'"
                ) == ["5"])
            #expect(try await app.master("GET", "/crashes/symbols/missing")["data.1.debugId"] != nil)

            let ticket = try await app.master("POST", "/tickets", #"{"title":"t","issues":[2]}"#)
            #expect(ticket.status == 201, "\(ticket)")

            #expect(try await SymbolUpload(app: app).upload(try DebugFiles.real()).state == "ok")
            try await app.waitForSymbols {
                try await app.rows("SELECT count(*) FROM analytics.awaited_symbols WHERE space = %") == ["2"]
            }
            #expect(try await SymbolUpload(app: app).upload(try DebugFiles.other()).state == "ok")
            try await app.waitForSymbols {
                try await app.rows("SELECT count(*) FROM analytics.awaited_symbols WHERE space = %") == ["0"]
            }

            let issues = try await app.rows(Self.issues)
            #expect(
                issues.count == 2 && issues[0].hasPrefix("1|SIGSEGV: x|main")
                    && issues[0].hasSuffix("|4|3|unresolved|4"), "\(issues)")
            #expect(
                issues.last?.hasPrefix("3|SIGSEGV: x|MacFileUtilities::MachoWalker::WalkHeaderCore") == true
                    && issues.last?.hasSuffix("|1|1|unresolved|1") == true)
            #expect(
                try await app.rows(
                    """
                    SELECT r.name, ir.events FROM analytics.issue_releases AS ir JOIN analytics.issues AS i ON i.id = ir.issue
                    JOIN analytics.releases AS r ON r.id = ir.release WHERE i.space = % AND i.number = 1 ORDER BY 1
                    """) == ["a@1|2", "a@2|2"])
            #expect(
                try await app.rows(
                    "SELECT sum(d.events) FROM analytics.issue_days AS d JOIN analytics.issues AS i ON i.id = d.issue WHERE i.space = % AND i.number = 1"
                ) == ["4"])

            // The former issue's number and its tickets lead to this one.
            #expect(try await app.master("GET", "/crashes/issues/2")["number"] == "1")
            #expect(
                try await app.rows(
                    "SELECT i.number FROM analytics.ticket_issues AS t JOIN analytics.issues AS i ON i.id = t.issue WHERE i.space = %"
                ) == ["1"])

            // A third build with symbols joins the same issue at once, and so does a late report of the first.
            try await app.report(Self.report(at: 0xdba5, of: otherID, release: "a@2", user: "dan"))
            try await app.report(Self.report(at: 0xdba0, of: DebugFiles.debugID, release: "a@1", user: "ann"))
            #expect(
                try await app.rows("SELECT number, events, users FROM analytics.issues WHERE space = % ORDER BY 1") == [
                    "1|6|4", "3|1|1",
                ])
        }
    }

    @Test func `people's decisions about an issue survive regrouping by symbols`() async throws {
        try await AnalyticsApp.run { app in
            try await app.report(Self.report(at: 0xdba0, of: DebugFiles.debugID, release: "a@1", user: "ann"))
            try await app.digested()
            #expect(try await app.master("PATCH", "/crashes/issues/1", #"{"state":"ignored"}"#).status == 200)
            #expect(try await SymbolUpload(app: app).upload(try DebugFiles.real()).state == "ok")
            try await app.waitForSymbols {
                try await app.rows("SELECT count(*) FROM analytics.awaited_symbols WHERE space = %") == ["0"]
            }
            let issues = try await app.rows(Self.issues)
            #expect(
                issues.count == 1 && issues[0].hasPrefix("1|SIGSEGV: x|main") && issues[0].contains("|ignored|"),
                "\(issues)")
        }
    }
}

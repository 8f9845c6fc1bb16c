import Foundation
import MartletAPI
import MartletHTTP
import MartletPostgres
import MartletTesting
import NIOCore
import Testing

@testable import AnalyticsCrashes
@testable import AnalyticsService
@testable import AnalyticsShared

@Suite struct IssueRemovalTests {
    @Test func `a deleted issue disappears at once, and its data soon after`() async throws {
        try await AnalyticsApp.run { app in
            let data = try await CrashData(app)
            let (gone, kept) = (
                try await data.issue(1, hashes: [String(repeating: "a", count: 32)]), try await data.issue(2)
            )
            // The reports fill more than one slice.
            for _ in 0..<(IssueRemoval.reportsPerSlice + 5) { try await data.report(gone) }
            let report = try await data.report(gone)
            let file = try await Attached(data, report, in: app, "dump")
            let other = try await Attached(data, try await data.report(kept), in: app, "kept")
            #expect(try await app.master("DELETE", "/crashes/issues/1").status == 204)
            #expect(try await app.master("GET", "/crashes/issues").each("number") == ["2"])
            #expect(try await app.master("GET", "/crashes/issues/1/reports").isProblem(.issueNotFound))
            #expect(try await app.master("DELETE", "/crashes/issues/1").isProblem(.issueNotFound))
            #expect(try await data.count("issue_hashes") == 0)
            try await eventually { try await data.count("issues", where: "id = \(gone)") == 0 }
            #expect(try await data.count("issues") == 1)
            #expect(try await data.count("crash_events") == 1)
            #expect(try await data.count("crash_attachments") == 1)
            #expect(await !file.exists(in: app))
            #expect(await other.exists(in: app))
        }
    }

    @Test func `a space may keep reports for a shorter time than the server, and counts stay`() async throws {
        try await AnalyticsApp.run { app in
            let data = try await CrashData(app)
            let issue = try await data.issue(1, events: 3)
            for days in [1.0, 6.9, 7.1] {
                try await data.report(issue, received: Date(timeIntervalSinceNow: -86_400 * days))
            }
            var test = app
            test.environment = .test
            let other = try await CrashData(test)
            try await other.report(try await other.issue(1), received: Date(timeIntervalSinceNow: -86_400 * 80))
            #expect(try await app.master("GET", "/crashes/settings")["retentionDays"] == "null")
            #expect(try await app.service.crashes.tracking.retention.prune() == 0)
            #expect(try await app.master("PUT", "/crashes/settings", #"{"retentionDays":7}"#)["retentionDays"] == "7")
            #expect(try await app.master("GET", "/crashes/settings")["retentionDays"] == "7")
            _ = try await app.service.crashes.tracking.retention.prune()
            #expect(try await data.count("crash_events", where: "space = \(data.space)") == 2)
            #expect(try await data.count("crash_events", where: "space = \(other.space)") == 1)
            #expect(try await app.master("GET", "/crashes/issues/1")["events"] == "3")
            #expect(try await data.count("issue_days") >= 3)
            for body in ["{}", #"{"retentionDays":0}"#, #"{"retentionDays":3651}"#, #"{"retentionDays":"7"}"#] {
                #expect(
                    try await app.master("PUT", "/crashes/settings", body).isProblem(
                        .invalidBody, field: "retentionDays"))
            }
            #expect(
                try await app.master("PUT", "/crashes/settings", #"{"retentionDays":null}"#)["retentionDays"] == "null")
            #expect(try await data.count("crash_settings") == 0)
        }
    }

    @Test func `a user's data in reports is exported and erased, and no one else's`() async throws {
        try await AnalyticsApp.run { app in
            let data = try await CrashData(app)
            let space = try await app.service.spaces.space(of: "app1", .live)
            let user = "0193a000-0000-7000-8000-00000000000a"
            let person = Int(Person.account(user, in: space))
            let issue = try await data.issue(1, users: 2)
            try await app.postgres.execute("UPDATE analytics.issues SET ignored_until_users = 12")
            let reports = CrashUserData.reportsPerSlice + 3
            for number in 0..<reports {
                try await data.report(issue, person: person, content: #"{"user":{"id":"\#(user)"},"n":\#(number)}"#)
            }
            let last = try await data.report(issue, person: person)
            let file = try await Attached(data, last, in: app, "dump")
            try await app.postgres.execute(
                """
                INSERT INTO analytics.crash_feedback (space, feedback_id, event_id, name, email, message, received)
                VALUES (\(data.space), \(UUID()), \(last), 'Ada', 'ada@example.com', 'It broke', now())
                """)
            try await data.report(issue, person: 5)
            let release = try await data.release("app@1.0+1")
            try await data.sessionUser(person, release, daysAgo: 1, crashed: true)
            try await data.sessionUser(5, release, daysAgo: 1, crashed: true)

            let holder = app.service.crashes.tracking.userData
            var request = UserDataRequest(app: "app1", environment: .live, user: user.uppercased())
            let first = try await holder.export(request)
            request.after = first.next
            let second = try await holder.export(request)
            let lines = (String(buffer: first.lines) + String(buffer: second.lines)).split(separator: "\n")
            #expect(lines.count == reports + 1 && second.next == nil)
            #expect(
                lines.allSatisfy { $0.contains(#""kind": "crashReport""#) } && lines.last?.contains("It broke") == true)

            request.after = nil
            let erasure = try await holder.erase(request)
            #expect(erasure.erased == ["crashReports": reports + 1] && erasure.next == nil)
            #expect(try await data.count("crash_events") == 1)
            #expect(try await data.count("crash_feedback") == 0)
            #expect(try await data.count("crash_session_users") == 1)
            #expect(try await data.count("issue_users") == 1)
            #expect(try await data.count("issues", where: "users = 1 AND ignored_until_users = 11") == 1)
            #expect(await !file.exists(in: app))
            #expect(try await holder.erase(request).erased == [:])
            #expect(try await data.count("issues", where: "users = 1") == 1)
            request.user = "me"
            await #expect(throws: (any Error).self) { try await holder.erase(request) }
        }
    }
}

import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import MartletTesting
import Testing

@testable import AnalyticsService
@testable import AnalyticsShared

/// Assignees of tickets and crash issues.
@Suite struct AssigneeTests {
    private static let stranger = "0193a000-0000-7000-8000-0000000000ff"

    @Test func `Work can be assigned only to existing staff`() async throws {
        try await AnalyticsApp.run { app in
            try await app.makeIssues(1...2)
            try await app.ticket(#"{"title":"t","assignee":"\#(Colleague.eve.id.uppercased())"}"#)
            let before = try await app.fingerprint()
            #expect(
                try await app.change(1, #"{"assignee":"\#(Self.stranger)"}"#).isProblem(.invalidBody, field: "assignee")
            )
            #expect(
                try await app.ask("POST", "/tickets", #"{"title":"u","assignee":"\#(Self.stranger)"}"#).isProblem(
                    .invalidBody, field: "assignee"))
            #expect(try await app.fingerprint() == before)
            for (method, path, more) in [
                ("PATCH", "/crashes/issues/1", ""), ("POST", "/crashes/issues/update", #","issues":[1,2]"#),
            ] {
                let refused = try await app.master(
                    method, path, #"{"state":"resolved","assignee":"\#(Self.stranger)"\#(more)}"#)
                #expect(refused.isProblem(.invalidBody, field: "assignee"), "\(refused)")
            }
            #expect(try await app.master("GET", "/crashes/issues/1")["state"] == "\"unresolved\"")
            let given = try await app.master(
                "POST", "/crashes/issues/update", #"{"issues":[1,2],"assignee":"\#(Colleague.bob.id)"}"#)
            #expect(given.each("assignee") == Array(repeating: "\"\(Colleague.bob.id)\"", count: 2), "\(given)")
            #expect(try await app.change(1, #"{"assignee":null}"#)["assignee"] == "null")
        }
    }

    @Test func `A former member stays assigned until replaced, and cannot be assigned again`() async throws {
        try await AnalyticsApp.run { app in
            try await app.ticket(#"{"title":"t"}"#)
            // Assigned while they were still staff.
            try await app.postgres.execute("UPDATE analytics.tickets SET assignee = \(Self.stranger)::text::uuid")
            // A form sends all fields, including unchanged ones.
            let changed = try await app.change(1, #"{"title":"u","assignee":"\#(Self.stranger)"}"#)
            #expect(changed["title"] == "\"u\"" && changed["assignee"] == "\"\(Self.stranger)\"", "\(changed)")
            #expect(changed["isAssigneeGone"] == "true" && changed["assigneeName"] == "null", "\(changed)")
            let board = try await app.ask("GET", "/tickets/board")
            #expect(board["columns.0.tickets.0.isAssigneeGone"] == "true", "\(board)")
            let given = try await app.change(1, #"{"assignee":"\#(Colleague.eve.id)"}"#)
            #expect(given["isAssigneeGone"] == "false" && given["assigneeName"] != "null", "\(given)")
            let listed = try await app.ask("GET", "/tickets")
            #expect(
                listed["data.0.isAssigneeGone"] == "false" && listed["data.0.assigneeName"] == given["assigneeName"],
                "\(listed)")
            #expect(
                try await app.change(1, #"{"assignee":"\#(Self.stranger)"}"#).isProblem(.invalidBody, field: "assignee")
            )
        }
    }

    @Test func `While auth is unavailable, staff can assign work only to themselves`() async throws {
        var options = AnalyticsOptions()
        // Nothing listens at that port.
        let nowhere = ServiceAddress(name: "auth", url: URL(string: "http://127.0.0.1:1")!)
        options.staff = StaffDirectory(
            of: nowhere,
            calls: ServiceCalls(
                caller: "analytics", internalSecret: Secret("an-internal-secret-of-the-tests-0123456789")))
        try await AnalyticsApp.run(options) { app in
            try await app.makeIssues(1...1)
            try await app.ticket(#"{"title":"t","assignee":"me"}"#)
            let before = try await app.fingerprint()
            for answer in [
                try await app.change(1, #"{"assignee":"\#(Colleague.bob.id)","title":"new"}"#),
                try await app.ask("POST", "/tickets", #"{"title":"u","assignee":"\#(Colleague.bob.id)"}"#),
                try await app.master("PATCH", "/crashes/issues/1", #"{"assignee":"\#(Colleague.bob.id)"}"#),
            ] {
                #expect(answer.isProblem(.unavailable) && answer.header("retry-after") == "5", "\(answer)")
            }
            #expect(try await app.fingerprint() == before)
            #expect(try await app.change(1, #"{"title":"new"}"#).status == 200)
            #expect(try await app.change(1, #"{"assignee":"\#(Colleague.bob.id)"}"#, as: .bob).status == 200)
        }
    }
}

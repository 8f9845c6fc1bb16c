import Foundation
import MartletAPI
import MartletHTTP
import MartletPostgres
import MartletTesting
import Testing

@testable import AnalyticsCrashes
@testable import AnalyticsService

@Suite struct IssueLifeTests {
    @Test func `an issue is resolved, ignored, reopened and assigned, and its history names who did so`()
        async throws
    {
        try await AnalyticsApp.run { app in
            let data = try await CrashData(app)
            try await data.release("app@1.0+1", version: "1.0", sortKey: "a")
            try await data.release("app@1.1+2", version: "1.1", sortKey: "b")
            let newest = try await data.release("app@1.1+3", version: "1.1", sortKey: "c")
            try await data.release("nightly", version: "nightly", firstSeen: CrashData.day(20))
            let id = try await data.issue(7, regressed: CrashData.day(3), events: 40, users: 9)
            let steps: [(body: String, expected: [String: String])] = [
                (#"{"state":"resolved"}"#, ["state": "\"resolved\"", "resolvedIn": "null", "regressed": "null"]),
                (#"{"state":"resolved","release":"1.1"}"#, ["state": "\"resolved\"", "resolvedIn": "\"app@1.1+3\""]),
                (#"{"state":"resolved","release":"app@1.0+1"}"#, ["resolvedIn": "\"app@1.0+1\""]),
                (#"{"state":"resolved","release":"next"}"#, ["resolvedIn": "\"app@1.1+3\""]),
                (
                    #"{"state":"ignored","events":10,"users":2,"until":"2030-01-02T03:04:05Z"}"#,
                    [
                        "state": "\"ignored\"", "ignoredUntilEvents": "50", "ignoredUntilUsers": "11",
                        "ignoredUntil": "\"2030-01-02T03:04:05.000Z\"",
                        "resolvedIn": "null",
                    ]
                ),
                (
                    #"{"state":"unresolved"}"#,
                    ["state": "\"unresolved\"", "ignoredUntilEvents": "null", "ignoredUntil": "null"]
                ),
                (
                    #"{"assignee":"0193A000-0000-7000-8000-000000000001"}"#,
                    ["state": "\"unresolved\"", "assignee": "\"0193a000-0000-7000-8000-000000000001\""]
                ),
                (
                    #"{"assignee":null,"state":"ignored"}"#,
                    ["state": "\"ignored\"", "assignee": "null", "ignoredUntilEvents": "null"]
                ),
            ]
            for (body, expected) in steps {
                let answer = try await app.master("PATCH", "/crashes/issues/7", body)
                #expect(answer.status == 200, "\(body): \(answer)")
                for (member, value) in expected { #expect(answer[member] == value, "\(body): \(member) of \(answer)") }
            }
            // A repeated change is neither applied nor recorded.
            _ = try await app.master("PATCH", "/crashes/issues/7", #"{"state":"unresolved"}"#)
            _ = try await app.master("PATCH", "/crashes/issues/7", #"{"state":"unresolved"}"#)
            let rights = StaffRights(["app1": [.crashes: [.update]]])
            _ = try await app.staff(
                "PATCH", "/crashes/issues/7", #"{"state":"resolved","release":"1.1"}"#, rights: rights)
            let history = try await app.master("GET", "/crashes/issues/7/history")
            #expect(
                history.each("kind").reversed()
                    == [
                        "resolved", "resolved", "resolved", "resolved", "ignored", "reopened", "assigned", "ignored",
                        "assigned", "reopened", "resolved",
                    ].map { "\"\($0)\"" })
            #expect(
                history["data.0.author"] == "\"staff:0193a000-0000-7000-8000-000000000001\""
                    && history["data.1.author"] == "\"key:c1\"")
            #expect(
                history["data.0.authorName"] == "\"ada\"" && history["data.1.authorName"] == "null"
                    && history["data.2.toName"] == "null" && history["data.4.toName"] == "\"ada\"", "\(history)")
            #expect(history["data.0.details"] == #"{"how":"release","release":"app@1.1+3"}"#)
            #expect(try await data.count("issues", where: "id = \(id) AND resolved_in = \(newest)") == 1)
            let first = try await app.master("GET", "/crashes/issues/7/history?limit=3")
            let next = try #require(first["next"]).dropFirst().dropLast()
            #expect(
                try await app.master("GET", "/crashes/issues/7/history?limit=200&before=\(next)").each("kind").count
                    == 8)
        }
    }

    @Test func `an invalid change is refused, and nothing is changed or recorded`() async throws {
        let cases = [
            (#"{}"#, "state"), (#"{"state":"open"}"#, "state"), (#"{"state":"regressed"}"#, "state"),
            (#"{"state":"resolved","release":"9.9"}"#, "release"),
            (#"{"state":"resolved","events":3}"#, "events"), (#"{"state":"unresolved","release":"1.0"}"#, "release"),
            (#"{"release":"1.0"}"#, "release"),
            (#"{"state":"ignored","until":"2020-01-01T00:00:00Z"}"#, "until"),
            (#"{"state":"ignored","until":"soon"}"#, "until"),
            (#"{"state":"ignored","users":0}"#, "users"), (#"{"state":"ignored","events":1.5}"#, "events"),
            (#"{"assignee":"sam"}"#, "assignee"),
            (#"{"assignee":5}"#, "assignee"), (#"{"state":"resolved","foo":1}"#, "foo"),
        ]
        try await AnalyticsApp.run { app in
            let data = try await CrashData(app)
            try await data.issue(1)
            for (body, field) in cases {
                let answer = try await app.master("PATCH", "/crashes/issues/1", body)
                #expect(answer.isProblem(.invalidBody, field: field), "\(body): \(answer)")
            }
            #expect(
                try await app.master("PATCH", "/crashes/issues/2", #"{"state":"resolved"}"#).isProblem(.issueNotFound))
            #expect(
                try await app.master("PATCH", "/crashes/issues/x", #"{"state":"resolved"}"#).isProblem(.issueNotFound))
            #expect(try await data.count("issues", where: "status <> 'unresolved' OR assignee IS NOT NULL") == 0)
            #expect(try await data.count("issue_history") == 0)
        }
    }

    @Test func `a bulk change is atomic`() async throws {
        try await AnalyticsApp.run { app in
            let data = try await CrashData(app)
            for number in 1...101 { try await data.issue(Int32(number)) }
            let answer = try await app.master(
                "POST", "/crashes/issues/update", #"{"issues":[3,1,3],"state":"resolved"}"#)
            #expect(
                answer.status == 200 && answer.each("number") == ["1", "3"]
                    && answer.each("state") == ["\"resolved\"", "\"resolved\""], "\(answer)")
            #expect(try await data.count("issues", where: "status = 'resolved'") == 2)
            #expect(
                try await app.master("POST", "/crashes/issues/update", #"{"issues":[2,999],"state":"resolved"}"#)
                    .isProblem(.issueNotFound))
            let all = (1...101).map(String.init).joined(separator: ",")
            for issues in ["[]", "[\(all)]", "[\"1\"]", "1", "null", "[0]"] {
                let answer = try await app.master(
                    "POST", "/crashes/issues/update", #"{"issues":\#(issues),"state":"resolved"}"#)
                #expect(answer.isProblem(.invalidBody, field: "issues"), "\(issues): \(answer)")
            }
            #expect(try await data.count("issues", where: "status = 'resolved'") == 2)
            #expect(try await data.count("issue_history") == 2)
        }
    }

    @Test func `ignored issues are reopened after a time, or a number of users or reports`() async throws {
        try await AnalyticsApp.run { app in
            let data = try await CrashData(app)
            for number in 1...5 { try await data.issue(Int32(number), events: 10, users: 10) }
            let limits = [
                #""until":"2035-01-01T00:00:00Z""#, #""users":3"#, #""users":4"#, #""events":5"#, #""events":6"#,
            ]
            for (number, limit) in limits.enumerated() {
                #expect(
                    try await app.master("PATCH", "/crashes/issues/\(number + 1)", "{\"state\":\"ignored\",\(limit)}")
                        .status == 200)
            }
            let changes = app.service.crashes.tracking.changes
            #expect(try await changes.endIgnoring() == 0)
            _ = try await app.postgres.execute(
                "UPDATE analytics.issues SET ignored_until = now() - interval '1 s' WHERE number = 1")
            _ = try await app.postgres.execute("UPDATE analytics.issues SET users = 13, events = 15")
            // The service's own timer may have been first.
            _ = try await changes.endIgnoring()
            #expect(try await app.master("GET", "/crashes/issues?state=ignored").each("number").sorted() == ["3", "5"])
            let history = try await app.master("GET", "/crashes/issues/2/history")
            #expect(history["data.0.kind"] == "\"unignored\"" && history["data.0.author"] == "\"service\"")
            #expect(try await changes.endIgnoring() == 0)
        }
    }

    @Test func `completing a ticket resolves its open issues only`() async throws {
        try await AnalyticsApp.run { app in
            let data = try await CrashData(app)
            try await data.release("app@1.0+1", version: "1.0", sortKey: "a")
            try await data.release("app@2.0+1", version: "2.0", sortKey: "b")
            let ids = [
                try await data.issue(1), try await data.issue(2, status: "resolved"), try await data.issue(3), 987_654,
            ]
            let space = try await app.service.spaces.space(of: "app1", .live)
            try await app.postgres.withTransaction { transaction in
                try await app.service.crashes.tracking.changes.resolve(
                    ids, in: "1.0", by: .service, in: space, transaction)
            }
            #expect(try await app.master("GET", "/crashes/issues/1")["resolvedIn"] == "\"app@1.0+1\"")
            #expect(try await app.master("GET", "/crashes/issues/2")["resolvedIn"] == "null")
            try await app.postgres.withTransaction { transaction in
                try await app.service.crashes.tracking.changes.resolve(
                    [try await data.issue(4)], in: "3.0", by: .service, in: space, transaction)
            }
            #expect(try await app.master("GET", "/crashes/issues/4")["resolvedIn"] == "\"app@2.0+1\"")
            #expect(try await data.count("issue_history") == 3)
        }
    }
}

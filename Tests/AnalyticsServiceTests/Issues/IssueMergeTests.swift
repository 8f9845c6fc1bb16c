import Foundation
import MartletAPI
import MartletHTTP
import MartletPostgres
import MartletTesting
import Testing

@testable import AnalyticsCrashes
@testable import AnalyticsService

@Suite struct IssueMergeTests {
    private static let (a, b, c) = (
        String(repeating: "a", count: 32), String(repeating: "b", count: 32), String(repeating: "c", count: 32)
    )

    /// Two issues with reports: 1 has two of `a` and a deleted one; 2 has one of `b` and one of `c`.
    private static func issues(_ data: CrashData) async throws {
        let old = try await data.release("app@1.0+1", version: "1.0", sortKey: "a")
        let new = try await data.release("app@1.1+2", version: "1.1", sortKey: "b")
        let one = try await data.issue(
            1, "One", level: .error, firstSeen: CrashData.day(0), lastSeen: CrashData.day(2), events: 3, users: 2,
            firstRelease: old, lastRelease: old,
            hashes: [a])
        let two = try await data.issue(
            2, "Two", culprit: "two()", kind: .error, level: .fatal, firstSeen: CrashData.day(1),
            lastSeen: CrashData.day(3), events: 2, users: 2,
            firstRelease: old, lastRelease: new, hashes: [b, c])
        try await data.days(one, CrashData.day(0), 1)
        try await data.inRelease(one, old, 1)
        try await data.report(one, received: CrashData.day(1), person: 1, release: old, hash: a)
        try await data.report(one, received: CrashData.day(2), person: 2, release: old, hash: a)
        try await data.report(two, received: CrashData.day(1), person: 2, release: old, level: .fatal, hash: b)
        try await data.report(two, received: CrashData.day(3), person: 3, release: new, hash: c)
    }

    @Test func `issues are merged with everything they have, and split again`() async throws {
        try await AnalyticsApp.run { app in
            let data = try await CrashData(app)
            try await Self.issues(data)
            try await app.master("PATCH", "/crashes/issues/2", #"{"assignee":"\#(Colleague.bob.id)"}"#)
            let merged = try await app.master("POST", "/crashes/issues/1/merge", #"{"issues":[2]}"#)
            #expect(
                merged["number"] == "1" && merged["title"] == "\"One\"" && merged["level"] == "\"fatal\"", "\(merged)")
            #expect(
                merged["events"] == "5" && merged["users"] == "3"
                    && merged["lastSeen"] == "\"2026-11-04T00:00:00.000Z\"")
            #expect(merged["firstRelease"] == "\"app@1.0+1\"" && merged["lastRelease"] == "\"app@1.1+2\"")
            #expect(try await app.master("GET", "/crashes/issues").each("number") == ["1"])
            // The issue is found by its old number, too.
            #expect(try await app.master("GET", "/crashes/issues/2")["number"] == "1")
            let line = "counts?interval=day&steps=4&to=2026-11-04T00:00:00Z"
            #expect(try await app.master("GET", "/crashes/issues/2/\(line)").each("events") == ["1", "2", "1", "1"])
            #expect(try await app.master("GET", "/crashes/issues/1/releases").each("events") == ["1", "4"])
            #expect(try await app.master("GET", "/crashes/issues/1/tags/os").each("events") == ["4"])
            #expect(try await app.master("GET", "/crashes/issues/1/reports").each("id").count == 4)
            let hashes = try await app.master("GET", "/crashes/issues/1/hashes")
            #expect(
                hashes.each("hash") == [Self.a, Self.b, Self.c].map { "\"\($0)\"" }
                    && hashes.each("events") == ["2", "1", "1"])
            let history = try await app.master("GET", "/crashes/issues/1/history")
            #expect(history["data.0.kind"] == "\"merged\"" && history["data.0.details.issues.0.title"] == "\"Two\"")
            #expect(history.each("kind") == ["\"merged\"", "\"assigned\""], "it has the entries of both issues")

            let split = try await app.master(
                "POST", "/crashes/issues/1/part", #"{"hashes":["\#(Self.b)","\#(Self.c)"]}"#)
            #expect(
                split.status == 201 && split["number"] == "3" && split["title"] == "\"Two\""
                    && split["culprit"] == "\"two()\"", "\(split)")
            #expect(
                split["kind"] == "\"error\"" && split["level"] == "\"fatal\"" && split["events"] == "2"
                    && split["users"] == "2")
            #expect(split["firstSeen"] == "\"2026-11-02T00:00:00.000Z\"" && split["lastRelease"] == "\"app@1.1+2\"")
            let rest = try await app.master("GET", "/crashes/issues/1")
            #expect(
                rest["events"] == "3" && rest["users"] == "2" && rest["lastSeen"] == "\"2026-11-03T00:00:00.000Z\"",
                "\(rest)")
            #expect(rest["lastRelease"] == "\"app@1.0+1\"" && rest["firstSeen"] == "\"2026-11-01T00:00:00.000Z\"")
            #expect(try await app.master("GET", "/crashes/issues/1/\(line)").each("events") == ["1", "1", "1", "0"])
            #expect(try await app.master("GET", "/crashes/issues/3/\(line)").each("events") == ["0", "1", "0", "1"])
            #expect(try await app.master("GET", "/crashes/issues/1/releases").each("events") == ["3"])
            #expect(try await app.master("GET", "/crashes/issues/3/tags/os").each("events") == ["2"])
            #expect(
                try await app.master("GET", "/crashes/issues/3/tags/level").each("value") == ["\"error\"", "\"fatal\""])
            #expect(
                try await app.master("GET", "/crashes/issues/3/tags/handled").each("value") == ["\"no\""],
                "as when a new report is counted")
            #expect(
                try await data.count(
                    "issue_hashes", where: "issue = (SELECT id FROM analytics.issues WHERE number = 3)") == 2)
        }
    }

    @Test func `merging a crash into an error makes it a crash, and keeps the assignee if the other has none`()
        async throws
    {
        try await AnalyticsApp.run { app in
            let data = try await CrashData(app)
            for (number, kind) in [(1, .error), (2, .message), (3, .crash), (4, .error)] as [(Int32, IssueKind)] {
                try await data.issue(number, kind: kind)
            }
            for (number, staff) in [(2, Colleague.bob), (3, .eve)] {
                #expect(
                    try await app.master("PATCH", "/crashes/issues/\(number)", #"{"assignee":"\#(staff.id)"}"#).status
                        == 200)
            }
            let merged = try await app.master("POST", "/crashes/issues/1/merge", #"{"issues":[3,2]}"#)
            #expect(merged["kind"] == "\"crash\"" && merged["assignee"] == "\"\(Colleague.bob.id)\"", "\(merged)")
            let other = try await app.master("POST", "/crashes/issues/1/merge", #"{"issues":[4]}"#)
            #expect(other["kind"] == "\"crash\"" && other["assignee"] == "\"\(Colleague.bob.id)\"", "\(other)")
        }
    }

    @Test func `a split moves the tag counts along`() async throws {
        try await AnalyticsApp.run { app in
            for name in ["f", "g"] {
                try await app.report(
                    TestEnvelope.crash(in: name, release: "a@1.0", tags: #"{"level":"mine","k":"\#(name)"}"#))
            }
            try await app.digested()
            #expect(try await app.master("POST", "/crashes/issues/1/merge", #"{"issues":[2]}"#).status == 200)
            let moving = try await app.rows(
                "SELECT encode(app_hash, 'hex') FROM analytics.crash_events WHERE content -> 'tags' ->> 'k' = 'g'")[0]
            #expect(try await app.master("POST", "/crashes/issues/1/part", #"{"hashes":["\#(moving)"]}"#).status == 201)
            let tags = try await app.rows(
                "SELECT i.number, t.key, t.value, t.events FROM analytics.issue_tags t JOIN analytics.issues i ON i.id = t.issue ORDER BY 1, 2"
            )
            #expect(
                tags.filter { $0.hasPrefix("1|") }.map { $0.dropFirst(2) }
                    == tags.filter { $0.hasPrefix("3|") }.map { $0.replacing("k|g", with: "k|f").dropFirst(2) },
                "\(tags)")
            #expect(tags.contains("3|level|mine|1") && tags.contains("1|handled|no|1"), "\(tags)")
        }
    }

    @Test func `an issue created by a split is named after its newest report`() async throws {
        try await AnalyticsApp.run { app in
            let data = try await CrashData(app)
            let issue = try await data.issue(1, "Both", hashes: [Self.a, Self.b])
            let content =
                #"{"exception":{"values":[{"type":"Cause","value":"x"},{"type":"NSRangeException","value":"index 3 beyond bounds\nof array"}]}}"#
            try await data.report(issue, message: "m", hash: Self.b, content: content)
            let split = try await app.master("POST", "/crashes/issues/1/part", #"{"hashes":["\#(Self.b)"]}"#)
            #expect(split["title"] == "\"NSRangeException: index 3 beyond bounds\"", "\(split)")
        }
    }

    @Test func `invalid merges and splits are refused, and nothing changes`() async throws {
        try await AnalyticsApp.run { app in
            let data = try await CrashData(app)
            try await Self.issues(data)
            #expect(
                try await app.master("POST", "/crashes/issues/1/merge", #"{"issues":[1]}"#).isProblem(
                    .invalidBody, field: "issues"))
            #expect(
                try await app.master("POST", "/crashes/issues/1/merge", #"{"issues":[]}"#).isProblem(
                    .invalidBody, field: "issues"))
            #expect(
                try await app.master("POST", "/crashes/issues/1/merge", #"{"issues":[2,9]}"#).isProblem(.issueNotFound))
            #expect(
                try await app.master("POST", "/crashes/issues/9/merge", #"{"issues":[2]}"#).isProblem(.issueNotFound))
            #expect(
                try await app.master("POST", "/crashes/issues/2/part", #"{"hashes":["\#(Self.b)","\#(Self.c)"]}"#)
                    .isProblem(.conflict, field: "hashes"))
            #expect(
                try await app.master("POST", "/crashes/issues/2/part", #"{"hashes":["\#(Self.a)"]}"#).isProblem(
                    .conflict, field: "hashes"))
            for hashes in ["[]", #"["xyz"]"#, #"["ABCDEFABCDEFABCDEFABCDEFABCDEFAB"]"#, "[1]", "5"] {
                let answer = try await app.master("POST", "/crashes/issues/2/part", #"{"hashes":\#(hashes)}"#)
                #expect(answer.isProblem(.invalidBody, field: "hashes"), "\(hashes): \(answer)")
            }
            #expect(try await app.master("GET", "/crashes/issues").each("events") == ["2", "3"])
            #expect(try await data.count("issue_history") == 0)
            #expect(try await data.count("merged_issues") == 0)
        }
    }

    @Test func `references to an issue follow a merge in the same transaction`() async throws {
        try await AnalyticsApp.run { app in
            let data = try await CrashData(app)
            try await Self.issues(data)
            let space = try await app.service.spaces.space(of: "app1", .live)
            let ids = try await [
                app.service.crashes.tracking.reader.find(1, in: space),
                app.service.crashes.tracking.reader.find(2, in: space),
            ]
            struct Failure: Error {}
            let merging = IssueMerging(postgres: app.postgres) { from, to, _ in
                #expect([to, from] == ids)
                throw Failure()
            }
            await #expect(throws: Failure.self) { try await merging.merge([2], into: ids[0], by: .service, in: space) }
            #expect(try await app.master("GET", "/crashes/issues").each("number") == ["2", "1"])
        }
    }
}

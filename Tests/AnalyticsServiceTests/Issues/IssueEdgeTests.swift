import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import MartletTesting
import Synchronization
import Testing

@testable import AnalyticsCrashes
@testable import AnalyticsService
@testable import AnalyticsShared

/// Special cases in the life of issues.
@Suite struct IssueEdgeTests {
    private static func release(_ id: Int32, _ name: String, _ key: String?, day: Double) -> Release {
        Release(id: id, name: name, sortKey: key, firstSeen: CrashData.day(day))
    }

    @Test(arguments: [
        // Releases of one app are ordered by version, whenever they were first seen.
        (release(1, "ios@2.0", "b", day: 1), release(2, "ios@1.0", "a", day: 5), true),
        (release(1, "2.0", "b", day: 1), release(2, "1.0", "a", day: 5), true),
        // The versions of two apps are not comparable.
        (release(1, "ios@2.1", "b", day: 5), release(2, "android@3.1", "c", day: 1), true),
        (release(1, "android@3.1", "c", day: 1), release(2, "ios@2.1", "b", day: 5), false),
        (release(1, "a@b@2.0", "b", day: 1), release(2, "a@b@1.0", "a", day: 5), true),
        (release(1, "ios@nightly", nil, day: 5), release(2, "ios@9.0", "z", day: 1), true),
    ])
    func `Releases are ordered by version within an app, otherwise by time`(one: Release, other: Release, isNewer: Bool)
    {
        #expect(one.isNewer(than: other) == isNewer && !one.isNewer(than: one))
    }

    @Test
    func
        `An issue resolved in the next release of an app is reopened by that app's next release, whatever versions others have`()
        async throws
    {
        try await AnalyticsApp.run { app in
            try await app.report(TestEnvelope.crash(in: "f", release: "ios@2.0"))
            try await app.report(TestEnvelope.crash(in: "g", release: "android@3.1"))
            try await app.digested()
            let answer = try await app.master(
                "POST", "/crashes/issues/update", #"{"issues":[1,2],"state":"resolved","release":"next"}"#)
            #expect(answer.each("resolvedIn") == ["\"ios@2.0\"", "\"android@3.1\""], "\(answer)")
            try await app.report(TestEnvelope.crash(in: "f", release: "ios@2.0"))
            #expect(
                try await app.rows("SELECT status FROM analytics.issues WHERE space = % ORDER BY number") == [
                    "resolved", "resolved",
                ])
            try await app.report(TestEnvelope.crash(in: "f", release: "ios@2.1"))
            #expect(
                try await app.rows("SELECT status FROM analytics.issues WHERE space = % ORDER BY number") == [
                    "unresolved", "resolved",
                ])
            // The same version in both apps: each is compared within its own app.
            try await app.report(TestEnvelope.crash(in: "f", release: "ios@4.0"))
            try await app.report(TestEnvelope.crash(in: "g", release: "android@4.0"))
            try await app.digested()
            let both = try await app.master(
                "POST", "/crashes/issues/update", #"{"issues":[1,2],"state":"resolved","release":"4.0"}"#)
            #expect(both.each("resolvedIn") == ["\"ios@4.0\"", "\"android@4.0\""], "\(both)")
        }
    }

    @Test func `An ignored issue waits for the same number of further reports after a merge and a split`() async throws
    {
        try await AnalyticsApp.run { app in
            let data = try await CrashData(app)
            let (a, b) = (String(repeating: "a", count: 32), String(repeating: "b", count: 32))
            let (one, two) = (
                try await data.issue(1, events: 2, users: 1, hashes: [a]),
                try await data.issue(2, events: 3, users: 2, hashes: [b])
            )
            for _ in 0..<2 { try await data.report(one, person: 1, hash: a) }
            for person in [1, 2, 3] { try await data.report(two, person: person, hash: b) }
            _ = try await app.master("PATCH", "/crashes/issues/1", #"{"state":"ignored","events":3,"users":2}"#)
            let merged = try await app.master("POST", "/crashes/issues/1/merge", #"{"issues":[2]}"#)
            #expect(
                merged["events"] == "5" && merged["users"] == "3" && merged["ignoredUntilEvents"] == "8"
                    && merged["ignoredUntilUsers"] == "5", "\(merged)")
            #expect(try await app.service.crashes.tracking.changes.endIgnoring() == 0)
            let new = try await app.master("POST", "/crashes/issues/1/part", #"{"hashes":["\#(b)"]}"#)
            #expect(
                new.status == 201 && new["number"] != nil && new.header("location") == "../\(new["number"] ?? "")",
                "\(new)")
            let split = try await app.master("GET", "/crashes/issues/1")
            #expect(
                split["state"] == "\"ignored\"" && split["ignoredUntilEvents"] == "5"
                    && split["ignoredUntilUsers"] == "3", "\(split)")
        }
    }

    @Test func `An issue deleted before its alert fires is not reported`() async throws {
        try await AnalyticsApp.run(AlertTests.options) { app in
            let data = try await CrashData(app)
            let receiver = try await HookReceiver()
            try await app.alert(#""name":"New","kind":"newIssue""#, at: receiver)
            for number in [1, 2] { try await data.addHistory(try await data.issue(Int32(number)), "created") }
            while try await app.service.crashes.tracking.alerts.firing.announce() {}
            try await app.postgres.execute("UPDATE analytics.issues SET deleted = now() WHERE number = 1")
            try await app.runAlerts()
            try await receiver.wait(for: 1)
            #expect(
                receiver.received.first?["data.count"] == "1" && receiver.received.first?["data.issues.0.number"] == "2"
            )
        }
    }

    @Test func `Issues can be found by active configuration and variants, and by missing assignee`()
        async throws
    {
        try await AnalyticsApp.run { app in
            let data = try await CrashData(app)
            for number in 1...3 { try await data.issue(Int32(number)) }
            let ids = try await app.postgres.query("SELECT id FROM analytics.issues ORDER BY number").map {
                try $0.decode(0, as: Int64.self)
            }
            try await data.tag(ids[0], "martlet.variants", "checkout=dark, size=b", 2)
            try await data.tag(ids[1], "martlet.variants", "checkout=darker,size=b", 2)
            try await data.tag(ids[2], "martlet.config", "12", 2)
            try await app.postgres.execute(
                "UPDATE analytics.issues SET assignee = \(Colleague.bob.id) WHERE number = 1")
            for (query, numbers) in [
                ("variant=checkout%3Ddark", ["1"]), ("variant=size%3Db", ["1", "2"]), ("variant=size%3D", []),
                ("configuration=12", ["3"]), ("configuration=1", []),
                ("assignee=none", ["2", "3"]), ("assignee=\(Colleague.bob.id.uppercased())", ["1"]),
            ] as [(String, [String])] {
                let answer = try await app.master("GET", "/crashes/issues?" + query)
                #expect(answer.each("number").sorted() == numbers, "\(query): \(answer)")
            }
            for (query, field) in [
                ("variant=checkout", "variant"), ("variant=a%3Db,c%3Dd", "variant"),
                ("configuration=", "configuration"), ("assignee=bob", "assignee"),
            ] {
                #expect(
                    try await app.master("GET", "/crashes/issues?" + query).isProblem(.invalidParameter, field: field),
                    "\(query)")
            }
        }
    }

    @Test func `A former assignee is shown as gone, but nobody is while auth is unavailable`() async throws {
        let known = Mutex(Set(Colleague.allCases))
        let isUnavailable = Mutex(false)
        var options = AnalyticsOptions()
        options.staff = StaffDirectory { ids, _, area in
            guard !isUnavailable.withLock({ $0 }) else { throw OutgoingFailure.timeout }
            return known.withLock { $0 }.compactMap { colleague in
                guard area == .crashes, let id = UUID(uuidString: colleague.id), ids.contains(id) else { return nil }
                return .init(id: id, userName: colleague.rawValue, email: nil)
            }
        }
        try await AnalyticsApp.run(options) { app in
            try await app.makeIssues(1...3)
            let given = try await app.master("PATCH", "/crashes/issues/1", #"{"assignee":"\#(Colleague.bob.id)"}"#)
            #expect(given["assigneeName"] == "\"bob\"" && given["isAssigneeGone"] == "false", "\(given)")
            #expect(
                try await app.master("PATCH", "/crashes/issues/2", #"{"assignee":"\#(Colleague.eve.id)"}"#).status
                    == 200)
            known.withLock { $0 = [.ada, .eve] }
            let list = try await app.master("GET", "/crashes/issues?sort=firstSeen")
            let told = zip(list.each("number"), zip(list.each("assigneeName"), list.each("isAssigneeGone"))).map {
                "\($0) \($1.0) \($1.1)"
            }.sorted()
            #expect(told == ["1 null true", "2 \"eve\" false", "3 null false"], "\(list)")
            #expect(try await app.master("GET", "/crashes/issues/1")["assignee"] == "\"\(Colleague.bob.id)\"")
            #expect(
                try await app.master("PATCH", "/crashes/issues/3", #"{"assignee":"\#(Colleague.bob.id)"}"#).isProblem(
                    .invalidBody, field: "assignee"))
            isUnavailable.withLock { $0 = true }
            let unknown = try await app.master("GET", "/crashes/issues/1")
            #expect(unknown.status == 200 && unknown["assigneeName"] == "null" && unknown["isAssigneeGone"] == "null")
        }
    }
}

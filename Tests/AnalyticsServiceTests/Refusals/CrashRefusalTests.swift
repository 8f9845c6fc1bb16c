import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import Testing

@testable import AnalyticsCrashes
@testable import AnalyticsEvents
@testable import AnalyticsService

/// Invalid calls about issues, alerts, debug files and from `sentry-cli`, in addition to those in each test.
@Suite struct CrashRefusalTests {
    private static func long(_ count: Int) -> String { String(repeating: "x", count: count) }
    private static func list(_ numbers: ClosedRange<Int>) -> String {
        "[" + numbers.map(String.init).joined(separator: ",") + "]"
    }
    /// A cursor with a time outside PostgreSQL's range.
    private static func cursor(_ text: String) -> String { Base64URL.encode(text.utf8) }

    static let issues: [Refusal] = [
        .init("PATCH /crashes/issues/1", "{", .invalidJSON), .init("PATCH /crashes/issues/1", "[]", .invalidBody),
        .init("PATCH /crashes/issues/1", nil, .invalidJSON),
        .init("PATCH /crashes/issues/1", #"{"state":7}"#, .invalidBody, "state"),
        .init("PATCH /crashes/issues/1?x=1", #"{"state":"resolved"}"#, .invalidParameter, "x"),
        .init("PATCH /crashes/issues/1", #"{"state":"resolved","release":""}"#, .invalidBody, "release"),
        .init("PATCH /crashes/issues/1", #"{"state":"resolved","release":"\#(long(251))"}"#, .invalidBody, "release"),
        .init("PATCH /crashes/issues/1", #"{"state":"ignored","until":"2099-01-01T00:00:00Z"}"#, .invalidBody, "until"),
        .init("PATCH /crashes/issues/1", #"{"state":"ignored","events":1000000001}"#, .invalidBody, "events"),
        .init(
            "PATCH /crashes/issues/1", #"{"state":"resolved","assignee":"0193a000-0000-7000-8000-00000000000f"}"#,
            .invalidBody, "assignee"),
        .init("PATCH /crashes/issues/1", #"{"release":"\#(long(64 << 10))"}"#, .payloadTooLarge),
        .init("PATCH /crashes/issues/0", #"{"state":"resolved"}"#, .issueNotFound),
        .init("PATCH /crashes/issues/99999999999", #"{"state":"resolved"}"#, .issueNotFound),
        .init("POST /crashes/issues/update", "{", .invalidJSON),
        .init("POST /crashes/issues/update", #"{"issues":[1]}"#, .invalidBody, "state"),
        .init("POST /crashes/issues/update", #"{"issues":[1],"state":"resolved","x":1}"#, .invalidBody, "x"),
        .init("POST /crashes/issues/update", #"{"issues":[1,99],"state":"resolved"}"#, .issueNotFound),
        .init(
            "POST /crashes/issues/update", #"{"issues":[1,2],"state":"resolved","release":"9"}"#, .invalidBody,
            "release"),
        .init("DELETE /crashes/issues/9", nil, .issueNotFound),
        .init("DELETE /crashes/issues/1?x=1", nil, .invalidParameter, "x"),
        .init("POST /crashes/issues/1/merge", "{", .invalidJSON),
        .init("POST /crashes/issues/1/merge", nil, .invalidJSON),
        .init("POST /crashes/issues/1/merge", #"{"issues":[2],"x":1}"#, .invalidBody, "x"),
        .init("POST /crashes/issues/1/merge?x=1", #"{"issues":[2]}"#, .invalidParameter, "x"),
        .init("POST /crashes/issues/1/merge", #"{"issues":\#(list(2...102))}"#, .invalidBody, "issues"),
        .init("POST /crashes/issues/1/part", "{", .invalidJSON),
        .init("POST /crashes/issues/1/part", nil, .invalidJSON),
        .init("POST /crashes/issues/9/part", #"{"hashes":["\#(String(repeating: "a", count: 32))"]}"#, .issueNotFound),
        .init(
            "POST /crashes/issues/1/part", #"{"hashes":[\#((0...100).map { "\"\($0)\"" }.joined(separator: ","))]}"#,
            .invalidBody, "hashes"),
        .init("PUT /crashes/settings", "{", .invalidJSON),
        .init("PUT /crashes/settings", "{}", .invalidBody, "retentionDays"),
        .init("PUT /crashes/settings", #"{"retentionDays":3651}"#, .invalidBody, "retentionDays"),
        .init("PUT /crashes/settings", #"{"retentionDays":30,"x":1}"#, .invalidBody, "x"),
        .init("PUT /crashes/settings?x=1", #"{"retentionDays":30}"#, .invalidParameter, "x"),
    ]

    static let reading: [Refusal] = [
        .init(
            "GET /crashes/issues?cursor=" + cursor("lastSeen.9223372036854775807.1"), nil, .invalidParameter, "cursor"),
        .init(
            "GET /crashes/issues?cursor=" + cursor("lastSeen.-9223372036854775808.1"), nil, .invalidParameter, "cursor"),
        .init(
            "GET /crashes/issues?sort=firstSeen&cursor=" + cursor("firstSeen.300000000000000000.1"), nil,
            .invalidParameter, "cursor"),
        .init(
            "GET /crashes/issues/1/reports?cursor=" + cursor("received.9223372036854775807.1"), nil, .invalidParameter,
            "cursor"),
        .init(
            "GET /crash/api/0/projects/o/1/issues/?cursor=" + cursor("lastSeen.9223372036854775807.1"), nil,
            .invalidParameter, "cursor"),
        .init("GET /crashes/issues?release=" + long(251), nil, .invalidParameter, "release"),
        .init("GET /crashes/issues?tag=a%00:b", nil, .invalidParameter, "tag"),
        .init("GET /crashes/issues?text=%00", nil, .invalidParameter, "text"),
        .init("GET /crashes/issues/export?sort=x", nil, .invalidParameter, "sort"),
        .init("GET /crashes/issues/export?limit=1", nil, .invalidParameter, "limit"),
        .init("GET /crashes/issues/export?state=x", nil, .invalidParameter, "state"),
        .init("GET /crashes/issues/1?x=1", nil, .invalidParameter, "x"),
        .init("GET /crashes/issues/1/history?limit=201", nil, .invalidParameter, "limit"),
        .init("GET /crashes/issues/1/history?before=0", nil, .invalidParameter, "before"),
        .init("GET /crashes/issues/9/history", nil, .issueNotFound),
        .init("GET /crashes/issues/1/counts?interval=week", nil, .invalidParameter, "interval"),
        .init("GET /crashes/issues/9/counts", nil, .issueNotFound),
        .init("GET /crashes/counts?to=9999-01-01T00:00:00Z", nil, .invalidParameter, "to"),
        .init("GET /crashes/issues/1/tags?values=101", nil, .invalidParameter, "values"),
        .init("GET /crashes/issues/9/tags", nil, .issueNotFound),
        .init("GET /crashes/issues/1/tags/os?x=1", nil, .invalidParameter, "x"),
        .init("GET /crashes/issues/9/tags/os", nil, .issueNotFound),
        .init("GET /crashes/issues/1/releases?x=1", nil, .invalidParameter, "x"),
        .init("GET /crashes/issues/9/releases", nil, .issueNotFound),
        .init("GET /crashes/issues/1/active?x=1", nil, .invalidParameter, "x"),
        .init("GET /crashes/issues/9/active", nil, .issueNotFound),
        .init("GET /crashes/issues/1/hashes?x=1", nil, .invalidParameter, "x"),
        .init("GET /crashes/issues/9/hashes", nil, .issueNotFound),
        .init("GET /crashes/issues/1/reports?limit=201", nil, .invalidParameter, "limit"),
        .init("GET /crashes/issues/1/reports/newest?x=1", nil, .invalidParameter, "x"),
        .init("GET /crashes/issues/1/reports/newest/attachments/1", nil, .fileNotFound),
        .init("GET /crashes/issues/1/reports/x/attachments/1", nil, .reportNotFound),
        .init("GET /crashes/releases?limit=101", nil, .invalidParameter, "limit"),
        .init("GET /crashes/releases?offset=100001", nil, .invalidParameter, "offset"),
        .init("GET /crashes/releases?name=", nil, .invalidParameter, "name"),
        .init("GET /crashes/releases?environment=" + long(201), nil, .invalidParameter, "environment"),
        .init("GET /crashes/releases?days=0", nil, .invalidParameter, "days"),
        .init("GET /crashes/settings?x=1", nil, .invalidParameter, "x"),
        .init("GET /crashes/symbols?limit=1001", nil, .invalidParameter, "limit"),
        .init("GET /crashes/symbols?x=1", nil, .invalidParameter, "x"),
        .init("GET /crashes/symbols/missing?limit=0", nil, .invalidParameter, "limit"),
        .init("GET /crashes/symbols/missing?x=1", nil, .invalidParameter, "x"),
        .init("GET /crashes/symbols/\(UUID())", nil, .debugFileNotFound),
        .init("DELETE /crashes/symbols/\(UUID())", nil, .debugFileNotFound),
        .init("DELETE /crashes/symbols/\(UUID())?x=1", nil, .invalidParameter, "x"),
    ]

    private static let organization = "/crash/api/0/organizations/o/"
    private static let project = "/crash/api/0/projects/o/1/"

    static let sentry: [Refusal] = [
        // Elsewhere these parameters narrow a change; here it would affect everything.
        .init("PUT \(project)issues/?query=is%3Aignored", #"{"status":"resolved"}"#, .invalidParameter, "query"),
        .init(
            "PUT \(project)issues/?environment=production", #"{"status":"resolved"}"#, .invalidParameter, "environment"),
        .init(
            "PUT \(project)issues/?" + (1...1_001).map { "id=\($0)" }.joined(separator: "&"), #"{"status":"resolved"}"#,
            .limitExceeded),
        .init("PUT \(project)issues/?id=1&id=99", #"{"status":"resolved"}"#, .issueNotFound),
        .init("PUT \(project)issues/?id=0", #"{"status":"resolved"}"#, .invalidParameter, "id"),
        .init("PUT \(project)issues/", "{}", .invalidBody, "status"),
        .init("PUT \(project)issues/", long((64 << 10) + 1), .payloadTooLarge),
        .init("PUT /crash/api/0/projects/o/2/issues/", #"{"status":"resolved"}"#, .appNotFound),
        .init("GET \(project)issues/?query=" + long(501), nil, .invalidParameter, "query"),
        .init("GET \(project)issues/?query=%00", nil, .invalidParameter, "query"),
        .init("POST \(organization)releases/", #"{"version":"\#(long(251))"}"#, .invalidBody, "version"),
        .init(
            "POST \(organization)releases/", #"{"version":"new","dateReleased":"9999-01-01T00:00:00Z"}"#, .invalidBody,
            "dateReleased"),
        .init("POST \(organization)releases/", #"{"version":"new","projects":["1","2"]}"#, .appNotFound),
        .init("POST \(organization)releases/", long((8 << 20) + 1), .payloadTooLarge),
        .init("PUT \(organization)releases/a%00/", "{}", .invalidBody, "version"),
        .init("PUT \(organization)releases/%FF/", "{}", .invalidBody, "version"),
        .init("PUT \(organization)releases/new/", #"{"commits":[{"id":"\#(long(65))"}]}"#, .invalidBody, "commits"),
        .init("GET \(organization)releases/new/", nil, .notFound),
        .init("DELETE \(organization)releases/new/", nil, .notFound),
        .init(
            "POST \(organization)releases/a@1/deploys/", #"{"environment":"e","dateFinished":"9999-01-01T00:00:00Z"}"#,
            .invalidBody, "dateFinished"),
        .init(
            "POST \(organization)releases/a@1/deploys/", #"{"environment":"e","url":"\#(long(501))"}"#, .invalidBody,
            "url"),
        .init("POST \(organization)releases/a@1/deploys/", long((64 << 10) + 1), .payloadTooLarge),
        .init("POST \(organization)releases/new/deploys/", #"{"environment":"e"}"#, .notFound),
        .init("POST \(project)files/difs/assemble/", "[]", .invalidBody),
        .init("POST \(project)files/difs/assemble/", long((4 << 20) + 1), .payloadTooLarge),
        .init(
            "POST \(project)files/difs/assemble/", "{" + (0...500).map { "\"\($0)\":{}" }.joined(separator: ",") + "}",
            .limitExceeded),
        .init(
            "POST \(project)files/difs/assemble/",
            #"{"\#(String(repeating: "0", count: 40))":{"name":"","chunks":[]}}"#, .invalidBody),
        .init("POST /crash/api/0/projects/o/2/files/difs/assemble/", "{}", .appNotFound),
        .init("POST \(organization)chunk-upload/", "{}", .invalidBody),
    ]

    @Test func `invalid calls about issues and from sentry-cli get a reason, and nothing is written`() async throws {
        try await AnalyticsApp.run { app in
            let data = try await CrashData(app)
            let first = try await data.issue(1)
            for number in 2...101 { try await data.issue(Int32(number)) }
            // Delete some of the issues.
            try await app.postgres.execute("UPDATE analytics.issues SET deleted = now() WHERE number IN (9, 99)")
            try await data.release("a@1")
            try await data.tag(first, "größe/farbe", "rot", 1)
            try await app.expect(Self.issues + Self.reading + Self.sentry, as: app.principal(.master))
            // Slightly different calls are accepted.
            #expect(
                try await app.master("GET", "/crashes/issues/1/tags/gr%C3%B6%C3%9Fe%2Ffarbe").each("value") == [
                    "\"rot\""
                ])
            #expect(try await app.master("GET", "/crashes/issues/1/tags/gr%C3%B6")["count"] == "0")
            for noText in ["a%00", "%FF"] {
                #expect(try await app.master("GET", "/crashes/issues/1/tags/" + noText).isProblem(.invalidPath))
            }
            #expect(
                try await app.master("GET", "/crashes/issues?sort=events&cursor=" + Self.cursor("events.3.1")).status
                    == 200)
            let ids = (1...8).map { "id=\($0)" }.joined(separator: "&")
            #expect(
                try await app.master("PUT", Self.project + "issues/?" + ids, #"{"status":"resolved"}"#).status == 200)
            #expect(try await data.count("issues", where: "status = 'resolved'") == 8)
            #expect(
                try await app.master("PUT", Self.project + "issues/?", #"{"status":"muted"}"#).status == 200,
                "sentry-cli issues mute -a")
            #expect(try await data.count("issues", where: "status = 'ignored'") == 99)
        }
    }

    @Test func `the number of releases is limited, and known releases still work beyond the limit`() async throws {
        try await AnalyticsApp.run { app in
            let space = try await app.space
            try await app.postgres.execute(
                """
                INSERT INTO analytics.releases (space, name, version, build, first_seen, last_seen)
                SELECT \(space.id), 'r' || n, '1', '', now(), now() FROM generate_series(1, \(ReleaseStore.maximumReleases)) AS n
                """)
            let path = Self.organization + "releases/"
            let refusal = Refusal("PUT \(path)more/", #"{"commits":[{"id":"1"}]}"#, .limitExceeded)
            try await app.expect(
                [.init("POST \(path)", #"{"version":"more"}"#, .limitExceeded), refusal], as: app.principal(.master))
            #expect(try await app.master("POST", path, #"{"version":"r1"}"#).status == 201)
        }
    }

    // MARK: Alerts

    private static func alert(_ name: String, _ more: String = "") -> String {
        #"{"name":"\#(name)","kind":"newIssue"\#(more),"target":{"type":"notification"}}"#
    }

    @Test func `invalid calls about alerts get a reason, and nothing is written`() async throws {
        try await AnalyticsApp.run { app in
            var ids: [String] = []
            for name in ["One", "Two"] {
                let made = try await app.master("POST", "/crashes/alerts", Self.alert(name))
                ids.append(try #require(made.json?["alert"]?["id"]?.scalar, "\(made)"))
            }
            let one = "/crashes/alerts/" + ids[0]
            let none = "/crashes/alerts/\(UUID())"
            try await app.expect(
                [
                    .init("GET /crashes/alerts?x=1", nil, .invalidParameter, "x"),
                    .init("POST /crashes/alerts?x=1", Self.alert("a"), .invalidParameter, "x"),
                    .init("POST /crashes/alerts", "{", .invalidJSON), .init("POST /crashes/alerts", nil, .invalidJSON),
                    .init("POST /crashes/alerts", Self.alert("a", #","enabled":1"#), .invalidBody, "enabled"),
                    .init(
                        "POST /crashes/alerts", Self.alert("a", #","pauseSeconds":86401"#), .invalidBody, "pauseSeconds"
                    ),
                    .init(
                        "POST /crashes/alerts",
                        Self.alert("a", #","releases":[\#((0...20).map { "\"\($0)\"" }.joined(separator: ","))]"#),
                        .invalidBody, "releases"),
                    .init("POST /crashes/alerts", Self.alert(String(repeating: "x", count: 201)), .invalidBody, "name"),
                    .init(
                        "POST /crashes/alerts", Self.alert(String(repeating: "x", count: 64 << 10)), .payloadTooLarge),
                    .init("POST /crashes/alerts", Self.alert("One"), .conflict, "name"),
                    .init("PUT \(one)", Self.alert("Two"), .conflict, "name"),
                    .init("PUT \(one)", "{", .invalidJSON), .init("PUT \(one)", "{}", .invalidBody, "name"),
                    .init("PUT \(one)?x=1", Self.alert("a"), .invalidParameter, "x"),
                    .init(
                        "PUT \(one)",
                        #"{"name":"a","kind":"newIssue","target":{"type":"webhook","url":"http://127.0.0.1/"}}"#,
                        .invalidBody, "target.url"),
                    .init("PUT \(none)", Self.alert("a"), .alertNotFound), .init("DELETE \(none)", nil, .alertNotFound),
                    .init("DELETE \(one)?x=1", nil, .invalidParameter, "x"),
                    .init("GET \(one)?x=1", nil, .invalidParameter, "x"),
                    .init("POST \(one)/secret?x=1", nil, .invalidParameter, "x"),
                    .init("POST \(none)/secret", nil, .alertNotFound),
                    .init("POST \(one)/test?x=1", nil, .invalidParameter, "x"),
                    .init("POST \(none)/test", nil, .alertNotFound),
                    .init("GET \(one)/deliveries?limit=101", nil, .invalidParameter, "limit"),
                    .init("GET \(one)/deliveries?before=1", nil, .invalidParameter, "before"),
                    .init("GET \(one)/deliveries?x=1", nil, .invalidParameter, "x"),
                    .init("GET \(none)/deliveries", nil, .alertNotFound),
                    .init("POST \(one)/deliveries/1/retry", nil, .deliveryNotFound),
                    .init("POST \(one)/deliveries/\(UUID())/retry?x=1", nil, .invalidParameter, "x"),
                ], as: app.principal(.master))
            // Another app finds none of these objects.
            var other = app
            (other.appID, other.appNumber) = ("app2", 2)
            try await other.expect(
                [
                    .init("GET \(one)", nil, .alertNotFound), .init("PUT \(one)", Self.alert("a"), .alertNotFound),
                    .init("DELETE \(one)", nil, .alertNotFound),
                    .init("POST \(one)/secret", nil, .alertNotFound), .init("POST \(one)/test", nil, .alertNotFound),
                    .init("GET \(one)/deliveries", nil, .alertNotFound),
                ], as: other.principal(.master))
        }
    }
}

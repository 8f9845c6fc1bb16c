import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import Testing

@testable import AnalyticsService

/// The calls of `sentry-cli` besides those for debug files and releases.
@Suite struct SentryAPITests {
    private static let organization = "/crash/api/0/organizations/any/"
    private static let project = "/crash/api/0/projects/any/1/"

    @Test func `a release can be listed, and deleted unless reports refer to it`() async throws {
        try await AnalyticsApp.run { app in
            for version in ["a@1.9", "a@1.10", "a@1.2"] {
                #expect(
                    try await app.master("POST", Self.organization + "releases/", #"{"version":"\#(version)"}"#).status
                        == 201)
            }
            for path in [Self.organization + "releases/", Self.project + "releases/"] {
                let list = try await app.master("GET", path)
                #expect((0..<3).map { list["\($0).version"] } == ["\"a@1.10\"", "\"a@1.9\"", "\"a@1.2\""], "\(list)")
            }
            _ = try await app.master("POST", Self.organization + "releases/a@1.2/deploys/", #"{"environment":"e"}"#)
            _ = try await app.master("PUT", Self.organization + "releases/a@1.2/", #"{"commits":[{"id":"1"}]}"#)
            #expect(try await app.master("DELETE", Self.organization + "releases/a@1.2/").status == 204)
            #expect(
                try await app.rows(
                    "SELECT (SELECT count(*) FROM analytics.release_deploys) + (SELECT count(*) FROM analytics.release_commits)"
                ) == ["0"])
            #expect(try await app.master("DELETE", Self.organization + "releases/a@1.2/").isSentryRefusal(.notFound))
            try await app.report(TestEnvelope.crash(in: "f", release: "a@1.9"))
            try await app.digested()
            #expect(try await app.master("DELETE", Self.organization + "releases/a@1.9/").isSentryRefusal(.conflict))
            var other = app
            other.appID = "app2"
            #expect(
                try await other.master("DELETE", Self.organization + "releases/a@1.10/").isSentryRefusal(.notFound),
                "another app's")
            // A deleted release is created again by a report.
            #expect(try await app.master("DELETE", Self.organization + "releases/a@1.10/").status == 204)
            try await app.report(TestEnvelope.crash(in: "f", release: "a@1.10"))
            try await app.digested()
            #expect(
                try await app.rows("SELECT name FROM analytics.releases WHERE space = % ORDER BY name") == [
                    "a@1.10", "a@1.9",
                ])
        }
    }

    @Test func `a release keeps its last hundred deploys`() async throws {
        try await AnalyticsApp.run { app in
            let path = Self.organization + "releases/a@1/deploys/"
            #expect(try await app.master("POST", path, #"{"environment":"e"}"#).isSentryRefusal(.notFound))
            #expect(try await app.master("GET", path).isSentryRefusal(.notFound))
            _ = try await app.master("POST", Self.organization + "releases/", #"{"version":"a@1"}"#)
            #expect(try await app.master("GET", path).text == "[]")
            // As sentry-cli 3.8 sends it.
            let new = try await app.master(
                "POST", path,
                #"{"environment":"production","name":"first","url":"https://x","dateStarted":"2026-11-22T20:00:00Z","dateFinished":"2026-11-22T20:01:00.5Z"}"#
            )
            #expect(
                new.status == 201 && new["name"] == "\"first\""
                    && new["dateFinished"] == "\"2026-11-22T20:01:00.500Z\"", "\(new)")
            for (body, code, field) in [
                ("{", .invalidJSON, nil), ("[]", .invalidBody, nil), ("{}", .invalidBody, "environment"),
                (#"{"environment":"\#(String(repeating: "e", count: 65))"}"#, .invalidBody, "environment"),
                (#"{"environment":"e","name":"a\nb"}"#, .invalidBody, "name"),
                (#"{"environment":"e","dateFinished":"soon"}"#, .invalidBody, "dateFinished"),
            ] as [(String, ErrorCode, String?)] {
                #expect(try await app.master("POST", path, body).isSentryRefusal(code, field: field), "\(body)")
            }
            #expect(try await app.rows("SELECT count(*) FROM analytics.release_deploys") == ["1"])
            for number in 0..<100 { _ = try await app.master("POST", path, #"{"environment":"\#(number)"}"#) }
            let list = try await app.master("GET", path)
            #expect(list["0.environment"] == "\"99\"" && list["99.environment"] == "\"0\"" && list["100"] == nil)
            #expect(try await app.client("GET", path).isSentryRefusal(.forbidden))
            #expect(try await app.ingest("POST", path, #"{"environment":"e"}"#).isSentryRefusal(.forbidden))
        }
    }

    @Test func `issues are listed, searched and changed, and reports are listed without their users`() async throws {
        try await AnalyticsApp.run { app in
            for name in ["f", "g", "h"] {
                try await app.report(TestEnvelope.crash(in: name, release: "a@1"))
                try await app.digested()
            }
            let list = try await app.master("GET", Self.project + "issues/?cursor=")
            #expect(
                list["0.id"] == "\"3\"" && list["2.shortId"] == "\"#1\"" && list["0.status"] == "\"unresolved\""
                    && list["3"] == nil, "\(list)")
            #expect(list.header("link")?.contains(#"results="false""#) == true)
            #expect(
                try await app.master("PUT", Self.project + "issues/?id=1&id=2", #"{"status":"resolved"}"#).status == 200
            )
            #expect(try await app.master("PUT", Self.project + "issues/?id=3", #"{"status":"muted"}"#).status == 200)
            func states() async throws -> [String] {
                try await app.rows("SELECT status FROM analytics.issues WHERE space = % ORDER BY number")
            }
            #expect(try await states() == ["resolved", "resolved", "ignored"])
            #expect(
                try await app.master("GET", Self.project + "issues/?query=is%3Aresolved&cursor=")["1.id"] == "\"1\"")
            #expect(
                try await app.master(
                    "GET", Self.project + "issues/?query=is%3Aignored%20level%3Afatal%20release%3Aa@1&cursor=")["0.id"]
                    == "\"3\"")
            #expect(
                try await app.master("PUT", Self.project + "issues/?status=muted", #"{"status":"unresolved"}"#).status
                    == 200)
            #expect(try await states() == ["resolved", "resolved", "unresolved"])
            #expect(
                try await app.master("PUT", Self.project + "issues/", #"{"status":"resolvedInNextRelease"}"#).status
                    == 200)
            #expect(try await states() == ["resolved", "resolved", "resolved"])
            for (method, query, body, code) in [
                ("PUT", "?id=1&id=99", #"{"status":"unresolved"}"#, .issueNotFound),
                ("PUT", "?id=x", #"{"status":"unresolved"}"#, .invalidParameter),
                ("PUT", "?status=x", #"{"status":"unresolved"}"#, .invalidParameter),
                ("PUT", "?id=1", #"{"status":"deleted"}"#, .invalidBody),
                ("PUT", "?id=1", "{", .invalidJSON), ("GET", "?query=browser%3Ax", nil, .invalidParameter),
                ("GET", "?query=level%3Ax", nil, .invalidParameter),
                ("GET", "?cursor=x", nil, .invalidParameter),
            ] as [(String, String, String?, ErrorCode)] {
                #expect(
                    try await app.master(method, Self.project + "issues/" + query, body).isSentryRefusal(code),
                    "\(method) \(query)")
            }
            #expect(try await states() == ["resolved", "resolved", "resolved"], "refused changes had no effect")

            let reports = try await app.master("GET", Self.project + "events/?cursor=")
            #expect(
                reports["2.title"] != nil && reports["3"] == nil && reports["0.user"] == "null"
                    && reports.text.contains(#""value": "a@1""#), "\(reports)")
            for path in ["issues/", "events/", "releases/"] {
                #expect(
                    try await app.master("GET", "/crash/api/0/projects/any/2/" + path).isSentryRefusal(.appNotFound))
                #expect(try await app.ingest("GET", Self.project + path).isSentryRefusal(.forbidden))
            }
            #expect(
                try await app.ingest("PUT", Self.project + "issues/?id=1", #"{"status":"unresolved"}"#).isSentryRefusal(
                    .forbidden))
        }
    }

    @Test func `a long list of issues is paged`() async throws {
        try await AnalyticsApp.run { app in
            let space = try await app.service.spaces.space(of: "app1", .live)
            try await app.postgres.execute(
                """
                INSERT INTO analytics.issues (space, number, title, culprit, kind, platform, level, changed, first_seen, last_seen)
                SELECT \(space.id), n, 't', '', 'error', 'x', 4, now(), now(), now() - n * interval '1 second' FROM generate_series(1, 150) AS n
                """)
            let first = try await app.master("GET", Self.project + "issues/?query=&cursor=")
            let link = try #require(first.header("link"))
            #expect(link.contains(#"results="true""#) && first["99.id"] == "\"100\"" && first["100"] == nil)
            let cursor = try #require(link.firstMatch(of: /cursor="([^"]+)"/)).1
            let second = try await app.master("GET", Self.project + "issues/?query=&cursor=\(cursor)")
            #expect(second["0.id"] == "\"101\"" && second["49.id"] == "\"150\"" && second["50"] == nil)
            let many = ((1...120).map { $0 } + [999]).map { "id=\($0)" }.joined(separator: "&")
            #expect(
                try await app.master("PUT", Self.project + "issues/?" + many, #"{"status":"resolved"}"#)
                    .isSentryRefusal(.issueNotFound))
            #expect(
                try await app.rows("SELECT count(*) FROM analytics.issues WHERE space = % AND status = 'resolved'") == [
                    "0"
                ])
            #expect(try await app.master("PUT", Self.project + "issues/", #"{"status":"resolved"}"#).status == 200)
            #expect(
                try await app.rows("SELECT count(*) FROM analytics.issues WHERE space = % AND status = 'resolved'") == [
                    "150"
                ])
        }
    }

    @Test(arguments: [
        ("organizations/any/monitors/", "cron monitors"), ("organizations/any/artifactbundle/assemble/", "source maps"),
        ("projects/any/1/files/preprodartifacts/assemble/", "builds and snapshots"),
        ("organizations/any/code-mappings/bulk/", "code mappings"),
        ("organizations/any/events/", "logs and queries"), ("organizations/any/releases/a/files/", "this part"),
        ("nothing", "this part"),
    ]) func `unsupported operations are refused by name`(_ path: String, _ name: String) async throws {
        try await AnalyticsApp.run { app in
            for method in ["GET", "POST", "PUT", "DELETE"] {
                let answer = try await app.master(method, "/crash/api/0/" + path, method == "GET" ? nil : "{}")
                #expect(
                    answer.isSentryRefusal(.notImplemented) && answer.text.contains(name),
                    "\(method) \(path): \(answer)")
                #expect(try await app.ingest(method, "/crash/api/0/" + path).isSentryRefusal(.forbidden))
            }
        }
    }

    @Test func `the app is the only project of the only organization`() async throws {
        try await AnalyticsApp.run { app in
            #expect(try await app.master("GET", "/crash/api/0/users/me/regions/")["regions"] == "[]")
            #expect(try await app.master("GET", "/crash/api/0/organizations/?cursor=")["0.slug"] == "\"martlet\"")
            let projects = try await app.master("GET", Self.organization + "projects/?cursor=")
            #expect(projects["0.slug"] == "\"1\"" && projects["0.name"] == "\"app1\"" && projects["1"] == nil)
            for path in ["users/me/regions", "organizations", "organizations/any/projects"] {
                #expect(try await app.client("GET", "/crash/api/0/" + path).isSentryRefusal(.forbidden))
            }
        }
    }
}

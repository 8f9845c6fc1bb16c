import MartletAPI
import MartletPostgres
import MartletTesting
import Testing

@testable import AnalyticsCrashes
@testable import AnalyticsService

@Suite struct SentryReleaseTests {
    private static let path = "/crash/api/0/organizations/any/releases/"

    @Test func `a release announced by a build exists before its first report, and an issue can be resolved in it`()
        async throws
    {
        try await AnalyticsApp.run { app in
            // As sentry-cli 3.8 sends it.
            let new = try await app.master(
                "POST", Self.path,
                #"{"version":"a@2.0+7","projects":[1],"dateStarted":"2026-11-22T13:20:01.905528246Z"}"#)
            #expect(
                new.status == 201 && new["version"] == "\"a@2.0+7\"" && new["dateReleased"] == "null"
                    && new["newGroups"] == "0", "\(new)")
            #expect(
                try await app.master("POST", Self.path, #"{"version":"a@2.0+7","projects":["app1"]}"#)["dateCreated"]
                    == new["dateCreated"], "it is there once")
            let out = try await app.master(
                "PUT", Self.path + "a%402.0%2B7/",
                #"{"projects":["1"],"dateReleased":"2026-11-22T13:20:01.946878399Z"}"#)
            #expect(out.status == 200 && out["dateReleased"] == "\"2026-11-22T13:20:01.946Z\"", "\(out)")
            #expect(try await app.master("GET", Self.path + "a@2.0+7/")["projects.0.slug"] == "\"1\"")
            #expect(
                try await app.master("GET", "/crashes/releases")["data.0.released"] == "\"2026-11-22T13:20:01.946Z\"")

            try await app.report(TestEnvelope.crash(in: "f", release: "a@1.0"))
            try await app.digested()
            #expect(
                try await app.master("PATCH", "/crashes/issues/1", #"{"state":"resolved","release":"a@2.0+7"}"#)[
                    "state"] == "\"resolved\"")
            try await app.report(TestEnvelope.crash(in: "f", release: "a@2.0+7"))
            #expect(try await app.rows("SELECT status FROM analytics.issues WHERE space = %") == ["resolved"])
            try await app.report(TestEnvelope.crash(in: "f", release: "a@2.0+8"))
            #expect(try await app.rows("SELECT status FROM analytics.issues WHERE space = %") == ["unresolved"])
        }
    }

    @Test func `a release deleted by another instance can be created again at once`() async throws {
        try await AnalyticsApp.run { app in
            #expect(try await app.master("POST", Self.path, #"{"version":"a@1"}"#).status == 201)
            try await app.postgres.execute("DELETE FROM analytics.releases")
            let again = try await app.master("POST", Self.path, #"{"version":"a@1","commits":[{"id":"c"}]}"#)
            #expect(again.status == 201 && again["commitCount"] == "1", "\(again)")
        }
    }

    @Test func `the commits of a release are stored as sentry-cli sends them, and tell it where to continue`()
        async throws
    {
        try await AnalyticsApp.run { app in
            #expect(try await app.master("GET", "/crash/api/0/organizations/any/repos/?cursor=").text == "[]")
            #expect(try await app.master("GET", Self.path + "a@1/previous-with-commits/").text == "{}")
            // As sentry-cli 3.8 sends it.
            let commits = #"""
                {"commits":[{"patch_set":[{"path":"f","type":"M"}],"repository":"origin","author_name":"Ann B","author_email":"a@b.c",
                "timestamp":"2026-11-22T16:41:34Z","message":"change 3\n\nwhy","id":"9abec60fb0a12f004c0a42d789fd8f72dcf1e853"},{"id":"6de351c"}]}
                """#
            #expect(try await app.master("POST", Self.path, #"{"version":"a@1","projects":[1]}"#)["commitCount"] == "0")
            let set = try await app.master("PUT", Self.path + "a@1/", commits)
            #expect(
                set.status == 200 && set["version"] == "\"a@1\"" && set["commitCount"] == "2"
                    && set["dateReleased"] == "null", "\(set)")
            let kept = try await app.master("GET", Self.path + "a@1/commits/")
            #expect(kept["0.message"] == "\"change 3\"" && !kept.text.contains("a@b.c"), "\(kept)")
            #expect(
                try await app.rows(
                    "SELECT position, id, repository, author, message, at AT TIME ZONE 'UTC' FROM analytics.release_commits WHERE %>0 ORDER BY 1"
                )
                    == [
                        "1|9abec60fb0a12f004c0a42d789fd8f72dcf1e853|origin|Ann B|change 3|2026-11-22T16:41:34",
                        "2|6de351c|||",
                    ])
            #expect(
                try await app.master("GET", Self.path + "a@2/previous-with-commits/")["lastCommit.id"]
                    == "\"9abec60fb0a12f004c0a42d789fd8f72dcf1e853\"")
            // A new list replaces the old one, and a release is not its own predecessor.
            #expect(
                try await app.master("POST", Self.path, #"{"version":"a@1","commits":[{"id":"c"}]}"#)["commitCount"]
                    == "1")
            #expect(try await app.master("GET", Self.path + "a@1/previous-with-commits/").text == "{}")
            let many = (0...ReleaseCommit.maximumCount).map { #"{"id":"\#($0)"}"# }.joined(separator: ",")
            #expect(
                try await app.master("PUT", Self.path + "a@2/", #"{"commits":[\#(many)]}"#)["commitCount"]
                    == "\(ReleaseCommit.maximumCount)")
            #expect(try await app.master("GET", Self.path + "a@2/previous-with-commits/")["lastCommit.id"] == "\"c\"")
            #expect(try await app.master("PUT", Self.path + "a@2/", #"{"commits":[]}"#)["commitCount"] == "0")
            #expect(try await app.master("GET", Self.path + "a@2/commits/").text == "[]")
            #expect(try await app.master("GET", Self.path + "a@3/commits/").isSentryRefusal(.notFound))
            for path in [
                Self.path + "a@1/commits/", Self.path + "a@1/previous-with-commits/",
                "/crash/api/0/organizations/any/repos/",
            ] {
                #expect(try await app.client("GET", path).isSentryRefusal(.forbidden))
            }
        }
    }

    @Test func `invalid releases and commits are refused, and nothing is written`() async throws {
        try await AnalyticsApp.run { app in
            for (body, code, field) in [
                ("{", .invalidJSON, nil), ("[]", .invalidBody, nil), (#"{"projects":[1]}"#, .invalidBody, "version"),
                (#"{"version":""}"#, .invalidBody, "version"),
                (#"{"version":"a\nb"}"#, .invalidBody, "version"),
                (#"{"version":"a","projects":[2]}"#, .appNotFound, nil),
                (#"{"version":"a","commits":{}}"#, .invalidBody, "commits"),
                (#"{"version":"a","commits":[{"id":""}]}"#, .invalidBody, "commits"),
                (#"{"version":"a","commits":[{"id":"1"},{}]}"#, .invalidBody, "commits"),
                (#"{"version":"a","status":"archived"}"#, .invalidBody, "status"),
                (#"{"version":"a","dateReleased":"soon"}"#, .invalidBody, "dateReleased"),
            ] as [(String, ErrorCode, String?)] {
                let answer = try await app.master("POST", Self.path, body)
                #expect(answer.isSentryRefusal(code, field: field), "\(body): \(answer)")
            }
            for (method, path, body) in [
                ("PUT", "a/", #"{"refs":[{"commit":"1"}]}"#), ("POST", "", #"{"version":"a","refs":[{"commit":"1"}]}"#),
            ] {
                let answer = try await app.master(method, Self.path + path, body)
                #expect(
                    answer.isSentryRefusal(.invalidBody, field: "refs")
                        && answer.text.contains("does not read repositories"), "\(answer)")
            }
            #expect(try await app.master("GET", Self.path + "a/").isSentryRefusal(.notFound))
            #expect(try await app.client("POST", Self.path, #"{"version":"a"}"#).isSentryRefusal(.forbidden))
            #expect(try await app.ingest("POST", Self.path, #"{"version":"a"}"#).isSentryRefusal(.forbidden))
            #expect(try await app.rows("SELECT count(*) FROM analytics.releases") == ["0"])
        }
    }
}

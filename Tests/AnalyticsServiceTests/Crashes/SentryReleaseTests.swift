import MartletAPI
import MartletPostgres
import MartletTesting
import Testing

@testable import AnalyticsService

@Suite struct SentryReleaseTests {
    private static let path = "/crash/api/0/organizations/any/releases/"

    @Test func `a release that a build tells of is known before a report, and an issue can be resolved in it`() async throws {
        try await AnalyticsApp.run { app in
            // As sentry-cli 3.8 sends it.
            let new = try await app.master("POST", Self.path, #"{"version":"a@2.0+7","projects":[1],"dateStarted":"2026-11-22T13:20:01.905528246Z"}"#)
            #expect(new.status == 201 && new["version"] == "\"a@2.0+7\"" && new["dateReleased"] == "null" && new["newGroups"] == "0", "\(new)")
            #expect(try await app.master("POST", Self.path, #"{"version":"a@2.0+7","projects":["app1"]}"#)["dateCreated"] == new["dateCreated"], "it is there once")
            let out = try await app.master("PUT", Self.path + "a%402.0%2B7/", #"{"projects":["1"],"dateReleased":"2026-11-22T13:20:01.946878399Z"}"#)
            #expect(out.status == 200 && out["dateReleased"] == "\"2026-11-22T13:20:01.946Z\"", "\(out)")
            #expect(try await app.master("GET", Self.path + "a@2.0+7/")["projects.0.slug"] == "\"1\"")
            #expect(try await app.master("GET", "/crashes/releases")["data.0.released"] == "\"2026-11-22T13:20:01.946Z\"")

            try await app.report(TestEnvelope.crash(in: "f", release: "a@1.0"))
            try await app.digested()
            #expect(try await app.master("PATCH", "/crashes/issues/1", #"{"state":"resolved","release":"a@2.0+7"}"#)["state"] == "\"resolved\"")
            try await app.report(TestEnvelope.crash(in: "f", release: "a@2.0+7"))
            #expect(try await app.rows("SELECT status FROM analytics.issues WHERE space = %") == ["resolved"])
            try await app.report(TestEnvelope.crash(in: "f", release: "a@2.0+8"))
            #expect(try await app.rows("SELECT status FROM analytics.issues WHERE space = %") == ["unresolved"])
        }
    }

    @Test func `what would not be kept is refused, and leaves nothing`() async throws {
        try await AnalyticsApp.run { app in
            for (body, code, field) in [
                ("{", .invalidJSON, nil), ("[]", .invalidBody, nil), (#"{"projects":[1]}"#, .invalidBody, "version"), (#"{"version":""}"#, .invalidBody, "version"),
                (#"{"version":"a\nb"}"#, .invalidBody, "version"), (#"{"version":"a","projects":[2]}"#, .appNotFound, nil),
                (#"{"version":"a","status":"archived"}"#, .invalidBody, "status"), (#"{"version":"a","dateReleased":"soon"}"#, .invalidBody, "dateReleased"),
            ] as [(String, ErrorCode, String?)] {
                let answer = try await app.master("POST", Self.path, body)
                #expect(answer.isProblem(code, field: field), "\(body): \(answer)")
            }
            // What sentry-cli shows.
            for (method, path, body) in [
                ("PUT", "a/", #"{"commits":[{"id":"1"}]}"#), ("POST", "", #"{"version":"a","commits":[{"id":"1"}]}"#), ("POST", "", #"{"version":"a","refs":[{"commit":"1"}]}"#),
            ] {
                let answer = try await app.master(method, Self.path + path, body)
                #expect(answer.status == 400 && answer["detail"]?.contains("keeps no commits") == true && answer.header("content-type")?.hasPrefix("application/json") == true, "\(answer)")
            }
            #expect(try await app.master("GET", Self.path + "a/").isProblem(.notFound))
            #expect(try await app.client("POST", Self.path, #"{"version":"a"}"#).isProblem(.forbidden))
            #expect(try await app.ingest("POST", Self.path, #"{"version":"a"}"#).isProblem(.forbidden))
            #expect(try await app.rows("SELECT count(*) FROM analytics.releases") == ["0"])
        }
    }
}

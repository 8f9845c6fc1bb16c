import MartletAPI
import MartletTesting
import Testing

@testable import StorageService

/// A2: every list shows the live versions of configuration and translation that `config` has announced.
@Suite struct LiveVersionTests {
    @Test func `lists show the live versions of their space in body and headers, and nothing if there are none`()
        async throws
    {
        let app = try await StorageApp()
        _ = try await app.client.post("/storage/Note", #"{"_id":"a"}"#)
        let config = LiveVersions.Version(version: "2.4.2.2", date: "2026-11-22T06:00:00.000Z")
        app.versions.replace(with: [LiveVersions.Space(appID: app.id, environment: .live, config: config)])
        for answer in [
            try await app.client.get("/storage/Note"), try await app.client.post("/storage/query/Note", "{}"),
            try await app.client.get("/storage/Note/0/5"),
            try await app.client.post("/storage/distinct/Note", #"{"field":"_id"}"#),
            try await app.client.post("/storage/all/Note", #"[{"_id":"b"}]"#),
        ] {
            #expect(answer["config"] == #"{"version":"2.4.2.2","date":"2026-11-22T06:00:00.000Z"}"#, "\(answer)")
            #expect(answer["translation"] == #"{"version":null,"date":null}"#)
            #expect(answer.header("config-version") == #""2.4.2.2";date="2026-11-22T06:00:00.000Z""#)
            #expect(answer.header("translation-version") == nil)
        }
        let test = try await app.testClient.get("/storage/Note")
        #expect(
            test["config.version"] == "null" && test.header("config-version") == nil,
            "the test environment is another space")
        app.versions.replace(with: [LiveVersions.Space(appID: app.id, environment: .live, translation: config)])
        let answer = try await app.client.get("/storage/Note")
        #expect(answer["config.version"] == "null" && answer["translation.version"] == #""2.4.2.2""#)
    }
}

import Logging
import MartletPostgres
import MartletTesting
import Testing

@testable import StorageService

@Suite struct HousekeepingTests {
    @Test func `expired rows are deleted, and others stay`() async throws {
        let app = try await StorageApp()
        for name in ["a", "b", "c"] {
            let answer = try await app.client.send(
                "POST", "/storage/Note", #"{"_id":"\#(name)"}"#, headers: ["Idempotency-Key": name])
            #expect(answer.status == 201)
        }
        let (changes, keys) = (try app.space().own("_changes"), try app.space().own("_idempotency"))
        try await app.superuser.execute("UPDATE \(changes) SET at = now() - interval '8 days' WHERE id IN ('a', 'b')")
        try await app.superuser.execute("UPDATE \(keys) SET created = now() - interval '25 hours' WHERE key = 'a'")
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        try await Housekeeping(postgres: app.postgres, logger: logger, retentionInDays: 7).sweep()
        #expect(
            try await app.superuser.query("SELECT id FROM \(changes)").map { try $0.decode(0, as: String.self) } == [
                "c"
            ])
        #expect(
            try await app.superuser.query("SELECT key FROM \(keys) ORDER BY key").map {
                try $0.decode(0, as: String.self)
            } == ["b", "c"])
        #expect(try await app.client.get("/storage/Note").ids == ["a", "b", "c"])
    }

    @Test func `a failing or unmigrated space does not affect others`() async throws {
        let app = try await StorageApp()
        #expect(
            try await app.client.send("POST", "/storage/Note", "{}", headers: ["Idempotency-Key": "a"]).status == 201)
        let keys = try app.space().own("_idempotency")
        try await app.superuser.execute("UPDATE \(keys) SET created = now() - interval '25 hours'")
        let names = ["a", "b"].map { $0 + app.id }
        for (name, version) in zip(names, [99, 2]) {
            try await app.postgres.execute("SELECT storage.provision(\(name), 'live')")
            try await app.postgres.execute(
                "INSERT INTO storage.spaces (schema, version) VALUES (\("app_" + name), \(version))")
        }
        try await Housekeeping(postgres: app.postgres, logger: .silent, retentionInDays: 7).sweep()
        #expect(try await app.superuser.query("SELECT FROM \(keys)").isEmpty)
        try await app.superuser.execute("DELETE FROM storage.spaces WHERE schema = ANY (\(names.map { "app_" + $0 }))")
    }

    @Test func `old file history is deleted`() async throws {
        let app = try await StorageApp()
        for text in ["1", "2", "3"] { _ = try await app.client.send("PUT", "/upload/f", text) }
        try await app.superuser.execute(
            "UPDATE \(app.space().own("_uploads")) SET at = now() - interval '31 days' WHERE version < 3")
        try await Housekeeping(postgres: app.postgres, logger: .silent, retentionInDays: 7, fileHistoryInDays: 30)
            .sweep()
        let history = try await app.client.get("/upload-history/f")
        #expect(history["count"] == "1" && history["data.0._version"] == "3", "\(history)")
        #expect(try await app.client.get("/upload/f").text == "3")
    }
}

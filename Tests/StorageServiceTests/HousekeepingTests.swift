import Logging
import MartletPostgres
import MartletTesting
import Testing

@testable import StorageService

@Suite struct HousekeepingTests {
    @Test func `what is past its time goes, and the rest stays`() async throws {
        let app = try await StorageApp()
        for name in ["a", "b", "c"] {
            let answer = try await app.client.send("POST", "/storage/Note", #"{"_id":"\#(name)"}"#, headers: ["Idempotency-Key": name])
            #expect(answer.status == 201)
        }
        let (changes, keys) = (try app.space().own("_changes"), try app.space().own("_idempotency"))
        try await app.superuser.execute("UPDATE \(changes) SET at = now() - interval '8 days' WHERE id IN ('a', 'b')")
        try await app.superuser.execute("UPDATE \(keys) SET created = now() - interval '25 hours' WHERE key = 'a'")
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        try await Housekeeping(postgres: app.postgres, logger: logger, retentionInDays: 7).sweep()
        #expect(try await app.superuser.query("SELECT id FROM \(changes)").map { try $0.decode(0, as: String.self) } == ["c"])
        #expect(try await app.superuser.query("SELECT key FROM \(keys) ORDER BY key").map { try $0.decode(0, as: String.self) } == ["b", "c"])
        #expect(try await app.client.get("/storage/Note").ids == ["a", "b", "c"])
    }
}

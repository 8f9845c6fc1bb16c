import MartletAPI
import MartletTesting
import Testing

@testable import StorageService

@Suite struct DeleteObjectTests {
    @Test func `an object is deleted for good, and no other`() async throws {
        let app = try await StorageApp()
        _ = try await app.client.post("/storage/all/Note", #"[{"_id":"a"},{"_id":"b"}]"#)
        let answer = try await app.client.delete("/storage/Note/a")
        #expect(answer.status == 204)
        #expect(answer.text.isEmpty)
        #expect(try await app.client.get("/storage/Note?deleted=true").ids == ["b"])
    }

    @Test func `a removed object can be deleted too`() async throws {
        let app = try await StorageApp()
        _ = try await app.client.post("/storage/Note", #"{"_id":"a"}"#)
        _ = try await app.client.post("/storage/remove/Note/a")
        #expect(try await app.client.delete("/storage/Note/a").status == 204)
        #expect(try await app.client.get("/storage/Note?deleted=true")["count"] == "0")
    }

    @Test func `a repeated Idempotency-Key gets the first answer, and deletes nothing again`() async throws {
        let app = try await StorageApp()
        func delete(_ id: String, _ key: String) async throws -> Answer {
            try await app.client.send("DELETE", "/storage/Note/\(id)", headers: ["Idempotency-Key": key])
        }
        #expect(try await delete("a", "k1").isProblem(.objectNotFound))
        #expect(try await app.client.get("/storage/Note")["count"] == "0")
        _ = try await app.client.post("/storage/all/Note", #"[{"_id":"a"},{"_id":"b"}]"#)
        let first = try await delete("a", "k1")
        #expect(first.status == 204 && first.header("idempotency-replayed") == nil, "\(first)")
        _ = try await app.client.post("/storage/Note", #"{"_id":"a","n":2}"#)
        let again = try await delete("a", "k1")
        #expect(again.status == 204 && again.text.isEmpty, "\(again)")
        #expect(again.header("idempotency-replayed") == "true" && again.header("content-type") == nil)
        #expect(try await app.client.get("/storage/Note/a")["n"] == "2")
        try await app.expectRefusal(.idempotencyKeyReused) { try await delete("b", "k1") }
    }

    @Test(arguments: [
        ("/storage/Note/b", ErrorCode.objectNotFound), ("/storage/Other/a", .objectNotFound),
        ("/storage/1/a", .invalidName),
        ("/storage/Note/-a", .invalidID), ("/storage/Note/a?hard=1", .invalidParameter),
        ("/storage/Note/a%27%20OR%201=1", .invalidID),
    ]) func `a request for an object that cannot be deleted deletes nothing`(_ path: String, _ code: ErrorCode)
        async throws
    {
        let app = try await StorageApp()
        _ = try await app.client.post("/storage/Note", #"{"_id":"a"}"#)
        try await app.expectRefusal(code) { try await app.client.delete(path) }
    }
}

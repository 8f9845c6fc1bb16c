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

import MartletAPI
import MartletTesting
import Testing

@testable import StorageService

@Suite struct RemoveObjectTests {
    @Test func `an object is marked removed and no longer listed`() async throws {
        let app = try await StorageApp()
        _ = try await app.client.post("/storage/all/Note", #"[{"_id":"a","x":1},{"_id":"b","x":1}]"#)
        let answer = try await app.client.post("/storage/remove/Note/a")
        #expect(answer.status == 200)
        #expect(answer["deleted"] == answer["updated"])
        #expect(answer["_version"] == "2")
        #expect(try await app.client.get("/storage/Note").ids == ["b"])
        #expect(try await app.client.get("/storage/Note?deleted=true&order=_id").ids == ["a", "b"])
        #expect(try await app.client.post("/storage/query/Note", #"{"x":1}"#).ids == ["b"])
        #expect(
            try await app.client.post("/storage/query/Note?deleted=true", #"{"deleted":{"$ne":null}}"#).ids == ["a"])
        #expect(try await app.client.get("/storage/Note?count=true")["count"] == "1")
    }

    @Test(arguments: [
        ("/storage/remove/Note/gone", ErrorCode.objectNotFound), ("/storage/remove/Note/b", .objectNotFound),
        ("/storage/remove/Other/a", .objectNotFound), ("/storage/remove/1/a", .invalidName),
        ("/storage/remove/Note/-a", .invalidID),
        ("/storage/remove/Note/a?x=1", .invalidParameter),
    ]) func `a request for an object that cannot be removed removes nothing`(_ path: String, _ code: ErrorCode)
        async throws
    {
        let app = try await StorageApp()
        _ = try await app.client.post("/storage/all/Note", #"[{"_id":"a"},{"_id":"gone"}]"#)
        _ = try await app.client.post("/storage/remove/Note/gone")
        try await app.expectRefusal(code) { try await app.client.post(path) }
    }
}

import MartletAPI
import MartletTesting
import Testing

@testable import StorageService

@Suite struct ReplaceObjectTests {
    @Test func `the body replaces the document`() async throws {
        let app = try await StorageApp()
        let created = try await app.client.post("/storage/Note", #"{"_id":"a","x":1,"y":1}"#)
        _ = try await app.client.post("/storage/Note", #"{"_id":"b","x":1}"#)
        let answer = try await app.client.put("/storage/Note/a", #"{"_id":"a","x":1.50,"created":"x"}"#)
        #expect(answer.status == 200)
        #expect(answer["x"] == "1.50")
        #expect(answer["y"] == nil)
        #expect(answer["_version"] == "2")
        #expect(answer["created"] == created["created"])
        #expect(try await app.client.get("/storage/Note/a").text == answer.text)
        #expect(try await app.client.get("/storage/Note/b")["_version"] == "1")
    }

    @Test(arguments: ["/storage/Note/b", "/storage/Other/a", "/storage/Note/gone"])
    func `an object that does not exist is not created`(_ path: String) async throws {
        let app = try await StorageApp()
        _ = try await app.client.post("/storage/all/Note", #"[{"_id":"a"},{"_id":"gone"}]"#)
        _ = try await app.client.post("/storage/remove/Note/gone")
        try await app.expectRefusal(.objectNotFound) { try await app.client.put(path, #"{"x":1}"#) }
    }

    @Test(arguments: BadBodies.all) func `an invalid body is refused`(_ bad: BadBody) async throws {
        let app = try await StorageApp()
        _ = try await app.client.post("/storage/Note", #"{"_id":"a"}"#)
        try await app.expectRefusal(bad.code) { try await app.client.send("PUT", "/storage/Note/a", bytes: bad.bytes) }
    }

    @Test func `every refusal leaves the object unchanged`() async throws {
        let app = try await StorageApp()
        _ = try await app.client.post("/storage/all/Note", #"[{"_id":"a","n":1},{"_id":"b","n":2}]"#)
        _ = try await app.master.post("/collections/Note/indexes", #"{"fields":["n"],"unique":true}"#)
        try await app.expectRefusal(.conflict) { try await app.client.put("/storage/Note/a", #"{"n":2}"#) }
        try await app.expectRefusal(.invalidID) { try await app.client.put("/storage/Note/a", #"{"_id":"b"}"#) }
        try await app.expectRefusal(.invalidID) { try await app.client.put("/storage/Note/-a", "{}") }
        try await app.expectRefusal(.invalidName) { try await app.client.put("/storage/1/a", "{}") }
        try await app.expectRefusal(.invalidParameter, field: "keys") {
            try await app.client.put("/storage/Note/a?keys=x", "{}")
        }
        let large = #"{"t":"\#(String(repeating: "x", count: 1 << 20))"}"#
        try await app.expectRefusal(.payloadTooLarge) { try await app.client.put("/storage/Note/a", large) }
    }
}

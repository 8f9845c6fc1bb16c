import MartletAPI
import MartletTesting
import Testing

@testable import StorageService

@Suite struct ChangeObjectTests {
    @Test func `fields in the body are set, and others stay unchanged`() async throws {
        let app = try await StorageApp()
        _ = try await app.client.post("/storage/Note", #"{"_id":"a","x":1,"y":1.10,"o":{"p":1,"q":2}}"#)
        let answer = try await app.client.patch("/storage/Note/a", #"{"x":2,"z":null,"o":{"p":3},"_version":9}"#)
        #expect(answer.status == 200)
        #expect(["x", "y", "z", "o", "_version"].map { answer[$0] } == ["2", "1.10", "null", #"{"p":3}"#, "2"])
        #expect(try await app.client.get("/storage/Note/a").text == answer.text)
    }

    @Test func `fifty clients that each set a different field lose no change`() async throws {
        let app = try await StorageApp()
        _ = try await app.client.post("/storage/Note", #"{"_id":"a"}"#)
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<50 {
                group.addTask { try await app.client.patch("/storage/Note/a", #"{"f\#(number)":1}"#).status }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(statuses == Array(repeating: 200, count: 50))
        let answer = try await app.client.get("/storage/Note/a")
        #expect((0..<50).allSatisfy { answer["f\($0)"] == "1" })
        #expect(answer["_version"] == "51")
    }

    @Test(arguments: ["/storage/Note/b", "/storage/Other/a", "/storage/Note/gone"])
    func `an object that does not exist is not created`(_ path: String) async throws {
        let app = try await StorageApp()
        _ = try await app.client.post("/storage/all/Note", #"[{"_id":"a"},{"_id":"gone"}]"#)
        _ = try await app.client.post("/storage/remove/Note/gone")
        try await app.expectRefusal(.objectNotFound) { try await app.client.patch(path, #"{"x":1}"#) }
    }

    @Test(arguments: BadBodies.all) func `an invalid body is refused`(_ bad: BadBody) async throws {
        let app = try await StorageApp()
        _ = try await app.client.post("/storage/Note", #"{"_id":"a"}"#)
        try await app.expectRefusal(bad.code) {
            try await app.client.send("PATCH", "/storage/Note/a", bytes: bad.bytes)
        }
    }

    @Test func `every refusal leaves the object unchanged`() async throws {
        let app = try await StorageApp()
        _ = try await app.client.post("/storage/all/Note", #"[{"_id":"a","n":1},{"_id":"b","n":2}]"#)
        _ = try await app.master.post("/collections/Note/indexes", #"{"fields":["n"],"unique":true}"#)
        try await app.expectRefusal(.conflict) { try await app.client.patch("/storage/Note/a", #"{"n":2}"#) }
        try await app.expectRefusal(.invalidID) { try await app.client.patch("/storage/Note/a", #"{"_id":"b"}"#) }
        try await app.expectRefusal(.invalidID) { try await app.client.patch("/storage/Note/-a", "{}") }
        try await app.expectRefusal(.invalidName) { try await app.client.patch("/storage/1/a", "{}") }
        try await app.expectRefusal(.invalidParameter, field: "x") {
            try await app.client.patch("/storage/Note/a?x=1", "{}")
        }
        let large = #"{"t":"\#(String(repeating: "x", count: 1 << 20))"}"#
        try await app.expectRefusal(.payloadTooLarge) { try await app.client.patch("/storage/Note/a", large) }
    }
}

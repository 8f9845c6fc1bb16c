import MartletAPI
import MartletTesting
import Testing

@testable import StorageService

@Suite struct CreateObjectsTests {
    @Test func `objects are stored and returned in the order sent`() async throws {
        let app = try await StorageApp()
        let answer = try await app.client.post(
            "/storage/all/Note", #"[{"_id":"b","n":1.10},{"n":2},{"_id":"a","n":3,"created":"x"}]"#)
        #expect(answer.status == 201)
        #expect(answer["count"] == "3")
        #expect(answer["config"] == #"{"version":null,"date":null}"#)
        #expect(["data.0.n", "data.1.n", "data.2.n"].map { answer[$0] } == ["1.10", "2", "3"])
        #expect(answer.ids.first == "b" && answer.ids.last == "a")
        #expect(try await app.client.get("/storage/Note")["count"] == "3")
    }

    @Test func `objects with existing ids are replaced, and others are created`() async throws {
        let app = try await StorageApp()
        _ = try await app.client.post("/storage/all/Note", #"[{"_id":"a","n":1},{"_id":"b","n":1}]"#)
        let answer = try await app.client.post("/storage/all/Note", #"[{"_id":"b","n":2},{"_id":"c","n":2}]"#)
        #expect(["data.0._version", "data.1._version"].map { answer[$0] } == ["2", "1"])
        #expect(try await app.client.get("/storage/Note?order=_id").ids == ["a", "b", "c"])
    }

    @Test func `an empty list stores nothing`() async throws {
        let app = try await StorageApp()
        let answer = try await app.client.post("/storage/all/Note", "[]")
        #expect(answer.status == 201)
        #expect(answer["count"] == "0")
        #expect(answer["data"] == "[]")
    }

    @Test func `a thousand objects can be posted at once`() async throws {
        let app = try await StorageApp()
        let body = "[" + (0..<1_000).map { #"{"n":\#($0)}"# }.joined(separator: ",") + "]"
        let answer = try await app.client.post("/storage/all/Note", body)
        #expect(answer["count"] == "1000")
        #expect(answer["data.0.n"] == "0" && answer["data.999.n"] == "999")
    }

    @Test(
        arguments: [
            (#"[{"n":1},{"n":1,}]"#, ErrorCode.invalidJSON), (#"[{"n":1},2]"#, .invalidBody),
            (#"{"n":1}"#, .invalidBody), ("", .invalidJSON),
            (#"[{"n":1},null]"#, .invalidBody), (#"[{"n":1},{"$n":1}]"#, .invalidName),
            (#"[{"n":1},{"_id":"a b"}]"#, .invalidID),
            (#"[{"_id":"a"},{"_id":"a"}]"#, .invalidBody), (#"[{"n":1},{"n":"\u0000"}]"#, .invalidBody),
            ("[{\"n\":1},\(BadBodies.nested(32))]", .limitExceeded), (#"[{"n":1},{"n":1e999}]"#, .limitExceeded),
            ("[" + Array(repeating: "{}", count: 1_001).joined(separator: ",") + "]", .limitExceeded),
            (#"[{"n":1},{"t":"\#(String(repeating: "x", count: 1 << 20))","u":1}]"#, .payloadTooLarge),
        ] as [(String, ErrorCode)]) func `if one object is invalid, none is stored`(_ body: String, _ code: ErrorCode)
        async throws
    {
        let app = try await StorageApp()
        _ = try await app.client.post("/storage/Note", "{}")
        try await app.expectRefusal(code) { try await app.client.post("/storage/all/Note", body) }
    }

    @Test func `if one object violates a unique index, none is stored`() async throws {
        let app = try await StorageApp()
        _ = try await app.client.post("/storage/Note", #"{"n":5}"#)
        #expect(
            try await app.master.post("/collections/Note/indexes", #"{"fields":["n"],"unique":true}"#).status == 201)
        try await app.expectRefusal(.conflict) {
            try await app.client.post("/storage/all/Note", #"[{"n":1},{"n":5},{"n":2}]"#)
        }
    }

    @Test func `a list has at most 16 mebibytes`() async throws {
        let app = try await StorageApp()
        let object = #"{"t":"\#(String(repeating: "x", count: 1_000_000))"}"#
        try await app.expectRefusal(.payloadTooLarge) {
            try await app.client.post(
                "/storage/all/Note", "[" + Array(repeating: object, count: 17).joined(separator: ",") + "]")
        }
    }

    @Test(arguments: BadNames.collections.filter { !$0.contains("%2F") })
    func `an invalid name of a collection creates no table`(_ name: String) async throws {
        let app = try await StorageApp()
        try await app.expectRefusal(BadNames.refusal(of: name, otherwise: .invalidName), field: "collection") {
            try await app.client.post("/storage/all/\(name)", "[{}]")
        }
    }
}

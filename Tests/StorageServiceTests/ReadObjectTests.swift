import MartletAPI
import MartletCore
import MartletTesting
import Testing

@testable import StorageService

@Suite struct ReadObjectTests {
    @Test func `an object is read by its id`() async throws {
        let app = try await StorageApp()
        let created = try await app.client.post("/storage/Note", #"{"_id":"a","x":1}"#)
        let answer = try await app.client.get("/storage/Note/a")
        #expect(answer.status == 200)
        #expect(answer.text == created.text)
    }

    @Test(arguments: [
        ("keys=x", ["x"]), ("keys=x,z", ["x", "z"]), ("keys=nothing", []), ("keys=y,y", ["y"]),
        ("keys=it's%20%22odd%22", [#"it's "odd""#]),
    ]) func `keys choose the fields, and system fields are always included`(_ query: String, _ fields: [String])
        async throws
    {
        let app = try await StorageApp()
        _ = try await app.client.post("/storage/Note", #"{"_id":"a","x":1,"y":{"x":2},"z":null,"it's \"odd\"":3}"#)
        let answer = try await app.client.get("/storage/Note/a?\(query)")
        guard case .object(let members) = answer.json else {
            Issue.record("\(answer)")
            return
        }
        #expect(Set(members.map(\.name)) == Set(["_id", "created", "updated", "deleted", "_version"] + fields))
    }

    @Test func `a read with If-Match gets the version it names or 412`() async throws {
        let app = try await StorageApp()
        let tag = try #require(try await app.client.post("/storage/Note", #"{"_id":"a","x":1}"#).header("etag"))
        for (match, status) in [(tag, 200), ("*", 200), ("\"0\", \(tag)", 200), ("\"0\"", 412), ("W/\(tag)", 412)] {
            let answer = try await app.client.send("GET", "/storage/Note/a", bytes: nil, headers: ["if-match": match])
            #expect(answer.status == status, "\(match): \(answer)")
        }
        #expect(
            try await app.client.send("GET", "/storage/Note/b", bytes: nil, headers: ["if-match": "*"]).isProblem(
                .objectNotFound))
    }

    @Test func `a removed object is found only with deleted=true`() async throws {
        let app = try await StorageApp()
        _ = try await app.client.post("/storage/Note", #"{"_id":"a","x":1}"#)
        _ = try await app.client.post("/storage/remove/Note/a")
        #expect(try await app.client.get("/storage/Note/a").isProblem(.objectNotFound))
        #expect(try await app.client.get("/storage/Note/a?deleted=false").isProblem(.objectNotFound))
        #expect(try await app.client.get("/storage/Note/a?deleted=true")["x"] == "1")
        #expect(try await app.client.get("/storage/Note/a?deleted=1&keys=y")["_id"] == #""a""#)
    }

    @Test(arguments: ["/storage/Note/b", "/storage/Other/a"]) func `a missing object is not found`(_ path: String)
        async throws
    {
        let app = try await StorageApp()
        _ = try await app.client.post("/storage/Note", #"{"_id":"a"}"#)
        try await app.expectRefusal(.objectNotFound) { try await app.client.get(path) }
    }

    @Test(arguments: BadNames.ids) func `an invalid id is refused`(_ id: String) async throws {
        let app = try await StorageApp()
        _ = try await app.client.post("/storage/Note", #"{"_id":"a"}"#)
        let code = BadNames.refusal(of: id, otherwise: .invalidID)
        try await app.expectRefusal(code, field: code == .invalidPath ? "id" : "_id") {
            try await app.client.get("/storage/Note/\(id)")
        }
    }

    @Test(arguments: ["limit=1", "order=x", "deleted=maybe", "keys=", "keys=a.b", "count=true", "x=1"])
    func `a parameter for another purpose is refused`(_ query: String) async throws {
        let app = try await StorageApp()
        _ = try await app.client.post("/storage/Note", #"{"_id":"a"}"#)
        let name = String(query.prefix { $0 != "=" })
        try await app.expectRefusal(.invalidParameter, field: name) {
            try await app.client.get("/storage/Note/a?\(query)")
        }
    }
}

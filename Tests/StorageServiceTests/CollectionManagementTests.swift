import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import Testing

@testable import StorageService

@Suite struct ListCollectionsTests {
    @Test func `collections are listed by name with count and size`() async throws {
        let app = try await StorageApp()
        #expect(try await app.master.get("/collections")["count"] == "1")
        _ = try await app.client.post("/storage/all/Note", "[{},{},{}]")
        _ = try await app.client.post("/storage/Author", "{}")
        let schema = try app.space().schema
        try await app.superuser.execute(.init(unescaped: #"ANALYZE "\#(schema)"."Note""#))
        let answer = try await app.master.get("/collections")
        #expect(answer.status == 200)
        #expect(answer["count"] == "3" && answer["data.2.name"] == #""_User""#)
        #expect(answer["data.0.name"] == #""Author""#)
        #expect(answer["data.1.name"] == #""Note""#)
        #expect(answer["data.1.estimatedCount"] == "3")
        let size = try #require(answer["data.1.sizeInBytes"].flatMap { Int($0) })
        #expect(size > 0)
    }
}

@Suite struct DropCollectionTests {
    @Test func `a collection is deleted with its objects and indexes, and can be created again`() async throws {
        let app = try await StorageApp()
        _ = try await app.client.post("/storage/Note", #"{"_id":"a","n":1}"#)
        _ = try await app.client.post("/storage/Other", "{}")
        _ = try await app.master.post("/collections/Note/indexes", #"{"fields":["n"],"unique":true}"#)
        #expect(try await app.master.delete("/collections/Note").status == 204)
        #expect(try await app.contents().keys.sorted() == ["Other"])
        #expect(try await app.client.get("/storage/Note")["count"] == "0")
        #expect(try await app.client.get("/storage/Note/a").isProblem(.objectNotFound))
        #expect(try await app.client.post("/storage/all/Note", #"[{"n":1},{"n":1}]"#).status == 201)
        #expect(try await app.client.get("/storage/Note")["count"] == "2")
    }
}

@Suite struct RenameCollectionTests {
    @Test func `a renamed collection keeps its objects and indexes`() async throws {
        let app = try await StorageApp()
        let created = try await app.client.post("/storage/Note", #"{"_id":"a","n":1}"#)
        _ = try await app.master.post("/collections/Note/indexes", #"{"fields":["n"],"unique":true}"#)
        let answer = try await app.master.post("/collections/Note/rename", #"{"name":"Memo"}"#)
        #expect(answer.status == 200)
        #expect(answer.text == #"{"name":"Memo"}"#)
        #expect(try await app.client.get("/storage/Memo/a").text == created.text)
        #expect(try await app.client.get("/storage/Note")["count"] == "0")
        #expect(try await app.master.get("/collections/Memo/indexes")["count"] == "1")
        #expect(try await app.client.post("/storage/Memo", #"{"n":1}"#).isProblem(.conflict))
        #expect(try await app.client.post("/storage/Note", #"{"n":1}"#).status == 201)
    }

    @Test(
        arguments: [
            (#"{"name":"Other"}"#, ErrorCode.conflict, "name"), (#"{"name":"Note"}"#, .conflict, "name"),
            (#"{"name":"1"}"#, .invalidName, nil),
            (#"{"name":"a\"; DROP TABLE x"}"#, .invalidName, nil), (#"{"name":"all"}"#, .invalidName, nil),
            ("{}", .invalidBody, "name"),
            (#"{"name":5}"#, .invalidBody, "name"), (#"{"name":null}"#, .invalidBody, "name"), ("", .invalidJSON, nil),
            ("[]", .invalidBody, nil),
            (#"{"name":"\#(String(repeating: "n", count: 64))"}"#, .invalidName, nil),
            (#"{"name":"\#(String(repeating: "n", count: 64 << 10))"}"#, .payloadTooLarge, nil),
        ] as [(String, ErrorCode, String?)]) func `an invalid new name changes nothing`(
            _ body: String, _ code: ErrorCode, _ field: String?
        ) async throws
    {
        let app = try await StorageApp()
        _ = try await app.client.post("/storage/Note", "{}")
        _ = try await app.client.post("/storage/Other", "{}")
        try await app.expectRefusal(code, field: field) { try await app.master.post("/collections/Note/rename", body) }
    }
}

@Suite struct ManagementRightsTests {
    private static let calls = [
        ("GET", "/collections", ""), ("DELETE", "/collections/Note", ""),
        ("POST", "/collections/Note/rename", #"{"name":"Memo"}"#),
        ("GET", "/collections/Note/indexes", ""), ("POST", "/collections/Note/indexes", #"{"fields":["n"]}"#),
        ("DELETE", "/collections/Note/indexes/m", ""),
    ]

    @Test(arguments: calls, [Principal.Kind.client, .ingest, .evaluation, .service])
    func `management needs the master key`(_ call: (String, String, String), _ kind: Principal.Kind) async throws {
        let app = try await StorageApp()
        try await fill(app)
        let caller = app.client.acting(as: app.principal(kind))
        try await app.expectRefusal(.forbidden) { try await caller.send(call.0, call.1, call.2) }
    }

    @Test(arguments: calls) func `a request that did not come through the gateway is refused`(
        _ call: (String, String, String)
    ) async throws {
        let app = try await StorageApp()
        try await fill(app)
        try await app.expectRefusal(.unauthorized) { try await app.client.acting(as: nil).send(call.0, call.1, call.2) }
    }

    @Test(arguments: calls.dropFirst().map { $0 }, ["Absent", "1a", "a%22b", "query"])
    func `a missing collection is not found, and an invalid name is refused`(
        _ call: (String, String, String), _ name: String
    ) async throws {
        let app = try await StorageApp()
        try await fill(app)
        let path = call.1.replacing("/Note", with: "/" + name)
        try await app.expectRefusal(name == "Absent" ? .collectionNotFound : .invalidName) {
            try await app.master.send(call.0, path, call.2)
        }
    }

    @Test(arguments: calls) func `a parameter without effect is refused`(_ call: (String, String, String))
        async throws
    {
        let app = try await StorageApp()
        try await fill(app)
        try await app.expectRefusal(.invalidParameter, field: "force") {
            try await app.master.send(call.0, call.1 + "?force=1", call.2)
        }
    }

    private func fill(_ app: StorageApp) async throws {
        _ = try await app.client.post("/storage/Note", "{}")
        #expect(try await app.master.post("/collections/Note/indexes", #"{"fields":["m"]}"#).status == 201)
    }
}

@Suite struct DataRightsTests {
    private static let calls = [
        ("GET", "/storage/Note", ""), ("GET", "/storage/Note/0/1", ""), ("GET", "/storage/Note/a", ""),
        ("POST", "/storage/Note", "{}"),
        ("PUT", "/storage/Note/a", "{}"), ("PATCH", "/storage/Note/a", "{}"), ("DELETE", "/storage/Note/a", ""),
        ("POST", "/storage/all/Note", "[{}]"), ("POST", "/storage/query/Note", "{}"),
        ("POST", "/storage/query/Note/0/1", "{}"),
        ("POST", "/storage/remove/Note/a", ""),
    ]

    @Test(arguments: calls, [Principal.Kind.ingest, .evaluation, .service])
    func `keys for other purposes cannot read or write data`(_ call: (String, String, String), _ kind: Principal.Kind)
        async throws
    {
        let app = try await StorageApp()
        _ = try await app.client.post("/storage/Note", #"{"_id":"a"}"#)
        let caller = app.client.acting(as: app.principal(kind))
        try await app.expectRefusal(.forbidden) { try await caller.send(call.0, call.1, call.2) }
    }

    @Test(arguments: calls) func `a request that did not come through the gateway is refused`(
        _ call: (String, String, String)
    ) async throws {
        let app = try await StorageApp()
        _ = try await app.client.post("/storage/Note", #"{"_id":"a"}"#)
        try await app.expectRefusal(.unauthorized) { try await app.client.acting(as: nil).send(call.0, call.1, call.2) }
    }

    @Test(arguments: calls) func `the master key can read and write data, too`(_ call: (String, String, String))
        async throws
    {
        let app = try await StorageApp()
        _ = try await app.client.post("/storage/Note", #"{"_id":"a"}"#)
        #expect((200..<300).contains(try await app.master.send(call.0, call.1, call.2).status))
    }

    @Test(arguments: ["", "App", "a-b", "a_b", "a\"b", "x; DROP", String(repeating: "a", count: 33), "ü"])
    func `a principal with an invalid app is refused`(_ appID: String) async throws {
        let app = try await StorageApp()
        var principal = app.principal(.client)
        principal.appID = appID
        #expect(try await app.client.acting(as: principal).get("/storage/Note").isProblem(.unauthorized))
    }

    @Test(arguments: [
        ("GET", "/", 404), ("GET", "/storage", 404), ("PUT", "/storage/Note", 405), ("GET", "/storage/a/b/c/d", 404),
        ("DELETE", "/collections", 405),
        ("GET", "/internal/keyring", 404),
    ]) func `a path or method without a route is 404 or 405`(_ method: String, _ path: String, _ status: Int)
        async throws
    {
        let app = try await StorageApp()
        let answer = try await app.client.send(method, path, "")
        #expect(answer.isProblem(.notFound) || answer.isProblem(.methodNotAllowed), "\(answer)")
    }
}

@Suite struct SpacesTests {
    @Test func `live and test environments are separate`() async throws {
        let app = try await StorageApp()
        _ = try await app.client.post("/storage/Note", #"{"_id":"a","in":"live"}"#)
        #expect(try await app.testClient.get("/storage/Note")["count"] == "0")
        #expect(try await app.testClient.get("/storage/Note/a").isProblem(.objectNotFound))
        #expect(try await app.testClient.post("/storage/Note", #"{"_id":"a","in":"test"}"#).status == 201)
        #expect(try await app.client.get("/storage/Note/a")["in"] == #""live""#)
        #expect(try await app.testClient.get("/storage/Note/a")["in"] == #""test""#)
        #expect(try await app.testClient.delete("/storage/Note/a").status == 204)
        #expect(try await app.client.get("/storage/Note/a").status == 200)
        let testMaster = app.client.acting(as: app.principal(.master, .test))
        #expect(try await testMaster.delete("/collections/Note").status == 204)
        #expect(try await app.client.get("/storage/Note")["count"] == "1")
    }

    @Test func `two apps are separate`() async throws {
        let one = try await StorageApp()
        let two = one.neighbour()
        _ = try await one.client.post("/storage/Note", #"{"_id":"a","of":1}"#)
        #expect(try await two.client.get("/storage/Note")["count"] == "0")
        #expect(try await two.client.put("/storage/Note/a", "{}").isProblem(.objectNotFound))
        #expect(try await two.client.post("/storage/Note", #"{"_id":"a","of":2}"#).status == 201)
        #expect(try await two.master.delete("/collections/Note").status == 204)
        #expect(try await one.client.get("/storage/Note/a")["of"] == "1")
        #expect(try await two.master.get("/collections")["count"] == "1")
    }
}

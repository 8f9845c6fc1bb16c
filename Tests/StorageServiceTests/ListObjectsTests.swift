import Foundation
import MartletAPI
import MartletTesting
import Testing

@testable import StorageService

@Suite struct ListObjectsTests {
    @Test func `a list's envelope has null versions if nothing is published`() async throws {
        let app = try await StorageApp()
        _ = try await app.client.post("/storage/Note", #"{"_id":"a","x":1}"#)
        let answer = try await app.client.get("/storage/Note")
        #expect(answer.status == 200)
        #expect(answer["config"] == #"{"version":null,"date":null}"#)
        #expect(answer["translation"] == #"{"version":null,"date":null}"#)
        #expect(answer["count"] == "1")
        #expect(answer["data.0.x"] == "1")
    }

    @Test func `a collection without writes is empty, and reading does not create it`() async throws {
        let app = try await StorageApp()
        let answer = try await app.client.get("/storage/Nothing?count=true&order=x&keys=y")
        #expect(answer.status == 200)
        #expect(answer["count"] == "0")
        #expect(answer["data"] == "[]")
        #expect(try await app.contents().isEmpty)
    }

    @Test func `a plus in the query string is a space, and an encoded one is a plus`() async throws {
        let app = try await StorageApp()
        _ = try await app.client.post("/storage/all/Note", #"[{"_id":"a","s":"x y"},{"_id":"b","s":"x+y"}]"#)
        #expect(try await app.client.get("/storage/Note?where=%7B%22s%22:%22x+y%22%7D").ids == ["a"])
        #expect(try await app.client.get("/storage/Note?where=%7B%22s%22:%22x%2By%22%7D&limit=10").ids == ["b"])
        #expect(
            try await app.client.get("/storage/Note/a+b?keys=s+t").isProblem(.invalidID), "in a path, + is not a space")
    }

    @Test func `by default objects are in the order of creation, at most 100`() async throws {
        let app = try await StorageApp()
        for number in 0..<3 {
            _ = try await app.client.post("/storage/Note", #"{"n":\#(number)}"#)
            // Ids of one millisecond have no order.
            let created = Date()
            try await eventually("the clock has advanced") { Date() >= created + 0.001 }
        }
        let few = try await app.client.get("/storage/Note")
        #expect((0..<3).map { few["data.\($0).n"] } == ["0", "1", "2"])
        _ = try await app.client.post(
            "/storage/all/Many", "[" + Array(repeating: "{}", count: 150).joined(separator: ",") + "]")
        #expect(try await app.client.get("/storage/Many").ids.count == 100)
        #expect(try await app.client.get("/storage/Many?limit=1000").ids.count == 150)
    }

    @Test(
        arguments: [
            ("/storage/Note/0/2", ["a", "b"]), ("/storage/Note/2/2", ["c", "d"]), ("/storage/Note/4/2", ["e"]),
            ("/storage/Note/5/2", []),
            ("/storage/Note/0/0", []), ("/storage/Note?skip=1&limit=2", ["b", "c"]), ("/storage/Note?skip=4", ["e"]),
            ("/storage/Note?limit=1", ["a"]), ("/storage/Note/1/1?order=-_id", ["d"]),
            ("/storage/Note/1000000/1000", []),
        ] as [(String, [String])]) func `a page is chosen in the path or in the query`(_ path: String, _ ids: [String])
        async throws
    {
        let app = try await StorageApp()
        try await fill(app)
        let answer = try await app.client.get(path)
        #expect(answer.ids == ids)
        #expect(answer["count"] == "\(ids.count)")
    }

    @Test func `the pages together contain all objects once`() async throws {
        let app = try await StorageApp()
        _ = try await app.client.post(
            "/storage/all/Note", "[" + Array(repeating: #"{"same":1}"#, count: 50).joined(separator: ",") + "]")
        var ids: [String] = []
        for skip in stride(from: 0, to: 50, by: 7) {
            ids += try await app.client.get("/storage/Note/\(skip)/7?order=same").ids
        }
        #expect(ids.count == 50)
        #expect(Set(ids).count == 50)
    }

    @Test func `count=true counts all matches, not the page`() async throws {
        let app = try await StorageApp()
        try await fill(app)
        let answer = try await app.client.get("/storage/Note?limit=2&count=true")
        #expect(answer["count"] == "5")
        #expect(answer.ids == ["a", "b"])
        #expect(try await app.client.get("/storage/Note?limit=0&count=1")["count"] == "5")
        #expect(try await app.client.get("/storage/Note?limit=2&count=false")["count"] == "2")
    }

    /// a: 2, x; b: 10, y; c: null, x; d: absent; e: "2", z
    @Test(
        arguments: [
            ("n", ["c", "e", "a", "b", "d"]), ("-n", ["d", "b", "a", "e", "c"]),
            ("o.t,-_id", ["c", "a", "b", "e", "d"]),
            ("-o.t,_id", ["d", "e", "b", "a", "c"]), ("_id", ["a", "b", "c", "d", "e"]),
            ("-_id", ["e", "d", "c", "b", "a"]),
            ("_version,-_id", ["e", "d", "c", "b", "a"]), ("-created,_id", ["a", "b", "c", "d", "e"]),
            ("-_version,created,updated,_id", ["b", "a", "c", "d", "e"]), ("deleted,_id", ["a", "b", "c", "d", "e"]),
            ("nothing,_id", ["a", "b", "c", "d", "e"]),
        ] as [(String, [String])]) func `objects are ordered by any field, including nested and system ones`(
            _ order: String, _ ids: [String]
        ) async throws
    {
        let app = try await StorageApp()
        try await fill(app)
        if order.hasPrefix("-_version") { _ = try await app.client.patch("/storage/Note/b", "{}") }
        #expect(try await app.client.get("/storage/Note?order=\(order)").ids == ids)
    }

    @Test func `order=updated sorts objects by their last change`() async throws {
        let app = try await StorageApp()
        try await fill(app)
        _ = try await app.client.patch("/storage/Note/c", #"{"x":1}"#)
        #expect(try await app.client.get("/storage/Note?order=-_version&limit=1").ids == ["c"])
        #expect(try await app.client.get("/storage/Note?order=-updated,-_version&limit=1").ids == ["c"])
    }

    @Test func `keys choose the fields of every object`() async throws {
        let app = try await StorageApp()
        try await fill(app)
        let answer = try await app.client.get("/storage/Note?keys=n&limit=2")
        #expect(answer["data.0.n"] == "2")
        #expect(answer["data.0.o"] == nil)
        #expect(answer["data.1._id"] == #""b""#)
    }

    @Test(
        arguments: [
            ("limit=1001", "limit"), ("limit=-1", "limit"), ("limit=x", "limit"), ("limit=", "limit"),
            ("limit=1e2", "limit"),
            ("limit=99999999999999999999", "limit"), ("skip=-1", "skip"), ("skip=1000001", "skip"),
            ("skip=1.5", "skip"), ("count=2", "count"),
            ("count=yes", "count"), ("deleted=", "deleted"), ("keys=", "keys"), ("keys=,", "keys"),
            ("keys=a.b", "keys"),
            ("keys=" + Array(repeating: "k", count: 101).joined(separator: ","), "keys"), ("order=", "order"),
            ("order=-", "order"),
            ("order=a,,b", "order"), ("order=a,b,c,d,e", "order"), ("order=$a", "order"), ("order=a..b", "order"),
            ("order=a%5C", "order"),
            ("order=a%00", "order"), ("orderBy=a", "orderBy"), ("filter=%7B%7D", "filter"), ("=1", ""),
        ] as [(String, String)]) func `an invalid parameter is refused and named`(
            _ query: String, _ field: String
        ) async throws
    {
        let app = try await StorageApp()
        try await fill(app)
        try await app.expectRefusal(.invalidParameter, field: field) {
            try await app.client.get("/storage/Note?\(query)")
        }
    }

    @Test(arguments: [
        ("x", "1", "skip"), ("-1", "1", "skip"), ("0", "1001", "limit"), ("0", "x", "limit"), ("1000001", "1", "skip"),
    ])
    func `a page in the path is validated too`(_ skip: String, _ limit: String, _ field: String) async throws {
        let app = try await StorageApp()
        try await app.expectRefusal(.invalidParameter, field: field) {
            try await app.client.get("/storage/Note/\(skip)/\(limit)")
        }
    }

    @Test(arguments: [
        "a'%20OR%20'1'='1", "a'%3BDROP%20TABLE%20x--", "a%22)", "a%20DESC", "(SELECT%201)", "doc-%3E'a'", "%24%7B1%7D",
    ])
    func `an order is a name, never SQL`(_ order: String) async throws {
        let app = try await StorageApp()
        try await fill(app)
        let before = try await app.contents()
        let answer = try await app.client.get("/storage/Note?order=\(order)")
        #expect(answer.status == 400 || answer.ids == ["a", "b", "c", "d", "e"], "\(answer)")
        #expect(try await app.contents() == before)
    }

    @Test(arguments: BadNames.collections) func `an invalid collection name is refused`(_ name: String) async throws {
        let app = try await StorageApp()
        try await app.expectRefusal(BadNames.refusal(of: name, otherwise: .invalidName), field: "collection") {
            try await app.client.get("/storage/\(name)")
        }
    }

    @Test func `a page beyond 16 mebibytes is refused`() async throws {
        let app = try await StorageApp()
        let object = #"{"t":"\#(String(repeating: "x", count: 1_000_000))"}"#
        for _ in 0..<2 {
            let body = "[" + Array(repeating: object, count: 12).joined(separator: ",") + "]"
            #expect(try await app.client.post("/storage/all/Note", body).status == 201)
        }
        #expect(try await app.client.get("/storage/Note").isProblem(.limitExceeded, field: "limit"))
        #expect(try await app.client.get("/storage/Note?limit=10").ids.count == 10)
        #expect(try await app.client.get("/storage/Note?keys=u").ids.count == 24)
    }

    private func fill(_ app: StorageApp) async throws {
        let body = """
            [{"_id":"a","n":2,"o":{"t":"x"}},{"_id":"b","n":10,"o":{"t":"y"}},{"_id":"c","n":null,"o":{"t":"x"}},{"_id":"d"},
            {"_id":"e","n":"2","o":{"t":"z"}}]
            """
        #expect(try await app.client.post("/storage/all/Note", body).status == 201)
    }
}

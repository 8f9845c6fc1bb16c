import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import Testing

@testable import StorageService

@Suite struct OperationTests {
    @Test(
        arguments: [
            (#"{"n":{"__op":"Increment","amount":2}}"#, "n", "3"),
            (#"{"n":{"__op":"Increment","amount":-0.5}}"#, "n", "0.5"),
            (#"{"new":{"__op":"Increment","amount":1.10}}"#, "new", "1.10"),
            (#"{"o.n":{"__op":"Increment","amount":1}}"#, "o.n", "2"),
            (#"{"x.y.z":{"__op":"Increment","amount":1}}"#, "x.y.z", "1"), (#"{"o.s":"t"}"#, "o.s", #""t""#),
            (#"{"tags":{"__op":"Add","objects":["a","c"]}}"#, "tags", #"["a","b","a","c"]"#),
            (#"{"tags":{"__op":"AddUnique","objects":["a","c","c"]}}"#, "tags", #"["a","b","c"]"#),
            (#"{"tags":{"__op":"Remove","objects":["a","x"]}}"#, "tags", #"["b"]"#),
            (#"{"new":{"__op":"Remove","objects":[1]}}"#, "new", "[]"),
            (#"{"new":{"__op":"AddUnique","objects":[{"a":1},{"a":1.0}]}}"#, "new", #"[{"a":1}]"#),
            (#"{"n":{"__op":"SetOnInsert","amount":9}}"#, "n", "1"),
            (#"{"nothing":{"__op":"Increment","amount":4}}"#, "nothing", "4"),
            (
                #"{"when":{"__type":"Date","iso":"2026-01-02T03:04:05+01:00"}}"#, "when.iso",
                #""2026-01-02T02:04:05.000Z""#
            ),
        ] as [(String, String, String)]) func `an operation has its documented effect`(
            _ body: String, _ path: String, _ value: String
        ) async throws
    {
        let app = try await Self.filled()
        let answer = try await app.client.patch("/storage/Note/a", body)
        #expect(answer.status == 200, "\(answer)")
        #expect(answer[path] == value)
        #expect(try await app.client.get("/storage/Note/a")[path] == value)
    }

    @Test func `a field is deleted, at the top and below`() async throws {
        let app = try await Self.filled()
        let answer = try await app.client.patch(
            "/storage/Note/a", #"{"n":{"__op":"Delete"},"o.n":{"__op":"Delete"},"none":{"__op":"Delete"}}"#)
        #expect(answer["n"] == nil)
        #expect(answer["o"] == #"{"s":"t0"}"#)
    }

    @Test func `operations in a new object apply to absent fields`() async throws {
        let app = try await StorageApp()
        let answer = try await app.client.post(
            "/storage/Note",
            #"{"n":{"__op":"Increment","amount":2},"s":{"__op":"SetOnInsert","amount":"x"},"t":{"__op":"Add","objects":[1]}}"#
        )
        #expect(answer.status == 201)
        #expect([answer["n"], answer["s"], answer["t"]] == ["2", #""x""#, "[1]"])
        let made = try await app.client.patch(
            "/storage/Note/new?upsert=true",
            #"{"n":{"__op":"Increment","amount":1},"s":{"__op":"SetOnInsert","amount":1}}"#)
        #expect(made.status == 201)
        let again = try await app.client.patch(
            "/storage/Note/new?upsert=true",
            #"{"n":{"__op":"Increment","amount":1},"s":{"__op":"SetOnInsert","amount":2}}"#)
        #expect([again["n"], again["s"]] == ["2", "1"])
    }

    @Test func `an upsert with an Idempotency-Key creates the collection, and a change of nothing does not`()
        async throws
    {
        let app = try await StorageApp()
        func change(_ path: String) async throws -> Answer {
            try await app.client.send("PATCH", "/storage/\(path)", #"{"n":1}"#, headers: ["Idempotency-Key": path])
        }
        #expect(try await change("Note/a?upsert=true").status == 201)
        let again = try await change("Note/a?upsert=true")
        #expect(again.status == 201 && again.header("idempotency-replayed") == "true", "\(again)")
        try await app.expectRefusal(.objectNotFound) { try await change("Other/a") }
    }

    @Test func `a hundred concurrent increments are all counted`() async throws {
        let app = try await Self.filled()
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<100 {
                group.addTask {
                    try await app.client.patch("/storage/Note/a", #"{"n":{"__op":"Increment","amount":1}}"#).status
                }
            }
            for try await status in group { #expect(status == 200) }
        }
        let answer = try await app.client.get("/storage/Note/a")
        #expect(answer["n"] == "101")
        #expect(answer["_version"] == "101")
        #expect(try await app.changes().count == 101)
    }

    @Test(
        arguments: [
            (#"{"s":{"__op":"Increment","amount":1}}"#, ErrorCode.invalidBody),
            (#"{"n":{"__op":"Add","objects":[1]}}"#, .invalidBody),
            (#"{"n.x":{"__op":"Increment","amount":1}}"#, .invalidBody),
            (
                #"{"n":{"__op":"AddRelation","objects":[{"__type":"Pointer","className":"B","objectId":"1"}]}}"#,
                .invalidBody
            ),
            (#"{"n":{"__op":"Multiply","amount":1}}"#, .unknownOperator),
            (#"{"n":{"__op":"Increment"}}"#, .invalidBody),
            (#"{"n":{"__op":"Increment","amount":"1"}}"#, .invalidBody),
            (#"{"n":{"__op":"Add","objects":1}}"#, .invalidBody), (#"{"n":{"__op":1}}"#, .invalidBody),
            (#"{"o":{"x":{"__op":"Increment","amount":1}}}"#, .invalidBody),
            (#"{"o":{"__op":"Delete"},"o.n":1}"#, .invalidBody), (#"{"o..n":1}"#, .invalidName),
            (#"{"r":{"__op":"AddRelation","objects":[]}}"#, .invalidBody),
            (#"{"r.s":{"__op":"AddRelation","objects":[]}}"#, .invalidBody),
            (#"{"d":{"__type":"Date","iso":"yesterday"}}"#, .invalidBody),
            (#"{"d":{"__type":"GeoPoint","latitude":91,"longitude":0}}"#, .invalidBody),
            (#"{"d":[{"__type":"Pointer","className":"a b","objectId":"x"}]}"#, .invalidBody),
            (#"{"d":{"__type":"Thing"}}"#, .invalidBody),
            (#"{"d":{"e":{"__type":"Bytes","base64":"%"}}}"#, .invalidBody),
            (#"{"d":{"__type":"Polygon","coordinates":[[0,0],[1,1]]}}"#, .invalidBody),
        ] as [(String, ErrorCode)]) func `an impossible operation is refused`(
            _ body: String, _ code: ErrorCode
        ) async throws
    {
        let app = try await Self.filled()
        try await app.expectRefusal(code) { try await app.client.patch("/storage/Note/a", body) }
    }

    @Test func `operations are not stored as values`() async throws {
        let app = try await Self.filled()
        try await app.expectRefusal(.invalidBody, field: "n") {
            try await app.client.put("/storage/Note/a", #"{"n":{"__op":"Delete"}}"#)
        }
        try await app.expectRefusal(.invalidBody, field: "n") {
            try await app.client.post("/storage/all/Note", #"[{"n":{"__op":"Delete"}}]"#)
        }
        try await app.expectRefusal(.invalidName, field: "a.b") {
            try await app.client.put("/storage/Note/a", #"{"a.b":1}"#)
        }
    }

    @Test func `relations gain and lose members, and lose deleted objects`() async throws {
        let app = try await Self.filled()
        func pointers(_ ids: String...) -> String {
            "[" + ids.map { #"{"__type":"Pointer","className":"Book","objectId":"\#($0)"}"# }.joined(separator: ",")
                + "]"
        }
        _ = try await app.client.post("/storage/all/Book", #"[{"_id":"b1"},{"_id":"b2"}]"#)
        let added = try await app.client.patch(
            "/storage/Note/a", #"{"books":{"__op":"AddRelation","objects":\#(pointers("b1", "b2", "b3"))}}"#)
        #expect(added["books.className"] == #""Book""#)
        #expect(try await app.members() == ["b1", "b2", "b3"])
        _ = try await app.client.patch(
            "/storage/Note/a",
            #"{"books":{"__op":"Batch","ops":[{"__op":"RemoveRelation","objects":\#(pointers("b3"))},{"__op":"AddRelation","objects":\#(pointers("b4"))}]}}"#
        )
        #expect(try await app.members() == ["b1", "b2", "b4"])
        _ = try await app.client.delete("/storage/Book/b1")
        #expect(try await app.members() == ["b2", "b4"])
        try await app.expectRefusal(.invalidBody) {
            try await app.client.patch(
                "/storage/Note/a",
                #"{"books":{"__op":"AddRelation","objects":[{"__type":"Pointer","className":"Other","objectId":"x"}]}}"#
            )
        }
        _ = try await app.client.delete("/storage/Note/a")
        #expect(try await app.members() == [])
    }

    @Test func `entity tags prevent lost updates`() async throws {
        let app = try await Self.filled()
        let tag = try #require(try await app.client.get("/storage/Note/a").header("ETag"))
        #expect(try await app.client.send("GET", "/storage/Note/a", headers: ["If-None-Match": tag]).status == 304)
        #expect(
            try await app.client.send("PATCH", "/storage/Note/a", #"{"n":5}"#, headers: ["If-Match": tag]).status == 200
        )
        for (method, path, body) in [
            ("PATCH", "/storage/Note/a", "{}"), ("PUT", "/storage/Note/a", "{}"), ("DELETE", "/storage/Note/a", nil),
            ("POST", "/storage/remove/Note/a", nil),
        ] as [(String, String, String?)] {
            try await app.expectRefusal(.preconditionFailed) {
                try await app.client.send(method, path, body, headers: ["If-Match": tag])
            }
            try await app.expectRefusal(.invalidParameter) {
                try await app.client.send(method, path, body, headers: ["If-Match": "x"])
            }
        }
        try await app.expectRefusal(.preconditionFailed) {
            try await app.client.send("POST", "/storage/Note", #"{"_id":"a"}"#, headers: ["If-None-Match": "*"])
        }
        #expect(
            try await app.client.send("POST", "/storage/Note", #"{"_id":"z"}"#, headers: ["If-None-Match": "*"]).status
                == 201)
        #expect(try await app.client.send("DELETE", "/storage/Note/a", nil, headers: ["If-Match": "*"]).status == 204)
    }

    @Test func `a key makes a repetition harmless`() async throws {
        let app = try await Self.filled()
        let key = ["Idempotency-Key": "k1"]
        let first = try await app.client.send("POST", "/storage/Fresh", #"{"n":1}"#, headers: key)
        let again = try await app.client.send("POST", "/storage/Fresh", #"{"n":1}"#, headers: key)
        #expect([first.status, again.status] == [201, 201])
        #expect(again.text == first.text && again.header("ETag") == first.header("ETag"))
        #expect(again.header("Idempotency-Replayed") == "true")
        #expect(try await app.client.get("/storage/Fresh").ids.count == 1)
        try await app.expectRefusal(.idempotencyKeyReused) {
            try await app.client.send("POST", "/storage/Fresh", #"{"n":2}"#, headers: key)
        }
        // Fifty at once: one is executed.
        try await withThrowingTaskGroup(of: Answer.self) { group in
            for _ in 0..<50 {
                group.addTask {
                    try await app.client.send(
                        "PATCH", "/storage/Note/a", #"{"n":{"__op":"Increment","amount":1}}"#,
                        headers: ["Idempotency-Key": "k2"])
                }
            }
            for try await answer in group { #expect(answer["n"] == "2", "\(answer)") }
        }
        // A failure is not stored.
        let missing = ["Idempotency-Key": "k3"]
        #expect(
            try await app.client.send("PATCH", "/storage/Note/later", "{}", headers: missing).isProblem(.objectNotFound)
        )
        _ = try await app.client.post("/storage/Note", #"{"_id":"later"}"#)
        #expect(try await app.client.send("PATCH", "/storage/Note/later", "{}", headers: missing).status == 200)
    }

    @Test func `a batch answers each request, or is atomic`() async throws {
        let app = try await Self.filled()
        let requests =
            #"[{"method":"POST","path":"storage/Fresh","body":{"_id":"f"}},{"method":"PATCH","path":"/storage/Note/a","body":{"n":7}},{"method":"DELETE","path":"storage/Note/none"},{"method":"PUT","path":"storage/Note/a","body":{"p":1},"ifMatch":"\"9-9\""}]"#
        let before = try await app.everything()
        let refused = try await app.client.post("/storage/batch", #"{"requests":\#(requests),"transaction":true}"#)
        #expect(refused.isProblem(.objectNotFound, field: "requests.2"))
        #expect(
            try await app.everything().filter { $0.key == "Note" || $0.key == "_changes" }
                == before.filter { $0.key == "Note" || $0.key == "_changes" })
        #expect(try await app.client.get("/storage/Fresh").ids == [])
        let each = try await app.client.post("/storage/batch", #"{"requests":\#(requests)}"#)
        #expect(each.status == 200)
        #expect((0..<4).map { each["data.\($0).status"] } == ["201", "200", "404", "412"])
        #expect(each["data.1.body.n"] == "7")
        #expect(each["data.3.body.code"] == #""precondition-failed""#)
        let all =
            #"{"requests":[{"method":"DELETE","path":"storage/Fresh/f"},{"method":"POST","path":"storage/Newer","body":{"_id":"g"}}],"transaction":true}"#
        for _ in 0..<2 {
            let done = try await app.client.send("POST", "/storage/batch", all, headers: ["Idempotency-Key": "b1"])
            #expect([done["data.0.status"], done["data.1.status"]] == ["204", "201"])
        }
    }

    @Test(
        arguments: [
            ("[]", ErrorCode.invalidBody, nil), (#"{"requests":1}"#, .invalidBody, nil),
            (#"{"requests":[],"x":1}"#, .invalidBody, nil), ("{", .invalidJSON, nil),
            (#"{"requests":[{"method":"GET","path":"storage/Note/a"}]}"#, .invalidBody, "requests.0.method"),
            (#"{"requests":[{"method":"POST","path":"roles/x","body":{}}]}"#, .invalidPath, "requests.0.path"),
            (#"{"requests":[{"method":"DELETE","path":"storage/Note/a b"}]}"#, .invalidID, "requests.0._id"),
            (#"{"requests":[{"method":"DELETE","path":"storage/_roles/a"}]}"#, .invalidName, "requests.0.collection"),
            (
                #"{"requests":[\#(Array(repeating: #"{"method":"DELETE","path":"storage/N/a"}"#, count: 101).joined(separator: ","))]}"#,
                .limitExceeded, "requests"
            ),
        ] as [(String, ErrorCode, String?)]) func `an invalid batch is refused`(
            _ body: String, _ code: ErrorCode, _ field: String?
        ) async throws
    {
        let app = try await Self.filled()
        try await app.expectRefusal(code, field: field) { try await app.client.post("/storage/batch", body) }
    }

    @Test func `each write leaves one change with the state before and after`() async throws {
        let app = try await StorageApp()
        _ = try await app.client.post("/storage/Note", #"{"_id":"a","n":1}"#)
        _ = try await app.client.patch("/storage/Note/a", #"{"n":2}"#)
        _ = try await app.client.post("/storage/Note", #"{"_id":"a","n":3}"#)
        _ = try await app.client.post("/storage/remove/Note/a")
        _ = try await app.client.post("/storage/all/Note", #"[{"_id":"a","n":4},{"_id":"b","n":5}]"#)
        _ = try await app.client.delete("/storage/Note/a")
        _ = try await app.client.post("/storage/remove/Note/b")
        _ = try await app.client.delete("/storage/Note/b")
        let changes = try await app.changes()
        #expect(
            changes == [
                "c a v1 - n1", "u a v2 n1 n2", "u a v3 n2 n3", "d a v4 n3 -", "c a v5 - n4", "c b v1 - n5",
                "d a v5 n4 -", "d b v2 n5 -",
            ])
    }

    private static func filled() async throws -> StorageApp {
        let app = try await StorageApp()
        _ = try await app.client.post(
            "/storage/Note", #"{"_id":"a","n":1,"s":"x","tags":["a","b"],"o":{"n":1,"s":"t0"},"nothing":null}"#)
        return app
    }
}

extension StorageApp {
    fileprivate func members() async throws -> [String] {
        let table = try space().own("_relations")
        return try await superuser.query(
            "SELECT related FROM \(table) WHERE owner = 'a' AND key = 'books' ORDER BY related"
        ).map { try $0.decode(0) }
    }

    /// The change log as lines.
    fileprivate func changes() async throws -> [String] {
        let table = try space().own("_changes")
        return try await superuser.query(
            """
            SELECT kind::text || ' ' || id || ' v' || version || coalesce(' n' || (before_doc->>'n'), ' -') || coalesce(' n' || (doc->>'n'), ' -')
            FROM \(table) ORDER BY seq
            """
        ).map { try $0.decode(0) }
    }
}

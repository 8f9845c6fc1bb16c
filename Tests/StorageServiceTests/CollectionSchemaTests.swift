import MartletAPI
import MartletCore
import MartletPostgres
import MartletSchema
import MartletTesting
import Testing

@testable import StorageService

/// The schemas of collections: setting them, and what they refuse.
@Suite struct CollectionSchemaTests {
    private static let schema = #"""
        {"type":"object","required":["title"],"additionalProperties":false,
         "properties":{"title":{"type":"string","minLength":1},"price":{"type":"number","exclusiveMinimum":0},
          "level":{"type":"integer","default":1},"tags":{"type":"array","items":{"type":"string"},"maxItems":2},
          "place":{"type":"object","properties":{"city":{"type":"string"},"country":{"type":"string","default":"CH"}}},
          "at":{"type":"Date"},"event":{"type":"Pointer","className":"Events"},"members":{"type":"Relation"}}}
        """#

    private static func app(_ schema: String = schema) async throws -> StorageApp {
        let app = try await StorageApp()
        let answer = try await app.master.put("/collections/Note/schema", schema)
        #expect(answer.status == 200, "\(answer)")
        return app
    }

    @Test func `a schema is set, read and removed`() async throws {
        let app = try await Self.app()
        let read = try await app.master.get("/collections/Note/schema")
        #expect(try read.json == JSONValue(parsing: Self.schema.utf8), "\(read)")
        try await app.expectRefusal(.documentRefused, field: "/extra") {
            try await app.client.post("/storage/Note", #"{"title":"a","extra":1}"#)
        }
        #expect(try await app.master.delete("/collections/Note/schema").status == 204)
        #expect(try await app.client.post("/storage/Note", #"{"extra":1}"#).status == 201)
        #expect(try await app.master.get("/collections/Note/schema").isProblem(.notFound))
    }

    @Test func `a collection that does not exist has no schema to read or remove`() async throws {
        let app = try await StorageApp()
        #expect(try await app.master.get("/collections/None/schema").isProblem(.collectionNotFound))
        try await app.expectRefusal(.collectionNotFound) { try await app.master.delete("/collections/None/schema") }
    }

    @Test func `only the master key may read or set a schema`() async throws {
        let app = try await Self.app()
        try await app.expectRefusal(.forbidden) { try await app.client.put("/collections/Note/schema", "{}") }
        try await app.expectRefusal(.forbidden) { try await app.client.get("/collections/Note/schema") }
        try await app.expectRefusal(.forbidden) { try await app.client.delete("/collections/Note/schema") }
    }

    @Test(arguments: [
        (#"{"tipe":"string"}"#, ErrorCode.documentRefused, "/tipe" as String?),
        (#"{"properties":{"created":{"type":"string"}}}"#, .documentRefused, "/properties/created"),
        (#"{"required":["_id"]}"#, .documentRefused, "/required"),
        (#"{"dependentRequired":{"a":["updated"]}}"#, .documentRefused, "/dependentRequired"),
        (#"{"anyOf":[true,{"required":["created"]}]}"#, .documentRefused, "/anyOf/1/required"),
        (
            ##"{"$defs":{"d":{"properties":{"_version":true}}},"allOf":[{"$ref":"#/$defs/d"}]}"##, .documentRefused,
            "/$defs/d/properties/_version"
        ),
        ("[]", .documentRefused, ""), ("{", .invalidJSON, nil),
    ])
    func `a schema with an error is refused`(_ schema: String, _ code: ErrorCode, _ field: String?) async throws {
        let app = try await Self.app()
        try await app.expectRefusal(code, field: field) { try await app.master.put("/collections/Note/schema", schema) }
    }

    @Test func `members of objects inside may have the names of system fields`() async throws {
        let app = try await Self.app(#"{"properties":{"a":{"required":["_id"],"properties":{"created":true}}}}"#)
        #expect(try await app.client.post("/storage/Note", #"{"a":{"_id":1}}"#).status == 201)
    }

    @Test func `a write that makes a typed value malformed is refused`() async throws {
        let app = try await Self.app(#"{"properties":{"at":{"type":"Date"},"place":{"type":"GeoPoint"}}}"#)
        let whole =
            #"{"_id":"a","at":{"__type":"Date","iso":"2026-01-01T00:00:00Z"},"#
            + #""place":{"__type":"GeoPoint","latitude":1,"longitude":2}}"#
        #expect(try await app.client.post("/storage/Note", whole).status == 201)
        for (field, body) in [
            ("/at", #"{"at.iso":"never"}"#), ("/at", #"{"at.iso":{"__op":"Delete"}}"#),
            ("/place", #"{"place.latitude":"north"}"#),
            ("/place", #"{"place.latitude":{"__op":"Increment","amount":1000}}"#),
        ] {
            try await app.expectRefusal(.documentRefused, field: field) {
                try await app.client.patch("/storage/Note/a", body)
            }
        }
        try await app.expectRefusal(.documentRefused, field: "/at") {
            try await app.client.post("/storage/Note", #"{"at":{"\u005f_type":"Date"}}"#)
        }
        #expect(try await app.client.patch("/storage/Note/a", #"{"place.latitude":2}"#).status == 200)
    }

    @Test func `defaults cannot make a small bulk post large`() async throws {
        let text = String(repeating: "x", count: 60_000)
        let app = try await Self.app(#"{"properties":{"t":{"default":"\#(text)"}}}"#)
        let objects = Array(repeating: "{}", count: 600).joined(separator: ",")
        try await app.expectRefusal(.payloadTooLarge) { try await app.client.post("/storage/all/Note", "[\(objects)]") }
        #expect(try await app.client.post("/storage/all/Note", "[{},{}]").status == 201)
    }

    @Test func `every kind of write is checked on the resulting object, and a refusal writes nothing`() async throws {
        let app = try await Self.app()
        #expect(try await app.client.post("/storage/Note", #"{"_id":"a","title":"x","tags":["1"]}"#).status == 201)
        let add = #"{"tags":{"__op":"Add","objects":["2","3"]}}"#
        let cases: [(String, () async throws -> Answer)] = [
            ("/price", { try await app.client.post("/storage/Note", #"{"title":"x","price":0}"#) }),
            ("", { try await app.client.post("/storage/Note", #"{"_id":"a","price":1}"#) }),
            (
                "/level",
                {
                    try await app.client.post(
                        "/storage/Note", #"{"title":"x","level":{"__op":"Increment","amount":0.5}}"#)
                }
            ),
            ("1./title", { try await app.client.post("/storage/all/Note", #"[{"title":"x"},{"title":""}]"#) }),
            ("/at", { try await app.client.put("/storage/Note/a", #"{"title":"x","at":"2026-01-01"}"#) }),
            ("/title", { try await app.client.patch("/storage/Note/a", #"{"title":null}"#) }),
            ("", { try await app.client.patch("/storage/Note/a", #"{"title":{"__op":"Delete"}}"#) }),
            ("/tags", { try await app.client.patch("/storage/Note/a", add) }),
            ("/place/city", { try await app.client.patch("/storage/Note/a", #"{"place.city":1}"#) }),
            ("/price", { try await app.client.patch("/storage/Note/new?upsert=true", #"{"title":"x","price":-1}"#) }),
            (
                "/event",
                {
                    try await app.master.patch(
                        "/storage/Note/a", #"{"event":{"__type":"Pointer","className":"Other","objectId":"o"}}"#)
                }
            ),
            (
                "requests.1./tags",
                {
                    try await app.client.post(
                        "/storage/batch",
                        #"{"transaction":true,"requests":[{"method":"POST","path":"storage/Note","body":{"title":"y"}},{"method":"PATCH","path":"storage/Note/a","body":\#(add)}]}"#
                    )
                }
            ),
        ]
        for (field, request) in cases {
            try await app.expectRefusal(.documentRefused, field: field, request)
        }
        let each = try await app.client.post(
            "/storage/batch",
            #"{"requests":[{"method":"POST","path":"storage/Note","body":{"title":"y"}},{"method":"PATCH","path":"storage/Note/a","body":\#(add)}]}"#
        )
        #expect(each["data.0.status"] == "201" && each["data.1.status"] == "422", "\(each)")
    }

    @Test func `objects that fit are written in every way, and the change log has them as stored`() async throws {
        let app = try await Self.app()
        let body =
            #"{"_id":"a","title":"x","at":{"__type":"Date","iso":"2026-01-01T00:00:00Z"},"event":{"__type":"Pointer","className":"Events","objectId":"e"}}"#
        #expect(try await app.client.post("/storage/Note", body).status == 201)
        #expect(try await app.client.post("/storage/Note", #"{"_id":"a","title":"again"}"#).status == 200)
        #expect(
            try await app.client.patch("/storage/Note/a", #"{"tags":{"__op":"Add","objects":["1"]}}"#).status == 200)
        #expect(try await app.client.put("/storage/Note/a", #"{"title":"z"}"#).status == 200)
        #expect(
            try await app.client.post("/storage/all/Note", #"[{"title":"b"},{"_id":"a","title":"c"}]"#).status == 201)
        let pointer = #"{"__type":"Pointer","className":"People","objectId":"p"}"#
        let made = try await app.client.post(
            "/storage/Note", #"{"title":"d","members":{"__op":"AddRelation","objects":[\#(pointer)]}}"#)
        #expect(made.status == 201, "\(made)")
        let rows = try await app.superuser.query(
            "SELECT doc::text FROM \(try app.space().own("_changes")) WHERE id = 'a' ORDER BY seq")
        #expect(
            try rows.map { try $0.decode(0, as: String.self) }.last == #"{"level": 1, "title": "c"}"#)
    }

    @Test func `new objects get the defaults of absent members`() async throws {
        let app = try await Self.app()
        let made = try await app.client.post("/storage/Note", #"{"_id":"a","title":"x","place":{"city":"Bern"}}"#)
        #expect(made["level"] == "1" && made["place.country"] == #""CH""#, "\(made)")
        let given = try await app.client.post("/storage/Note", #"{"title":"x","level":5}"#)
        #expect(given["level"] == "5" && given["place"] == nil, "\(given)")
        let operated = try await app.client.post(
            "/storage/Note", #"{"title":"x","tags":{"__op":"Add","objects":["1"]},"place":{}}"#)
        #expect(operated["level"] == "1" && operated["place.country"] == #""CH""#, "\(operated)")
        let many = try await app.client.post("/storage/all/Note", #"[{"title":"1"},{"title":"2","level":7}]"#)
        #expect(many["data.0.level"] == "1" && many["data.1.level"] == "7", "\(many)")
        // Only new objects are filled in.
        let replaced = try await app.client.put("/storage/Note/a", #"{"title":"x"}"#)
        #expect(replaced["level"] == nil, "\(replaced)")
    }

    @Test func `a default does not replace a field that is hidden from the writer`() async throws {
        let app = try await Self.app()
        #expect(try await app.master.put("/collections/Note/rules", #"{"hidden":{"level":[]}}"#).status == 200)
        _ = try await app.master.post("/storage/Note", #"{"_id":"a","title":"x","level":9}"#)
        #expect(try await app.client.post("/storage/Note", #"{"_id":"a","title":"y"}"#).status == 200)
        #expect(try await app.master.get("/storage/Note/a")["level"] == "9")
        #expect(
            try await app.client.post("/storage/all/Note", #"[{"_id":"a","title":"z"},{"_id":"b","title":"z"}]"#)
                .status == 201)
        #expect(try await app.master.get("/storage/Note/a")["level"] == "9")
        #expect(try await app.master.get("/storage/Note/b")["level"] == "1")
    }

    @Test func `a schema violation in a hidden field is not described to the writer`() async throws {
        let app = try await StorageApp()
        _ = try await app.master.post("/storage/Note", #"{"_id":"a","secret":1}"#)
        _ = try await app.master.put("/collections/Note/rules", #"{"hidden":{"secret":[]}}"#)
        let schema = #"{"properties":{"secret":{"type":"string"}}}"#
        #expect(try await app.master.put("/collections/Note/schema?allowExisting=true", schema).status == 200)
        let answer = try await app.client.patch("/storage/Note/a", #"{"n":1}"#)
        #expect(answer.isProblem(.documentRefused) && answer["field"] == nil && answer["findings"] == nil, "\(answer)")
        #expect(
            try await app.master.patch("/storage/Note/a", #"{"n":1}"#).isProblem(.documentRefused, field: "/secret"))
    }

    @Test func `a schema violation because a hidden field is missing or counted is not described to the writer`()
        async throws
    {
        for schema in [
            #"{"required":["secret"]}"#, #"{"dependentRequired":{"n":["secret"]}}"#, #"{"minProperties":3}"#,
        ] {
            let app = try await StorageApp()
            _ = try await app.master.post("/storage/Note", #"{"_id":"a","n":0}"#)
            _ = try await app.master.put("/collections/Note/rules", #"{"hidden":{"secret":[]}}"#)
            #expect(try await app.master.put("/collections/Note/schema?allowExisting=true", schema).status == 200)
            let answer = try await app.client.patch("/storage/Note/a", #"{"n":1}"#)
            #expect(answer.isProblem(.documentRefused) && answer["findings"] == nil, "\(answer)")
            #expect(answer["detail"]?.contains("hidden") == true, "\(answer)")
            let master = try await app.master.patch("/storage/Note/a", #"{"n":1}"#)
            #expect(master.isProblem(.documentRefused) && master["findings.0.path"] == #""""#, "\(master)")
        }
    }

    @Test func `stored objects that do not fit prevent a schema, unless they may stay`() async throws {
        let app = try await StorageApp()
        let objects = (0..<30).map { #"{"_id":"o\#($0)","n":\#($0 < 25 ? "-1" : "1")}"# }.joined(separator: ",")
        #expect(try await app.client.post("/storage/all/Note", "[\(objects)]").status == 201)
        let schema = #"{"properties":{"n":{"minimum":0}}}"#
        try await app.expectRefusal(.conflict) { try await app.master.put("/collections/Note/schema", schema) }
        let refusal = try await app.master.put("/collections/Note/schema", schema)
        #expect(refusal["detail"]?.contains("25 of 30 objects") == true, "\(refusal)")
        #expect(refusal["findings.0.path"] == #""/o0/n""# && refusal["findings.20"] == nil, "\(refusal)")
        #expect(refusal["findings.0.message"]?.contains("(minimum)") == true, "\(refusal)")

        let allowed = try await app.master.put("/collections/Note/schema?allowExisting=true", schema)
        #expect(
            allowed["misfits"] == "25" && allowed["checked"] == "30" && allowed["first.0.id"] == #""o0""#, "\(allowed)")
        try await app.expectRefusal(.documentRefused, field: "/n") {
            try await app.client.patch("/storage/Note/o0", #"{"m":1}"#)
        }
        #expect(try await app.client.patch("/storage/Note/o0", #"{"n":0}"#).status == 200)
        #expect(try await app.client.delete("/storage/Note/o1").status == 204)
    }

    @Test func `a writer with an outdated schema must load it again`() async throws {
        let app = try await Self.app("{}")
        // This copy of the service has cached the first schema; another copy, without notification, sets the next.
        #expect(try await app.client.post("/storage/Note", #"{"_id":"a","n":1}"#).status == 201)
        let next = try await ServiceClient(app.anotherCopy()).acting(as: app.principal(.master))
        #expect(try await next.put("/collections/Note/schema", #"{"properties":{"n":{"maximum":9}}}"#).status == 200)
        for _ in 0..<2 {
            try await app.expectRefusal(.documentRefused, field: "/n") {
                try await app.client.patch("/storage/Note/a", #"{"n":10}"#)
            }
        }
        #expect(try await next.put("/collections/Note/schema", #"{"properties":{"n":{"maximum":8}}}"#).status == 200)
        let batch = #"{"transaction":true,"requests":[{"method":"POST","path":"storage/Note","body":{"n":9}}]}"#
        try await app.expectRefusal(.documentRefused, field: "requests.0./n") {
            try await app.client.post("/storage/batch", batch)
        }
    }

    @Test func `PostgreSQL refuses a document that was not checked`() async throws {
        let app = try await Self.app()
        let table = try app.space().table(CollectionName("Note"))
        let error = await #expect(throws: PostgresError.self) {
            try await app.superuser.execute("INSERT INTO \(table) (id, doc) VALUES ('x', '{}')")
        }
        #expect(error?.sqlState == "40001")
    }

    @Test func `an object that is written while the others are checked is found`() async throws {
        let app = try await StorageApp()
        _ = try await app.client.post("/storage/Note", #"{"_id":"a","n":1}"#)
        let storage = app.anotherCopy()
        let schema = try JSONSchema(parsing: #"{"properties":{"n":{"minimum":0}}}"#.utf8)
        let (name, space) = (try CollectionName("Note"), try app.space())
        await #expect(throws: SchemaReport.Refusal.self) {
            _ = try await storage.schemas.set(
                schema, on: name, of: space, allowingExisting: false,
                report: { _ in _ = try await app.client.patch("/storage/Note/a", #"{"n":-1}"#) })
        }
        #expect(try await app.client.post("/storage/Note", #"{"n":-2}"#).status == 201, "the schema is not in force")
    }

    @Test func `renaming a collection and back is detected, although it deletes the changes since a snapshot`()
        async throws
    {
        let app = try await StorageApp()
        _ = try await app.client.post("/storage/Note", #"{"_id":"a","n":1}"#)
        let (name, space) = (try CollectionName("Note"), try app.space())
        let schema = CollectionSchema(revision: 1, schema: try JSONSchema(parsing: "{}".utf8))
        let walk = SchemaWalk(schema: schema, table: try space.table(name), collection: name)
        let floor = try space.own("_changes_floor")
        let start = try await app.postgres.withTransaction(role: space.role) { try await walk.start($0) }
        let hasChanges = {
            try await app.postgres.withTransaction(role: space.role) {
                try await walk.hasChanges(since: start.snapshot, floor: floor, $0)
            }
        }
        _ = try await app.client.patch("/storage/Note/a", #"{"n":-1}"#)
        #expect(try await hasChanges())
        #expect(try await app.master.post("/collections/Note/rename", #"{"name":"Memo"}"#).status == 200)
        #expect(try await app.master.post("/collections/Memo/rename", #"{"name":"Note"}"#).status == 200)
        let again = try await app.postgres.withTransaction(role: space.role) { try await walk.start($0) }
        #expect(again.oid == start.oid)
        #expect(try await !hasChanges())
    }

    @Test func `a large collection is checked by a job`() async throws {
        let app = try await StorageApp()
        let text = String(repeating: "x", count: 900)
        for page in 0..<20 {
            let objects = (0..<1_000).map { #"{"_id":"o\#(page)-\#($0)","n":1,"t":"\#(text)\#($0)"}"# }
            #expect(try await app.client.post("/storage/all/Note", "[\(objects.joined(separator: ","))]").status == 201)
        }
        _ = try await app.client.patch("/storage/Note/o3-7", #"{"n":-1}"#)
        let schema = #"{"properties":{"n":{"minimum":0}}}"#
        let refused = try await app.finished(app.master.put("/collections/Note/schema", schema))
        #expect(refused["state"] == #""failed""# && refused["error.code"] == #""conflict""#, "\(refused)")
        #expect(refused["result.misfits"] == "1" && refused["result.first.0.id"] == #""o3-7""#, "\(refused)")
        _ = try await app.client.patch("/storage/Note/o3-7", #"{"n":1}"#)
        let done = try await app.finished(app.master.put("/collections/Note/schema", schema))
        #expect(done["state"] == #""done""# && done["result.checked"] == "20000", "\(done)")
        try await app.expectRefusal(.documentRefused, field: "/n") {
            try await app.client.post("/storage/Note", #"{"n":-1}"#)
        }
    }

    @Test func `an import stores records that fit, with defaults, and lists the others`() async throws {
        let app = try await Self.app()
        let file = #"[{"_id":"a","title":"x"},{"_id":"b","title":""},{"_id":"c"}]"#
        let refused = try await app.importing(file, to: "Note", "format=json")
        #expect(refused["state"] == #""failed""# && refused["result.bad"] == "2", "\(refused)")
        #expect(refused["result.badRecords.0.field"] == #""/title""#, "\(refused)")
        let done = try await app.importing(file, to: "Note", "format=json&skipBad=true")
        #expect(done["state"] == #""done""# && done["result.created"] == "1", "\(done)")
        #expect(try await app.client.get("/storage/Note/a")["level"] == "1")
    }

    @Test func `a hook's object is checked`() async throws {
        let app = try await Self.app()
        let receiver = try await HookReceiver { _ in (200, #"{"object":{"title":1}}"#) }
        try await app.hook("save", "beforeSave", "Note", at: receiver)
        try await app.expectRefusal(.documentRefused, field: "/title") {
            try await app.client.post("/storage/Note", #"{"title":"x"}"#)
        }
    }

    @Test func `a copy of live data has its schemas, and a renamed collection keeps its own`() async throws {
        let app = try await Self.app()
        _ = try await app.client.post("/storage/Note", #"{"_id":"a","title":"x"}"#)
        let job = try await app.finished(app.master.post("/environment/copy", "{}"))
        #expect(job["state"] == #""done""#, "\(job)")
        let test = app.acting(as: app.principal(.master, .test))
        #expect(try await test.patch("/storage/Note/a", #"{"title":1}"#).isProblem(.documentRefused, field: "/title"))
        #expect(try await test.patch("/storage/Note/a", #"{"title":"y"}"#).status == 200)
        #expect(try await app.master.post("/collections/Note/rename", #"{"name":"Memo"}"#).status == 200)
        #expect(try await app.client.patch("/storage/Memo/a", #"{"title":1}"#).isProblem(.documentRefused))
        #expect(try await app.client.patch("/storage/Memo/a", #"{"title":"z"}"#).status == 200)
        #expect(try await app.client.post("/storage/Note", "{}").status == 201)
    }

    @Test func `an idempotency key does not repeat a refusal`() async throws {
        let app = try await Self.app()
        _ = try await app.client.post("/storage/Note", #"{"_id":"a","title":"x"}"#)
        let send = { (body: String) in
            try await app.client.send("PATCH", "/storage/Note/a", body, headers: ["Idempotency-Key": "k"])
        }
        try await app.expectRefusal(.documentRefused, field: "/title") { try await send(#"{"title":""}"#) }
        let first = try await send(#"{"title":"y"}"#), again = try await send(#"{"title":"y"}"#)
        #expect(first.status == 200 && again.header("Idempotency-Replayed") == "true", "\(first) \(again)")
    }
}

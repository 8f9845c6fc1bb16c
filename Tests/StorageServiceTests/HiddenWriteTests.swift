import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import Testing

@testable import StorageService

/// Writes reveal nothing about fields that are hidden from the writer.
@Suite struct HiddenWriteTests {
    /// `secret` is shown to nobody, `mail` to staff, `place` to the owner. `a` belongs to ada, `b` to eve.
    private static func app() async throws -> StorageApp {
        let app = try await StorageApp()
        #expect(try await app.master.put("/roles/staff", #"{"add":["boss"]}"#).status == 204)
        let hidden = #"{"secret":[],"mail":["role:staff"],"place":["field:owner"]}"#
        #expect(try await app.master.put("/collections/Note/rules", #"{"hidden":\#(hidden)}"#).status == 200)
        let bodies = #"""
            [{"_id":"a","n":1,"owner":"ada","secret":41,"mail":"m1","place":7},{"_id":"b","n":1,"owner":"eve","secret":"x","mail":["m"],"place":[1]}]
            """#
        #expect(try await app.master.post("/storage/all/Note", bodies).status == 201)
        return app
    }

    private static let pointer = #"{"__type":"Pointer","className":"User","objectId":"u"}"#
    private static var operations: [String] {
        [
            #"{"__op":"Increment","amount":0}"#, #"{"__op":"Increment","amount":1e200}"#,
            #"{"__op":"Add","objects":[]}"#,
            #"{"__op":"AddUnique","objects":["m"]}"#, #"{"__op":"Remove","objects":["m"]}"#, #"{"__op":"Delete"}"#,
            #"{"__op":"SetOnInsert","amount":1}"#, #"{"__op":"AddRelation","objects":[\#(pointer)]}"#,
            #"{"__op":"RemoveRelation","objects":[\#(pointer)]}"#,
            #"{"__op":"Batch","ops":[{"__op":"AddRelation","objects":[\#(pointer)]}]}"#,
        ]
    }

    @Test(arguments: ["secret", "mail", "place"], ["a", "b", "none"])
    func `an operation on a hidden field is 403 whatever the field contains`(_ field: String, _ id: String) async throws
    {
        let app = try await Self.app()
        let bodies =
            Self.operations.map { #"{"\#(field)":\#($0)}"# } + [
                #"{"\#(field).x":1}"#, #"{"\#(field).x":{"__op":"Delete"}}"#,
            ]
        for body in bodies {
            // No object shows the first two to ben. `place` depends on the object, so a missing object is not found.
            let code = field == "place" && id == "none" ? ErrorCode.objectNotFound : .forbidden
            try await app.expectRefusal(code, field: code == .forbidden ? field : nil) {
                try await app.user("ben").patch("/storage/Note/\(id)", body)
            }
            let batch =
                #"{"transaction":true,"requests":[{"method":"PATCH","path":"storage/Note/\#(id)","body":\#(body)}]}"#
            try await app.expectRefusal(code, field: code == .forbidden ? "requests.0.\(field)" : "requests.0") {
                try await app.user("ben").post("/storage/batch", batch)
            }
            let each = try await app.user("ben").post("/storage/batch", batch.replacing("true", with: "false"))
            #expect(each["data.0.status"] == "\(code.status)", "\(each)")
        }
    }

    @Test func `a field that the object shows to the user accepts operations`() async throws {
        let app = try await Self.app()
        #expect(
            try await app.user("ada").patch("/storage/Note/a", #"{"place":{"__op":"Increment","amount":1}}"#)["place"]
                == "8")
        try await app.expectRefusal(.forbidden, field: "place") {
            try await app.user("ada").patch("/storage/Note/b", #"{"place":{"__op":"Add","objects":[2]}}"#)
        }
        // Ownership before the write counts: a write cannot make its caller the owner.
        try await app.expectRefusal(.forbidden, field: "place") {
            try await app.user("ben").patch(
                "/storage/Note/a", #"{"owner":"ben","place":{"__op":"Increment","amount":1}}"#)
        }
        #expect(
            try await app.user("boss").patch("/storage/Note/b", #"{"mail":{"__op":"Add","objects":["n"]}}"#)["mail"]
                == #"["m","n"]"#)
        #expect(
            try await app.master.patch("/storage/Note/a", #"{"secret":{"__op":"Increment","amount":1}}"#)["secret"]
                == "42")
    }

    @Test func `a hidden field can be set as a whole, and the response does not show it`() async throws {
        let app = try await Self.app()
        for id in ["a", "b"] {
            let answer = try await app.user("ben").patch("/storage/Note/\(id)", #"{"secret":1,"mail":null}"#)
            #expect(
                answer.status == 200 && answer["secret"] == nil && answer["mail"] == nil && answer["_version"] == "2",
                "\(answer)")
            #expect(try await app.master.get("/storage/Note/\(id)")["secret"] == "1")
        }
        // A new object has nothing to reveal, because its operations apply to absent fields.
        let made = try await app.user("ben").post(
            "/storage/Note", #"{"_id":"new","secret":{"__op":"Increment","amount":2}}"#)
        #expect(made.status == 201 && made["secret"] == nil, "\(made)")
        #expect(try await app.master.get("/storage/Note/new")["secret"] == "2")
    }

    @Test func `a unique index does not reveal hidden values`() async throws {
        let app = try await Self.app()
        for fields in [#"["secret"]"#, #"["code","mail"]"#] {
            let made = try await app.master.post("/collections/Note/indexes", #"{"fields":\#(fields),"unique":true}"#)
            #expect(made.status == 201, "\(made)")
        }
        let ben = app.user("ben")
        for value in ["41", "42"] {
            try await app.expectRefusal(.forbidden, field: "secret") {
                try await ben.post("/storage/Note", #"{"secret":\#(value)}"#)
            }
            try await app.expectRefusal(.forbidden, field: "secret") {
                try await ben.post("/storage/Note", #"{"_id":"x","secret":\#(value)}"#)
            }
            try await app.expectRefusal(.forbidden, field: "secret") {
                try await ben.patch("/storage/Note/a", #"{"secret":\#(value)}"#)
            }
            try await app.expectRefusal(.forbidden, field: "secret") {
                try await ben.put("/storage/Note/a", #"{"secret":\#(value)}"#)
            }
            try await app.expectRefusal(.forbidden, field: "secret") {
                try await ben.post("/storage/all/Note", #"[{"secret":\#(value)}]"#)
            }
            try await app.expectRefusal(.forbidden, field: "mail") {
                try await ben.patch("/storage/Note/a", #"{"code":\#(value)}"#)
            }
        }
        #expect(try await ben.patch("/storage/Note/a", #"{"n":2}"#).status == 200)
        #expect(try await app.user("boss").patch("/storage/Note/a", #"{"code":1}"#).status == 200)
        #expect(try await app.master.post("/storage/Note", #"{"secret":41}"#).isProblem(.conflict))
        #expect(try await app.master.post("/storage/Note", #"{"secret":43}"#).status == 201)
    }

    @Test func `a unique index on a visible field works as usual`() async throws {
        let app = try await StorageApp()
        _ = try await app.master.put("/collections/Profile/rules", #"{"hidden":{"mail":["field:owner"]}}"#)
        _ = try await app.master.post("/storage/Profile", #"{"_id":"p","owner":"eve","mail":"taken"}"#)
        #expect(
            try await app.master.post("/collections/Profile/indexes", #"{"fields":["mail"],"unique":true}"#).status
                == 201)
        let ada = app.user("ada")
        #expect(try await ada.post("/storage/Profile", #"{"owner":"ada","mail":"free"}"#).status == 201)
        #expect(try await ada.post("/storage/Profile", #"{"owner":"ada","mail":"taken"}"#).isProblem(.conflict))
        for mail in ["taken", "other"] {
            for body in [#"{"owner":"ben","mail":"\#(mail)"}"#, #"{"_id":"q","owner":"ben","mail":"\#(mail)"}"#] {
                try await app.expectRefusal(.forbidden) { try await ada.post("/storage/Profile", body) }
                try await app.expectRefusal(.forbidden) { try await ada.post("/storage/all/Profile", "[\(body)]") }
            }
            try await app.expectRefusal(.forbidden, field: "mail") {
                try await ada.patch("/storage/Profile/p", #"{"mail":"\#(mail)"}"#)
            }
        }
    }

    @Test func `a hook is not called for an operation on a hidden field, but its answer may set the field`()
        async throws
    {
        let app = try await Self.app()
        let receiver = try await HookReceiver { _ in (200, #"{"object":{"n":5,"secret":"from the hook"}}"#) }
        try await app.hook("save", "beforeSave", "Note", at: receiver)
        #expect(
            try await app.master.post("/collections/Note/indexes", #"{"fields":["secret"],"unique":true}"#).status
                == 201)
        for id in ["a", "b"] {
            let answer = try await app.user("ben").patch(
                "/storage/Note/\(id)", #"{"secret":{"__op":"Increment","amount":1}}"#)
            #expect(answer.isProblem(.forbidden, field: "secret"), "\(answer)")
            let place = try await app.user("ben").patch(
                "/storage/Note/\(id)", #"{"place":{"__op":"Increment","amount":1}}"#)
            #expect(place.isProblem(.forbidden, field: "place"), "\(place)")
        }
        #expect(receiver.received.isEmpty)
        #expect(try await app.user("ben").patch("/storage/Note/a", #"{"n":2}"#).status == 200)
        #expect(try await app.master.get("/storage/Note/a")["secret"] == #""from the hook""#)
    }

    // MARK: Callers who may read but not write

    private static func shared() async throws -> StorageApp {
        let app = try await StorageApp()
        let rules =
            #"{"update":["field:owner"],"delete":["field:owner"],"get":["field:owner","field:guests"],"find":["field:owner"]}"#
        #expect(try await app.master.put("/collections/Note/rules", #"{"rules":\#(rules)}"#).status == 200)
        #expect(
            try await app.master.post("/storage/Note", #"{"_id":"a","n":1,"owner":"ada","guests":["ben"]}"#).status
                == 201)
        #expect(
            try await app.master.post(
                "/storage/Note", #"{"_id":"w","n":1,"owner":"ada","guests":["ben"],"_writers":[]}"#
            ).status == 201)
        return app
    }

    @Test(arguments: [("ben", ErrorCode.forbidden), ("eve", .objectNotFound)], ["a", "w"])
    func `a write that a rule or the writers refuse is 403 for readers of the object, and 404 for others`(
        _ caller: (user: String, code: ErrorCode), _ id: String
    ) async throws {
        let app = try await Self.shared()
        let client = app.user(caller.user)
        let taken = caller.code == .forbidden ? caller.code : .conflict
        for hasHooks in [false, true] {
            let receiver = try await HookReceiver { _ in (200, "{}") }
            if hasHooks {
                try await app.hook("save", "beforeSave", "Note", at: receiver)
                try await app.hook("delete", "beforeDelete", "Note", at: receiver)
            }
            let path = "/storage/Note/\(id)"
            try await app.expectRefusal(caller.code) { try await client.patch(path, #"{"n":2}"#) }
            try await app.expectRefusal(caller.code) {
                try await client.patch(path, #"{"n":{"__op":"Add","objects":[1]}}"#)
            }
            try await app.expectRefusal(caller.code) {
                try await client.send("PATCH", path, #"{"n":2}"#, headers: ["If-Match": "\"0\""])
            }
            try await app.expectRefusal(caller.code) { try await client.put(path, #"{"n":2}"#) }
            try await app.expectRefusal(caller.code) { try await client.delete(path) }
            try await app.expectRefusal(caller.code) { try await client.post("/storage/remove/Note/\(id)") }
            try await app.expectRefusal(taken) { try await client.post("/storage/Note", #"{"_id":"\#(id)","n":2}"#) }
            try await app.expectRefusal(taken) {
                try await client.post("/storage/all/Note", #"[{"_id":"\#(id)","n":2}]"#)
            }
            for request in [
                #""method":"PUT","body":{"n":2}"#, #""method":"PATCH","body":{"n":2}"#, #""method":"DELETE""#,
            ] {
                let batch = #"{"transaction":true,"requests":[{"path":"storage/Note/\#(id)",\#(request)}]}"#
                try await app.expectRefusal(caller.code, field: "requests.0") {
                    try await client.post("/storage/batch", batch)
                }
                let each = try await client.post("/storage/batch", batch.replacing("true", with: "false"))
                #expect(each["data.0.status"] == "\(caller.code.status)", "\(each)")
            }
            #expect(receiver.received.isEmpty)
        }
        #expect(try await app.user("ada").patch("/storage/Note/a", #"{"n":3}"#).status == 200)
    }

    @Test func `a user who may read no object may change none, because the response would show it`() async throws {
        let app = try await StorageApp()
        _ = try await app.master.post("/storage/Note", #"{"_id":"a","n":1}"#)
        _ = try await app.master.put("/collections/Note/rules", #"{"rules":{"get":[],"find":[]}}"#)
        try await app.expectRefusal(.forbidden) { try await app.user("ben").patch("/storage/Note/a", #"{"m":1}"#) }
        try await app.expectRefusal(.forbidden) { try await app.user("ben").put("/storage/Note/a", "{}") }
        try await app.expectRefusal(.forbidden) { try await app.user("ben").post("/storage/remove/Note/a") }
        try await app.expectRefusal(.conflict) { try await app.user("ben").post("/storage/Note", #"{"_id":"a"}"#) }
        #expect(try await app.user("ben").post("/storage/Note", #"{"n":2}"#).status == 201)
    }
}

/// Names that Swift's `String` considers equal, and PostgreSQL does not.
@Suite struct FieldNameTests {
    /// Swift considers the texts of each pair equal.
    private static let pairs = [
        ("K", "\u{212a}"), ("caf\u{e9}", "cafe\u{301}"), ("\u{c5}", "\u{212b}"), ("a;b", "a\u{37e}b"),
    ]

    @Test(arguments: pairs) func `a field's name is compared by bytes`(_ one: String, _ other: String) {
        #expect(one == other)
        #expect(FieldName(one) != FieldName(other) && FieldName(one) == FieldName(one))
        #expect(Set([FieldName(one), FieldName(other)]).count == 2)
        #expect((FieldName(one) < FieldName(other)) != (FieldName(other) < FieldName(one)))
        #expect(FieldName(topOf: other + ".\u{301}x") == FieldName(other))
    }

    @Test(arguments: pairs) func `a field that only looks like a known one is new`(_ known: String, _ other: String)
        async throws
    {
        let app = try await StorageApp()
        _ = try await app.master.post("/storage/Note", #"{"_id":"a","\#(known)":1}"#)
        _ = try await app.master.put("/collections/Note/rules", #"{"rules":{"addField":[]}}"#)
        #expect(try await app.client.patch("/storage/Note/a", #"{"\#(known)":2}"#).status == 200)
        for body in [#"{"\#(other)":1}"#, #"{"\#(known)":1,"\#(other)":1}"#, #"{"\#(other)":null}"#] {
            try await app.expectRefusal(.forbidden, field: other) {
                try await app.client.patch("/storage/Note/a", body)
            }
            try await app.expectRefusal(.forbidden, field: other) { try await app.client.post("/storage/Note", body) }
            try await app.expectRefusal(.forbidden, field: other) {
                try await app.client.post("/storage/all/Note", "[\(body)]")
            }
        }
        try await app.expectRefusal(.forbidden, field: other) {
            try await app.client.patch("/storage/Note/a", #"{"\#(other).x":{"__op":"Increment","amount":1}}"#)
        }
        // Removing a missing field adds nothing, and a removed field is as new as before.
        for path in [other, other + ".x"] {
            #expect(try await app.client.patch("/storage/Note/a", #"{"\#(path)":{"__op":"Delete"}}"#).status == 200)
            try await app.expectRefusal(.forbidden, field: other) {
                try await app.client.patch("/storage/Note/a", #"{"\#(other)":1}"#)
            }
        }
    }

    @Test(arguments: pairs) func `two hidden fields that look alike are both hidden, and shown again as they were set`(
        _ one: String, _ other: String
    ) async throws {
        let app = try await StorageApp()
        let rules = #"{"hidden":{"\#(one)":["eve"],"\#(other)":[]}}"#
        #expect(try await app.master.put("/collections/Note/rules", rules).status == 200)
        let stored = try #require(try await app.master.get("/collections/Note/rules").json?["hidden"])
        guard case .object(let members) = stored else {
            Issue.record("\(stored)")
            return
        }
        #expect(Set(members.map { FieldName($0.name) }) == [FieldName(one), FieldName(other)])
        _ = try await app.master.post("/storage/Note", #"{"_id":"a","\#(one)":1,"\#(other)":2}"#)
        func shown(to client: ServiceClient) async throws -> [FieldName] {
            guard case .object(let fields)? = try await client.get("/storage/Note/a").json else { return [] }
            return fields.map { FieldName($0.name) }.filter { $0 == FieldName(one) || $0 == FieldName(other) }
        }
        #expect(try await shown(to: app.client) == [])
        #expect(try await shown(to: app.user("eve")) == [FieldName(one)])
        try await app.expectRefusal(.forbidden) {
            try await app.user("eve").patch("/storage/Note/a", #"{"\#(other)":{"__op":"Increment","amount":1}}"#)
        }
        #expect(
            try await app.user("eve").patch("/storage/Note/a", #"{"\#(one)":{"__op":"Increment","amount":1}}"#).status
                == 200)
    }

    @Test func `a dotted name conflicts with its prefix, whatever other names the body has`() async throws {
        let app = try await StorageApp()
        _ = try await app.client.post("/storage/Note", #"{"_id":"a"}"#)
        for body in [#"{"a":1,"a-b":2,"a.b":3}"#, #"{"a":{"x":1},"a.b.c":3}"#] {
            try await app.expectRefusal(.invalidBody) { try await app.client.patch("/storage/Note/a", body) }
        }
        #expect(try await app.client.patch("/storage/Note/a", "{\"K.x\":1,\"\u{212a}\":2}").status == 200)
    }
}

/// Rules that could never grant anything.
@Suite struct RuleRefusalTests {
    private static func app() async throws -> StorageApp {
        let app = try await StorageApp()
        #expect(try await app.master.put("/roles/editors", #"{"add":["ben"]}"#).status == 204)
        let body = #"""
            {"_id":"a","by":"ada","n":1,"map":{"owner":"ada"},"team":{"__type":"Pointer","className":"Team","objectId":"t"},"people":["ada"],
            "at":{"__type":"Date","iso":"2026-01-01T00:00:00Z"}}
            """#
        #expect(try await app.master.post("/storage/Note", body).status == 201)
        return app
    }

    @Test(arguments: [
        (#"{"rules":{"update":["owner"]}}"#, "rules.update", "field:owner"),
        (#"{"rules":{"update":["by"]}}"#, "rules.update", "field:by"),
        (#"{"rules":{"get":["*","map.owner"]}}"#, "rules.get", "field:map.owner"),
        (#"{"rules":{"find":["editors"]}}"#, "rules.find", "role:editors"),
        (#"{"rules":{"delete":["role:writers"]}}"#, "rules.delete", "PUT roles/writers"),
        (#"{"hidden":{"n":["role:writers"]}}"#, "hidden.n", "PUT roles/writers"),
        (#"{"hidden":{"n":["by"]}}"#, "hidden.n", "field:by"),
        (#"{"defaults":{"writers":["role:writers"]}}"#, "defaults.writers", "PUT roles/writers"),
        (#"{"defaults":{"readers":["by"]}}"#, "defaults.readers", "owner"),
        (#"{"rules":{"update":["field:team.owner"]}}"#, "rules.update", "field:team"),
        (#"{"rules":{"update":["field:n"]}}"#, "rules.update", "Number"),
        (#"{"rules":{"update":["field:at"]}}"#, "rules.update", "Date"),
        (#"{"rules":{"update":["field:by.id"]}}"#, "rules.update", "String"),
        (#"{"rules":{"update":["field:map"]}}"#, "rules.update", "Object"),
        (#"{"rules":{"get":["field:_id"]}}"#, "rules.get", "_id"), (#"{"rule":{"find":[]}}"#, "rule", ""),
        (#"{"rules":{"find":"*"}}"#, "rules.find", ""), (#"{"rules":[]}"#, "rules", ""),
        (#"{"rules":{"find":[1]}}"#, "rules.find", ""),
        (#"{"defaults":{"reader":[]}}"#, "defaults.reader", ""),
    ]) func `rules that cannot work are refused with a suggestion`(
        _ body: String, _ field: String, _ right: String
    ) async throws {
        let app = try await Self.app()
        try await app.expectRefusal(.invalidBody, field: field) {
            try await app.master.put("/collections/Note/rules", body)
        }
        let detail = try await app.master.put("/collections/Note/rules", body)["detail"] ?? ""
        #expect(right.isEmpty || detail.contains(right), "\(detail)")
    }

    @Test(arguments: [
        #"{"rules":{"update":["field:by"],"get":["role:editors","authenticated"],"find":["ada"],"addField":[]}}"#,
        #"{"rules":{"update":["field:team","field:people","field:map.owner","field:later","field:later.id"]}}"#,
        #"{"hidden":{"n":["field:by","role:editors"],"later":[]},"defaults":{"readers":["owner","role:editors"],"writers":["owner"]}}"#,
        #"{"rules":null,"hidden":null}"#, "{}",
    ]) func `valid rules are accepted, and read as they were set`(_ body: String) async throws {
        let app = try await Self.app()
        let answer = try await app.master.put("/collections/Note/rules", body)
        #expect(answer.status == 200, "\(answer)")
        let stored = try await app.master.get("/collections/Note/rules")
        for member in ["rules", "hidden", "defaults"] { #expect(stored.json?[member] == answer.json?[member]) }
        #expect(stored["warnings"] == nil && answer["warnings"] != nil)
    }

    @Test func `rules refused for a missing collection do not create it`() async throws {
        let app = try await Self.app()
        try await app.expectRefusal(.invalidBody) {
            try await app.master.put("/collections/None/rules", #"{"rules":{"find":["role:none"]}}"#)
        }
        #expect(try await app.master.get("/collections")["count"] == "2")
    }
}

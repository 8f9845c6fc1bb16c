import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import Testing

@testable import StorageService

/// Conditions on writes: the document to be created, and both states of an update.
@Suite struct ConditionalWriteTests {
    @Test func `an object is created only if the condition holds for it, however it is sent`() async throws {
        let app = try await StorageApp()
        _ = try await app.master.post("/storage/Clubs", #"{"_id":"c1","members":["ann"]}"#)
        try await app.set(
            #"""
            {"rules":{"create":[{"where":{"owner":"$user.id","price":{"$gt":0},"club":{"$inQuery":{"className":"Clubs","where":{"members":"$user.id"}}}}}],
            "update":[{"where":{"owner":"$user.id"}}]}}
            """#, on: "Offers")
        let club = #""club":{"__type":"Pointer","className":"Clubs","objectId":"c1"}"#
        let (ann, eve) = (app.user("ann"), app.user("eve"))
        let good = #"{"owner":"ann","price":1,\#(club)}"#
        for body in [
            #"{"owner":"bob","price":1,\#(club)}"#, #"{"owner":"ann","price":0,\#(club)}"#,
            #"{"owner":"ann","price":1}"#, "{}",
            #"{"owner":"ann","price":"1",\#(club)}"#,
            #"{"owner":{"__op":"AddUnique","objects":["bob"]},"price":1,\#(club)}"#,
        ] {
            let withID = #"{"_id":"x","# + body.dropFirst()
            for request in [body, withID.replacing(",}", with: "}")] {
                try await app.expectRefusal(.forbidden) { try await ann.post("/storage/Offers", request) }
                try await app.expectRefusal(.forbidden, field: "requests.0") {
                    try await ann.post(
                        "/storage/batch",
                        #"{"requests":[{"method":"POST","path":"storage/Offers","body":\#(request)}],"transaction":true}"#
                    )
                }
            }
            guard !body.contains("__op") else { continue }
            try await app.expectRefusal(.forbidden) { try await ann.post("/storage/all/Offers", "[\(good),\(body)]") }
        }
        for client in [eve, app.client] {
            try await app.expectRefusal(.forbidden) { try await client.post("/storage/Offers", good) }
        }
        #expect(try await ann.post("/storage/Offers", good).status == 201)
        #expect(try await ann.post("/storage/all/Offers", "[\(good),\(good)]").status == 201)
        #expect(try await ann.post("/storage/Offers", #"{"_id":"y","# + good.dropFirst()).status == 201)
        #expect(try await app.master.post("/storage/Offers", "{}").status == 201)
    }

    @Test func `a refused write does not reveal values of a unique index`() async throws {
        let app = try await StorageApp()
        _ = try await app.master.post(
            "/storage/all/Note", #"[{"_id":"a","code":"taken"},{"_id":"b","owner":"ann","code":"x"}]"#)
        #expect(
            try await app.master.post("/collections/Note/indexes", #"{"fields":["code"],"unique":true}"#).status == 201)
        try await app.set(
            #"{"rules":{"create":[{"where":{"owner":"$user.id"}}],"update":[{"where":{"owner":"$user.id","code":{"$ne":"taken"}}}]}}"#,
            on: "Note")
        let ann = app.user("ann")
        for code in ["taken", "free"] {
            let body = #"{"owner":"bob","code":"\#(code)"}"#
            try await app.expectRefusal(.forbidden) { try await ann.post("/storage/Note", body) }
            try await app.expectRefusal(.forbidden) { try await ann.post("/storage/all/Note", "[\(body)]") }
            try await app.expectRefusal(.forbidden) { try await ann.patch("/storage/Note/b", body) }
            try await app.expectRefusal(.forbidden) { try await ann.put("/storage/Note/b", body) }
            try await app.expectRefusal(.forbidden) {
                try await ann.post("/storage/Note", #"{"_id":"b","# + body.dropFirst())
            }
        }
    }

    @Test func `an update cannot give an object a state that the condition does not allow`() async throws {
        let app = try await StorageApp()
        _ = try await app.master.post(
            "/storage/all/Note", #"[{"_id":"a","owner":"ann","n":1},{"_id":"b","owner":"bob","n":1}]"#)
        try await app.set(#"{"rules":{"update":[{"where":{"owner":"$user.id"}}]}}"#, on: "Note")
        let ann = app.user("ann")
        #expect(try await ann.patch("/storage/Note/a", #"{"n":2}"#).status == 200)
        #expect(try await ann.put("/storage/Note/a", #"{"owner":"ann","n":3}"#).status == 200)
        #expect(try await ann.post("/storage/Note", #"{"_id":"a","owner":"ann","n":4}"#).status == 200)
        for request in [
            { try await ann.patch("/storage/Note/a", #"{"owner":"bob"}"#) },
            { try await ann.patch("/storage/Note/a", #"{"owner":{"__op":"Delete"}}"#) },
            { try await ann.put("/storage/Note/a", "{}") },
            { try await ann.post("/storage/Note", #"{"_id":"a","owner":"bob"}"#) },
            { try await ann.post("/storage/all/Note", #"[{"_id":"a","owner":"bob"}]"#) },
            { try await ann.patch("/storage/Note/b", #"{"owner":"ann"}"#) },
            { try await ann.put("/storage/Note/b", #"{"owner":"ann"}"#) },
            { try await ann.post("/storage/Note", #"{"_id":"b","owner":"ann"}"#) },
            { try await ann.post("/storage/all/Note", #"[{"_id":"b","owner":"ann"}]"#) },
        ] as [() async throws -> Answer] { try await app.expectRefusal(.forbidden, request) }
    }

    @Test(
        arguments: [
            // Condition, a body that is allowed, one that is not
            (#"{"$new.creator":"$old.creator"}"#, #"{"n":9}"#, #"{"creator":"eve"}"#),
            (#"{"$new.creator":"$old.creator"}"#, #"{"creator":"ann"}"#, #"{"creator":{"__op":"Delete"}}"#),
            (#"{"state":"open","$new.state":{"$in":["open","shut"]}}"#, #"{"state":"shut"}"#, #"{"state":"gone"}"#),
            (#"{"$old.state":"open","$new.state":"shut"}"#, #"{"state":"shut"}"#, #"{"n":2}"#),
            (#"{"$new.n":{"$gt":"$old.n"}}"#, #"{"n":{"__op":"Increment","amount":1}}"#, #"{"n":5}"#),
            (#"{"n":{"$lt":"$new.n"}}"#, #"{"n":6}"#, #"{"n":"6"}"#),
            (#"{"$new.n":{"$gte":"$old.n"},"$new.creator":"$user.id"}"#, #"{"n":6}"#, #"{"n":6,"creator":"eve"}"#),
            (#"{"$or":[{"$new.n":5},{"creator":"nobody"}]}"#, #"{"state":"x"}"#, #"{"n":4}"#),
            (#"{"$new.missing":"$old.missing"}"#, #"{"missing":null}"#, #"{"missing":0}"#),
        ]) func `an update must satisfy a condition on both states`(_ condition: String, _ good: String, _ bad: String)
        async throws
    {
        let app = try await StorageApp()
        _ = try await app.master.post("/storage/Note", #"{"_id":"a","creator":"ann","state":"open","n":5}"#)
        try await app.set(#"{"rules":{"update":[{"where":\#(condition)}]}}"#, on: "Note")
        let ann = app.user("ann")
        try await app.expectRefusal(.forbidden) { try await ann.patch("/storage/Note/a", bad) }
        if !bad.contains("__op"), bad != #"{"n":5}"# {
            let whole = try Self.merged(#"{"creator":"ann","state":"open","n":5}"#, bad)
            let withID = try Self.merged(#"{"_id":"a"}"#, whole)
            try await app.expectRefusal(.forbidden) { try await ann.put("/storage/Note/a", whole) }
            try await app.expectRefusal(.forbidden) { try await ann.post("/storage/Note", withID) }
            try await app.expectRefusal(.forbidden) { try await ann.post("/storage/all/Note", "[\(withID)]") }
        }
        let answer = try await ann.patch("/storage/Note/a", good)
        #expect(answer.status == 200, "\(answer)")
    }

    /// The first object with the members of the second.
    private static func merged(_ one: String, _ other: String) throws -> String {
        guard case .object(let old) = try JSONValue(parsing: one.utf8),
            case .object(let new) = try JSONValue(parsing: other.utf8)
        else { return one }
        return JSONValue.object(old.filter { member in !new.contains { $0.name == member.name } } + new).text
    }

    @Test func `one entry must allow the whole update`() async throws {
        let app = try await StorageApp()
        _ = try await app.master.post("/storage/Note", #"{"_id":"a","owner":"ann","state":"open"}"#)
        try await app.set(
            #"{"rules":{"update":[{"where":{"owner":"$user.id"}},{"where":{"state":"open"}},"field:helper"]}}"#,
            on: "Note")
        // The second entry holds only before the update, and the first only after it.
        try await app.expectRefusal(.forbidden) {
            try await app.user("eve").patch("/storage/Note/a", #"{"owner":"eve","state":"shut"}"#)
        }
        #expect(try await app.user("eve").patch("/storage/Note/a", #"{"n":1,"helper":"bob"}"#).status == 200)
        // A field that names the user is read before the write, as always.
        #expect(try await app.user("bob").patch("/storage/Note/a", #"{"state":"shut","helper":null}"#).status == 200)
        #expect(try await app.user("ann").patch("/storage/Note/a", #"{"n":2}"#).status == 200)
        try await app.expectRefusal(.forbidden) { try await app.user("eve").patch("/storage/Note/a", #"{"n":1}"#) }
    }

    @Test func `an object is deleted only in a state that the condition allows`() async throws {
        let app = try await StorageApp()
        _ = try await app.master.post(
            "/storage/all/Note",
            #"[{"_id":"a","state":"draft"},{"_id":"b","state":"sent"},{"_id":"c","state":"draft"}]"#)
        try await app.set(#"{"rules":{"delete":[{"where":{"$old.state":"draft"}}]}}"#, on: "Note")
        let eve = app.user("eve")
        try await app.expectRefusal(.forbidden) { try await eve.delete("/storage/Note/b") }
        try await app.expectRefusal(.forbidden) { try await eve.post("/storage/remove/Note/b") }
        #expect(try await eve.post("/storage/remove/Note/a").status == 200)
        #expect(try await eve.delete("/storage/Note/c").status == 204)
    }

    /// In SQL, these conditions are null for an object without the field.
    @Test(arguments: [
        #"{"team":{"$inQuery":{"className":"Teams","where":{}}}}"#, #"{"team":{"$regex":"^x"}}"#,
        #"{"team":{"$gt":1}}"#,
        #"{"team":{"$in":"$user.roles"}}"#, #"{"team":{"$lt":"$now"}}"#, #"{"team":{"$gt":"$old.n"}}"#,
    ]) func `a condition that cannot be evaluated refuses the write`(_ condition: String) async throws {
        let app = try await StorageApp()
        _ = try await app.master.post("/storage/Teams", #"{"_id":"t"}"#)
        _ = try await app.master.post("/storage/Note", #"{"_id":"a","n":1}"#)
        let entry = #"[{"who":["authenticated"],"where":\#(condition)}]"#
        let create = condition.contains("$old") ? "" : #","delete":\#(entry)"#
        try await app.set(#"{"rules":{"update":\#(entry)\#(create)}}"#, on: "Note")
        let eve = app.user("eve")
        for request in [
            { try await eve.patch("/storage/Note/a", #"{"n":2}"#) }, { try await eve.put("/storage/Note/a", "{}") },
            { try await eve.post("/storage/Note", #"{"_id":"a","n":2}"#) },
            { try await eve.post("/storage/all/Note", #"[{"_id":"a","n":2}]"#) },
        ] as [() async throws -> Answer] { try await app.expectRefusal(.forbidden, request) }
        guard !create.isEmpty else { return }
        try await app.expectRefusal(.forbidden) { try await eve.delete("/storage/Note/a") }
        try await app.expectRefusal(.forbidden) { try await eve.post("/storage/remove/Note/a") }
    }

    @Test func `a field is hidden unless the condition holds`() async throws {
        let app = try await StorageApp()
        _ = try await app.master.post(
            "/storage/all/Bike",
            #"[{"_id":"a","owner":"ann","place":"brugge","found":false,"n":1},{"_id":"b","owner":"bob","place":"there","found":true,"n":1}]"#
        )
        try await app.set(
            #"{"hidden":{"place":[{"where":{"owner":"$user.id"}},{"where":{"found":true,"created":{"$lte":"$now"}}}]}}"#,
            on: "Bike")
        let (ann, eve) = (app.user("ann"), app.user("eve"))
        #expect(try await ann.get("/storage/Bike/a")["place"] == #""brugge""#)
        for client in [eve, app.client] {
            #expect(try await client.get("/storage/Bike/a")["place"] == nil)
            #expect(try await client.get("/storage/Bike/b")["place"] == #""there""#)
            let list = try await client.get("/storage/Bike?order=_id")
            #expect(list["data.0.place"] == nil && list["data.1.place"] == #""there""#)
            #expect(!(try await client.get("/changes/Bike").text.contains(#""brugge""#)))
        }
        for client in [ann, eve] {
            for request in [#"{"place":"brugge"}"#, #"{"place":{"$ne":"x"}}"#] {
                #expect(try await client.post("/storage/query/Bike", request).isProblem(.forbidden, field: "place"))
            }
            #expect(try await client.get("/storage/Bike?order=place").isProblem(.forbidden))
            #expect(
                try await client.post("/storage/aggregate/Bike", #"{"values":{"x":{"$max":"place"}}}"#).isProblem(
                    .forbidden))
        }
        let search = #"{"$text":{"$search":"brugge"}}"#
        #expect(try await ann.post("/storage/query/Bike", search).ids == ["a"])
        #expect(try await eve.post("/storage/query/Bike", search).ids == [])
        try await app.expectRefusal(.forbidden) {
            try await eve.patch("/storage/Bike/a", #"{"place":{"__op":"Add","objects":[1]}}"#)
        }
        #expect(try await eve.put("/storage/Bike/a", #"{"owner":"ann","n":2}"#).text.contains("brugge") == false)
        #expect(try await app.master.get("/storage/Bike/a")["place"] == #""brugge""#)
        #expect(try await eve.post("/storage/Bike", #"{"_id":"z","owner":"eve","place":"x"}"#)["place"] == #""x""#)
    }

    /// Every signed-in user may join and leave an open event, for themselves only. The creator may change the rest, but
    /// not the creator.
    private static let events = #"""
        {"rules":{"update":[
        {"who":["authenticated"],"where":{"state":"open"},"operations":{"participants":{"AddUnique":["$user.id"],"Remove":["$user.id"]},"views":{"Increment":[1]}}},
        {"where":{"creator":"$user.id","$new.creator":"$old.creator"},"fields":["title","state","creator"]}]}}
        """#

    @Test(
        arguments: [
            // User, change, whether it is allowed
            ("eve", #"{"participants":{"__op":"AddUnique","objects":["eve"]}}"#, true),
            ("eve", #"{"participants":{"__op":"Remove","objects":["eve"]}}"#, true),
            (
                "eve",
                #"{"participants":{"__op":"AddUnique","objects":["eve"]},"views":{"__op":"Increment","amount":1}}"#,
                true
            ),
            ("eve", "{}", true),
            ("eve", #"{"participants":{"__op":"AddUnique","objects":["bob"]}}"#, false),
            ("eve", #"{"participants":{"__op":"AddUnique","objects":["eve","bob"]}}"#, false),
            ("eve", #"{"participants":{"__op":"Remove","objects":["ann"]}}"#, false),
            ("eve", #"{"participants":{"__op":"Add","objects":["eve"]}}"#, false),
            ("eve", #"{"participants":{"__op":"Delete"}}"#, false), ("eve", #"{"participants":["eve"]}"#, false),
            ("eve", #"{"participants.0":"eve"}"#, false), ("eve", #"{"participants":{"0":"eve"}}"#, false),
            ("eve", #"{"views":{"__op":"Increment","amount":2}}"#, false),
            ("eve", #"{"views":{"__op":"Increment","amount":-1}}"#, false), ("eve", #"{"views":1}"#, false),
            ("eve", #"{"participants":{"__op":"AddUnique","objects":["eve"]},"title":"x"}"#, false),
            ("eve", #"{"participants":{"__op":"AddUnique","objects":["eve"]},"_readers":["eve"]}"#, false),
            ("eve", #"{"participants":{"__op":"AddUnique","objects":["eve"]},"_writers":null}"#, false),
            ("eve", #"{"title":"x"}"#, false),
            ("ann", #"{"title":"x","state":"shut"}"#, true), ("ann", #"{"creator":"ann"}"#, true),
            ("ann", #"{"creator":"eve"}"#, false), ("ann", #"{"title.x":1}"#, true),
            ("ann", #"{"participants":["ann"]}"#, false),
            // One entry must allow all of it.
            ("ann", #"{"title":"x","participants":{"__op":"AddUnique","objects":["ann"]}}"#, false),
            ("ann", #"{"participants":{"__op":"AddUnique","objects":["ann"]}}"#, true),
        ]) func `an entry limits the fields that may change, and how`(
            _ user: String, _ change: String, _ isAllowed: Bool
        ) async throws
    {
        let app = try await StorageApp()
        _ = try await app.master.post(
            "/storage/Events",
            #"{"_id":"e1","creator":"ann","state":"open","title":{},"participants":["ann","bob"],"views":0}"#)
        try await app.set(Self.events, on: "Events")
        let client = app.user(user)
        let batch =
            #"{"requests":[{"method":"PATCH","path":"storage/Events/e1","body":\#(change)}],"transaction":true}"#
        guard isAllowed else {
            try await app.expectRefusal(.forbidden) { try await client.patch("/storage/Events/e1", change) }
            try await app.expectRefusal(.forbidden, field: "requests.0") {
                try await client.post("/storage/batch", batch)
            }
            return
        }
        #expect(try await client.patch("/storage/Events/e1", change).status == 200)
        #expect(try await app.client.patch("/storage/Events/e1", change).isProblem(.forbidden))
    }

    @Test func `limits on changes exclude replacements, and the state of the object counts`() async throws {
        let app = try await StorageApp()
        _ = try await app.master.post(
            "/storage/Events", #"{"_id":"e1","creator":"ann","state":"open","participants":[]}"#)
        try await app.set(Self.events, on: "Events")
        for user in ["ann", "eve"] {
            for request in [
                {
                    try await app.user(user).put("/storage/Events/e1", #"{"creator":"ann","state":"open","title":"x"}"#)
                },
                { try await app.user(user).post("/storage/Events", #"{"_id":"e1","creator":"ann","state":"open"}"#) },
                {
                    try await app.user(user).post(
                        "/storage/all/Events", #"[{"_id":"e1","creator":"ann","state":"open"}]"#)
                },
            ] as [() async throws -> Answer] {
                let before = try await app.everything()
                #expect([403, 409].contains(try await request().status))
                #expect(try await app.everything() == before)
            }
        }
        _ = try await app.master.patch("/storage/Events/e1", #"{"state":"shut"}"#)
        try await app.expectRefusal(.forbidden) {
            try await app.user("eve").patch(
                "/storage/Events/e1", #"{"participants":{"__op":"AddUnique","objects":["eve"]}}"#)
        }
    }
}

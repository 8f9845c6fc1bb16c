import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import Testing

@testable import StorageService

/// Conditions in rules: the participants of an event read its messages.
@Suite struct ConditionTests {
    /// `ann` and `bob` participate, `eve` does not, `mod` has the role `mods`.
    enum Caller: String, CaseIterable, Sendable {
        case anonymous, ann, eve, mod, master
    }

    /// The same right in the forms that a condition can have.
    static let forms = [
        #"{"event":{"$inQuery":{"className":"Events","where":{"participants":"$user.id"}}}}"#,
        #"{"event.participants":"$user.id"}"#,
        #"{"event.participants":{"$in":["nobody","$user.id"]}}"#,
        #"{"people":"$user.id"}"#,
        #"{"$or":[{"people":{"$all":["$user.id"]}},{"people":"$user.id"}]}"#,
        #"{"$nor":[{"people":{"$ne":"$user.id"}}]}"#,
    ]

    static func app(_ condition: String) async throws -> StorageApp {
        let app = try await StorageApp()
        let pointer = #"{"__type":"Pointer","className":"Events","objectId":"e1"}"#
        for (path, body) in [
            ("Events", #"{"_id":"e1","participants":["ann","bob"]}"#),
            ("Messages", #"{"_id":"m1","event":\#(pointer),"people":["ann","bob"],"text":"psst","n":1}"#),
            (
                "Pins",
                #"{"_id":"p1","word":"psst","message":{"__type":"Pointer","className":"Messages","objectId":"m1"}}"#
            ),
        ] { #expect(try await app.master.post("/storage/\(path)", body).status == 201) }
        _ = try await app.master.patch(
            "/storage/Messages/m1",
            #"{"likes":{"__op":"AddRelation","objects":[{"__type":"Pointer","className":"Pins","objectId":"p1"}]}}"#)
        #expect(try await app.master.put("/roles/mods", #"{"add":["mod"]}"#).status == 204)
        let entry = #"["role:mods",{"who":["authenticated"],"where":\#(condition)}]"#
        try await app.set(#"{"rules":{"find":\#(entry),"get":\#(entry),"count":\#(entry)}}"#, on: "Messages")
        return app
    }

    /// Every request that could reveal the message, and whether it did.
    private static func reveals(_ client: ServiceClient) async throws -> [String: Bool] {
        let query = { (path: String, body: String) in try await client.post("/storage/\(path)", body) }
        let related =
            #"{"$relatedTo":{"object":{"__type":"Pointer","className":"Messages","objectId":"m1"},"key":"likes"}}"#
        let patch = #"{"requests":[{"method":"PATCH","path":"storage/Messages/m1","body":{"n":1}}],"transaction":"#
        return [
            "get": try await client.get("/storage/Messages/m1").status == 200,
            "list": try await client.get("/storage/Messages").ids == ["m1"],
            "list by cursor": try await client.get("/storage/Messages?cursor=&order=-created").ids == ["m1"],
            "query": try await query("query/Messages", #"{"text":"psst"}"#).ids == ["m1"],
            "count": try await query("query/Messages?count=true&limit=0", "{}")["count"] == "1",
            "aggregate": try await query("aggregate/Messages", #"{"values":{"n":{"$count":true}}}"#)["data.0.n"] == "1",
            "greatest": try await query("aggregate/Messages", #"{"values":{"n":{"$max":"text"}}}"#).text.contains(
                "psst"),
            "distinct": try await query("distinct/Messages", #"{"field":"text"}"#).text.contains("psst"),
            "include": try await client.get("/storage/Pins?include=message")["data.0.message.text"] == #""psst""#,
            "$inQuery": try await query("query/Pins", #"{"message":{"$inQuery":{"className":"Messages","where":{}}}}"#)
                .ids == ["p1"],
            "$select": try await query(
                "query/Pins", #"{"word":{"$select":{"query":{"className":"Messages"},"key":"text"}}}"#
            ).ids == ["p1"],
            "$relatedTo": try await query("query/Pins", related).ids == ["p1"],
            "changes": try await client.get("/changes/Messages").text.contains("psst"),

            "patch": try await client.patch("/storage/Messages/m1", #"{"n":1}"#).status == 200,
            "batch": try await query("batch", patch + "false}")["data.0.status"] == "200",
            "transaction": try await query("batch", patch + "true}").status == 200,
        ]
    }

    @Test(arguments: forms, Caller.allCases)
    func `a condition holds on every path`(_ condition: String, _ caller: Caller) async throws {
        let app = try await Self.app(condition)
        let sees = [.ann, .mod, .master].contains(caller)
        for (path, isRevealed) in try await Self.reveals(app.client(of: caller)) {
            #expect(isRevealed == sees, "\(caller) \(path)")
        }
        let deletion = try await app.client(of: caller).delete("/storage/Messages/m1")
        #expect(sees ? deletion.status == 204 : [403, 404].contains(deletion.status), "\(deletion)")
    }

    @Test func `a change to the other collection takes effect at once`() async throws {
        let app = try await Self.app(Self.forms[0])
        let eve = app.user("eve")
        #expect(try await eve.get("/storage/Messages/m1").status == 404)
        _ = try await app.master.patch("/storage/Events/e1", #"{"participants":["eve"]}"#)
        #expect(try await eve.get("/storage/Messages/m1").status == 200)
        #expect(try await app.user("ann").get("/storage/Messages").ids == [])
        // If the other collection does not exist, the rule admits nobody.
        try await app.lose("Events")
        #expect(try await eve.get("/storage/Messages").ids == [])
        #expect(try await eve.get("/storage/Messages/m1").status == 404)
        #expect(try await app.master.get("/storage/Messages").ids == ["m1"])
    }

    @Test(arguments: [
        #"{"by":{"$notInQuery":{"className":"Events","where":{}}}}"#,
        #"{"$nor":[{"by":{"$inQuery":{"className":"Events","where":{}}}}]}"#,
        #"{"text":{"$dontSelect":{"query":{"className":"Events"},"key":"title"}}}"#, #"{"event.state":{"$ne":"shut"}}"#,
    ]) func `a condition whose collection is missing admits nobody`(_ condition: String) async throws {
        let app = try await Self.app(condition)
        _ = try await app.master.patch("/storage/Events/e1", #"{"title":"t"}"#)
        #expect(try await app.user("eve").get("/storage/Messages").ids == ["m1"])
        try await app.lose("Events")
        #expect(try await app.user("eve").get("/storage/Messages").ids == [])
        #expect(try await app.user("eve").get("/storage/Messages/m1").status == 404)
        #expect(try await app.master.get("/storage/Messages").ids == ["m1"])
    }

    @Test func `the rules of two collections may query each other, and objects hidden from the caller`() async throws {
        let app = try await Self.app(Self.forms[1])
        try await app.set(
            #"{"rules":{"find":[{"where":{"_id":{"$exists":true},"host":{"$inQuery":{"className":"Messages","where":{"people":"$user.id"}}}}}],"get":[]}}"#,
            on: "Events")
        #expect(try await app.user("ann").get("/storage/Messages").ids == ["m1"])
        #expect(try await app.user("ann").get("/storage/Events").ids == [])
        #expect(try await app.user("eve").get("/storage/Messages").ids == [])
    }

    @Test(
        arguments: [
            // Condition, and the objects that ann finds
            (#"{"owner":"$user.id"}"#, ["a", "b", "c"]), (#"{"owner":{"$ne":"$user.id"}}"#, ["d", "e"]),
            (#"{"team":{"$in":"$user.roles"}}"#, ["a", "b"]), (#"{"team":{"$nin":"$user.roles"}}"#, ["c", "d", "e"]),
            (#"{"at":{"$lt":"$now"}}"#, ["a"]), (#"{"at":{"$gte":"$now"}}"#, ["b"]),
            (#"{"at":{"$gt":{"$relativeTime":"in 2 days"}}}"#, ["b"]),
            (#"{"created":{"$lte":"$now"}}"#, ["a", "b", "c", "d", "e"]),
            (#"{"created":{"$lt":{"$relativeTime":"1 day ago"}}}"#, []), (#"{"text":"$environment"}"#, ["c"]),
            (#"{"text":"$$user.id"}"#, ["d"]), (#"{"text":{"$in":["$$user.id","$environment"]}}"#, ["c", "d"]),
            (#"{"by":{"__type":"Pointer","className":"_User","objectId":"$user.id"}}"#, ["c"]),
            (#"{"by":"$user.id"}"#, ["c"]), (#"{"box.owner":"$user.id"}"#, ["e"]), (#"{"_id":"$environment"}"#, []),
        ] as [(String, [String])]) func `variables stand for the caller, the time and the environment`(
            _ condition: String, _ ids: [String]
        ) async throws
    {
        let app = try await StorageApp()
        _ = try await app.master.put("/roles/red", #"{"add":["ann"]}"#)
        _ = try await app.master.put("/roles/blue", #"{"add":["role:red"]}"#)
        let body = #"""
            [{"_id":"a","owner":"ann","team":"red","at":{"__type":"Date","iso":"2001-01-01T00:00:00Z"}},
            {"_id":"b","owner":["bob","ann"],"team":["green","blue"],"at":{"__type":"Date","iso":"2101-01-01T00:00:00Z"}},
            {"_id":"c","owner":{"__type":"Pointer","className":"_User","objectId":"ann"},"team":{"red":1},"text":"live",
             "by":{"__type":"Pointer","className":"_User","objectId":"ann"}},
            {"_id":"d","owner":"bob","text":"$user.id","at":"2001"},{"_id":"e","box":{"owner":"ann"}}]
            """#
        #expect(try await app.master.post("/storage/all/Note", body).status == 201)
        try await app.set(#"{"rules":{"find":[{"where":\#(condition)}]}}"#, on: "Note")
        #expect(try await app.user("ann").get("/storage/Note").ids == ids)
    }

    @Test(
        arguments: [
            #"{"owner":{"$ne":"$user.id"}}"#, #"{"$nor":[{"owner":"$user.id"}]}"#, #"{"team":{"$nin":"$user.roles"}}"#,
            #"{"owner":"$user.id"}"#,
        ]) func `a condition on the user never admits an anonymous caller`(_ condition: String) async throws
    {
        let app = try await StorageApp()
        _ = try await app.master.post("/storage/all/Note", #"[{"_id":"a"},{"_id":"b","owner":null}]"#)
        try await app.set(#"{"rules":{"get":[{"where":\#(condition)}]}}"#, on: "Note")
        #expect(try await app.client.get("/storage/Note/a").isProblem(.forbidden))
        #expect(try await app.client.get("/storage/Note/b").isProblem(.forbidden))
    }

    @Test func `who and where must both hold, and one entry suffices`() async throws {
        let app = try await StorageApp()
        _ = try await app.master.put("/roles/mods", #"{"add":["mod"]}"#)
        _ = try await app.master.post(
            "/storage/all/Note",
            #"[{"_id":"a","state":"open","owner":"ann"},{"_id":"b","state":"shut","owner":"ann"},{"_id":"c","state":"shut"}]"#
        )
        try await app.set(
            #"""
            {"rules":{"find":[{"where":{"state":"open"}},{"who":["role:mods"],"where":{"owner":{"$exists":true}}},
            {"who":["field:owner"],"where":{"_id":"b"}}]}}
            """#, on: "Note")
        for (user, ids) in [(nil, ["a"]), ("eve", ["a"]), ("mod", ["a", "b"]), ("ann", ["a", "b"])]
            as [(String?, [String])]
        {
            let client = user.map { app.user($0) } ?? app.client
            #expect(try await client.get("/storage/Note").ids == ids, "\(user ?? "nobody")")
        }
        #expect(try await app.master.get("/collections/Note/rules").text.contains(#""who":["role:mods"]"#))
    }

    @Test(
        arguments: [
            // Rules, and the error's code and field
            (#"{"rules":{"find":[{"where":{"a":"$user."}}]}}"#, .invalidFilter, "rules.find.0.where.a"),
            (
                #"{"rules":{"find":["*",{"where":{"a":{"$in":["$user.id.x"]}}}]}}"#, .invalidFilter,
                "rules.find.1.where.a"
            ),
            (#"{"rules":{"find":[{"where":{"a":{"$near":1}}}]}}"#, .unknownOperator, "rules.find.0.where.$near"),
            (#"{"rules":{"get":[{"where":{"$new.a":1}}]}}"#, .invalidFilter, "rules.get.0.where.a"),
            (#"{"rules":{"create":[{"where":{"a":"$old.a"}}]}}"#, .invalidFilter, "rules.create.0.where.a"),
            (#"{"rules":{"delete":[{"where":{"$new.a":1}}]}}"#, .invalidFilter, "rules.delete.0.where.a"),
            (#"{"rules":{"update":[{"where":{"$new._id":"x"}}]}}"#, .invalidFilter, "rules.update.0.where"),
            (
                #"{"rules":{"update":[{"where":{"a":{"$inQuery":{"className":"Note","where":{"b":"$old.a"}}}}}]}}"#,
                .invalidFilter, "rules.update.0.where.b"
            ),
            (#"{"hidden":{"x":[{"where":{"a":"$now"}}]}}"#, .invalidFilter, "hidden.x.0.where.a"),
            (#"{"rules":{"find":[{"where":{"a":"$user.roles"}}]}}"#, .invalidFilter, "rules.find.0.where.a"),
            (#"{"rules":{"find":[{"where":{"a":{"$regex":"b+"}}}]}}"#, .invalidFilter, "rules.find.0.where"),
            (#"{"rules":{"find":[{"where":[]}]}}"#, .invalidBody, "rules.find.0.where"),
            (#"{"rules":{"find":[{}]}}"#, .invalidBody, "rules.find.0.where"),
            (#"{"rules":{"find":[{"when":{}}]}}"#, .invalidBody, "rules.find.0.when"),
            (#"{"rules":{"find":[{"who":["a:b"],"where":{}}]}}"#, .invalidBody, "rules.find.0.who"),
            (#"{"rules":{"find":[{"who":["role:none"],"where":{}}]}}"#, .invalidBody, "rules.find"),
            (#"{"rules":{"addField":[{"where":{"a":1}}]}}"#, .invalidBody, "rules.addField"),
            (#"{"defaults":{"readers":[{"where":{"a":1}}]}}"#, .invalidBody, "defaults.readers"),
            (
                #"{"rules":{"find":[{"where":{"a":{"$inQuery":{"className":"Gone","where":{}}}}}]}}"#, .invalidBody,
                "rules.find.0"
            ),
            (#"{"rules":{"find":[{"where":{"a.b":"$user.id"}}]}}"#, .invalidBody, "rules.find.0.where.a.b"),
            (#"{"rules":{"find":[{"where":{"a.b":1},"through":{"a":"Gone"}}]}}"#, .invalidBody, "rules.find.0"),
            (#"{"rules":{"find":[{"where":{"a.b":1},"through":{"a":1}}]}}"#, .invalidBody, "rules.find.0.through"),
            (#"{"rules":{"find":[{"where":{"a":1},"fields":["a"]}]}}"#, .invalidBody, "rules.find.0"),
            (#"{"rules":{"update":[{"fields":["a.b"]}]}}"#, .invalidBody, "rules.update.0.fields"),
            (
                #"{"rules":{"update":[{"operations":{"a":{"Set":[1]}}}]}}"#, .invalidBody,
                "rules.update.0.operations.a.Set"
            ),
            (
                #"{"rules":{"update":[{"operations":{"a":{"Add":["$user.x"]}}}]}}"#, .invalidFilter,
                "rules.update.0.operations.a"
            ),
            (#"{"rules":{"find":[\#(nested(9))]}}"#, .limitExceeded, "rules.find.0.where"),
            (#"{"rules":{"find":[\#(queries(5))]}}"#, .limitExceeded, "rules.find.0.where.f4"),
            (
                #"{"rules":{"find":[\#(Array(repeating: #"{"where":{"a":1}}"#, count: 11).joined(separator: ","))]}}"#,
                .limitExceeded, "rules.find"
            ),
        ] as [(String, ErrorCode, String)]) func `invalid rules are refused, and the error names the field`(
            _ rules: String, _ code: ErrorCode, _ field: String
        ) async throws
    {
        let app = try await StorageApp()
        try await app.expectRefusal(code, field: field) { try await app.master.put("/collections/Note/rules", rules) }
    }

    private static func nested(_ depth: Int) -> String {
        let filter = (0..<depth).reduce(#"{"a":1}"#) { inner, _ in #"{"$and":[\#(inner)]}"# }
        return #"{"where":\#(filter)}"#
    }

    private static func queries(_ count: Int) -> String {
        let members = (0..<count).map { #""f\#($0)":{"$inQuery":{"className":"Note","where":{}}}"# }
        return #"{"where":{\#(members.joined(separator: ","))}}"#
    }

    @Test func `a path follows Pointers only to the collection they named when the rule was set`() async throws {
        let app = try await Self.app(Self.forms[1])
        let rules = try await app.master.get("/collections/Messages/rules")
        #expect(rules["rules.find.1.through.event"] == #""Events""#, "\(rules)")
        // A later Pointer to another collection, in which anyone can create objects, grants nothing.
        _ = try await app.master.post("/storage/Fakes", #"{"_id":"e1","participants":["eve"]}"#)
        _ = try await app.master.post(
            "/storage/Messages",
            #"{"_id":"m2","text":"x","event":{"__type":"Pointer","className":"Fakes","objectId":"e1"}}"#)
        _ = try await app.master.post("/storage/Messages", #"{"_id":"m3","text":"x","event":{"participants":["eve"]}}"#)
        #expect(try await app.user("eve").get("/storage/Messages").ids == [])
        #expect(try await app.user("ann").get("/storage/Messages").ids == ["m1"])
        // A list of Pointers, and a removed object behind one.
        _ = try await app.master.post("/storage/Events", #"{"_id":"e2","participants":["eve"]}"#)
        _ = try await app.master.post(
            "/storage/Messages",
            #"{"_id":"m4","event":[1,null,{"__type":"Pointer","className":"Events","objectId":"e2"}]}"#)
        #expect(try await app.user("eve").get("/storage/Messages").ids == ["m4"])
        #expect(try await app.master.post("/storage/remove/Events/e2").status == 200)
        #expect(try await app.user("eve").get("/storage/Messages").ids == [])
    }

    @Test func `a path follows several Pointers, and one declared in through before any object has it`() async throws {
        let app = try await StorageApp()
        for name in ["Clubs", "Events"] { _ = try await app.master.get("/storage/\(name)") }
        _ = try await app.master.post("/storage/Clubs", #"{"_id":"c","members":["ann"]}"#)
        _ = try await app.master.post(
            "/storage/Events", #"{"_id":"e","club":{"__type":"Pointer","className":"Clubs","objectId":"c"}}"#)
        try await app.set(
            #"{"rules":{"get":[{"where":{"event.club.members":"$user.id"},"through":{"event":"Events"}}]}}"#,
            on: "Messages")
        let rules = try await app.master.get("/collections/Messages/rules")
        #expect(rules.text.contains(#""event.club":"Clubs""#), "\(rules)")
        _ = try await app.master.post(
            "/storage/Messages", #"{"_id":"m","event":{"__type":"Pointer","className":"Events","objectId":"e"}}"#)
        #expect(try await app.user("ann").get("/storage/Messages/m").status == 200)
        #expect(try await app.user("eve").get("/storage/Messages/m").status == 404)
    }

    @Test(arguments: [
        #"{"message":{"$inQuery":{"className":"Messages","where":{"event.participants":"$user.id"}}}}"#,
        #"""
        {"$nor":[{"message":{"$notInQuery":{"className":"Messages","where":{"$or":[{"event.participants":"$user.id"}]}}}}]}
        """#,
        #"""
        {"word":{"$select":{"query":{"className":"Messages","where":{"event.participants":"$user.id"}},"key":"text"}}}
        """#,
        #"{"message":{"$inQuery":{"className":"Messages","where":{"event.club.members":"$user.id"}}}}"#,
        #"{"message.event":{"$inQuery":{"className":"Events","where":{"club.members":"$user.id"}}}}"#,
        #"""
        {"message":{"$inQuery":{"className":"Messages","where":{
            "event":{"$inQuery":{"className":"Events","where":{"club.members":"$user.id"}}}}}}}
        """#,
    ]) func `a query inside a condition follows Pointers`(_ condition: String) async throws {
        let app = try await Self.app(Self.forms[1])
        _ = try await app.master.post("/storage/Clubs", #"{"_id":"c","members":["ann","bob"]}"#)
        let club = #"{"club":{"__type":"Pointer","className":"Clubs","objectId":"c"}}"#
        #expect(try await app.master.patch("/storage/Events/e1", club).status == 200)
        try await app.set(#"{"rules":{"find":[{"where":\#(condition)}]}}"#, on: "Pins")
        #expect(try await app.user("ann").get("/storage/Pins").ids == ["p1"])
        #expect(try await app.user("eve").get("/storage/Pins").ids == [])
    }

    @Test func `Pointers in a rule's queries lead to the collections known when it was set, or named in through`()
        async throws
    {
        let app = try await Self.app(Self.forms[1])
        func rules(_ path: String, _ through: String = "") -> String {
            let query = #"{"className":"Messages","where":{"\#(path)":"$user.id"}}"#
            return #"{"rules":{"find":[{"where":{"message":{"$inQuery":\#(query)}}\#(through)}]}}"#
        }
        try await app.set(rules("event.participants"), on: "Pins")
        let stored = try await app.master.get("/collections/Pins/rules")
        #expect(stored.text.contains(#""through":{"$Messages.event":"Events"}"#), "\(stored)")
        _ = try await app.master.post("/storage/Fakes", #"{"_id":"e1","participants":["eve"]}"#)
        let fake = #"{"event":{"__type":"Pointer","className":"Fakes","objectId":"e1"}}"#
        #expect(try await app.master.patch("/storage/Messages/m1", fake).status == 200)
        #expect(try await app.user("eve").get("/storage/Pins").ids == [])
        try await app.set(stored.text, on: "Pins")
        #expect(try await app.user("eve").get("/storage/Pins").ids == [])
        // Before any message has the field.
        _ = try await app.master.post("/storage/Places", #"{"_id":"x","owner":"ann"}"#)
        try await app.expectRefusal(.invalidBody, field: "rules.find.0.where.place.owner") {
            try await app.master.put("/collections/Pins/rules", rules("place.owner"))
        }
        try await app.set(rules("place.owner", #","through":{"$Messages.place":"Places"}"#), on: "Pins")
        let place = #"{"place":{"__type":"Pointer","className":"Places","objectId":"x"}}"#
        #expect(try await app.master.patch("/storage/Messages/m1", place).status == 200)
        #expect(try await app.user("ann").get("/storage/Pins").ids == ["p1"])
        #expect(try await app.user("eve").get("/storage/Pins").ids == [])
        for name in ["$Messages", "$.place", "$Messages.", "$Mess ages.place"] {
            try await app.expectRefusal(.invalidBody, field: "rules.find.0.through") {
                try await app.master.put(
                    "/collections/Pins/rules", rules("place.owner", #","through":{"\#(name)":"Places"}"#))
            }
        }
    }
}

extension StorageApp {
    func client(of caller: ConditionTests.Caller) -> ServiceClient {
        switch caller {
        case .anonymous: client
        case .master: master
        case .ann, .eve, .mod: user(caller.rawValue)
        }
    }

    func set(_ rules: String, on collection: String, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let answer = try await master.put("/collections/\(collection)/rules", rules)
        #expect(answer.status == 200, "\(answer)", sourceLocation: sourceLocation)
    }
}

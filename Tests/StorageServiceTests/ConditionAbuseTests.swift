import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import ServiceTesting
import Testing

@testable import StorageService

/// Attempts to get around conditions.
@Suite struct ConditionAbuseTests {
    // MARK: Time

    @Test(arguments: [
        #"{"owner":"$user.id"}"#,
        #"{"team.members":"$user.id"}"#,
        #"{"team":{"$inQuery":{"className":"Teams","where":{"members":"$user.id"}}}}"#,
    ]) func `a slow pattern is not tried on objects that the caller may not see`(_ rule: String) async throws {
        let app = try await StorageApp()
        _ = try await app.master.post("/storage/Teams", #"{"_id":"x","members":["ann"]}"#)
        let text = String(repeating: "a", count: 300_001)
        let team = #"{"__type":"Pointer","className":"Teams","objectId":"x"}"#
        _ = try await app.master.post(
            "/storage/Note", #"{"_id":"n","owner":"ann","team":\#(team),"t":"\#(text)","list":["\#(text)"]}"#)
        let note = #"{"__type":"Pointer","className":"Note","objectId":"n"}"#
        _ = try await app.master.post("/storage/Links", #"{"note":\#(note)}"#)
        try await app.set(#"{"rules":{"find":[{"where":\#(rule)}]}}"#, on: "Note")
        try await app.set(#"{"rules":{"find":["*"]}}"#, on: "Links")
        let pattern = #"{"$regex":"^(a+)(a+)\\1\\2$"}"#
        func query(_ user: String, _ collection: String, _ filter: String) async throws -> Answer {
            try await app.user(user).post("/storage/query/\(collection)", filter)
        }
        for (collection, filter) in [
            ("Note", #"{"t":\#(pattern)}"#), ("Note", #"{"$nor":[{"t":\#(pattern)}]}"#),
            ("Note", #"{"list":{"$all":[\#(pattern)]}}"#),
            ("Links", #"{"note":{"$inQuery":{"className":"Note","where":{"t":\#(pattern)}}}}"#),
        ] {
            let answer = try await query("eve", collection, filter)
            #expect(answer.status == 200 && answer["count"] == "0", "\(filter): \(answer)")
        }
        #expect(try await query("ann", "Note", #"{"t":\#(pattern)}"#).isProblem(.limitExceeded, field: "$regex"))
    }

    @Test(
        arguments: [
            (#"{"rules":{"find":[{"where":{"team.members":"$user.id"},"through":{"team":"Teams"}}]}}"#, true),
            (#"{"rules":{"get":[{"where":{"team":{"$inQuery":{"className":"Teams","where":{}}}}}]}}"#, true),
            (#"{"hidden":{"a":[{"where":{"team.members":"$user.id"},"through":{"team":"Teams"}}]}}"#, true),
            (#"{"rules":{"find":[{"where":{"owner":"$user.id","city":"$user.city"}}]}}"#, false),
            (#"{"rules":{"update":[{"where":{"team":{"$inQuery":{"className":"Teams","where":{}}}}}]}}"#, false),
            // Another entry admits the caller to everything.
            (
                #"{"rules":{"find":[{"where":{"team":{"$inQuery":{"className":"Teams","where":{}}}}},"authenticated"]}}"#,
                false
            ),
        ])
    func `a read under rules that read other objects has a time limit`(_ rules: String, _ isLimited: Bool) throws {
        let rules = try CollectionRules(JSONValue(parsing: rules.utf8))
        let rights = Rights(identity: .user("ann", roles: []), collections: ["Note": rules])
        #expect((rights.access(to: try CollectionName("Note")).timeLimit != nil) == isLimited)
    }

    @Test(arguments: [
        #"{"where":{"team.members":"$user.id"}}"#,
        #"{"where":{"team":{"$inQuery":{"className":"Teams","where":{"members":"$user.id"}}}}}"#,
    ]) func `a list whose rule takes longer than three seconds is refused`(_ entry: String) async throws {
        let app = try await StorageApp()
        _ = try await app.master.post("/storage/Teams", #"{"_id":"x","members":["ann"]}"#)
        let team = #"{"__type":"Pointer","className":"Teams","objectId":"x"}"#
        _ = try await app.master.post("/storage/Note", #"{"_id":"n","team":\#(team)}"#)
        let note = #"{"__type":"Pointer","className":"Note","objectId":"n"}"#
        _ = try await app.master.post("/storage/Links", #"{"_id":"l","note":\#(note)}"#)
        try await app.set(#"{"rules":{"find":[\#(entry)]}}"#, on: "Note")
        let ann = app.user("ann")
        #expect(try await ann.get("/storage/Note").ids == ["n"])
        let teams = try app.space().table(CollectionName("Teams"))
        let superuser = app.database.superuserClient()
        @Sendable func answers() async throws -> [Answer] {
            async let list = ann.get("/storage/Note")
            async let query = ann.post(
                "/storage/query/Links", #"{"note":{"$inQuery":{"className":"Note","where":{}}}}"#)
            #expect(try await ann.get("/storage/Links").ids == ["l"], "other lists are answered")
            return try await [list, query]
        }
        // A policy that sleeps stands for a rule that reads a lot.
        try await superuser.execute("CREATE POLICY slow ON \(teams) USING (pg_sleep(60) IS NOT NULL)")
        try await superuser.execute("ALTER TABLE \(teams) ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY")
        for answer in try await answers() { #expect(answer.isProblem(.limitExceeded, field: "where"), "\(answer)") }
        try await superuser.execute("ALTER TABLE \(teams) DISABLE ROW LEVEL SECURITY")
        // A wait for a lock is not counted as the rule's time.
        let waiting = try await superuser.withTransaction { transaction in
            try await transaction.execute("LOCK TABLE \(teams) IN ACCESS EXCLUSIVE MODE")
            return try await answers()
        }
        for answer in waiting { #expect(answer.isProblem(.unavailable), "\(answer)") }
        #expect(try await ann.get("/storage/Note").ids == ["n"])
        await superuser.close()
    }

    // MARK: The state before a write

    @Test(arguments: [
        #"{"seller":"$user.id","created":{"$gt":{"$relativeTime":"1 hour ago"}},"$new.price":{"$lte":"$old.price"}}"#,
        #"{"seller":"$user.id","updated":{"$gt":{"$relativeTime":"1 hour ago"}},"$new.price":{"$lte":"$old.price"}}"#,
        #"{"seller":"$user.id","_version":1,"$new.price":{"$lte":"$old.price"}}"#,
    ]) func `a condition on two states sees the old system fields`(_ condition: String) async throws {
        let app = try await StorageApp()
        let body = #"{"_id":"x","seller":"ann","price":1}"#
        _ = try await app.master.post("/storage/Offers", body)
        try await app.set(#"{"rules":{"update":[{"where":\#(condition)}]}}"#, on: "Offers")
        let ann = app.user("ann")
        let batch = #"{"requests":[{"method":"POST","path":"storage/Offers","body":\#(body)}]}"#
        try await app.age("Offers")
        try await app.expectRefusal(.forbidden) { try await ann.patch("/storage/Offers/x", #"{"text":"y"}"#) }
        try await app.expectRefusal(.forbidden) {
            try await ann.put("/storage/Offers/x", #"{"seller":"ann","price":1}"#)
        }
        try await app.expectRefusal(.forbidden) { try await ann.post("/storage/Offers", body) }
        try await app.expectRefusal(.forbidden) { try await ann.post("/storage/all/Offers", "[\(body)]") }
        #expect(try await ann.post("/storage/batch", batch)["data.0.status"] == "403")
        _ = try await app.master.delete("/storage/Offers/x")
        for _ in 0..<2 { _ = try await ann.post("/storage/Offers", body) }
        let version = try await app.master.get("/storage/Offers/x")["_version"]
        #expect(version == "2", "each condition changes it, even if it is new")
    }

    @Test func `a removed object is not restored where the condition wants one that is not removed`() async throws {
        let app = try await StorageApp()
        _ = try await app.master.post("/storage/Offers", #"{"_id":"x","price":1}"#)
        try await app.set(
            #"{"rules":{"update":[{"where":{"deleted":null,"$new.price":{"$lte":"$old.price"}}}]}}"#, on: "Offers")
        #expect(try await app.client.post("/storage/Offers", #"{"_id":"x","price":1}"#).status == 200)
        #expect(try await app.master.post("/storage/remove/Offers/x").status == 200)
        for request in [
            { try await app.client.post("/storage/Offers", #"{"_id":"x","price":1}"#) },
            { try await app.client.post("/storage/all/Offers", #"[{"_id":"x","price":1}]"#) },
        ] as [() async throws -> Answer] { try await app.expectRefusal(.forbidden, request) }
    }

    @Test func `bulk posts do not reveal hidden values of objects that the caller cannot see`() async throws {
        let app = try await StorageApp()
        _ = try await app.master.post(
            "/storage/all/Note", #"[{"_id":"a","owner":"ann","approved":true},{"_id":"b","owner":"ann"}]"#)
        _ = try await app.master.put("/roles/mods", "{}")
        try await app.set(
            #"""
            {"rules":{"create":[{"where":{"approved":{"$ne":true}}}],"get":["field:owner"],"find":["field:owner"]},
            "hidden":{"approved":["role:mods"]}}
            """#, on: "Note")
        for id in ["a", "b"] {
            try await app.expectRefusal(.conflict) {
                try await app.user("eve").post("/storage/all/Note", #"[{"_id":"\#(id)"}]"#)
            }
        }
    }

    // MARK: Rules that cannot be evaluated

    @Test func `rules that follow more Pointers than the limit are refused`() async throws {
        let app = try await ConditionTests.app(#"{"people":"$user.id"}"#)
        let through = ["a", "b", "c", "d"].map { #""\#($0)":"Events""# }.joined(separator: ",")
        try await app.expectRefusal(.limitExceeded, field: "rules.find.0.where") {
            try await app.master.put(
                "/collections/Messages/rules",
                #"{"rules":{"find":[{"where":{"event.participants":"$user.id"},"through":{\#(through)}}]}}"#)
        }
        #expect(try await app.user("ann").get("/storage/Messages").ids == ["m1"])
    }

    @Test func `rules that cannot be read close their collection, and no other`() async throws {
        let app = try await ConditionTests.app(#"{"people":"$user.id"}"#)
        let own = try #require(PostgresIdentifier(schema: try app.space().schema, name: "_collections"))
        try await app.superuser.execute(
            "UPDATE \(own) SET rules = '{\"rules\":{\"find\":[{\"when\":1}]}}' WHERE name = 'Messages'")
        try await app.forgetRules()
        let ann = app.user("ann")
        #expect(try await ann.get("/storage/Messages").isProblem(.forbidden))
        #expect(try await ann.get("/storage/Messages/m1").isProblem(.forbidden))
        #expect(try await ann.post("/storage/Messages", "{}").isProblem(.forbidden))
        #expect(try await ann.get("/storage/Events").ids == ["e1"])
        #expect(try await app.master.get("/storage/Messages").ids == ["m1"])
        try await app.set(#"{"rules":{"find":[{"where":{"people":"$user.id"}}]}}"#, on: "Messages")
        #expect(try await ann.get("/storage/Messages").ids == ["m1"])
    }

    @Test(arguments: [
        (#"{"word":{"$dontSelect":{"query":{"className":"Messages"},"key":"event.x"}}}"#, "event.x"),
        (#"{"message":{"$inQuery":{"className":"Messages","where":{"unknown.x":1}}}}"#, "unknown.x"),
        (#"{"$new.word":"$old.message.text"}"#, "message.text"),
        (#"{"n":{"$lt":"$new.message.n"}}"#, "message.n"),
    ]) func `a Pointer that would not be followed is refused`(_ condition: String, _ path: String) async throws {
        let app = try await ConditionTests.app(#"{"people":"$user.id"}"#)
        try await app.expectRefusal(.invalidBody, field: "rules.update.0.where.\(path)") {
            try await app.master.put("/collections/Pins/rules", #"{"rules":{"update":[{"where":\#(condition)}]}}"#)
        }
    }

    @Test(arguments: [
        #"{"a":{"$inQuery":{"__type":"Query","className":"Gone","where":{"user":"$user.id"}}}}"#,
        #"{"a":{"$notInQuery":{"__type":"Pointer","className":"Gone","where":{}}}}"#,
        #"{"a":{"$select":{"query":{"__type":"Query","className":"Gone"},"key":"x"}}}"#,
        #"{"event.$relatedTo":{"object":{"__type":"Pointer","className":"Gone","objectId":"x"},"key":"x"}}"#,
    ]) func `every collection that a condition reads must exist`(_ condition: String) async throws {
        let app = try await ConditionTests.app(#"{"people":"$user.id"}"#)
        try await app.expectRefusal(.invalidBody, field: "rules.find.0") {
            try await app.master.put("/collections/Messages/rules", #"{"rules":{"find":[{"where":\#(condition)}]}}"#)
        }
    }

    @Test(arguments: [
        #"{"event":{"$inQuery":{"__type":"Query","className":"Events","where":{"participants":"$user.id"}}}}"#,
        #"{"event.participants":"$user.id"}"#, #"{"event":{"$notInQuery":{"className":"Events","where":{}}}}"#,
    ]) func `a collection that a rule reads keeps its name`(_ condition: String) async throws {
        let app = try await ConditionTests.app(condition)
        try await app.expectRefusal(.conflict) { try await app.master.delete("/collections/Events") }
        try await app.expectRefusal(.conflict) {
            try await app.master.post("/collections/Events/rename", #"{"name":"Meetings"}"#)
        }
        #expect(try await app.master.delete("/collections/Events").text.contains("Messages"))
        try await app.set("{}", on: "Messages")
        #expect(try await app.master.delete("/collections/Events").status == 204)
    }

    @Test func `a path without Pointers follows none after rules are read and set again`() async throws {
        let app = try await StorageApp()
        let rules = #"{"rules":{"find":[{"where":{"meta.owner":"$user.id"},"through":{}}]}}"#
        try await app.set(rules, on: "Note")
        let stored = try await app.master.get("/collections/Note/rules").text
        #expect(stored.contains(#""through":{}"#), "\(stored)")
        _ = try await app.master.post(
            "/storage/Note", #"{"meta":{"__type":"Pointer","className":"Fakes","objectId":"x"}}"#)
        let again = try await app.master.put("/collections/Note/rules", stored)
        #expect(!again.text.contains(#""meta":"Fakes""#), "\(again)")
    }

    // MARK: Hidden fields and hooks

    @Test func `a collection may have many hidden fields with conditions`() async throws {
        let app = try await StorageApp()
        let names = (0..<40).map { "f\($0)" }
        let values = names.map { #""\#($0)":1"# }.joined(separator: ",")
        _ = try await app.master.post("/storage/Note", #"{"_id":"a","n":1,"a":"ann",\#(values)}"#)
        let hidden = names.map { #""\#($0)":[{"where":{"a":"$user.id"}}]"# }.joined(separator: ",")
        try await app.set(#"{"hidden":{\#(hidden),"x":[]}}"#, on: "Note")
        let eve = try await app.user("eve").get("/storage/Note/a")
        #expect(eve["n"] == "1" && names.allSatisfy { eve[$0] == nil })
        let ann = try await app.user("ann").get("/storage/Note/a")
        #expect(ann["n"] == "1" && names.allSatisfy { ann[$0] == "1" })
        #expect(try await app.user("eve").get("/changes/Note").status == 200)
    }

    @Test func `a hook that returns the object keeps a limited change within its limits`() async throws {
        let app = try await StorageApp()
        let event = #"{"_id":"e","people":["ann"],"_readers":["eve","ann"]}"#
        _ = try await app.master.post("/storage/Events", event)
        try await app.set(
            #"{"rules":{"update":[{"who":["authenticated"],"operations":{"people":{"AddUnique":["$user.id"]}}}]}}"#,
            on: "Events")
        let receiver = try await HookReceiver { question in
            (200, #"{"object":\#(question["object"] ?? "null")}"#)
        }
        try await app.hook("save", "beforeSave", "Events", at: receiver)
        let change = #"{"people":{"__op":"AddUnique","objects":["eve"]}}"#
        #expect(try await app.user("eve").patch("/storage/Events/e", change).status == 200)
        #expect(
            try await app.user("eve").patch("/storage/Events/e", #"{"_readers":["eve"]}"#).isProblem(.forbidden))
    }
}

extension StorageApp {
    /// Makes the objects of a collection two days old, in version 7.
    fileprivate func age(_ collection: String) async throws {
        let table = try #require(PostgresIdentifier(schema: try space().schema, name: collection))
        try await superuser.execute(
            "UPDATE \(table) SET created = now() - interval '2 days', updated = now() - interval '2 days', version = 7")
    }

    /// Makes the service read all rules again.
    func forgetRules() async throws { try await set("{}", on: "Unrelated") }

    /// Removes a collection without regard to the rules that read it.
    func lose(_ collection: String) async throws {
        let schema = try space().schema
        let table = try #require(PostgresIdentifier(schema: schema, name: collection))
        let own = try #require(PostgresIdentifier(schema: schema, name: "_collections"))
        try await superuser.execute("DROP TABLE \(table)")
        try await superuser.execute("DELETE FROM \(own) WHERE name = \(collection)")
        try await forgetRules()
    }
}

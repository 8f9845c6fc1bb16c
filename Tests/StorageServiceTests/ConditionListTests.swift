import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import Testing

@testable import StorageService

/// Lists where a condition expects a value: one element admits a reader, but not a writer who adds others.
@Suite struct ConditionListTests {
    private static func pointer(_ id: String) -> String {
        #"{"__type":"Pointer","className":"Events","objectId":"\#(id)"}"#
    }

    private static func list(_ ids: String...) -> String { "[\(ids.map(pointer).joined(separator: ","))]" }

    /// `ann` is in `e1`, `eve` in `e2` and `e3`.
    private static func app(_ rules: String) async throws -> StorageApp {
        let app = try await StorageApp()
        _ = try await app.master.post(
            "/storage/all/Events",
            #"[{"_id":"e1","people":["ann"],"banned":["eve"]},{"_id":"e2","people":["eve"]},{"_id":"e3","people":["eve"]}]"#
        )
        try await app.set(rules, on: "Messages")
        return app
    }

    @Test(arguments: [
        #"{"where":{"event":{"$inQuery":{"className":"Events","where":{"people":"$user.id"}}}}}"#,
        #"{"where":{"event.people":"$user.id"},"through":{"event":"Events"}}"#,
        #"{"where":{"event.banned":{"$ne":"$user.id"}},"through":{"event":"Events"}}"#,
        #"{"where":{"event":{"$notInQuery":{"className":"Events","where":{"banned":"$user.id"}}}}}"#,
        #"{"where":{"$nor":[{"$nor":[{"event.people":"$user.id"}]}]},"through":{"event":"Events"}}"#,
        #"{"where":{"$nor":[{"event.banned":"$user.id"}]},"through":{"event":"Events"}}"#,
    ]) func `each Pointer that a write adds must match`(_ entry: String) async throws {
        let app = try await Self.app(#"{"rules":{"create":[\#(entry)],"update":[\#(entry)]}}"#)
        let eve = app.user("eve")
        for event in [Self.list("e2", "e1"), Self.list("e1", "e2"), Self.pointer("e1")] {
            let body = #"{"event":\#(event)}"#
            try await app.expectRefusal(.forbidden) { try await eve.post("/storage/Messages", body) }
            try await app.expectRefusal(.forbidden) { try await eve.post("/storage/all/Messages", "[\(body)]") }
        }
        let own = #"{"_id":"m","event":\#(Self.list("e2", "e3"))}"#
        #expect(try await eve.post("/storage/Messages", own).status == 201)
        for event in [
            Self.list("e2", "e1"), Self.pointer("e1"),
            #"{"__op":"AddUnique","objects":\#(Self.list("e1"))}"#,
        ] {
            try await app.expectRefusal(.forbidden) {
                try await eve.patch("/storage/Messages/m", #"{"event":\#(event)}"#)
            }
        }
        try await app.expectRefusal(.forbidden) {
            try await eve.put("/storage/Messages/m", #"{"event":\#(Self.list("e2", "e1"))}"#)
        }
        #expect(try await eve.patch("/storage/Messages/m", #"{"n":1}"#).status == 200)
        #expect(try await eve.patch("/storage/Messages/m", #"{"event":\#(Self.pointer("e3"))}"#).status == 200)
    }

    @Test func `a list in $new must match with each added element`() async throws {
        let entry = #"{"where":{"$new.event.people":"$user.id"},"through":{"event":"Events"}}"#
        let app = try await Self.app(#"{"rules":{"update":[\#(entry)]}}"#)
        _ = try await app.master.post("/storage/Messages", #"{"_id":"m","event":\#(Self.list("e2"))}"#)
        let eve = app.user("eve")
        try await app.expectRefusal(.forbidden) {
            try await eve.patch("/storage/Messages/m", #"{"event":\#(Self.list("e2", "e1"))}"#)
        }
        #expect(
            try await eve.patch("/storage/Messages/m", #"{"event":\#(Self.list("e2", "e3"))}"#).status == 200)
    }

    @Test(arguments: [
        // A value, one that the rule refuses
        (#"{"author":"$user.id"}"#, #""eve""#, #"["ann","eve"]"#),
        (#"{"author":"$user.id"}"#, #"["eve"]"#, #"["eve",["ann"]]"#),
        (#"{"author":{"$in":["$user.id","all"]}}"#, #""all""#, #"["eve","ann"]"#),
        (#"{"author":{"$in":"$user.roles"}}"#, #"["red"]"#, #"["red","blue"]"#),
        (#"{"author":"draft"}"#, #""draft""#, #"["draft","final"]"#),
        (
            #"{"author":{"$select":{"query":{"className":"Events","where":{"people":"$user.id"}},"key":"_id"}}}"#,
            #"["e2","e3"]"#, #"["e2","e1"]"#
        ),
    ]) func `each value of a new object's list must match`(_ condition: String, _ good: String, _ bad: String)
        async throws
    {
        let app = try await Self.app("{}")
        _ = try await app.master.put("/roles/red", #"{"add":["eve"]}"#)
        try await app.set(#"{"rules":{"create":[{"who":["authenticated"],"where":\#(condition)}]}}"#, on: "Messages")
        let eve = app.user("eve")
        try await app.expectRefusal(.forbidden) { try await eve.post("/storage/Messages", #"{"author":\#(bad)}"#) }
        #expect(try await eve.post("/storage/Messages", #"{"author":\#(good)}"#).status == 201)
    }

    @Test func `elements that an object already has may stay, and $all needs only one matching element`() async throws {
        let app = try await Self.app(#"{"rules":{"update":[{"where":{"people":"$user.id"}}]}}"#)
        _ = try await app.master.post("/storage/Messages", #"{"_id":"m","people":["ann","eve","bob"]}"#)
        let eve = app.user("eve")
        #expect(try await eve.patch("/storage/Messages/m", #"{"n":1}"#).status == 200)
        #expect(try await eve.patch("/storage/Messages/m", #"{"people":["eve","ann"]}"#).status == 200)
        let invitation = #"{"people":{"__op":"AddUnique","objects":["cat"]}}"#
        try await app.expectRefusal(.forbidden) { try await eve.patch("/storage/Messages/m", invitation) }
        try await app.set(#"{"rules":{"update":[{"where":{"people":{"$all":["$user.id"]}}}]}}"#, on: "Messages")
        #expect(try await eve.patch("/storage/Messages/m", invitation).status == 200)
    }

    @Test(arguments: [
        #"{"where":{"event":{"$inQuery":{"className":"Events","where":{"people":"$user.id"}}}}}"#,
        #"{"where":{"event.people":"$user.id"},"through":{"event":"Events"}}"#,
        #"{"where":{"$nor":[{"event.banned":"$user.id"}]},"through":{"event":"Events"}}"#,
        #"{"where":{"event":{"$notInQuery":{"className":"Events","where":{"banned":"$user.id"}}}}}"#,
    ]) func `a list that is too long to look up admits nobody`(_ entry: String) async throws {
        let app = try await Self.app(#"{"rules":{"find":[\#(entry)]}}"#)
        for (id, count) in [("short", 100), ("long", 101)] {
            let event = "[\(Array(repeating: Self.pointer("e2"), count: count).joined(separator: ","))]"
            _ = try await app.master.post("/storage/Messages", #"{"_id":"\#(id)","event":\#(event)}"#)
        }
        #expect(try await app.user("eve").get("/storage/Messages").ids == ["short"])
    }
}

import MartletAPI
import MartletCore
import MartletTesting
import Testing

@testable import StorageService

/// Fields that rules set, and fields that keep their first value.
@Suite struct FieldPresetTests {
    private static let rules = #"""
        {"set":{"create":{"author":"$user.id","state":"new","at":"$now","in":"$environment"},
                "update":{"editor":"$user.id","edits":{"__op":"Increment","amount":1}}},
         "immutable":["event"]}
        """#

    private static func app(_ rules: String = rules) async throws -> StorageApp {
        let app = try await StorageApp()
        try await app.set(rules, on: "Posts")
        return app
    }

    @Test func `a new object has the server's values, whatever the client sends`() async throws {
        let app = try await Self.app()
        let body = #"{"_id":"p","author":"ben","state":"sold","editor":"x","edits":9,"event":"e1","text":"hi"}"#
        let post = try await app.user("ann").post("/storage/Posts", body)
        #expect(post.status == 201 && post["author"] == #""ann""# && post["state"] == #""new""#, "\(post)")
        #expect(post["event"] == #""e1""# && post["text"] == #""hi""# && post["in"] == #""live""#)
        #expect(post["at.__type"] == #""Date""# && post["editor"] == nil && post["edits"] == nil, "\(post)")
        let anonymous = try await app.client.post("/storage/Posts", #"{"text":"a"}"#)
        #expect(anonymous["author"] == "null", "\(anonymous)")
        let bulk = try await app.user("ben").post("/storage/all/Posts", #"[{"author":"x","n":1},{"_id":"q","n":2}]"#)
        #expect(bulk["data.0.author"] == #""ben""# && bulk["data.1.author"] == #""ben""#, "\(bulk)")
        let upsert = try await app.user("ben").patch("/storage/Posts/u?upsert=true", #"{"author":"x","n":1}"#)
        #expect(upsert.status == 201 && upsert["author"] == #""ben""# && upsert["editor"] == nil, "\(upsert)")
        let batch = try await app.user("ben").post(
            "/storage/batch",
            #"{"transaction":true,"requests":[{"method":"POST","path":"storage/Posts","body":{"_id":"t","author":"x"}}]}"#
        )
        #expect(batch.status == 200, "\(batch)")
        #expect(try await app.master.get("/storage/Posts/t")["author"] == #""ben""#)
        let master = try await app.master.post("/storage/Posts", #"{"_id":"m","author":"x"}"#)
        #expect(master["author"] == #""x""# && master["state"] == nil, "the app's server may set any value")
    }

    @Test func `an update keeps what clients do not write, and sets the rest`() async throws {
        let app = try await Self.app()
        _ = try await app.user("ann").post("/storage/Posts", #"{"_id":"p","event":"e1","n":1}"#)
        let changed = try await app.user("ben").patch(
            "/storage/Posts/p",
            #"{"author":"ben","event":"e2","n":{"__op":"Increment","amount":2}}"#)
        #expect(changed["author"] == #""ann""# && changed["event"] == #""e1""# && changed["n"] == "3", "\(changed)")
        #expect(changed["editor"] == #""ben""# && changed["edits"] == "1", "\(changed)")
        let dotted = try await app.user("ben").patch("/storage/Posts/p", #"{"event.name":"x","state.y":1}"#)
        #expect(dotted["event"] == #""e1""# && dotted["state"] == #""new""# && dotted["edits"] == "2", "\(dotted)")
        let deleted = try await app.user("ben").patch("/storage/Posts/p", #"{"event":{"__op":"Delete"}}"#)
        #expect(deleted["event"] == #""e1""#, "\(deleted)")
        let replaced = try await app.user("eve").put("/storage/Posts/p", #"{"author":"eve","event":"e3","m":1}"#)
        #expect(replaced["author"] == #""ann""# && replaced["event"] == #""e1""# && replaced["m"] == "1", "\(replaced)")
        #expect(replaced["n"] == nil && replaced["editor"] == #""eve""# && replaced["edits"] == "4", "\(replaced)")
        // A post with an existing id is an update, so the caller does not become the author.
        for (path, body) in [
            ("/storage/Posts", #"{"_id":"p","author":"eve","event":"e4"}"#),
            ("/storage/all/Posts", #"[{"_id":"p","author":"eve","event":"e4"}]"#),
        ] { #expect(try await app.user("eve").post(path, body).status < 300) }
        let posted = try await app.master.get("/storage/Posts/p")
        #expect(posted["author"] == #""ann""# && posted["event"] == #""e1""# && posted["edits"] == "6", "\(posted)")
        // After the object was removed, its id is free again, as without rules.
        _ = try await app.master.post("/storage/remove/Posts/p")
        let again = try await app.user("eve").post("/storage/Posts", #"{"_id":"p","event":"e5"}"#)
        #expect(again["author"] == #""eve""# && again["event"] == #""e5""# && again["edits"] == nil, "\(again)")
    }

    @Test func `conditions, limits and schemas see the server's values`() async throws {
        let app = try await Self.app(
            #"""
            {"set":{"create":{"author":"$user.id"}},"immutable":["event"],
             "rules":{"create":[{"where":{"author":"$user.id"}}],
                      "update":[{"where":{"author":"$user.id"},"fields":["text"]}]}}
            """#)
        #expect(
            try await app.master.put(
                "/collections/Posts/schema",
                #"{"required":["author"],"properties":{"author":{"type":"string","maxLength":3}}}"#
            ).status == 200)
        let post = try await app.user("ann").post("/storage/Posts", #"{"_id":"p","author":"eve","event":"e"}"#)
        #expect(post.status == 201 && post["author"] == #""ann""#, "\(post)")
        // Fields that are ignored do not count towards the limit either.
        let changed = try await app.user("ann").patch("/storage/Posts/p", #"{"text":"a","event":"f","author":"x"}"#)
        #expect(changed.status == 200 && changed["event"] == #""e""#, "\(changed)")
        try await app.expectRefusal(.forbidden) { try await app.user("ann").patch("/storage/Posts/p", #"{"n":1}"#) }
        try await app.expectRefusal(.forbidden) {
            try await app.user("ben").patch("/storage/Posts/p", #"{"text":"b"}"#)
        }
        try await app.expectRefusal(.documentRefused) {
            try await app.user("long").post("/storage/Posts", #"{"event":"e"}"#)
        }
        try await app.expectRefusal(.forbidden) { try await app.client.post("/storage/Posts", #"{"event":"e"}"#) }
    }

    @Test func `a preset Pointer to the caller is null for anonymous callers, and preset fields may be new`()
        async throws
    {
        let pointer = #"{"__type":"Pointer","className":"_User","objectId":"$user.id"}"#
        let app = try await Self.app(#"{"set":{"create":{"author":\#(pointer)}},"rules":{"addField":[]}}"#)
        let sent = #"{"author":"x"}"#
        #expect(try await app.user("ann").post("/storage/Posts", sent)["author.objectId"] == #""ann""#)
        #expect(try await app.client.post("/storage/Posts", sent)["author"] == "null")
    }

    @Test func `presets are returned as they were set, and invalid ones are refused`() async throws {
        let app = try await Self.app()
        let read = try await app.master.get("/collections/Posts/rules")
        #expect(read["immutable"] == #"["event"]"# && read["set.update.edits.__op"] == #""Increment""#, "\(read)")
        for body in [
            #"{"set":{"delete":{"a":1}}}"#, #"{"set":{"create":[]}}"#, #"{"set":{"create":{"a.b":1}}}"#,
            #"{"set":{"create":{"_id":"x"}}}"#, #"{"set":{"create":{"a":"$user.name"}}}"#,
            #"{"set":{"create":{"a":"$user.roles"}}}"#, #"{"set":{"create":{"a":"$unknown"}}}"#,
            #"{"set":{"create":{"a":{"b":{"__op":"Delete"}}}}}"#, #"{"set":{"create":{"_foo":1}}}"#,
            #"{"set":{"update":{"a":{"__op":"Add","objects":[1]}}}}"#, #"{"set":{"create":{"a":{"__type":"Date"}}}}"#,
            #"{"immutable":"event"}"#, #"{"immutable":[1]}"#, #"{"immutable":["_created"]}"#,
            #"{"immutable":["a","a"]}"#,
        ] {
            let answer = try await app.master.put("/collections/Posts/rules", body)
            #expect(answer.status == 422 || answer.status == 400, "\(body): \(answer)")
        }
        let many = (0...50).map { "\"f\($0)\"" }.joined(separator: ",")
        try await app.expectRefusal(.limitExceeded) {
            try await app.master.put("/collections/Posts/rules", #"{"immutable":[\#(many)]}"#)
        }
        try await app.expectRefusal(.invalidBody, field: "set") {
            try await app.master.put("/collections/_User/rules", #"{"immutable":["a"]}"#)
        }
        #expect(try await app.master.get("/collections/Posts/rules")["immutable"] == #"["event"]"#, "unchanged")
    }
}

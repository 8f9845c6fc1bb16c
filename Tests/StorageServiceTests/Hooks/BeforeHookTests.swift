import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import ServiceTesting
import Synchronization
import Testing

@testable import StorageService

@Suite struct BeforeHookTests {
    @Test("a hook is called before each kind of write, and gets the state before and after")
    func calls() async throws {
        let app = try await StorageApp()
        let receiver = try await HookReceiver()
        try await app.hook("save", "beforeSave", "Notes", at: receiver)
        try await app.hook("delete", "beforeDelete", "Notes", at: receiver)
        let ada = app.user("ada")
        let created = try await ada.post("/storage/Notes", #"{"_id":"a","n":1,"_readers":["ada"]}"#)
        #expect(created.status == 201)
        #expect(created.header(HeaderName.waited).flatMap { Int($0) } ?? 0 > 0, "how long the hook took")
        #expect(try await ada.get("/storage/Notes/a").header(HeaderName.waited) == nil)
        #expect(
            try await ada.patch("/storage/Notes/a", #"{"n":{"__op":"Increment","amount":2},"t":"x"}"#).status == 200)
        #expect(try await ada.put("/storage/Notes/a", #"{"z":1,"_readers":["ada","ben"]}"#).status == 200)
        #expect(try await ada.post("/storage/Notes", #"{"_id":"a","z":2}"#).status == 200)
        #expect(try await ada.post("/storage/remove/Notes/a").status == 200)
        #expect(try await app.master.delete("/storage/Notes/a").status == 204)
        #expect(
            try await ada.patch("/storage/Notes/b?upsert=true", #"{"n":{"__op":"Increment","amount":2}}"#).status == 201
        )
        #expect(try await ada.post("/storage/Other", "{}").status == 201)
        let calls = receiver.received
        try #require(calls.count == 7)
        #expect(
            calls.map { $0["event"] }
                == ["Save", "Save", "Save", "Save", "Delete", "Delete", "Save"].map { "\"before\($0)\"" })
        let first =
            #"{"event":"beforeSave","hook":"save","collection":"Notes","object":{"_id":"a","n":1,"_readers":["ada"]},"#
        #expect(calls[0].body == first + #""original":null,"user":"ada","master":false}"#)
        #expect(calls[1]["object.n"] == "3" && calls[1]["object.t"] == "\"x\"" && calls[1]["original.n"] == "1")
        #expect(calls[1]["object._id"] == "\"a\"" && calls[1]["object._readers"] == #"["ada"]"#)
        #expect(
            calls[2]["object.n"] == nil && calls[2]["object.z"] == "1"
                && calls[2]["object._readers"] == #"["ada","ben"]"#)
        #expect(calls[2]["original._readers"] == #"["ada"]"#)
        #expect(calls[3]["object.z"] == "2" && calls[3]["original.z"] == "1")
        #expect(calls[4]["object"] == "null" && calls[4]["original.z"] == "2" && calls[4]["user"] == "\"ada\"")
        #expect(calls[5]["original._id"] == "\"a\"" && calls[5]["master"] == "true" && calls[5]["user"] == "null")
        #expect(calls[6]["object.n"] == "2" && calls[6]["original"] == "null")
    }

    @Test(
        "a refusal prevents every kind of write, with the hook's message",
        arguments: [(200, "hook-refused"), (500, "hook-failed")])
    func refusals(status: Int, code: String) async throws {
        let app = try await StorageApp()
        _ = try await app.client.post("/storage/Notes", #"{"_id":"a","n":1}"#)
        let receiver = try await HookReceiver { _ in (status, #"{"error":"not today"}"#) }
        try await app.hook("save", "beforeSave", "Notes", at: receiver)
        try await app.hook("delete", "beforeDelete", "Notes", at: receiver)
        let expected: ErrorCode = code == "hook-refused" ? .hookRefused : .hookFailed
        for client in [app.client, app.master] {
            try await app.expectRefusal(expected) { try await client.post("/storage/Notes", #"{"n":1}"#) }
            try await app.expectRefusal(expected) { try await client.put("/storage/Notes/a", #"{"n":2}"#) }
            try await app.expectRefusal(expected) { try await client.patch("/storage/Notes/a", #"{"n":2}"#) }
            try await app.expectRefusal(expected) { try await client.post("/storage/remove/Notes/a") }
            try await app.expectRefusal(expected) { try await client.delete("/storage/Notes/a") }
            try await app.expectRefusal(expected) {
                try await client.send("POST", "/storage/Notes", #"{"n":1}"#, headers: ["Idempotency-Key": "k"])
            }
        }
        let answer = try await app.client.post("/storage/Notes", "{}")
        #expect(answer.text.contains("not today") == (status == 200))
    }

    @Test("fields in a hook's answer replace those sent")
    func replacement() async throws {
        let app = try await StorageApp()
        let receiver = try await HookReceiver { _ in (200, #"{"object":{"title":"clean","n":1.50}}"#) }
        _ = try await app.client.post("/storage/Notes", #"{"_id":"old","title":"x","kept":true}"#)
        try await app.hook("save", "beforeSave", "Notes", at: receiver)
        let made = try await app.user("ada").post(
            "/storage/Notes", #"{"_id":"a","title":"dirty","other":1,"_readers":["ada"],"_writers":["ada"]}"#)
        #expect(made.status == 201)
        #expect(made["title"] == "\"clean\"" && made["other"] == nil && made["n"] == "1.50" && made["_id"] == "\"a\"")
        #expect(
            made["_readers"] == #"["ada"]"# && made["_writers"] == #"["ada"]"#, "lists that the hook omits are kept"
        )
        let changed = try await app.client.patch("/storage/Notes/old", #"{"title":"y","more":2}"#)
        #expect(changed["title"] == "\"clean\"" && changed["kept"] == "true" && changed["more"] == nil)
        let replaced = try await app.client.put("/storage/Notes/old", #"{"title":"z"}"#)
        #expect(replaced["title"] == "\"clean\"" && replaced["kept"] == nil)
    }

    @Test(
        "an answer that cannot be stored is the hook's failure",
        arguments: [#"{"_x":1}"#, #"{"_id":"other"}"#, "[]", #"{"a":{"__op":"Increment","amount":1}}"#])
    func badReplacement(object: String) async throws {
        let app = try await StorageApp()
        let receiver = try await HookReceiver { _ in (200, #"{"object":\#(object)}"#) }
        try await app.hook("save", "beforeSave", "Notes", at: receiver)
        try await app.expectRefusal(.hookFailed) { try await app.client.post("/storage/Notes", #"{"_id":"a"}"#) }
    }

    @Test("several hooks are called in the order of their names, and each gets the result of the one before")
    func order() async throws {
        let app = try await StorageApp()
        let calls = Mutex<[String]>([])
        let receiver = try await HookReceiver { request in
            let (hook, trail) = (request["hook"] ?? "", request["object.trail"] ?? "")
            calls.withLock { $0.append(hook + trail) }
            return (200, #"{"object":{"trail":"\#(trail.filter(\.isLetter))\#(hook.filter(\.isLetter))"}}"#)
        }
        for name in ["c", "a", "b"] { try await app.hook(name, "beforeSave", "Notes", at: receiver) }
        let made = try await app.client.post("/storage/Notes", #"{"trail":""}"#)
        #expect(made["trail"] == "\"abc\"")
        #expect(calls.withLock { $0 } == [#""a""""#, #""b""a""#, #""c""ab""#])
    }

    @Test("a hook is not called for forbidden writes, and its answer reveals nothing that the caller may not see")
    func rights() async throws {
        let app = try await StorageApp()
        _ = try await app.master.post("/storage/Notes", #"{"_id":"secret","_readers":["ada"],"_writers":["ada"]}"#)
        let receiver = try await HookReceiver { _ in (400, "") }
        try await app.hook("save", "beforeSave", "Notes", at: receiver)
        try await app.hook("delete", "beforeDelete", "Notes", at: receiver)
        for id in ["secret", "none"] {
            #expect(try await app.user("ben").patch("/storage/Notes/\(id)", "{}").isProblem(.objectNotFound))
            #expect(try await app.user("ben").put("/storage/Notes/\(id)", "{}").isProblem(.objectNotFound))
            #expect(try await app.user("ben").delete("/storage/Notes/\(id)").isProblem(.objectNotFound))
            #expect(try await app.user("ben").post("/storage/remove/Notes/\(id)").isProblem(.objectNotFound))
        }
        #expect(
            try await app.user("ben").post("/storage/Notes", #"{"_id":"secret"}"#).isProblem(.conflict, field: "_id"))
        let exists = try await app.user("ada").send(
            "POST", "/storage/Notes", #"{"_id":"secret"}"#, headers: ["If-None-Match": "*"])
        #expect(exists.isProblem(.preconditionFailed))
        _ = try await app.master.put("/collections/Notes/rules", #"{"rules":{"create":[],"update":[],"delete":[]}}"#)
        #expect(try await app.client.post("/storage/Notes", "{}").isProblem(.forbidden))
        #expect(try await app.user("ada").patch("/storage/Notes/secret", "{}").isProblem(.forbidden))
        #expect(try await app.user("ada").delete("/storage/Notes/secret").isProblem(.forbidden))
        #expect(receiver.received.isEmpty)
        #expect(
            try await app.master.delete("/storage/Notes/secret").isProblem(.hookRefused),
            "the hook is called for the master key, too")
    }

    @Test("a hook may itself read and write, because nothing is locked during its call", .timeLimit(.minutes(5)))
    func nothingHeld() async throws {
        let app = try await StorageApp()
        _ = try await app.client.post("/storage/Notes", #"{"_id":"a","n":0}"#)
        let receiver = try await HookReceiver { request in
            for number in 0..<3 { _ = try await app.client.post("/storage/Log", #"{"n":\#(number)}"#) }
            let note = try await app.client.get("/storage/Notes/a")
            return note.status == 200 ? (200, "{}") : (400, "{}")
        }
        try await app.hook("save", "beforeSave", "Notes", at: receiver)
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<20 {
                group.addTask {
                    let change = #"{"n":{"__op":"Increment","amount":1}}"#
                    return try await app.client.send(
                        "PATCH", "/storage/Notes/a", change, headers: ["Idempotency-Key": "k\(number)"]
                    ).status
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(statuses == Array(repeating: 200, count: 20))
        #expect(try await app.client.get("/storage/Notes/a")["n"] == "20")
    }

    @Test("a repeated idempotency key gets the same answer, whatever the hook would answer now")
    func idempotency() async throws {
        let app = try await StorageApp()
        let refuses = Mutex(false)
        let receiver = try await HookReceiver { _ in (refuses.withLock { $0 } ? 400 : 200, "{}") }
        try await app.hook("save", "beforeSave", "Notes", at: receiver)
        let send = {
            try await app.client.send("POST", "/storage/Notes", #"{"n":1}"#, headers: ["Idempotency-Key": "k"])
        }
        let first = try await send()
        refuses.withLock { $0 = true }
        let again = try await send()
        #expect(first.status == 201 && again.status == 201 && first.text == again.text)
        #expect(again.header("Idempotency-Replayed") == "true")
        #expect(receiver.received.count == 1)
    }

    @Test("a batch calls the hook for each of its objects")
    func batches() async throws {
        let app = try await StorageApp()
        let receiver = try await HookReceiver { $0["object.bad"] == nil ? (200, "{}") : (400, #"{"error":"bad"}"#) }
        try await app.hook("save", "beforeSave", "Notes", at: receiver)
        let requests = """
            [{"method":"POST","path":"storage/Notes","body":{"_id":"a"}},{"method":"POST","path":"storage/Notes","body":{"_id":"b","bad":1}},
            {"method":"PATCH","path":"storage/Notes/a","body":{"n":1}}]
            """
        let single = try await app.client.post("/storage/batch", #"{"requests":\#(requests)}"#)
        #expect(
            single["data.0.status"] == "201" && single["data.1.status"] == "400" && single["data.2.status"] == "200")
        #expect(single["data.1.body.code"] == "\"hook-refused\"")
        try await app.expectRefusal(.hookRefused, field: "requests.1") {
            try await app.client.post("/storage/batch", #"{"transaction":true,"requests":\#(requests)}"#)
        }
    }

    @Test("a bulk post calls the hook for each of its objects, stores them as the hook wants, and is atomic")
    func bulk() async throws {
        let app = try await StorageApp()
        let receiver = try await HookReceiver { message in
            if message["object.bad"] != nil { return (400, #"{"error":"bad"}"#) }
            return (200, message["object.n"].map { #"{"object":{"n":\#($0),"seen":true}}"# } ?? "{}")
        }
        try await app.hook("save", "beforeSave", "Notes", at: receiver)
        let objects =
            (0..<30).map { #"{"_id":"o\#($0)","n":\#($0)}"# } + [#"{"_id":"last","_readers":["ada"],"text":"ü"}"#]
        let stored = try await app.client.post("/storage/all/Notes", "[" + objects.joined(separator: ",") + "]")
        #expect(stored.status == 201 && stored["count"] == "31", "\(stored)")
        #expect(
            stored["data.0._id"] == #""o0""# && stored["data.29.n"] == "29" && stored["data.29.seen"] == "true",
            "\(stored)")
        #expect(receiver.received.count == 31)
        let last = try await app.user("ada").get("/storage/Notes/last")
        #expect(last["text"] == #""ü""# && last["_readers"] == #"["ada"]"# && last["seen"] == nil, "\(last)")
        try await app.expectRefusal(.hookRefused, field: "1") {
            try await app.client.post("/storage/all/Notes", #"[{"n":1},{"bad":1},{"n":2}]"#)
        }
        try await app.expectRefusal(.invalidBody, field: "_id") {
            try await app.client.post("/storage/all/Notes", #"[{"_id":"a"},{"_id":"a"}]"#)
        }
        #expect(try await app.client.post("/storage/all/Other", #"[{"bad":1}]"#).status == 201)
    }

    @Test("a repeated bulk post with a key does not call the hook again")
    func bulkIdempotency() async throws {
        let app = try await StorageApp()
        let receiver = try await HookReceiver { _ in (200, "{}") }
        try await app.hook("save", "beforeSave", "Notes", at: receiver)
        let send = {
            try await app.client.send(
                "POST", "/storage/all/Notes", #"[{"n":1},{"n":2}]"#, headers: ["Idempotency-Key": "k"])
        }
        let (first, again) = (try await send(), try await send())
        #expect(first.status == 201 && first.text == again.text)
        #expect(receiver.received.count == 2)
    }

    @Test("a collection without hooks costs no additional query")
    func cost() async throws {
        let app = try await StorageApp()
        // Its caches are cleared by no one else.
        let client = try await ServiceClient(app.anotherCopy()).acting(as: app.principal(.client))
        _ = try await client.post("/storage/Notes", #"{"_id":"a","n":1}"#)
        // What the service knows is valid for ten seconds. On its own connection, the change of the table does not wait
        // for other tests in that time.
        try await app.database.withSuperuser { superuser in
            _ = try await superuser.query("SELECT 1")
            #expect(try await client.patch("/storage/Notes/a", #"{"n":2}"#).status == 200)
            _ = try await superuser.execute("ALTER TABLE \(try app.space().own("_hooks")) RENAME TO _hooks_away")
            #expect(
                try await client.patch("/storage/Notes/a", #"{"n":3}"#).status == 200, "the cached hooks are used")
        }
    }
}

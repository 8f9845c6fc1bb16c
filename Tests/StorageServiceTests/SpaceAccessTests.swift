import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import Testing

@testable import StorageService

/// What clients may do where no rule says otherwise.
@Suite struct SpaceAccessTests {
    private static let closed = #"{"access":"closed"}"#
    private static let open = #"{"access":"open"}"#

    @Test func `a new app is closed in live and open in test, and the server changes both`() async throws {
        let app = try await StorageApp.withDefaultAccess()
        #expect(try await app.master.get("/rules/settings").text == Self.closed)
        #expect(try await app.testMaster.get("/rules/settings").text == Self.open)
        #expect(try await app.testClient.post("/storage/Note", #"{"_id":"a"}"#).status == 201)
        #expect(try await app.client.post("/storage/Note", #"{"_id":"a"}"#).isProblem(.forbidden))
        #expect(try await app.master.put("/rules/settings", Self.open).text == Self.open)
        #expect(try await app.client.post("/storage/Note", #"{"_id":"a"}"#).status == 201)
        #expect(try await app.testMaster.put("/rules/settings", Self.closed).text == Self.closed)
        #expect(try await app.testClient.get("/storage/Note/a").isProblem(.forbidden))
        #expect(try await app.client.get("/storage/Note/a").status == 200, "live is another environment")
        // A copy of the service that starts now knows it too.
        let other = try await ServiceClient(
            StorageService(
                postgres: app.postgres, files: SharedFiles.settings, logger: .silent, hooks: SharedHooks.settings))
        #expect(try await other.acting(as: app.principal(.client, .test)).get("/storage/Note").isProblem(.forbidden))
    }

    @Test func `spaces created before access could be closed stay open`() async throws {
        let app = try await StorageApp()
        _ = try await app.client.post("/storage/Note", #"{"_id":"a"}"#)
        let schema = try app.space().schema
        try await app.superuser.execute("UPDATE storage.spaces SET version = 16 WHERE schema = \(schema)")
        #expect(try await app.master.get("/rules/settings").text == Self.open)
        #expect(try await app.client.get("/storage/Note").ids == ["a"])
    }

    @Test(arguments: ["{}", #"{"access":"ajar"}"#, #"{"access":null}"#, #"{"access":"open","x":1}"#, "[]"])
    func `invalid settings of rules are refused`(_ body: String) async throws {
        let app = try await StorageApp.withDefaultAccess()
        _ = try await app.master.get("/storage/Note")
        try await app.expectRefusal(.invalidBody) { try await app.master.put("/rules/settings", body) }
        #expect(try await app.master.get("/rules/settings").text == Self.closed)
        for client in [app.client, app.user("ann")] {
            #expect(try await client.put("/rules/settings", Self.open).isProblem(.forbidden))
            #expect(try await client.get("/rules/settings").isProblem(.forbidden))
        }
        #expect(try await app.master.get("/rules/settings").text == Self.closed)
    }

    /// Method, path with `*` for the collection, body.
    private static let calls: [(String, String, String?)] = [
        ("GET", "/storage/*", nil), ("GET", "/storage/*?count=true&limit=0", nil), ("GET", "/storage/*/a", nil),
        ("POST", "/storage/query/*", "{}"),
        ("POST", "/storage/aggregate/*", #"{"group":["n"],"values":{"last":{"$max":"n"}}}"#),
        ("POST", "/storage/distinct/*", #"{"field":"n"}"#), ("POST", "/storage/*", #"{"n":1}"#),
        ("POST", "/storage/*", #"{"_id":"b","n":1}"#), ("POST", "/storage/all/*", #"[{"n":1}]"#),
        ("PUT", "/storage/*/a", #"{"n":2}"#), ("PATCH", "/storage/*/a", #"{"n":2}"#),
        ("PATCH", "/storage/*/b?upsert=true", #"{"n":2}"#), ("DELETE", "/storage/*/a", nil),
        ("POST", "/storage/remove/*/a", nil), ("GET", "/live/*", nil), ("GET", "/changes/*", nil),
        (
            "POST", "/storage/batch",
            #"{"transaction":true,"requests":[{"method":"POST","path":"storage/*","body":{"n":1}}]}"#
        ),
        (
            "POST", "/storage/batch",
            #"{"transaction":true,"requests":[{"method":"PATCH","path":"storage/*/a","body":{"n":1}}]}"#
        ),
    ]

    @Test func `no call of a client does anything without a rule, whether or not the collection exists`() async throws {
        let app = try await StorageApp.withDefaultAccess()
        _ = try await app.master.post("/storage/Known", #"{"_id":"a","n":1}"#)
        _ = try await app.master.post("/storage/Ruled", #"{"_id":"a","n":1}"#)
        try await app.set(#"{"hidden":{"m":[]},"defaults":{"readers":["*"]}}"#, on: "Ruled")
        let before = try await app.everything()
        for client in [app.client, app.user("ann")] {
            for (method, path, body) in Self.calls {
                var details: Set<String?> = []
                for collection in ["Known", "Ruled", "Unknown"] {
                    let answer = try await client.send(
                        method, path.replacing("*", with: collection), body?.replacing("*", with: collection))
                    #expect(answer.isProblem(.forbidden), "\(method) \(path) \(collection): \(answer)")
                    #expect(answer["detail"]?.contains("PUT collections/{collection}/rules") == true, "\(answer)")
                    details.insert(answer["detail"])
                }
                #expect(details.count == 1, "\(method) \(path) tells collections apart")
            }
            let batch = try await client.post(
                "/storage/batch", #"{"requests":[{"method":"POST","path":"storage/Unknown","body":{"n":1}}]}"#)
            #expect(batch["data.0.status"] == "403", "\(batch)")
            let keyed = try await client.send(
                "POST", "/storage/Unknown", #"{"n":1}"#, headers: ["Idempotency-Key": "k"])
            #expect(keyed.isProblem(.forbidden))
        }
        #expect(try await app.everything() == before, "something was written")
        for (method, path, body) in Self.calls where !path.hasPrefix("/live") {
            let answer = try await app.master.send(
                method, path.replacing("*", with: "Known"), body?.replacing("*", with: "Known"))
            #expect(answer.status < 300 || answer.status == 404, "the master key: \(method) \(path): \(answer)")
        }
    }

    @Test(arguments: ["find", "get", "count", "create", "update", "delete"])
    func `a rule opens its operation and no other`(_ operation: String) async throws {
        let app = try await StorageApp.withDefaultAccess()
        _ = try await app.master.post("/storage/Note", #"{"_id":"a","n":1}"#)
        try await app.set(#"{"rules":{"\#(operation)":["*"]}}"#, on: "Note")
        func status(_ method: String, _ path: String, _ body: String? = nil) async throws -> Int {
            try await app.client.send(method, path, body).status
        }
        #expect(try await status("GET", "/storage/Note") == (operation == "find" ? 200 : 403))
        #expect(try await status("GET", "/storage/Note/a") == (operation == "get" ? 200 : 403))
        #expect(try await status("POST", "/storage/Note", #"{"n":2}"#) == (operation == "create" ? 201 : 403))
        // Nobody updates or deletes what they cannot read.
        #expect(try await status("PATCH", "/storage/Note/a", #"{"n":2}"#) == 403)
        #expect(try await status("DELETE", "/storage/Note/a") == 403)
        guard operation == "update" || operation == "delete" else { return }
        try await app.set(#"{"rules":{"\#(operation)":["*"],"get":["*"]}}"#, on: "Note")
        #expect(try await status("PATCH", "/storage/Note/a", #"{"n":2}"#) == (operation == "update" ? 200 : 403))
        #expect(try await status("DELETE", "/storage/Note/a") == (operation == "delete" ? 204 : 403))
    }

    @Test func `clients write fields that objects have had or the schema declares, and others by a rule`() async throws
    {
        let app = try await StorageApp.withDefaultAccess()
        try await app.set(#"{"rules":{"create":["*"],"get":["*"],"update":["*"]}}"#, on: "Note")
        try await app.expectRefusal(.forbidden, field: "n") { try await app.client.post("/storage/Note", #"{"n":1}"#) }
        _ = try await app.master.post("/storage/Note", #"{"_id":"a","n":1}"#)
        #expect(try await app.client.post("/storage/Note", #"{"n":2}"#).status == 201)
        try await app.expectRefusal(.forbidden, field: "m") {
            try await app.client.patch("/storage/Note/a", #"{"m":1}"#)
        }
        let schema = #"{"properties":{"m":{"type":"number"}}}"#
        #expect(try await app.master.put("/collections/Note/schema", schema).status == 200)
        #expect(try await app.client.patch("/storage/Note/a", #"{"m":1}"#).status == 200)
        try await app.expectRefusal(.forbidden, field: "o") {
            try await app.client.patch("/storage/Note/a", #"{"o":1}"#)
        }
        try await app.set(#"{"rules":{"get":["*"],"update":["*"],"addField":["*"]}}"#, on: "Note")
        #expect(try await app.client.patch("/storage/Note/a", #"{"o":1}"#).status == 200)
    }

    @Test func `other collections are closed in filters and includes, and read by conditions`() async throws {
        let app = try await StorageApp.withDefaultAccess()
        _ = try await app.master.post("/storage/Clubs", #"{"_id":"c","members":["ann"]}"#)
        let pointer = #"{"__type":"Pointer","className":"Clubs","objectId":"c"}"#
        _ = try await app.master.post("/storage/Note", #"{"_id":"a","club":\#(pointer)}"#)
        try await app.set(
            #"{"rules":{"find":[{"where":{"club.members":"$user.id"}}],"get":["*"]}}"#, on: "Note")
        let (ann, eve) = (app.user("ann"), app.user("eve"))
        #expect(try await ann.get("/storage/Note").ids == ["a"])
        #expect(try await eve.get("/storage/Note").ids == [])
        for collection in ["Clubs", "Nothing"] {
            let filter = #"{"club":{"$inQuery":{"className":"\#(collection)","where":{}}}}"#
            #expect(try await ann.post("/storage/query/Note", filter).isProblem(.forbidden))
        }
        #expect(try await ann.get("/storage/Note?include=club")["data.0.club"] == nil, "left out")
        #expect(try await app.master.get("/storage/Note?include=club")["data.0.club.members"] == #"["ann"]"#)
    }

    @Test func `closing ends streams that no rule allows`() async throws {
        let app = try await StorageApp()
        _ = try await app.master.post("/storage/Note", #"{"_id":"a"}"#)
        let stream = LiveStream()
        let principal = app.principal(.client)
        let follower = Task { [live = app.live] in try await stream.follow(live, "Note", as: principal) }
        try await stream.waitForOpen()
        let feed = try await app.client.get("/changes/Note")
        #expect(feed.status == 200)
        _ = try await app.master.put("/rules/settings", Self.closed)
        _ = try await app.master.post("/storage/Note", #"{"_id":"secret"}"#)
        try await follower.value
        #expect(!stream.lines.contains("create secret"), "\(stream.lines)")
        #expect(try await app.client.get("/changes/Note").isProblem(.forbidden))
    }

    @Test func `files without lists are the uploader's, and only signed-in users store new ones`() async throws {
        let app = try await StorageApp()
        _ = try await app.client.put("/upload/before.txt", "x")
        _ = try await app.master.put("/rules/settings", Self.closed)
        let (ann, eve) = (app.user("ann"), app.user("eve"))
        #expect(try await ann.put("/upload/own.txt", "x").status == 201)
        #expect(try await ann.put("/upload/all.txt?readers=*&writers=*", "x").status == 201)
        #expect(try await app.master.put("/upload/server.txt", "x").status == 201)
        for (path, readers) in [
            ("own.txt", [ann]), ("all.txt", [ann, eve, app.client]), ("before.txt", []), ("server.txt", []),
        ] as [(String, [ServiceClient])] {
            for client in [ann, eve, app.client] {
                let reads = readers.contains { $0.principal?.userID == client.principal?.userID }
                #expect(try await client.get("/upload/\(path)").status == (reads ? 200 : 404), "\(path)")
            }
            #expect(try await app.master.get("/upload/\(path)").status == 200)
        }
        try await app.expectRefusal(.forbidden) { try await app.client.put("/upload/new.txt", "x") }
        try await app.expectRefusal(.forbidden) { try await app.client.put("/upload/own.txt", "x") }
        try await app.expectRefusal(.forbidden) { try await eve.put("/upload/own.txt", "x") }
        try await app.expectRefusal(.forbidden) { try await eve.put("/upload/before.txt", "x") }
        #expect(try await app.client.put("/upload/all.txt", "y").status == 200)
        #expect(try await ann.put("/upload/own.txt", "y").status == 200)
        #expect(try await eve.get("/upload-history")["count"] != nil)
        #expect(!(try await eve.get("/upload-history").text.contains("own.txt")))
    }

    @Test(arguments: [closed, open]) func `a copy is closed if live is closed`(_ settings: String) async throws {
        let app = try await StorageApp.withDefaultAccess()
        _ = try await app.master.put("/rules/settings", settings)
        _ = try await app.master.post("/storage/Note", #"{"_id":"a"}"#)
        let job = try await app.finished(app.master.post("/environment/copy"))
        #expect(job["state"] == #""done""#, "\(job)")
        _ = try await app.master.put("/environment", #"{"open":true}"#)
        #expect(try await app.testMaster.get("/rules/settings").text == settings)
        let answer = try await app.testClient.get("/storage/Note")
        #expect(settings == Self.closed ? answer.isProblem(.forbidden) : answer.ids == ["a"], "\(answer)")
        _ = try await app.master.delete("/environment")
        #expect(try await app.testMaster.get("/rules/settings").text == settings, "emptying keeps the setting")
    }
}

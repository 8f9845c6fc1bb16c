import Foundation
import MartletAPI
import MartletCore
import MartletTesting
import Testing

@testable import StorageService

@Suite struct ForgedCursorTests {
    private let app: StorageApp

    init() async throws {
        app = try await StorageApp()
    }

    private func status(_ cursor: String, _ collection: String = "Notes", as client: ServiceClient? = nil) async throws
        -> [Answer]
    {
        let client = client ?? app.client
        return [
            try await client.get("/changes/\(collection)?since=\(cursor)"),
            try await client.get("/live/\(collection)?since=\(cursor)"),
            try await client.send("GET", "/live/\(collection)", headers: ["Last-Event-ID": cursor]),
        ]
    }

    @Test func `a cursor is valid only for its collection, app and environment`()
        async throws
    {
        _ = try await app.client.post("/storage/Notes", #"{"_id":"a"}"#)
        let cursor = try await app.feed(since: nil).cursor
        #expect(try await app.client.get("/changes/Notes?since=\(cursor)").status == 200)
        let other = app.neighbour()
        for answers in [
            try await status(cursor, "Others"), try await status(cursor, as: app.testClient),
            try await status(cursor, as: other.client),
        ] {
            #expect(
                answers[0].isProblem(.invalidParameter, field: "since")
                    && answers[1].isProblem(.invalidParameter, field: "since"))
            #expect(answers[2].isProblem(.invalidParameter, field: "Last-Event-ID"))
        }
        // Rights are checked on use, so the cursor may come from another caller.
        #expect(try await app.user("ann").get("/changes/Notes?since=\(cursor)").status == 200)
    }

    @Test func `no byte of a cursor can be changed, and none can be created without the key`() async throws {
        _ = try await app.client.post("/storage/Notes", #"{"_id":"a"}"#)
        let cursor = try await app.feed(since: nil).cursor
        let bytes = try #require(Base64URL.decode(cursor))
        for index in bytes.indices {
            var forged = bytes
            forged[index] ^= 1
            let answer = try await app.client.get("/changes/Notes?since=\(Base64URL.encode(forged))")
            // A cursor made with another key counts as expired.
            #expect(
                answer.isProblem(.invalidParameter, field: "since") || answer.isProblem(.cursorExpired),
                "byte \(index): \(answer)")
        }
        let signer = app.live.changes.signer
        let (name, space) = (try CollectionName("Notes"), try app.space())
        let real = try signer.cursor(cursor, of: name, in: space)
        let another = CursorSigner(secret: .random()).text(of: real, name.text, in: space)
        for answer in try await status(another) { #expect(answer.isProblem(.cursorExpired)) }
        // Unsigned cursors of earlier versions: start from the beginning.
        for answer in try await status(real.text) { #expect(answer.isProblem(.cursorExpired)) }
        for cursor in [
            "", "Mnw", String(bytes.count), Base64URL.encode(bytes.dropLast()), Base64URL.encode(bytes.suffix(32)),
            String(repeating: "A", count: 9_000),
        ] {
            #expect(
                try await app.client.get("/changes/Notes?since=\(cursor)").isProblem(.invalidParameter, field: "since"))
        }
    }

    @Test func `a page at an earlier state hides what the caller may no longer read`() async throws {
        _ = try await app.client.post("/storage/Notes", #"{"_id":"0"}"#)
        var start = try await app.feed(since: nil, user: "ann")
        // Begins after the walk, whose reader may have seen objects that appeared and disappeared meanwhile.
        _ = try await app.client.post("/storage/Notes", #"{"_id":"0"}"#)
        start = try await app.feed(since: start.cursor, user: "ann")
        for id in ["a", "b", "c", "d"] {
            _ = try await app.client.post(
                "/storage/Notes", #"{"_id":"\#(id)","text":"secret","_readers":["ann"],"_writers":null}"#)
        }
        let first = try await app.feed(since: start.cursor, "limit=1", user: "ann")
        #expect(first.changed == ["a"] && first.hasMore)
        _ = try await app.master.patch("/storage/Notes/b", #"{"_readers":["ben"]}"#)
        _ = try await app.master.delete("/storage/Notes/c")
        let rest = try await app.feed(since: first.cursor, user: "ann")
        #expect(rest.changed == ["d"] && rest.deleted == [])
        let next = try await app.feed(since: rest.cursor, user: "ann")
        #expect(next.changed.isEmpty && Set(next.deleted) == ["b", "c"])
    }

    @Test func `a page at an earlier state hides a field that the object no longer shows to the caller`() async throws {
        _ = try await app.client.post("/storage/Notes", #"{"_id":"0"}"#)
        _ = try await app.master.put("/collections/Notes/rules", #"{"hidden":{"salary":["field:owner"]}}"#)
        let start = try await app.feed(since: nil, user: "ann")
        for id in ["a", "b", "c"] {
            _ = try await app.master.post("/storage/Notes", #"{"_id":"\#(id)","owner":"ann","salary":1}"#)
        }
        let first = try await app.feed(since: start.cursor, "limit=1", user: "ann")
        _ = try await app.master.patch("/storage/Notes/b", #"{"owner":"ben"}"#)
        let rest = try await app.user("ann").get("/changes/Notes?since=\(first.cursor)")
        #expect(
            rest["changed.0._id"] == "\"b\"" && rest["changed.0.salary"] == nil && rest["changed.1.salary"] == "1",
            "\(rest)")
        let stream = LiveStream()
        var ann = app.principal(.client)
        ann.userID = "ann"
        let follower = Task { [ann, live = app.live] in
            try await stream.follow(live, "Notes", as: ann, since: start.cursor)
        }
        defer { follower.cancel() }
        try await stream.wait(for: 4)
        #expect(stream.lines == ["create a", "create b", "create c", "update b"])
        #expect(
            stream.events[0].data["object"]?["salary"] == .number("1")
                && stream.events[2].data["object"]?["salary"] == .number("1"))
        #expect(
            stream.events[1].data["object"]?["owner"] == .string("ann")
                && stream.events[1].data["object"]?["salary"] == nil)
    }

    @Test func `a resumed stream reports objects that the caller may no longer read, without showing them`()
        async throws
    {
        _ = try await app.client.post("/storage/Notes", #"{"_id":"0"}"#)
        let start = try await app.feed(since: nil, user: "ann").cursor
        for id in ["a", "b", "c", "d"] {
            _ = try await app.client.post(
                "/storage/Notes", #"{"_id":"\#(id)","text":"secret","_readers":["ann"],"_writers":null}"#)
        }
        _ = try await app.master.patch("/storage/Notes/b", #"{"_readers":["ben"]}"#)
        _ = try await app.master.delete("/storage/Notes/c")
        _ = try await app.master.post("/storage/remove/Notes/d")
        var ann = app.principal(.client)
        ann.userID = "ann"
        let stream = LiveStream()
        let follower = Task { [ann, live = app.live] in try await stream.follow(live, "Notes", as: ann, since: start) }
        defer { follower.cancel() }
        try await stream.wait(for: 7)
        #expect(
            stream.lines.sorted() == [
                "create a", "create b", "create c", "create d", "delete c", "delete d", "leave b",
            ])
        let shown = stream.events.filter { $0.data["object"] != nil }.map { "\($0.name) \($0.objectID ?? "")" }
        #expect(shown == ["create a", "create d", "delete c", "delete d"])
    }
}

import MartletAPI
import MartletCore
import MartletTesting
import Testing

@testable import StorageService

/// A page of the feed, as a client reads it.
struct FeedPage {
    var changed: [String]
    var deleted: [String]
    var cursor: String
    var hasMore: Bool

    init(_ answer: Answer) throws {
        func strings(_ value: JSONValue?, _ path: String?) -> [String] {
            guard case .array(let elements) = value else { return [] }
            return elements.compactMap { element in
                guard case .string(let text) = path == nil ? element : element[path ?? ""] else { return nil }
                return text
            }
        }
        changed = strings(answer.json?["changed"], "_id")
        deleted = strings(answer.json?["deleted"], nil)
        hasMore = answer["more"] == "true"
        guard case .string(let text) = answer.json?["cursor"] else { throw Missing(answer: answer) }
        cursor = text
    }

    struct Missing: Error { var answer: Answer }
}

extension StorageApp {
    func feed(_ collection: String = "Notes", since: String?, _ parameters: String = "", user: String? = nil)
        async throws -> FeedPage
    {
        let path = "/changes/\(collection)?\(since.map { "since=\($0)&" } ?? "")\(parameters)"
        var principal = principal(.client)
        principal.userID = user
        return try FeedPage(try await client.acting(as: principal).get(path))
    }
}

@Suite struct ReadChangesTests {
    @Test("without a cursor all objects are returned page by page, then the changes made meanwhile")
    func walk() async throws {
        let app = try await StorageApp()
        _ = try await app.client.post(
            "/storage/all/Notes", "[" + (0..<7).map { #"{"_id":"n\#($0)"}"# }.joined(separator: ",") + "]")
        let first = try await app.feed(since: nil, "limit=3")
        #expect(first.changed == ["n0", "n1", "n2"] && first.hasMore)
        _ = try await app.client.patch("/storage/Notes/n1", #"{"a":1}"#)
        _ = try await app.client.delete("/storage/Notes/n0")
        _ = try await app.client.post("/storage/Notes", #"{"_id":"m"}"#)
        let second = try await app.feed(since: first.cursor, "limit=3")
        #expect(second.changed == ["n3", "n4", "n5"] && second.hasMore)
        let third = try await app.feed(since: second.cursor, "limit=3")
        #expect(third.changed == ["n6"] && !third.hasMore)
        let fourth = try await app.feed(since: third.cursor)
        #expect(fourth.changed == ["n1", "m"] && fourth.deleted == ["n0"] && !fourth.hasMore)
        let fifth = try await app.feed(since: fourth.cursor)
        #expect(fifth.changed.isEmpty && fifth.deleted.isEmpty && !fifth.hasMore)
    }

    @Test("each object is returned once in its latest state, even across pages")
    func latest() async throws {
        let app = try await StorageApp()
        let start = try await app.feed(since: nil).cursor
        for round in 0..<4 {
            for name in ["a", "b", "c"] {
                _ = try await app.client.post("/storage/Notes", #"{"_id":"\#(name)","n":\#(round)}"#)
            }
        }
        let first = try await app.feed(since: start, "limit=2")
        #expect(first.changed == ["a", "b"] && first.hasMore)
        _ = try await app.client.patch("/storage/Notes/a", #"{"n":9}"#)
        let second = try await app.feed(since: first.cursor, "limit=2")
        #expect(second.changed == ["c"] && second.hasMore, "there are newer changes")
        let third = try await app.feed(since: second.cursor, "limit=2")
        #expect(third.changed == ["a"] && !third.hasMore)
    }

    @Test(
        "objects that leave the filter or the caller's rights are deleted for those who saw them, and unknown to others"
    )
    func leaving() async throws {
        let app = try await StorageApp()
        // Begins after the walk, whose reader may have seen objects that appeared and disappeared meanwhile.
        _ = try await app.client.post("/storage/Notes", #"{"_id":"0"}"#)
        let walked = try await app.feed(since: nil).cursor
        _ = try await app.client.post("/storage/Notes", #"{"_id":"0"}"#)
        let start = try await app.feed(since: walked).cursor
        _ = try await app.client.post("/storage/Notes", #"{"_id":"a","x":1,"_readers":["ann"],"_writers":null}"#)
        _ = try await app.client.post("/storage/Notes", #"{"_id":"b","x":1}"#)
        let filter = "where=%7B%22x%22:1%7D"
        let ann = try await app.feed(since: start, filter, user: "ann")
        let bob = try await app.feed(since: start, filter, user: "bob")
        #expect(ann.changed == ["a", "b"] && bob.changed == ["b"])
        _ = try await app.master.patch("/storage/Notes/a", #"{"_readers":["carl"]}"#)
        _ = try await app.master.patch("/storage/Notes/b", #"{"x":2}"#)
        #expect(try await app.feed(since: ann.cursor, filter, user: "ann").deleted == ["a", "b"])
        #expect(try await app.feed(since: bob.cursor, filter, user: "bob").deleted == ["b"])
        #expect(
            try await app.feed(since: start, filter, user: "bob").deleted == [], "it came and went in between")
    }

    @Test("objects that a walk returned and that are gone before the next call are reported as deleted")
    func ghosts() async throws {
        let app = try await StorageApp()
        _ = try await app.client.post("/storage/all/Notes", #"[{"_id":"a"},{"_id":"b"},{"_id":"c"}]"#)
        let first = try await app.feed(since: nil, "limit=1")
        #expect(first.changed == ["a"])
        for id in ["x", "y", "z"] { _ = try await app.client.post("/storage/Notes", #"{"_id":"\#(id)","n":1}"#) }
        _ = try await app.master.post("/storage/Notes", #"{"_id":"secret","_readers":["carl"]}"#)
        var (page, shown) = (first, first.changed)
        while page.hasMore {
            page = try await app.feed(since: page.cursor, "limit=1")
            shown += page.changed
        }
        #expect(shown == ["a", "b", "c", "x", "y", "z"])
        _ = try await app.client.delete("/storage/Notes/x")
        _ = try await app.client.delete("/storage/Notes/b")
        _ = try await app.master.patch("/storage/Notes/y", #"{"_readers":["carl"]}"#)
        _ = try await app.master.delete("/storage/Notes/secret")
        var deleted: [String] = []
        var changed: [String] = []
        repeat {
            page = try await app.feed(since: page.cursor, "limit=1")
            deleted += page.deleted
            changed += page.changed
        } while page.hasMore
        #expect(deleted.sorted() == ["b", "x", "y"])
        #expect(changed == ["z"], "it was written after the walk began")
    }

    @Test("wait delays the answer until something is written")
    func waiting() async throws {
        let app = try await StorageApp()
        _ = try await app.client.post("/storage/Notes", #"{"_id":"a"}"#)
        let start = try await app.feed(since: nil).cursor
        async let page = app.feed(since: start, "wait=30")
        // Longer than the pause between two polls.
        try await Task.sleep(for: .milliseconds(2_500))
        _ = try await app.client.post("/storage/Notes", #"{"_id":"b"}"#)
        #expect(try await page.changed == ["b"])
        let (begin, cursor) = (ContinuousClock.now, try await page.cursor)
        #expect(try await app.feed(since: cursor, "wait=1").changed.isEmpty)
        #expect(ContinuousClock.now - begin >= .milliseconds(900))
    }

    @Test("dropping a collection makes its cursors expire")
    func dropping() async throws {
        let app = try await StorageApp()
        _ = try await app.client.post("/storage/Notes", #"{"_id":"a"}"#)
        let start = try await app.feed(since: nil).cursor
        _ = try await app.master.delete("/collections/Notes")
        #expect(try await app.client.get("/changes/Notes?since=\(start)").isProblem(.cursorExpired))
    }

    @Test(
        "invalid parameters are refused",
        arguments: [
            ("since=x", "since"), ("limit=0", "limit"), ("limit=1001", "limit"), ("wait=31", "wait"), ("foo=1", "foo"),
            ("since=MXxhfGF8MTox", "since"), ("since=", "since"), ("since=Mnw", "since"),
        ])
    func refusals(parameters: String, field: String) async throws {
        let app = try await StorageApp()
        #expect(try await app.client.get("/changes/Notes?\(parameters)").isProblem(.invalidParameter, field: field))
    }
}

import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import Testing

@testable import StorageService

@Suite struct ReadLogTests {
    private let app: StorageApp

    init() async throws {
        app = try await StorageApp()
    }

    private var service: ServiceClient { app.acting(as: .service("notifications")) }

    private func log(_ collections: [String] = ["Notes"], after cursor: String? = nil, _ rest: String = "") async throws
        -> Answer
    {
        let names = collections.map(JSONValue.quote).joined(separator: ",")
        let after = cursor.map { #","after":"\#($0)""# } ?? ""
        return try await service.post(
            "/internal/changes",
            #"{"app":"\#(app.id)","environment":"live","collections":[\#(names)]\#(after)\#(rest)}"#)
    }

    private func cursor(_ answer: Answer) throws -> String {
        guard case .string(let text) = answer.json?["cursor"] else { throw FeedPage.Missing(answer: answer) }
        return text
    }

    private func list(_ answer: Answer, _ path: String) -> [String] {
        guard case .array(let changes) = answer.json?["changes"] else { return [] }
        return changes.map { $0[path].map { if case .string(let text) = $0 { text } else { $0.text } } ?? "-" }
    }

    @Test func `each write is a separate entry in the order of the log, with its author and the previous state`()
        async throws
    {
        let start = try cursor(try await log())
        _ = try await app.user("ann").post("/storage/Notes", #"{"_id":"n1","text":"a"}"#)
        _ = try await app.master.patch("/storage/Notes/n1", #"{"text":"b"}"#)
        _ = try await app.user("ben").post("/storage/Bikes", #"{"_id":"b1"}"#)
        _ = try await app.user("ann").post("/storage/Other", #"{"_id":"o1"}"#)
        _ = try await app.user("ann").delete("/storage/Notes/n1")
        let page = try await log(["Notes", "Bikes"], after: start)
        #expect(list(page, "change") == ["created", "updated", "created", "deleted"], "\(page)")
        #expect(list(page, "actor") == ["ann", "null", "ben", "ann"])
        #expect(page["changes.1.object.text"] == "\"b\"" && page["changes.1.previous.text"] == "\"a\"")
        #expect(
            page["changes.0.previous"] == "null" && page["changes.3.object"] == "null"
                && page["changes.3.previous.text"] == "\"b\"")
        #expect(page["more"] == "false" && page["expired"] == "false")
        let next = try await log(["Notes", "Bikes"], after: try cursor(page))
        #expect(list(next, "id").isEmpty)
    }

    @Test func `pages end at the limit and lose nothing`() async throws {
        let start = try cursor(try await log())
        for number in 0..<7 { _ = try await app.client.post("/storage/Notes", #"{"_id":"n\#(number)"}"#) }
        var (ids, place, pages) = ([String](), start, 0)
        while pages < 10 {
            let page = try await log(after: place, #","limit":3"#)
            ids += list(page, "id")
            place = try cursor(page)
            pages += 1
            if page["more"] == "false" { break }
        }
        // Other transactions on the server may have ended meanwhile, so another read may return more.
        #expect(ids == (0..<7).map { "n\($0)" } && pages >= 3)
    }

    @Test func `a transaction that commits late is reported after those that began later`() async throws {
        _ = try await app.client.post("/storage/Notes", #"{"_id":"n0"}"#)
        let start = try cursor(try await log())
        let space = try app.space()
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let (begun, begin) = AsyncStream.makeStream(of: Void.self)
        let changes = try space.own("_changes")
        let late = Task {
            try await app.postgres.withTransaction(role: space.role) { transaction in
                try await transaction.execute(
                    "INSERT INTO \(changes) (collection, id, kind, created, updated, version, doc) VALUES ('Notes', 'late', 'c', now(), now(), 1, '{}')"
                )
                begin.yield()
                for await _ in gate { break }
            }
        }
        for await _ in begun { break }
        _ = try await app.client.post("/storage/Notes", #"{"_id":"early"}"#)
        let first = try await log(after: start)
        #expect(list(first, "id") == ["early"])
        open.yield()
        try await late.value
        let second = try await log(after: try cursor(first), #","waitSeconds":10"#)
        #expect(list(second, "id") == ["late"])
    }

    @Test func `a waiting reader gets what is written meanwhile`() async throws {
        let start = try cursor(try await log())
        async let waiting = log(after: start, #","waitSeconds":30"#)
        try await Task.sleep(for: .milliseconds(200))
        _ = try await app.client.post("/storage/Notes", #"{"_id":"n1"}"#)
        #expect(list(try await waiting, "id") == ["n1"])
    }

    @Test func `dropping a collection removes nothing of others, and is reported until the cursor is past it`()
        async throws
    {
        _ = try await app.client.post("/storage/Notes", #"{"_id":"n1"}"#)
        let start = try cursor(try await log())
        for number in 1...3 { _ = try await app.client.post("/storage/Bikes", #"{"_id":"b\#(number)"}"#) }
        _ = try await app.client.post("/storage/Notes", #"{"_id":"n2"}"#)
        _ = try await app.master.delete("/collections/Notes")
        _ = try await app.client.post("/storage/Notes", #"{"_id":"n3"}"#)
        let page = try await log(["Bikes", "Notes"], after: start, #","limit":2"#)
        #expect(page["expired"] == "false" && list(page, "id") == ["b1", "b2"], "\(page)")
        #expect(page["lost.0.collection"] == "\"Notes\"" && page["lost.0.transaction"] != nil && page["lost.1"] == nil)
        let next = try await log(["Bikes", "Notes"], after: try cursor(page), #","limit":2"#)
        #expect(
            list(next, "id") == ["b3", "n3"] && next["lost.0.transaction"] == page["lost.0.transaction"], "\(next)")
        let end = try await log(["Bikes", "Notes"], after: try cursor(next))
        #expect(list(end, "id").isEmpty && end["lost"] == "[]", "\(end)")
        #expect(try await log(["Bikes"], after: start)["lost"] == "[]")
    }

    @Test func `the cursor of another log is invalid, and reading continues at the end of this one`() async throws {
        let other = try await service.post(
            "/internal/changes", #"{"app":"another1","environment":"live","collections":["Notes"]}"#)
        _ = try await app.client.post("/storage/Notes", #"{"_id":"n1"}"#)
        let page = try await log(after: try cursor(other))
        #expect(page["expired"] == "true" && list(page, "id").isEmpty, "\(page)")
        _ = try await app.client.post("/storage/Notes", #"{"_id":"n2"}"#)
        #expect(list(try await log(after: try cursor(page)), "id") == ["n2"])
    }

    @Test
    func
        `a backlog of several collections is read in the order of the log, even with a repeated name and concurrent writes`()
        async throws
    {
        let start = try cursor(try await log())
        let wanted = (0..<60).map { "o\($0)" }
        for (number, id) in wanted.prefix(50).enumerated() {
            _ = try await app.client.post("/storage/\(["Notes", "Bikes", "Other"][number % 3])", #"{"_id":"\#(id)"}"#)
        }
        var (ids, place, pages) = ([String](), start, 0)
        while ids.count < 60, pages < 40 {
            let page = try await log(["Notes", "Bikes", "Other", "Notes"], after: place, #","limit":7"#)
            ids += list(page, "id")
            place = try cursor(page)
            if pages == 2 {
                for id in wanted.suffix(10) { _ = try await app.client.post("/storage/Bikes", #"{"_id":"\#(id)"}"#) }
            }
            pages += 1
        }
        #expect(ids == wanted)
    }

    @Test func `objects and members of relations are looked up, null for missing ones`() async throws {
        _ = try await app.client.post("/storage/Bikes", #"{"_id":"b1","owner":"ann","secret":1}"#)
        _ = try await app.client.post("/storage/Events", #"{"_id":"e1"}"#)
        let members =
            #"[{"__type":"Pointer","className":"_User","objectId":"ben"},{"__type":"Pointer","className":"_User","objectId":"ann"}]"#
        let added = try await app.client.patch(
            "/storage/Events/e1", #"{"people":{"__op":"AddRelation","objects":\#(members)}}"#)
        try #require(added.status == 200, "\(added)")
        let found = try await service.post(
            "/internal/objects",
            """
            {"app":"\(app.id)","environment":"live","objects":[{"collection":"Bikes","id":"b1","keys":["owner"]},{"collection":"Bikes","id":"b2"},
            {"collection":"Nowhere","id":"x"}],"relations":[{"collection":"Events","id":"e1","field":"people"},{"collection":"Events","id":"e2","field":"people"}]}
            """)
        #expect(found["objects.0.owner"] == "\"ann\"" && found["objects.0.secret"] == nil, "\(found)")
        #expect(found["objects.1"] == "null" && found["objects.2"] == "null")
        #expect(found["relations"] == #"[["ann","ben"],[]]"#)
    }

    @Test(arguments: ["/internal/changes", "/internal/objects"])
    func `only internal services may read the log and look up objects`(path: String) async throws {
        for caller in [app.client, app.master, app.user("ann")] {
            try await app.expectRefusal(.forbidden) {
                try await caller.post(path, #"{"app":"\#(app.id)","environment":"live"}"#)
            }
        }
    }

    @Test(arguments: [
        (#"{"app":"X-1","environment":"live"}"#, "app"), (#"{"app":"a1","environment":"prod"}"#, "environment"),
        (#"{"environment":"live"}"#, "app"),
        (#"{"app":"a1","environment":"live","limit":501}"#, "limit"),
        (#"{"app":"a1","environment":"live","waitSeconds":31}"#, "waitSeconds"),
        (#"{"app":"a1","environment":"live","unknown":1}"#, "unknown"),
    ])
    func `an invalid request is refused`(body: String, field: String) async throws {
        #expect(try await service.post("/internal/changes", body).isProblem(.invalidBody, field: field))
    }
}

import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import NIOCore
import ServiceTesting
import Testing

@testable import StorageService

@Suite struct FollowCollectionTests {
    /// Runs `body` while a stream is open.
    private func following(
        _ app: StorageApp, _ collection: String = "Notes", where filter: String? = nil, keys: [String]? = nil,
        user: String? = nil,
        since: String? = nil, _ body: (LiveStream) async throws -> Void
    ) async throws {
        let stream = LiveStream()
        var principal = app.principal(.client)
        principal.userID = user
        let follower = Task { [principal, live = app.live] in
            try await stream.follow(live, collection, where: filter, keys: keys, as: principal, since: since)
        }
        defer { follower.cancel() }
        try await stream.waitForOpen()
        try await body(stream)
    }

    @Test("each write is an event, described by whether the filter matches before and after")
    func events() async throws {
        let app = try await StorageApp()
        try await following(app, where: #"{"age":{"$gte":18}}"#) { stream in
            _ = try await app.client.post("/storage/Notes", #"{"_id":"a","age":20}"#)
            _ = try await app.client.post("/storage/Notes", #"{"_id":"b","age":10}"#)
            _ = try await app.client.patch("/storage/Notes/b", #"{"age":30}"#)
            _ = try await app.client.patch("/storage/Notes/a", #"{"age":21}"#)
            _ = try await app.client.patch("/storage/Notes/a", #"{"age":1}"#)
            _ = try await app.client.delete("/storage/Notes/a")
            _ = try await app.client.post("/storage/remove/Notes/b")
            _ = try await app.client.post("/storage/Notes", #"{"_id":"b","age":40}"#)
            try await stream.wait(for: 6)
            #expect(stream.lines == ["create a", "enter b", "update a", "leave a", "delete b", "create b"])
            #expect(stream.events[0].data["object"]?["age"] == .number("20"))
            #expect(stream.events[3].data["object"]?["age"] == .number("1"))
            #expect(stream.events[4].data["object"]?["age"] == .number("30"), "a deleted object is shown as it was")
        }
    }

    @Test("a stream resumes from any event's id without loss or duplicates")
    func resuming() async throws {
        let app = try await StorageApp()
        var all: [LiveStream.Event] = []
        try await following(app) { stream in
            _ = try await app.client.post(
                "/storage/all/Notes", "[" + (0..<7).map { #"{"_id":"n\#($0)"}"# }.joined(separator: ",") + "]")
            for number in 0..<5 { _ = try await app.client.patch("/storage/Notes/n\(number)", #"{"a":1}"#) }
            try await stream.wait(for: 12)
            all = stream.events
        }
        #expect(all.count == 12)
        for (number, event) in all.enumerated() {
            try await following(app, since: event.id) { stream in
                try await stream.wait(for: all.count - number - 1)
                #expect(stream.events.map(\.data) == all[(number + 1)...].map(\.data))
            }
        }
    }

    @Test("a write that commits after later ones is neither lost nor duplicated")
    func lateCommit() async throws {
        let app = try await StorageApp()
        _ = try await app.client.post("/storage/Notes", #"{"_id":"first"}"#)
        let scope = QueryScope(space: try app.space(), collection: try CollectionName("Notes"), rights: .master)
        try await following(app) { stream in
            try await app.postgres.withTransaction(role: scope.space.role) { transaction in
                let objects = app.objects.within(transaction)
                _ = try await objects.create(try Document(ByteBuffer(string: #"{"_id":"late"}"#)), in: scope)
                for number in 0..<3 { _ = try await app.client.post("/storage/Notes", #"{"_id":"early\#(number)"}"#) }
                try await stream.wait(for: 3)
            }
            _ = try await app.client.post("/storage/Notes", #"{"_id":"last"}"#)
            try await stream.wait(for: 5)
            #expect(stream.lines.prefix(3) == ["create early0", "create early1", "create early2"])
            #expect(Set(stream.lines.suffix(2)) == ["create late", "create last"])
            // Resumes in the middle: the late event arrives, the others do not.
            let middle = stream.events[2].id
            try await following(app, since: middle) { again in
                try await again.wait(for: 2)
                #expect(Set(again.lines) == ["create late", "create last"])
            }
        }
    }

    @Test("reader lists decide for each subscriber, before and after the write")
    func readers() async throws {
        let app = try await StorageApp()
        try await following(app, user: "ann") { ann in
            try await following(app, user: "bob") { bob in
                _ = try await app.client.post("/storage/Notes", #"{"_id":"a","_readers":["ann"],"_writers":null}"#)
                _ = try await app.master.patch("/storage/Notes/a", #"{"_readers":["bob"]}"#)
                _ = try await app.master.patch("/storage/Notes/a", #"{"_readers":null}"#)
                _ = try await app.master.delete("/storage/Notes/a")
                try await ann.wait(for: 4)
                try await bob.wait(for: 3)
                #expect(ann.lines == ["create a", "leave a", "enter a", "delete a"])
                #expect(ann.events[1].data["object"] == nil, "what she may no longer read is not shown")
                #expect(bob.lines == ["enter a", "update a", "delete a"])
            }
        }
    }

    @Test("hidden fields are neither shown nor filtered by, and a stream whose right ends is closed with an error")
    func rules() async throws {
        let app = try await StorageApp()
        _ = try await app.master.put("/roles/admins", "{}")
        _ = try await app.master.put("/collections/Notes/rules", #"{"hidden":{"email":["role:admins"]}}"#)
        let answer = try await app.client.get("/live/Notes?where=%7B%22email%22:%22x%22%7D")
        #expect(answer.isProblem(.forbidden, field: "email"))
        try await following(app) { stream in
            _ = try await app.master.post("/storage/Notes", #"{"_id":"a","email":"x","name":"y"}"#)
            try await stream.wait(for: 1)
            #expect(stream.events[0].data["object"]?["email"] == nil)
            #expect(stream.events[0].data["object"]?["name"] == .string("y"))
            _ = try await app.master.put("/collections/Notes/rules", #"{"rules":{"find":[]}}"#)
            try await stream.wait(for: 2)
            #expect(stream.events[1].name == "error")
            #expect(stream.events[1].data["code"] == .string("forbidden"))
        }
        #expect(try await app.client.get("/live/Notes").isProblem(.forbidden))
    }

    @Test(
        "a request that cannot be followed is refused before the stream begins",
        arguments: [
            ("/live/Notes?since=x", ErrorCode.invalidParameter, "since"),
            ("/live/Notes?foo=1", .invalidParameter, "foo"),
            ("/live/Notes?where=%7B%22a%22:%7B%22$foo%22:1%7D%7D", .unknownOperator, "$foo"),
            ("/live/Notes?where=%5B", .invalidJSON, nil),
            ("/live/_x", .invalidName, "collection"), ("/live/Notes?keys=", .invalidParameter, "keys"),
            ("/live/Notes?where=" + String(repeating: "x", count: 9_000), .limitExceeded, "where"),
        ] as [(String, ErrorCode, String?)])
    func refusals(path: String, code: ErrorCode, field: String?) async throws {
        let app = try await StorageApp()
        #expect(try await app.client.get(path).isProblem(code, field: field))
    }

    @Test("a cursor of another log, or from before a deletion, has expired")
    func expiry() async throws {
        let app = try await StorageApp()
        _ = try await app.client.post("/storage/Notes", #"{"_id":"a"}"#)
        let old = try await app.feed(since: nil).cursor
        let (signer, name, space) = (app.live.changes.signer, try CollectionName("Notes"), try app.space())
        let cursor = try signer.cursor(old, of: name, in: space)
        let foreign = signer.text(
            of: ChangeCursor(epoch: "000000000000", position: cursor.position), name.text, in: space)
        #expect(try await app.client.get("/live/Notes?since=\(foreign)").isProblem(.cursorExpired))
        _ = try await app.client.post("/storage/Notes", #"{"_id":"b"}"#)
        let housekeeping = Housekeeping(postgres: app.postgres, logger: .silent, retentionInDays: 7)
        try await housekeeping.sweep()
        #expect(
            try await app.client.get("/changes/Notes?since=\(old)").status == 200,
            "no change is old enough to be deleted")
        _ = try await app.superuser.execute(
            "UPDATE \(try app.space().own("_changes")) SET at = now() - interval '8 days'")
        try await housekeeping.sweep()
        #expect(try await app.client.get("/live/Notes?since=\(old)").isProblem(.cursorExpired))
        #expect(try await app.client.get("/changes/Notes?since=\(old)").isProblem(.cursorExpired))
        let fresh = try await app.feed(since: nil).cursor
        #expect(try await app.client.get("/changes/Notes?since=\(fresh)").status == 200)
    }

    @Test("a subscriber that does not read is cut off, and finds everything when it reconnects")
    func slowReader() async throws {
        let app = try await StorageApp()
        _ = try await app.client.post("/storage/Notes", #"{"_id":"start"}"#)
        let stream = LiveStream()
        let principal = app.principal(.client)
        let stall = BlackHole()
        let slow = Task { [live = app.live] in try await stream.follow(live, "Notes", as: principal, stall: stall) }
        try await eventually("the slow stream is subscribed") { stall.callCount == 1 }
        let other = LiveStream()
        let reader = Task { [live = app.live] in try await other.follow(live, "Notes", as: principal) }
        try await other.waitForOpen()
        let count = 6
        for page in 0..<count {
            let objects = (0..<500).map { #"{"_id":"p\#(page)-\#($0)"}"# }.joined(separator: ",")
            _ = try await app.client.post("/storage/all/Notes", "[\(objects)]")
            // Events that this reader has received have been offered to the slow one, too.
            try await other.wait(for: (page + 1) * 500)
        }
        reader.cancel()
        stall.end()
        try await slow.value
        #expect(stream.events.count < count * 500)
        let again = Task { [live = app.live] in try await stream.follow(live, "Notes", as: principal) }
        try await stream.wait(for: count * 500)
        again.cancel()
        #expect(Set(stream.events.compactMap(\.objectID)).count == count * 500)
        #expect(stream.events.count == count * 500)
    }

    @Test(
        "a filter that reads more than the object, or may be slow, cannot be followed",
        arguments: [
            #"{"a":{"$inQuery":{"className":"Other","where":{}}}}"#,
            #"{"a":{"$notInQuery":{"className":"None","where":{}}}}"#,
            #"{"a":{"$select":{"query":{"className":"Other"},"key":"b"}}}"#, #"{"a":{"$gt":{"$relativeTime":"now"}}}"#,
            #"{"a":{"$regex":"^(a+)(a+)\\1\\2$"}}"#, #"{"$or":[{"a":{"$regex":"b"}}]}"#,
            #"{"$relatedTo":{"object":{"__type":"Pointer","className":"Other","objectId":"x"},"key":"k"}}"#,
        ])
    func refusedFilters(_ filter: String) async throws {
        let app = try await StorageApp()
        let encoded = try #require(filter.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
        #expect(try await app.client.get("/live/Notes?where=\(encoded)").isProblem(.invalidFilter, field: "where"))
        #expect(try await app.client.get("/changes/Notes?where=\(encoded)").isProblem(.invalidFilter, field: "where"))
    }

    @Test(
        "after failures on either side under load, every subscriber has each event exactly once",
        .timeLimit(.minutes(5)))
    func failures() async throws {
        let app = try await StorageApp()
        _ = try await app.client.post("/storage/Notes", #"{"_id":"start"}"#)
        let principal = app.principal(.client)
        let clients = [app.database.client(for: "storage", maximumConnections: 4), app.database.client(for: "storage")]
        // Separate instances of the service, because a break ends every stream of an instance.
        let copies = clients.map { StorageService(postgres: $0, files: SharedFiles.settings).live }
        let streams = [LiveStream(), LiveStream(), LiveStream()]
        let writes = 300
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            for (number, stream) in streams.enumerated() {
                tasks.addTask {
                    // 20 breaks, each on another instance of the service.
                    for round in 0..<20 {
                        let copy = copies[(number + round) % copies.count]
                        let follower = Task { try await stream.follow(copy, "Notes", as: principal) }
                        try await stream.waitForOpen()
                        try await Task.sleep(for: .milliseconds(Int.random(in: 5...80)))
                        if round % 3 == 0 { await copy.finish() }
                        follower.cancel()
                        _ = try? await follower.value
                    }
                    for round in 0..<120 where stream.events.count <= writes {
                        let copy = copies[round % copies.count]
                        let follower = Task { try await stream.follow(copy, "Notes", as: principal) }
                        try? await stream.wait(for: writes + 1, within: .seconds(1))
                        follower.cancel()
                        _ = try? await follower.value
                    }
                }
            }
            for stream in streams { try await stream.waitForOpen() }
            for writer in 0..<3 {
                tasks.addTask {
                    for number in 0..<writes / 3 {
                        let answer = try await app.client.post("/storage/Notes", #"{"_id":"w\#(writer)-\#(number)"}"#)
                        #expect(answer.status == 201)
                        try await Task.sleep(for: .milliseconds(8))
                    }
                    guard writer == 0 else { return }
                    #expect(try await app.client.post("/storage/Notes", #"{"_id":"end"}"#).status == 201)
                }
            }
            try await tasks.waitForAll()
        }
        for stream in streams {
            let ids = stream.events.compactMap(\.objectID)
            #expect(ids.count == writes + 1)
            #expect(Set(ids).count == writes + 1)
        }
        for client in clients { await client.close() }
    }
}

import MartletAPI
import MartletCore
import MartletTesting
import Testing

@testable import StorageService

/// Conditions decide what live streams and the change feed show.
@Suite struct ConditionalStreamTests {
    private func following(
        _ app: StorageApp, _ user: String?, since: String? = nil, _ body: (LiveStream) async throws -> Void
    ) async throws {
        let stream = LiveStream()
        var principal = app.principal(.client)
        principal.userID = user
        let follower = Task { [principal, live = app.live] in
            try await stream.follow(live, "Notes", as: principal, since: since)
        }
        defer { follower.cancel() }
        try await stream.waitForOpen()
        try await body(stream)
    }

    @Test func `an object that becomes visible or invisible is an enter or leave event`() async throws {
        let app = try await StorageApp()
        try await app.set(#"{"rules":{"find":[{"where":{"people":"$user.id","state":{"$ne":"draft"}}}]}}"#, on: "Notes")
        try await following(app, "ann") { ann in
            try await following(app, "eve") { eve in
                for body in [
                    #"{"_id":"a","people":["ann"],"state":"open"}"#, #"{"_id":"b","people":["ann"],"state":"draft"}"#,
                ] { _ = try await app.master.post("/storage/Notes", body) }
                _ = try await app.master.patch("/storage/Notes/b", #"{"state":"open"}"#)
                _ = try await app.master.patch("/storage/Notes/a", #"{"n":1}"#)
                _ = try await app.master.patch("/storage/Notes/a", #"{"people":["eve"]}"#)
                _ = try await app.master.patch("/storage/Notes/a", #"{"people":["eve","ann"]}"#)
                _ = try await app.master.patch("/storage/Notes/b", #"{"state":"draft"}"#)
                _ = try await app.master.delete("/storage/Notes/a")
                try await ann.wait(for: 7)
                try await eve.wait(for: 3)
                #expect(
                    ann.lines == ["create a", "enter b", "update a", "leave a", "enter a", "leave b", "delete a"])
                #expect(
                    ann.events[3].data["object"] == nil && ann.events[5].data["object"] == nil, "no longer readable")
                #expect(eve.lines == ["enter a", "update a", "delete a"])
            }
        }
        let principal = app.principal(.client)
        let refused = LiveStream()
        await #expect(throws: ServiceError.self) { try await refused.follow(app.live, "Notes", as: principal) }
    }

    @Test(arguments: [ConditionTests.forms[0], ConditionTests.forms[1]])
    func `a condition on another collection is evaluated when the event is sent`(_ condition: String) async throws {
        let app = try await StorageApp()
        let pointer = #"{"__type":"Pointer","className":"Events","objectId":"e"}"#
        let other = pointer.replacing(#""e""#, with: #""f""#)
        _ = try await app.master.post(
            "/storage/all/Events", #"[{"_id":"e","participants":["ann"]},{"_id":"f","participants":["ann"]}]"#)
        _ = try await app.master.post("/storage/Notes", #"{"_id":"0","event":\#(pointer)}"#)
        try await app.set(#"{"rules":{"find":[{"where":\#(condition)}]}}"#, on: "Notes")
        try await following(app, "ann") { ann in
            try await following(app, "eve") { eve in
                _ = try await app.master.post("/storage/Notes", #"{"_id":"a","event":\#(pointer)}"#)
                try await ann.wait(for: 1)
                _ = try await app.master.patch("/storage/Events/e", #"{"participants":["eve"]}"#)
                _ = try await app.master.post("/storage/Notes", #"{"_id":"b","event":\#(pointer)}"#)
                try await eve.wait(for: 1)
                #expect(ann.lines == ["create a"] && eve.lines == ["create b"])
                // A user who has been removed gets no earlier changes either.
                try await following(app, "ann", since: ann.cursor) { again in
                    _ = try await app.master.post("/storage/Notes", #"{"_id":"c","event":\#(other)}"#)
                    try await again.wait(for: 1)
                    #expect(again.lines == ["create c"])
                }
            }
        }
    }

    @Test func `subscribers whose rule contains the current time have the same shape`() async throws {
        let app = try await StorageApp()
        try await app.set(#"{"rules":{"find":[{"where":{"until":{"$gt":"$now"}}}]}}"#, on: "Notes")
        let rights = RightsStore(postgres: app.postgres, spaces: app.objects.spaces)
        let request = LiveRequest(collection: try CollectionName("Notes"), filter: nil, keys: nil)
        let space = try app.space()
        let one = try request.shape(try await rights.rights(of: app.principal(.client), in: space), in: space)
        try await Task.sleep(for: .milliseconds(20))
        let other = try request.shape(try await rights.rights(of: app.principal(.client), in: space), in: space)
        #expect(one == other)
    }

    @Test func `the change feed reports objects that became visible as changed, and invisible ones as deleted`()
        async throws
    {
        let app = try await StorageApp()
        try await app.set(#"{"rules":{"find":[{"where":{"people":"$user.id"}}]}}"#, on: "Notes")
        for (id, people) in [("a", #"["ann"]"#), ("b", #"["eve"]"#), ("c", #"["ann","eve"]"#)] {
            _ = try await app.master.post("/storage/Notes", #"{"_id":"\#(id)","people":\#(people)}"#)
        }
        let ann = try await app.feed(since: nil, user: "ann")
        let eve = try await app.feed(since: nil, user: "eve")
        #expect(ann.changed == ["a", "c"] && eve.changed == ["b", "c"])
        _ = try await app.master.patch("/storage/Notes/a", #"{"people":["eve"]}"#)
        _ = try await app.master.patch("/storage/Notes/b", #"{"n":1}"#)
        let (later, others) = (
            try await app.feed(since: ann.cursor, user: "ann"), try await app.feed(since: eve.cursor, user: "eve")
        )
        #expect(later.changed == [] && later.deleted == ["a"])
        #expect(others.changed == ["a", "b"] && others.deleted == [])
    }

    @Test func `the change feed follows a condition on another collection`() async throws {
        let app = try await StorageApp()
        let pointer = #"{"__type":"Pointer","className":"Events","objectId":"e"}"#
        _ = try await app.master.post("/storage/Events", #"{"_id":"e","participants":["ann"]}"#)
        _ = try await app.master.post("/storage/Notes", #"{"_id":"a","event":\#(pointer)}"#)
        try await app.set(#"{"rules":{"find":[{"where":{"event.participants":"$user.id"}}]}}"#, on: "Notes")
        let (ann, eve) = (try await app.feed(since: nil, user: "ann"), try await app.feed(since: nil, user: "eve"))
        #expect(ann.changed == ["a"] && eve.changed == [])
        _ = try await app.master.patch("/storage/Events/e", #"{"participants":["eve"]}"#)
        _ = try await app.master.patch("/storage/Notes/a", #"{"n":1}"#)
        #expect(try await app.feed(since: ann.cursor, user: "ann").changed == [])
        #expect(try await app.feed(since: eve.cursor, user: "eve").changed == ["a"])
    }
}

import MartletAPI
import MartletCore
import MartletTesting
import Testing

@testable import StorageService

/// What the source documents' apps show of an object while it changes, and who may report or export it.
@Suite struct SourceAppStreamTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let collection, id, field: String
        /// The callers who may read the field.
        let allowed: [String]
        /// The last object changed: everybody who may follow the collection sees it.
        let last: String
        /// The callers who may read the object; nil if all of them may read the field, too.
        var readers: [String]?

        init(
            _ collection: String, _ id: String, _ field: String, _ allowed: [String], last: String,
            readers: [String]? = nil
        ) {
            (self.collection, self.id, self.field, self.allowed) = (collection, id, field, allowed)
            (self.last, self.readers) = (last, readers)
        }

        var testDescription: String { "\(collection) \(id) \(field)" }
    }

    private static let all = #"["ann","bob","eve"]"#
    private static let (event, bike) = (
        SourceAppTests.pointer("Events", "all"), SourceAppTests.pointer("Bikes", "all")
    )

    @Test(arguments: [
        Row("Events", "e1", "title", ["ann", "bob", "eve"], last: "{}"),
        Row("Messages", "m1", "text", ["ann", "bob"], last: #"{"event":\#(event)}"#),
        Row("Invitations", "i1", "state", ["ann", "eve"], last: #"{"to":\#(all)}"#),
    ]) func `SportLook shows changes to the readers of the object`(_ row: Row) async throws {
        let app = try await SourceAppTests.app(SourceAppTests.sportLookObjects, SourceAppRules.sportLook)
        let event = #"{"_id":"all","participants":\#(Self.all)}"#
        #expect(try await app.master.post("/storage/Events", event).status == 201)
        try await check(row, in: app)
    }

    @Test(arguments: [
        Row("Bikes", "b1", "make", SourceAppTests.callers, last: #"{"missing":true}"#),
        Row("Bikes", "b1", "owner", ["ann"], last: #"{"missing":true}"#, readers: SourceAppTests.callers),
        Row("Bikes", "b2", "make", ["ann"], last: #"{"missing":true}"#),
        Row("Sightings", "s1", "note", ["ann"], last: #"{"bike":\#(bike)}"#),
    ]) func `FindMyBike shows changes to the readers of the object`(_ row: Row) async throws {
        let app = try await SourceAppTests.app(SourceAppTests.findMyBikeObjects, SourceAppRules.findMyBike)
        #expect(try await app.master.post("/storage/Bikes", #"{"_id":"all","owner":\#(Self.all)}"#).status == 201)
        try await check(row, in: app)
    }

    @Test(arguments: [
        Row("Events", "e1", "title", SourceAppTests.callers, last: "{}"),
        Row("SignUps", "u1", "name", ["ann"], last: "{}"),
    ]) func `Napton's events app shows changes to the readers of the object`(_ row: Row) async throws {
        try await check(row, in: SourceAppTests.app(SourceAppTests.kickInObjects, SourceAppRules.kickIn))
    }

    @Test(arguments: [
        Row("Lessons", "l1", "title", SourceAppTests.callers, last: #"{"published":true}"#),
        Row("Lessons", "l2", "title", ["ann"], last: #"{"published":true}"#),
        Row("Lessons", "l1", "note", ["ann"], last: #"{"published":true}"#, readers: SourceAppTests.callers),
    ]) func `the timetable shows changes to the readers of the object`(_ row: Row) async throws {
        try await check(row, in: SourceAppTests.app(SourceAppTests.timetableObjects, SourceAppRules.timetable))
    }

    // MARK: - Checks

    private struct Follower: Sendable {
        let caller: String
        let client: ServiceClient
        let stream: LiveStream
        let task: Task<Void, any Error>
        /// The cursor of the change feed.
        let start: String

        init(_ caller: String, _ collection: String, in app: StorageApp) async throws {
            self.caller = caller
            client = SourceAppTests.client(caller, of: app)
            start = try FeedPage(try await client.get("/changes/\(collection)")).cursor
            let stream = LiveStream()
            self.stream = stream
            var principal = app.principal(.client)
            principal.userID = caller == "none" ? nil : caller
            task = Task { [principal, stream, live = app.live] in
                try await stream.follow(live, collection, as: principal)
            }
            try await stream.waitForOpen()
        }
    }

    private func check(_ row: Row, in app: StorageApp) async throws {
        let path = "/storage/\(row.collection)"
        let secret = try #require(try await app.master.get("\(path)/\(row.id)")[row.field])
        var followers: [Follower] = []
        defer { for follower in followers { follower.task.cancel() } }
        for caller in SourceAppTests.callers {
            let client = SourceAppTests.client(caller, of: app)
            try await checkReport(row, caller, by: client)
            guard try await client.get("/changes/\(row.collection)").status != 403 else {
                #expect(try await client.get("/live/\(row.collection)").isProblem(.forbidden))
                #expect(!row.allowed.contains(caller) && row.readers?.contains(caller) != true, "\(caller)")
                continue
            }
            followers.append(try await Follower(caller, row.collection, in: app))
        }
        #expect(try await app.master.patch("\(path)/\(row.id)", #"{"touched":1}"#).status == 200)
        let separator = row.last == "{}" ? "" : ","
        let last = #"{"_id":"last"\#(separator)"# + row.last.dropFirst()
        #expect(try await app.master.post(path, last).status == 201)
        for follower in followers { try await check(row, secret, follower) }
    }

    private func check(_ row: Row, _ secret: String, _ follower: Follower) async throws {
        let stream = follower.stream
        try await eventually("the last event came") { stream.lines.contains("create last") }
        let isReader = (row.readers ?? row.allowed).contains(follower.caller)
        let isAllowed = row.allowed.contains(follower.caller)
        let events = stream.events.filter { $0.objectID == row.id }
        #expect(events.map(\.name) == (isReader ? ["update"] : []), "\(follower.caller): \(stream.lines)")
        #expect(events.contains { $0.data["object"]?[row.field]?.text == secret } == isAllowed, "\(follower.caller)")
        let feed = try await follower.client.get("/changes/\(row.collection)?since=\(follower.start)")
        #expect(try FeedPage(feed).changed == (isReader ? [row.id, "last"] : ["last"]), "\(follower.caller): \(feed)")
        #expect((feed["changed.0.\(row.field)"] == secret) == isAllowed, "\(follower.caller): \(feed)")
    }

    /// Reports need a user who reads the object; exports and the queue of reports need the master key.
    private func checkReport(_ row: Row, _ caller: String, by client: ServiceClient) async throws {
        let report = try await client.post("/storage/\(row.collection)/\(row.id)/report", #"{"reason":"x"}"#)
        let isReader = (row.readers ?? row.allowed).contains(caller)
        #expect(report.status == (caller == "none" ? 401 : isReader ? 201 : 404), "\(caller): \(report)")
        for path in ["exports/\(row.collection)", "reports", "collections/\(row.collection)/rules", "rules/report"] {
            #expect(try await client.get("/\(path)").isProblem(.forbidden), "\(caller) \(path)")
        }
        #expect(try await client.post("/exports/\(row.collection)", "{}").isProblem(.forbidden), "\(caller)")
    }
}

import MartletCore
import MartletTesting
import Testing

@testable import StorageService

/// The rights of the source documents' apps: every action, on every path, by every caller.
@Suite struct SourceAppTests {
    /// An action on one object, and who may do it.
    struct Row: Sendable, CustomTestStringConvertible {
        let collection: String
        let action: Action
        /// Callers who may; all others may not.
        let allowed: [String]

        init(_ collection: String, _ action: Action, _ allowed: [String]) {
            (self.collection, self.action, self.allowed) = (collection, action, allowed)
        }

        var testDescription: String { "\(collection) \(action)" }
    }

    enum Action: Sendable {
        /// Reads on every path that shows an object: get, lists, counts, aggregates, includes, other filters, the feed.
        case read(id: String, field: String)
        case create(String)
        case patch(id: String, String)
        case put(id: String, String)
        case delete(id: String)

        /// Another way to do the same write.
        var otherPath: WritePath {
            switch self {
            case .create: .bulk
            case .put: .upsert
            case .delete: .remove
            case .read, .patch: .transaction
            }
        }
    }

    /// `ann` created the event, `bob` participates, `eve` does neither. `none` is not signed in.
    static let callers = ["none", "ann", "bob", "eve"]

    static func pointer(_ collection: String, _ id: String) -> String {
        #"{"__type":"Pointer","className":"\#(collection)","objectId":"\#(id)"}"#
    }

    private static let (event, bike, quiet) = (pointer("Events", "e1"), pointer("Bikes", "b1"), pointer("Bikes", "b2"))
    private static func operation(_ name: String, _ values: String) -> String {
        #"{"participants":{"__op":"\#(name)","objects":[\#(values)]}}"#
    }

    static let sportLook: [Row] = [
        Row("Events", .read(id: "e1", field: "title"), ["ann", "bob", "eve"]),
        Row("Events", .create(#"{"creator":"eve","participants":["eve"],"state":"open"}"#), ["eve"]),
        Row("Events", .create(#"{"creator":"eve","participants":["eve","bob"],"state":"open"}"#), []),
        Row("Events", .create(#"{"creator":"eve","state":"open"}"#), []),
        Row("Events", .patch(id: "e1", operation("AddUnique", #""eve""#)), ["eve"]),
        Row("Events", .patch(id: "e1", operation("AddUnique", #""eve","joe""#)), []),
        Row("Events", .patch(id: "e1", operation("Add", #""eve""#)), []),
        Row("Events", .patch(id: "e1", operation("Remove", #""bob""#)), ["bob"]),
        Row("Events", .patch(id: "e2", operation("AddUnique", #""eve""#)), []),
        Row("Events", .patch(id: "e1", #"{"participants":["eve"]}"#), []),
        Row("Events", .patch(id: "e1", #"{"title":"Chess"}"#), ["ann"]),
        Row("Events", .patch(id: "e1", #"{"state":"shut"}"#), ["ann"]),
        Row("Events", .patch(id: "e1", #"{"creator":"eve"}"#), []),
        Row("Events", .patch(id: "e1", #"{"title":"Chess","creator":"ann"}"#), []),
        Row("Events", .put(id: "e1", #"{"creator":"eve","participants":["eve"],"state":"open"}"#), []),
        Row("Events", .put(id: "e1", #"{"creator":"ann","participants":["ann"],"state":"open"}"#), []),
        Row("Events", .delete(id: "e1"), ["ann"]),
        Row("Messages", .read(id: "m1", field: "text"), ["ann", "bob"]),
        Row("Messages", .create(#"{"author":"bob","event":\#(event),"text":"hi"}"#), ["bob"]),
        Row("Messages", .create(#"{"author":"eve","event":\#(event),"text":"hi"}"#), []),
        Row("Messages", .create(#"{"author":"bob","event":[\#(event),\#(pointer("Events", "e2"))]}"#), []),
        Row("Messages", .create(#"{"author":"bob","text":"hi"}"#), []),
        Row("Messages", .patch(id: "m1", #"{"text":"changed"}"#), []),
        Row("Messages", .put(id: "m1", #"{"author":"ann","event":\#(event),"text":"changed"}"#), []),
        Row("Messages", .delete(id: "m1"), ["ann"]),
        Row("Invitations", .read(id: "i1", field: "state"), ["ann", "eve"]),
        Row("Invitations", .create(#"{"from":"bob","to":"eve","event":\#(event),"state":"sent"}"#), ["bob"]),
        Row("Invitations", .create(#"{"from":"eve","to":"bob","event":\#(event),"state":"sent"}"#), []),
        Row("Invitations", .create(#"{"from":"bob","to":"eve","event":\#(event),"state":"accepted"}"#), []),
        Row("Invitations", .patch(id: "i1", #"{"state":"accepted"}"#), ["eve"]),
        Row("Invitations", .patch(id: "i1", #"{"state":"whatever"}"#), []),
        Row("Invitations", .patch(id: "i1", #"{"to":"bob"}"#), []),
        Row("Invitations", .patch(id: "i2", #"{"state":"accepted"}"#), []),
        Row("Invitations", .delete(id: "i1"), ["ann"]),
    ]

    /// `ann` owns the bikes b1, which is missing, and b2, which is not.
    static let findMyBike: [Row] = [
        Row("Bikes", .read(id: "b1", field: "make"), ["none", "ann", "bob", "eve"]),
        Row("Bikes", .read(id: "b2", field: "make"), ["ann"]),
        Row("Bikes", .create(#"{"owner":"bob","make":"Kona"}"#), ["bob"]),
        Row("Bikes", .create(#"{"make":"Kona"}"#), []),
        Row("Bikes", .patch(id: "b1", #"{"missing":false}"#), ["ann"]),
        Row("Bikes", .patch(id: "b2", #"{"missing":true}"#), ["ann"]),
        Row("Bikes", .patch(id: "b1", #"{"owner":"eve"}"#), []),
        Row("Bikes", .put(id: "b1", #"{"owner":"ann","missing":true}"#), []),
        Row("Bikes", .delete(id: "b1"), ["ann"]),
        Row("Sightings", .read(id: "s1", field: "note"), ["ann"]),
        Row("Sightings", .create(#"{"bike":\#(bike),"note":"here"}"#), ["none", "ann", "bob", "eve"]),
        Row("Sightings", .create(#"{"bike":\#(quiet),"note":"here"}"#), []),
        Row("Sightings", .create(#"{"note":"here"}"#), []),
        Row("Sightings", .patch(id: "s1", #"{"note":"there"}"#), []),
        Row("Sightings", .delete(id: "s1"), ["ann"]),
    ]

    /// `ann` is an organiser and an editor.
    static let kickIn: [Row] = [
        Row("Events", .read(id: "e1", field: "title"), callers),
        Row("Events", .patch(id: "e1", #"{"title":"Chess"}"#), ["ann"]),
        Row("Events", .create(#"{"title":"Chess"}"#), ["ann"]),
        Row("Events", .delete(id: "e1"), ["ann"]),
        Row("SignUps", .read(id: "u1", field: "name"), ["ann"]),
        Row("SignUps", .create(#"{"event":\#(event),"name":"Joe"}"#), callers),
        Row("SignUps", .create(#"{"event":\#(pointer("Events", "e2")),"name":"Joe"}"#), []),
        Row("SignUps", .patch(id: "u1", #"{"name":"Joe"}"#), []),
        Row("SignUps", .put(id: "u1", #"{"event":\#(event),"name":"Joe"}"#), []),
        Row("SignUps", .delete(id: "u1"), ["ann"]),
    ]

    static let timetable: [Row] = [
        Row("Lessons", .read(id: "l1", field: "title"), callers),
        Row("Lessons", .read(id: "l2", field: "title"), ["ann"]),
        Row("Lessons", .read(id: "l1", field: "note"), ["ann"]),
        Row("Lessons", .create(#"{"title":"Art"}"#), ["ann"]),
        Row("Lessons", .patch(id: "l2", #"{"published":true}"#), ["ann"]),
        Row("Lessons", .put(id: "l1", #"{"title":"Art"}"#), ["ann"]),
        Row("Lessons", .delete(id: "l1"), ["ann"]),
    ]

    static let sportLookObjects = [
        "Events": [
            #"{"_id":"e1","title":"secret1","creator":"ann","participants":["ann","bob"],"state":"open"}"#,
            #"{"_id":"e2","title":"other","creator":"ann","participants":["ann"],"state":"shut"}"#,
        ],
        "Messages": [#"{"_id":"m1","author":"ann","event":\#(event),"text":"secret1"}"#],
        "Invitations": [
            #"{"_id":"i1","from":"ann","to":"eve","event":\#(event),"state":"sent"}"#,
            #"{"_id":"i2","from":"ann","to":"eve","event":\#(event),"state":"declined"}"#,
        ],
    ]

    static let findMyBikeObjects = [
        "Bikes": [
            #"{"_id":"b1","owner":"ann","make":"secret1","missing":true}"#,
            #"{"_id":"b2","owner":"ann","make":"secret2","missing":false}"#,
        ],
        "Sightings": [#"{"_id":"s1","bike":\#(bike),"note":"secret1"}"#],
    ]

    static let kickInObjects = [
        "Events": [
            #"{"_id":"e1","title":"secret1","open":true}"#, #"{"_id":"e2","title":"secret2","open":false}"#,
        ],
        "SignUps": [#"{"_id":"u1","event":\#(event),"name":"secret1"}"#],
    ]

    static let timetableObjects = [
        "Lessons": [
            #"{"_id":"l1","title":"secret1","note":"hush1","published":true}"#,
            #"{"_id":"l2","title":"secret2","note":"hush2","published":false}"#,
        ]
    ]

    @Test(arguments: sportLook) func `SportLook's rights hold`(_ row: Row) async throws {
        try await check(row, Self.sportLookObjects, SourceAppRules.sportLook)
    }

    @Test(arguments: findMyBike) func `FindMyBike's rights hold`(_ row: Row) async throws {
        try await check(row, Self.findMyBikeObjects, SourceAppRules.findMyBike)
    }

    @Test(arguments: kickIn) func `the rights of Napton's events app hold`(_ row: Row) async throws {
        try await check(row, Self.kickInObjects, SourceAppRules.kickIn)
    }

    @Test(arguments: timetable) func `the timetable's rights hold`(_ row: Row) async throws {
        try await check(row, Self.timetableObjects, SourceAppRules.timetable)
    }

    @Test func `only the owner of a bike learns who owns it`() async throws {
        let app = try await Self.app(Self.findMyBikeObjects, SourceAppRules.findMyBike)
        #expect(try await app.user("ann").get("/storage/Bikes/b1")["owner"] == #""ann""#)
        for caller in ["none", "bob"] {
            let client = Self.client(caller, of: app)
            #expect(try await client.get("/storage/Bikes/b1").text.contains("ann") == false)
            #expect(try await client.post("/storage/query/Bikes", #"{"owner":"ann"}"#).status == 403)
        }
    }

    // MARK: - Checks

    static func app(_ objects: [String: [String]], _ rules: [String: String]) async throws -> StorageApp {
        let app = try await StorageApp()
        for (collection, bodies) in objects {
            for body in bodies { #expect(try await app.master.post("/storage/\(collection)", body).status == 201) }
            _ = try await app.master.post(
                "/storage/Links", #"{"_id":"\#(collection)","to":[\#(links(to: collection, bodies))]}"#)
        }
        for role in ["organisers", "editors"] { _ = try await app.master.put("/roles/\(role)", #"{"add":["ann"]}"#) }
        for (collection, text) in rules { try await app.set(text, on: collection) }
        return app
    }

    private static func links(to collection: String, _ bodies: [String]) -> String {
        bodies.compactMap { try? JSONValue(parsing: $0.utf8)["_id"]?.text }
            .map { pointer(collection, String($0.dropFirst().dropLast())) }.joined(separator: ",")
    }

    static func client(_ caller: String, of app: StorageApp) -> ServiceClient {
        caller == "none" ? app.client : app.user(caller)
    }

    private func check(_ row: Row, _ objects: [String: [String]], _ rules: [String: String]) async throws {
        // A refused call changes nothing, so all callers who are refused can share an app.
        let shared = try await Self.app(objects, rules)
        for caller in Self.callers {
            let isAllowed = row.allowed.contains(caller)
            if case .read(let id, let field) = row.action {
                try await checkReads(row.collection, id, field, caller, of: shared, isAllowed)
            } else if isAllowed {
                for path in [WritePath.direct, row.action.otherPath] {
                    try await checkAllowed(row, path, caller, of: try await Self.app(objects, rules))
                }
            } else {
                try await checkRefused(row, caller, of: shared)
            }
        }
    }

    private func checkAllowed(
        _ row: Row, _ path: WritePath, _ caller: String, of app: StorageApp
    ) async throws {
        let before = try await app.master.get("/storage/\(row.collection)?order=_id").text
        let status = try await path.status(of: row.action, on: row.collection, by: Self.client(caller, of: app))
        #expect(status.map { (200...299).contains($0) } == true, "\(caller) \(path): \(status ?? 0)")
        #expect(try await app.master.get("/storage/\(row.collection)?order=_id").text != before, "\(caller)")
    }

    private func checkRefused(_ row: Row, _ caller: String, of app: StorageApp) async throws {
        let before = try await app.master.get("/storage/\(row.collection)?order=_id").text
        for path in WritePath.allCases {
            let client = Self.client(caller, of: app)
            guard let status = try await path.status(of: row.action, on: row.collection, by: client) else { continue }
            // An id that is taken is 409 or 412 where the write would create an object.
            let isRefused = [403, 404].contains(status) || (path.mayCreate && [409, 412].contains(status))
            #expect(isRefused, "\(caller) \(path): \(status)")
        }
        #expect(try await app.master.get("/storage/\(row.collection)?order=_id").text == before, "\(caller)")
    }

    private func checkReads(
        _ collection: String, _ id: String, _ field: String, _ caller: String, of app: StorageApp, _ isAllowed: Bool
    ) async throws {
        let secret = try #require(try await app.master.get("/storage/\(collection)/\(id)")[field])
        for path in ReadPath.allCases {
            let answer = try await path.answer(collection, id, field, secret, by: Self.client(caller, of: app))
            #expect(path.shows(answer, id, secret) == isAllowed, "\(caller) \(path): \(answer)")
        }
    }
}

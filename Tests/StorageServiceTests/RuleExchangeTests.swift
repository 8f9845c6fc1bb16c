import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import NIOCore
import ServiceTesting
import Testing

@testable import StorageService

/// Rules that are replaced while a stream, a waiting request for changes and a list with pages are open.
///
/// After the answer to `PUT …/rules`, none of them shows what the new rules forbid.
@Suite struct RuleExchangeTests {
    /// An app with a service and connections of its own, in which nobody else waits, and a caller in it.
    private struct Setup {
        let app: StorageApp
        let database: PostgresClient
        let storage: StorageService
        let master, ann: ServiceClient
        private let principal: Principal

        init(_ rules: String) async throws {
            app = try await StorageApp()
            database = app.database.client(for: "storage", maximumConnections: 4)
            storage = StorageService(
                postgres: database, files: SharedFiles.settings, logger: .silent, hooks: SharedHooks.settings)
            let service = try await ServiceClient(storage)
            master = service.acting(as: app.principal(.master))
            var principal = app.principal(.client)
            principal.userID = "ann"
            (self.principal, ann) = (principal, service.acting(as: principal))
            try await write(#"{"_id":"first","state":"none","round":0,"text":"x","n":0}"#)
            try await set(rules)
        }

        func set(_ rules: String) async throws {
            let answer = try await master.put("/collections/Notes/rules", rules)
            #expect(answer.status == 200, "\(answer)")
        }

        func write(_ body: String) async throws {
            let answer = try await master.post("/storage/Notes", body)
            #expect([200, 201].contains(answer.status), "\(answer)")
        }

        /// Follows like a client, which opens the stream again with its cursor when it ends, while `body` runs.
        func following(_ body: (LiveStream) async throws -> Void) async throws {
            let stream = LiveStream()
            let follower = Task { [principal = self.principal, live = storage.live] in
                while !Task.isCancelled { try await stream.follow(live, "Notes", as: principal) }
            }
            defer { follower.cancel() }
            try await stream.waitForOpen()
            try await body(stream)
        }
    }

    private static func rules(_ condition: String) -> String {
        #"{"rules":{"find":[{"who":["authenticated"],"where":\#(condition)}],"get":[],"count":[]}}"#
    }

    private static let open = rules(#"{"state":"open"}"#)
    private static let shut = rules(#"{"state":"shut"}"#)

    @Test func `a stream continues by the new rules, and what they newly show is an enter event`() async throws {
        let setup = try await Setup(Self.open)
        for (id, state) in [("o1", "open"), ("o2", "open"), ("s1", "shut"), ("s2", "shut")] {
            try await setup.write(#"{"_id":"\#(id)","state":"\#(state)","text":"\#(state) text"}"#)
        }
        try await setup.following { stream in
            try await setup.write(#"{"_id":"before","state":"open"}"#)
            try await stream.wait(for: 1)
            try await setup.set(Self.shut)
            try await setup.write(#"{"_id":"new","state":"open","text":"open text"}"#)
            for (id, change) in [
                ("o1", #"{"n":1}"#), ("o2", #"{"state":"shut","text":"shut text"}"#), ("s1", #"{"state":"open"}"#),
                ("s2", #"{"n":1}"#),
            ] { #expect(try await setup.master.patch("/storage/Notes/\(id)", change).status == 200) }
            try await setup.write(#"{"_id":"last","state":"shut"}"#)
            try await stream.wait(for: 5)
            #expect(stream.lines == ["create before", "enter o2", "leave s1", "update s2", "create last"])
            #expect(!stream.events.contains { $0.data.text.contains("open text") })
        }
        await setup.database.close()
    }

    @Test func `a waiting request for changes is answered by the new rules`() async throws {
        let setup = try await Setup(Self.open)
        for (id, state) in [("o1", "open"), ("o2", "open"), ("s1", "shut")] {
            try await setup.write(#"{"_id":"\#(id)","state":"\#(state)","text":"\#(state) text"}"#)
        }
        let start = try FeedPage(try await setup.ann.get("/changes/Notes"))
        #expect(start.changed == ["o1", "o2"])
        async let waiting = setup.ann.get("/changes/Notes?since=\(start.cursor)&wait=30")
        try await eventually("the request waits") { setup.storage.feed.waiting.available < SyncFeed.maximumWaiting }
        try await setup.set(Self.shut)
        try await setup.write(#"{"_id":"new","state":"open","text":"open text"}"#)
        #expect(try await setup.master.patch("/storage/Notes/o1", #"{"n":1}"#).status == 200)
        let change = #"{"state":"shut","text":"shut text"}"#
        #expect(try await setup.master.patch("/storage/Notes/o2", change).status == 200)
        try await setup.write(#"{"_id":"last","state":"shut"}"#)
        var changed: Set<String> = []
        var answer = try await waiting
        while true {
            #expect(!answer.text.contains("open text"), "\(answer)")
            let page = try FeedPage(answer)
            changed.formUnion(page.changed)
            guard !changed.contains("last") else { break }
            answer = try await setup.ann.get("/changes/Notes?since=\(page.cursor)&wait=30")
        }
        #expect(changed == ["o2", "last"])
        await setup.database.close()
    }

    @Test func `the next page of a list is by the new rules`() async throws {
        let setup = try await Setup(Self.open)
        for number in 10..<40 {
            let state = number % 2 == 0 ? "open" : "shut"
            try await setup.write(#"{"_id":"n\#(number)","state":"\#(state)","n":\#(number)}"#)
        }
        for order in ["_id", "n"] {
            try await setup.set(Self.open)
            var (ids, cursor): ([String], String) = ([], "")
            for page in 0..<6 {
                let answer = try await setup.ann.get("/storage/Notes?cursor=\(cursor)&order=\(order)&limit=5")
                ids += answer.ids
                if page == 1 { try await setup.set(Self.shut) }
                guard let next = answer["cursor"], next != "null" else { break }
                cursor = next.filter { $0 != "\"" }
            }
            let expected = (10..<40).filter { $0 < 29 ? $0 % 2 == 0 : $0 % 2 == 1 }.map { "n\($0)" }
            #expect(ids == expected)
        }
        await setup.database.close()
    }

    /// Rules that each allow less than the one before, each followed at once by a write that only the one before
    /// allows.
    @Test func `no write after the answer is shown by the old rules, however often rules change`() async throws {
        let setup = try await Setup(Self.rules(#"{"round":{"$gte":0}}"#))
        let rounds = 40
        let start = try FeedPage(try await setup.ann.get("/changes/Notes")).cursor
        try await setup.following { stream in
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                // Keeps the stream and the feed reading.
                tasks.addTask {
                    for number in 0..<300 {
                        try await setup.write(#"{"_id":"noise","round":1000,"n":\#(number)}"#)
                    }
                }
                tasks.addTask {
                    for round in 1...rounds {
                        try await setup.set(Self.rules(#"{"round":{"$gte":\#(round)}}"#))
                        try await setup.write(#"{"_id":"late\#(round)","round":\#(round - 1),"text":"secret"}"#)
                        try await setup.write(#"{"_id":"good\#(round)","round":1000}"#)
                    }
                }
                tasks.addTask {
                    var (since, isDone) = (start, false)
                    for _ in 0..<100_000 where !isDone {
                        let answer = try await setup.ann.get("/changes/Notes?since=\(since)&wait=5")
                        #expect(!answer.text.contains("secret"), "\(answer)")
                        let page = try FeedPage(answer)
                        (since, isDone) = (page.cursor, page.changed.contains("good\(rounds)"))
                    }
                    #expect(isDone)
                }
                try await tasks.waitForAll()
            }
            let expected = (1...rounds).map { "create good\($0)" }
            try await eventually("the last event came") { stream.lines.contains(expected[rounds - 1]) }
            #expect(stream.lines.filter { !$0.hasSuffix(" noise") } == expected)
        }
        await setup.database.close()
    }

    // MARK: Reads that begin before the change, and see writes after it

    private static func changing(
        _ setup: Setup, _ begin: () async throws -> Task<Answer, any Error>?
    ) async throws -> Answer? {
        let scope = QueryScope(
            space: try setup.app.space(), collection: try CollectionName("Notes"), rights: .master)
        let log = try scope.space.own("_changes").quoted
        let waiting = try await setup.app.postgres.withTransaction(role: scope.space.role) { transaction in
            try await transaction.executeScript("LOCK TABLE \(log) IN ACCESS EXCLUSIVE MODE")
            let waiting = try await begin()
            try await setup.app.waitUntilStatementsWait()
            // Another copy of the service changes the rules and notifies the one under test.
            try await setup.app.set(shut, on: "Notes")
            setup.storage.rights.forgetAll()
            let late = try Document(ByteBuffer(string: #"{"_id":"late","state":"open","text":"secret"}"#))
            _ = try await setup.app.objects.within(transaction).create(late, in: scope)
            return waiting
        }
        return try await waiting?.value
    }

    @Test func `a stream that was about to read the log does not show a later write by the old rules`() async throws {
        let setup = try await Setup(Self.open)
        try await setup.following { stream in
            // The stream reads the log every second.
            _ = try await Self.changing(setup) { nil }
            try await setup.write(#"{"_id":"last","state":"shut"}"#)
            try await eventually("the last event came") { stream.lines.contains("create last") }
            #expect(stream.lines == ["create last"])
        }
        await setup.database.close()
    }

    @Test func `a request that was about to read the log does not show a later write by the old rules`() async throws {
        let setup = try await Setup(Self.open)
        let start = try FeedPage(try await setup.ann.get("/changes/Notes")).cursor
        let answer = try await Self.changing(setup) {
            Task { try await setup.ann.get("/changes/Notes?since=\(start)") }
        }
        #expect(answer?.status == 200 && answer?["changed"] == "[]", "\(String(describing: answer))")
        await setup.database.close()
    }
}

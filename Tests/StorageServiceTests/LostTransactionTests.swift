import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import ServiceTesting
import Testing

@testable import StorageService

/// A crash of PostgreSQL loses the latest transactions whose commit was not awaited, and recovery reuses their ids.
@Suite struct LostTransactionTests {
    /// Runs `body` with an app on its own PostgreSQL server.
    private func alone(_ body: (StorageApp, PostgresServer) async throws -> Void) async throws {
        let server = try await PostgresServer.start()
        let app = try await StorageApp(alone: MigratedDatabase.make(on: server))
        do {
            try await body(app, server)
        } catch {
            try? await server.kill()
            throw error
        }
        try await server.kill()
    }

    /// Kills the server and lets it recover. Its next transactions reuse ids up to `last`.
    private func crash(_ server: PostgresServer, _ app: StorageApp, losing last: Int64) async throws {
        try await server.kill()
        try await server.start()
        var next: Int64 = .max
        try await eventually("PostgreSQL answers again") {
            guard
                let row = try? await app.superuser.query("SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint")
                    .first
            else { return false }
            next = try row.decode(0)
            return true
        }
        #expect(next + 40 < last, "recovery must assign ids up to `last` again")
    }

    /// Writes fifteen objects, each in its own transaction.
    private func write(_ app: StorageApp) async throws -> [String] {
        let ids = (10..<25).map { "n\($0)" }
        for id in ids {
            try await eventually("the object is written") {
                try await app.client.post("/storage/Notes", #"{"_id":"\#(id)"}"#).status == 201
            }
        }
        return ids
    }

    private func log(_ app: StorageApp, after cursor: String?) async throws -> Answer {
        let after = cursor.map { #","after":"\#($0)""# } ?? ""
        return try await app.acting(as: .service("notifications")).post(
            "/internal/changes",
            #"{"app":"\#(app.id)","environment":"live","collections":["Notes","Others"],"limit":100\#(after)}"#)
    }

    private func strings(_ value: JSONValue?, _ member: String) -> [String] {
        guard case .array(let elements) = value else { return [] }
        return elements.compactMap { if case .string(let text) = $0[member] { text } else { nil } }
    }

    /// `isEmpty`: the collections have no writes yet, and the followers' first cursors have no position.
    @Test(arguments: [false, true])
    func `every follower sees each write after a crash once, even if its transaction id was used before`(isEmpty: Bool)
        async throws
    {
        try await alone { app, server in
            _ = try await app.client.post("/storage/\(isEmpty ? "Third" : "Notes")", #"{"_id":"first"}"#)
            _ = try await app.client.get("/storage/Notes")
            let last = try await server.spendTransactions(200)

            var walk = try await app.feed(since: nil)
            walk = try await app.feed(since: walk.cursor)
            #expect(walk.changed.isEmpty && !walk.hasMore)
            guard case .string(let logCursor) = try await log(app, after: nil).json?["cursor"] else {
                throw FeedPage.Missing(answer: try await log(app, after: nil))
            }
            let stream = LiveStream()
            let follower = Task { [live = app.live, principal = app.principal(.client)] in
                while !Task.isCancelled {
                    try? await stream.follow(live, "Notes", as: principal)
                    try? await Task.sleep(for: .milliseconds(20))
                }
            }
            defer { follower.cancel() }
            try await stream.waitForOpen()

            let plain: String = try await app.superuser.query("SELECT pg_current_snapshot()::text")[0].decode(0)

            try await crash(server, app, losing: last)
            let ids = try await write(app)
            let unseen = try await app.superuser.query(
                """
                SELECT count(*) FROM \(try app.space().own("_changes"))
                WHERE collection = 'Notes' AND id <> 'first' AND NOT pg_visible_in_snapshot(txid, \(plain)::pg_snapshot)
                """)
            #expect(try unseen[0].decode(0, as: Int.self) == 0, "a plain snapshot would miss all of the new writes")

            #expect(try await app.feed(since: walk.cursor).changed == ids)
            #expect(strings(try await log(app, after: logCursor).json?["changes"], "id") == ids)
            try await stream.wait(for: ids.count)
            #expect(stream.lines == ids.map { "create \($0)" })
            // The next page repeats nothing.
            let end = try await app.feed(since: walk.cursor)
            #expect(try await app.feed(since: end.cursor).changed.isEmpty)
        }
    }

    @Test func `a hook is notified of every write that reuses transaction ids after a crash`() async throws {
        try await alone { app, server in
            _ = try await app.client.post("/storage/Notes", #"{"_id":"first"}"#)
            let receiver = try await HookReceiver()
            _ = try await server.spendTransactions(100)
            try await app.hook("tell", "afterSave", "Notes", at: receiver)
            let last = try await server.spendTransactions(100)
            try await crash(server, app, losing: last)
            let ids = try await write(app)
            let deliveries = DeliveryStore(postgres: app.postgres, spaces: app.objects.spaces)
            while try await deliveries.take(for: "tell", in: try app.space()) {}
            let queued = try await app.superuser.query(
                "SELECT object FROM \(try app.space().own("_hook_deliveries")) ORDER BY object")
            #expect(try queued.map { try $0.decode(0, as: String.self) } == ids)
        }
    }

    @Test func `after a failover to a standby, a cursor expires at once, not only after the first checkpoint`()
        async throws
    {
        try await alone { app, server in
            _ = try await app.client.post("/storage/Notes", #"{"_id":"first"}"#)
            let cursor = try await app.feed(since: nil).cursor
            try await server.takeOver()
            try await eventually("storage answers again") { try await app.client.get("/storage/Notes").status == 200 }
            #expect(try await app.client.get("/changes/Notes?since=\(cursor)").isProblem(.cursorExpired))
        }
    }

}

@Suite struct SnapshotTests {
    @Test(
        "a durable snapshot counts no transaction after the last visible change as seen, and keeps the rest",
        arguments: [
            ("10:20:", 15, "10:16:"), ("10:20:10,12,17", 15, "10:16:10,12"), ("20:20:", 15, "16:16:"),
            ("10:20:10,17", 19, "10:20:10,17"),
            ("10:20:10", nil, "1:1:"), ("16:20:16,18", 15, "16:16:"),
        ] as [(String, UInt64?, String)])
    func durable(text: String, last: UInt64?, expected: String) throws {
        #expect(try #require(Snapshot(text)).durable(upTo: last).text == expected)
    }
}

import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import Synchronization
import Testing

extension IntegrationTests {
    /// PostgreSQL is killed while others follow changes: no follower has seen a change that is lost, and none misses a
    /// change because its transaction id was assigned again.
    @Suite(.localServer(environment: ["MARTLET_HOOKS_PRIVATE_ALLOWED": "true"]))
    struct FollowerCrashTests {
        /// More deaths than the allowed number of failed starts, because a killed process is not a failed one. A drill
        /// of more than 30 exceeds the suite's time limit.
        static let kills = ProcessInfo.processInfo.environment["MARTLET_KILLS"].flatMap { Int($0) } ?? 6
        static let writers = 4

        let server: LocalServer
        let client: Client
        let master: Client

        init() throws {
            server = try .current
            client = Client(server.connection)
            master = .master(server.connection)
        }

        @Test
        func
            `streams, the feed, hooks, rules and roll-ups are complete, however often PostgreSQL is killed under load`()
            async throws
        {
            #expect(try await master.post("storage/Drill", #"{"_id":"first"}"#).isSuccess)
            let receiver = try await HookReceiver()
            let hook = try await master.send(
                "PUT", "hooks/tell", #"{"event":"afterSave","collection":"Drill","url":"\#(receiver.url)"}"#)
            try #require(hook.status == 201, "\(hook)")
            server.record(secret: hook.string("secret") ?? "")
            let rule = try await master.send(
                "PUT", "notifications/rules/note",
                #"{"when":{"collection":"Drill","events":["created"]},"to":[{"field":"object.nobody"}],"content":{"title":"New","body":"one"}}"#
            )
            try #require(rule.status == 201, "\(rule)")
            let streams = (0..<4).map { _ in Subscriber(client, collection: "Drill") }
            let readers = (0..<2).map { _ in FeedReader(client, collection: "Drill") }
            try await keepRuns()
            let (results, spent) = (LoadResults(), Numbers())
            var reused = 0
            try await withThrowingTaskGroup(of: Void.self) { group in
                for stream in streams { group.addTask { await stream.run() } }
                for reader in readers { group.addTask { await reader.run() } }
                group.addTask { await Self.rollBack(server) { spent.record($0) } }
                try await eventually("every follower has a cursor") {
                    streams.allSatisfy(\.isOpen) && readers.allSatisfy(\.isOpen)
                }
                try await Load.run(Self.writers) {
                    [client, ingest = server.connection.ingestKey, url = server.connection.url] number, round in
                    await results.write(to: "Drill", as: client, number: number, round: round)
                    let credential = Data("\(ingest):".utf8).base64EncodedString()
                    _ = try? await Client.send(
                        "POST", url + "/segment/v1/batch",
                        headers: ["Authorization": "Basic \(credential)", "Content-Type": "application/json"],
                        #"{"batch":[{"type":"track","event":"Drill","userId":"u\#(round % 50)"}]}"#)
                    try? await Task.sleep(for: .milliseconds(30))
                } during: {
                    for round in 1...max(1, Self.kills) {
                        try await Task.sleep(for: .milliseconds(Int.random(in: 300...1_200)))
                        try await server.restart("postgres")
                        let next = try await number("SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint")
                        if next <= spent.last { reused += 1 }
                        if round.isMultiple(of: 10) { print("follower crashes: \(round) kills") }
                    }
                    try await Task.sleep(for: .seconds(1))
                }
                let entries = results.entries
                #expect(entries.unclean == [])
                let log = try await changes()
                let (numbers, ids) = (log.map(\.seq), Set(log.map(\.id)))
                #expect(ids.isSuperset(of: entries.acknowledged))
                try? await eventually("the streams have delivered everything") {
                    streams.allSatisfy { $0.events.count >= numbers.count }
                }
                try? await eventually("the feed has delivered everything") {
                    readers.allSatisfy { $0.ids.isSuperset(of: ids) }
                }
                func delivered() -> Set<String> {
                    Set(receiver.received.compactMap { $0["object._id"].map { String($0.dropFirst().dropLast()) } })
                }
                try? await eventually("the hook has received everything", within: .seconds(120)) {
                    delivered().isSuperset(of: ids)
                }
                try? await eventually("the rule has acted on everything", within: .seconds(120)) {
                    try await acted().isSuperset(of: ids)
                }
                let events = try await number("SELECT count(*) FROM analytics.events")
                try? await eventually("all events are rolled up", within: .seconds(180)) {
                    try await number("SELECT coalesce(sum(events), 0)::bigint FROM analytics.hours WHERE dimension = 0")
                        >= events
                }
                for stream in streams { stream.stop() }
                group.cancelAll()
                print(
                    """
                    follower crashes: \(Self.kills) kills, after \(reused) of them ids were assigned again; \
                    \(numbers.count) changes, \(entries)
                    """
                )
                for stream in streams {
                    #expect(stream.refusal == nil)
                    #expect(stream.events.sorted() == numbers, "each once: \(stream.events.count) of \(numbers.count)")
                }
                for reader in readers {
                    #expect(reader.refusal == nil)
                    #expect(ids.subtracting(reader.ids) == [])
                }
                #expect(ids.subtracting(delivered()) == [])
                let missed = ids.subtracting(try await acted())
                #expect(missed == [])
                #expect(
                    try await number("SELECT coalesce(sum(events), 0)::bigint FROM analytics.hours WHERE dimension = 0")
                        == events && events > 0)
                #expect(
                    try await number("SELECT coalesce(sum(events), 0)::bigint FROM analytics.days WHERE dimension = 0")
                        == events)
            }
        }

        /// Rolls back transactions, whose ids are used up without waiting for the disk.
        private static func rollBack(_ server: LocalServer, _ record: @escaping @Sendable (Int64) -> Void) async {
            struct RolledBack: Error {}
            while !Task.isCancelled {
                try? await server.withDatabase { database in
                    while !Task.isCancelled {
                        do {
                            try await database.withTransaction { transaction in
                                record(
                                    try await transaction.query("SELECT pg_current_xact_id()::text::bigint")[0].decode(
                                        0))
                                throw RolledBack()
                            }
                        } catch is RolledBack {}
                        try await Task.sleep(for: .milliseconds(5))
                    }
                }
                try? await Task.sleep(for: .milliseconds(100))
            }
        }

        private func number(_ sql: String) async throws -> Int64 {
            try await server.withDatabase { try await $0.query(PostgresQuery(unescaped: sql))[0].decode(0) }
        }

        /// From now on `acted` keeps the objects of all runs; the service itself keeps only a rule's last runs.
        private func keepRuns() async throws {
            try await server.withDatabase { database in
                try await database.executeScript(
                    """
                    CREATE TABLE public.drill_runs (object text);
                    CREATE FUNCTION public.keep_run() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS
                        $$ BEGIN INSERT INTO public.drill_runs VALUES (NEW.object); RETURN NULL; END $$;
                    CREATE TRIGGER keep AFTER INSERT ON notifications.rule_runs FOR EACH ROW EXECUTE FUNCTION public.keep_run();
                    """)
            }
        }

        /// The objects that the rule has acted on.
        private func acted() async throws -> Set<String> {
            try await server.withDatabase { database in
                Set(
                    try await database.query(
                        "SELECT substr(object, 7) FROM public.drill_runs WHERE object LIKE 'Drill/%'"
                    ).map { try $0.decode(0, as: String.self) })
            }
        }

        /// Number and object of every change that a follower should see.
        private func changes() async throws -> [(seq: Int, id: String)] {
            let schema = "app_" + server.connection.appId
            return try await server.withDatabase { database in
                // The server itself provides the app's id.
                let rows = try await database.query(
                    .init(
                        unescaped:
                            "SELECT seq, id FROM \(schema)._changes WHERE collection = 'Drill' AND id <> 'first' ORDER BY seq"
                    ))
                return try rows.map { (Int(try $0.decode(0, as: Int64.self)), try $0.decode(1, as: String.self)) }
            }
        }
    }
}

/// The highest transaction id that was used.
private final class Numbers: Sendable {
    private let state = Mutex<Int64>(0)

    var last: Int64 { state.withLock { $0 } }

    func record(_ number: Int64) { state.withLock { $0 = max($0, number) } }
}

/// Maintains a copy of a collection from the feed of changes.
private final class FeedReader: Sendable {
    private struct State {
        var cursor: String?
        var ids: Set<String> = []
        var refusal: String?
    }

    private let client: Client
    private let collection: String
    private let state = Mutex(State())

    init(_ client: Client, collection: String) {
        self.client = client
        self.collection = collection
    }

    var isOpen: Bool { state.withLock { $0.cursor != nil } }
    var ids: Set<String> { state.withLock { $0.ids } }
    /// A response after which a client must not continue.
    var refusal: String? { state.withLock { $0.refusal } }

    func run() async {
        while !Task.isCancelled, refusal == nil {
            let since = state.withLock { $0.cursor }.map { "&since=\($0)" } ?? ""
            guard let page = try? await client.get("changes/\(collection)?limit=20&wait=1\(since)"), page.status < 500,
                page.status != 429
            else {
                try? await Task.sleep(for: .milliseconds(50))
                continue
            }
            state.withLock { state in
                guard page.status == 200, let cursor = page.string("cursor"),
                    case .array(let changed) = page.json?["changed"]
                else {
                    state.refusal = "\(page)"
                    return
                }
                state.cursor = cursor
                for object in changed {
                    if case .string(let id) = object["_id"] { state.ids.insert(id) }
                }
            }
        }
    }
}

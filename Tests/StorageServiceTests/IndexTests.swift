import Hummingbird
import MartletAPI
import MartletHTTP
import MartletPostgres
import MartletTesting
import Synchronization
import Testing

@testable import MartletCore
@testable import StorageService

@Suite struct IndexTests {
    @Test func `an index is created, listed and dropped`() async throws {
        let app = try await StorageApp()
        _ = try await app.client.post("/storage/Note", "{}")
        let before = try await app.contents()
        let made = try await app.master.post("/collections/Note/indexes", #"{"fields":["age","-address.city","_id"]}"#)
        #expect(made.status == 201)
        #expect(
            made.text
                == #"{"fields":["age","-address.city","_id"],"kind":"ordered","name":"age_-address.city__id","state":"ready","unique":false}"#
        )
        let named = try await app.master.post(
            "/collections/Note/indexes", #"{"fields":["created"],"name":"by time, ü","unique":true}"#)
        #expect(named.status == 201)
        let list = try await app.master.get("/collections/Note/indexes")
        #expect(list["count"] == "2")
        #expect(list["data.0"] == made.json?.text)
        #expect(list["data.1"] == named.json?.text)
        #expect(try await app.master.delete("/collections/Note/indexes/by%20time,%20%C3%BC").status == 204)
        #expect(try await app.master.delete("/collections/Note/indexes/age_-address.city__id").status == 204)
        #expect(try await app.contents() == before)
    }

    @Test func `indexes of different collections may have the same name`() async throws {
        let app = try await StorageApp()
        for name in ["One", "Two"] {
            _ = try await app.client.post("/storage/\(name)", "{}")
            #expect(
                try await app.master.post("/collections/\(name)/indexes", #"{"fields":["n"],"name":"same"}"#).status
                    == 201)
        }
        #expect(try await app.master.delete("/collections/One/indexes/same").status == 204)
        #expect(try await app.master.get("/collections/Two/indexes")["count"] == "1")
    }

    @Test(
        arguments: [
            (#"{"fields":["m"]}"#, ErrorCode.conflict, "name"), (#"{"fields":["x"],"name":"m"}"#, .conflict, "name"),
            (#"{"fields":["n"],"unique":true}"#, .conflict, nil),
            (#"{"fields":[]}"#, .invalidBody, "fields"), (#"{"fields":["a","b","c","d","e"]}"#, .invalidBody, "fields"),
            ("{}", .invalidBody, "fields"),
            (#"{"fields":"a"}"#, .invalidBody, "fields"), (#"{"fields":["a"],"unique":"yes"}"#, .invalidBody, "unique"),
            (#"{"fields":["a"],"name":""}"#, .invalidName, "name"),
            (#"{"fields":["a"],"name":"\#(String(repeating: "n", count: 129))"}"#, .invalidName, "name"),
            (#"{"fields":["a..b"]}"#, .invalidFilter, "a..b"), (#"{"fields":["$a"]}"#, .invalidFilter, "$a"),
            (#"{"fields":[""]}"#, .invalidName, nil), (#"{"fields":["a\"b"]}"#, .invalidName, nil),
            (#"{"fields":["-"]}"#, .invalidFilter, ""), (#"{"fields":["a\\b"]}"#, .invalidName, "fields"),
            ("", .invalidJSON, nil), ("[]", .invalidBody, nil),
        ] as [(String, ErrorCode, String?)]) func `an invalid index creates nothing`(
            _ body: String, _ code: ErrorCode, _ field: String?
        ) async throws
    {
        let app = try await StorageApp()
        _ = try await app.client.post("/storage/all/Note", #"[{"n":1},{"n":1}]"#)
        #expect(try await app.master.post("/collections/Note/indexes", #"{"fields":["m"]}"#).status == 201)
        try await app.expectRefusal(code, field: field) { try await app.master.post("/collections/Note/indexes", body) }
    }

    @Test(arguments: ["a'), (SELECT 1", "a' || 'b", "a); DROP TABLE x; --", "it's"])
    func `a field is a name, never SQL`(_ field: String) async throws {
        let app = try await StorageApp()
        let name = JSONValue.quote(field)
        _ = try await app.client.post("/storage/Note", #"{\#(name):1}"#)
        #expect(
            try await app.master.post("/collections/Note/indexes", #"{"fields":[\#(name)],"name":"i","unique":true}"#)
                .status == 201)
        #expect(try await app.client.post("/storage/Note", #"{\#(name):1}"#).isProblem(.conflict))
        #expect(try await app.client.get("/storage/Note")["count"] == "1")
    }

    @Test(arguments: ["absent", "n_idx", "Note_pkey", "Note_doc_idx", "%22"])
    func `only indexes created here can be dropped`(_ name: String) async throws {
        let app = try await StorageApp()
        _ = try await app.client.post("/storage/Note", "{}")
        try await app.expectRefusal(.indexNotFound) { try await app.master.delete("/collections/Note/indexes/\(name)") }
    }

    @Test func `a collection has at most 20 indexes`() async throws {
        let app = try await StorageApp()
        _ = try await app.client.post("/storage/Note", "{}")
        for number in 0..<20 {
            #expect(
                try await app.master.post("/collections/Note/indexes", #"{"fields":["f\#(number)"]}"#).status == 201)
        }
        try await app.expectRefusal(.limitExceeded) {
            try await app.master.post("/collections/Note/indexes", #"{"fields":["x"]}"#)
        }
    }

    @Test func `a unique index refuses a second object, unless the first is removed`() async throws {
        let app = try await StorageApp()
        _ = try await app.client.post(
            "/storage/all/User", #"[{"_id":"a","mail":"x@y"},{"_id":"b","mail":"b@y"},{"_id":"c"},{"_id":"d"}]"#)
        #expect(
            try await app.master.post("/collections/User/indexes", #"{"fields":["mail"],"unique":true}"#).status == 201)
        try await app.expectRefusal(.conflict) { try await app.client.post("/storage/User", #"{"mail":"x@y"}"#) }
        _ = try await app.client.post("/storage/remove/User/a")
        #expect(try await app.client.post("/storage/User", #"{"mail":"x@y"}"#).status == 201)
        try await app.expectRefusal(.conflict) {
            try await app.client.post("/storage/User", #"{"_id":"a","mail":"x@y"}"#)
        }
        #expect(try await app.client.post("/storage/User", #"{"mail":"X@y"}"#).status == 201)
    }

    @Test func `only one of fifty concurrent posts of a unique value succeeds`() async throws {
        let app = try await StorageApp()
        _ = try await app.client.post("/storage/User", "{}")
        #expect(
            try await app.master.post("/collections/User/indexes", #"{"fields":["mail"],"unique":true}"#).status == 201)
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<50 { group.addTask { try await app.client.post("/storage/User", #"{"mail":"x@y"}"#).status } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(statuses.sorted() == [201] + Array(repeating: 409, count: 49))
    }

    @Test func `a value too large for an index is refused`() async throws {
        let app = try await StorageApp()
        _ = try await app.client.post("/storage/Note", "{}")
        #expect(try await app.master.post("/collections/Note/indexes", #"{"fields":["t"]}"#).status == 201)
        // The text cannot be compressed. Otherwise PostgreSQL would accept it in the index.
        let text = (0..<1_000).map { _ in UUIDv7.make() }.joined()
        try await app.expectRefusal(.limitExceeded) { try await app.client.post("/storage/Note", #"{"t":"\#(text)"}"#) }
    }
}

@Suite struct IndexUseTests {
    @Test(
        arguments: [
            (#"{"email":"user777@example.com"}"#, "gin"),
            (#"{"email":{"$in":["user7@example.com","user9@example.com"]}}"#, "gin"),
            (#"{"number":777}"#, "gin"), (#"{"tags":"t777"}"#, "gin"), (#"{"inner.number":777}"#, "gin"),
            (#"{"inner":{"number":777}}"#, "gin"), (#"{"$or":[{"number":5},{"number":6}]}"#, "gin"),
            (#"{"_id":"o777"}"#, "pkey"),
            (#"{"age":{"$gt":19990}}"#, "made"), (#"{"age":{"$gte":100,"$lt":105}}"#, "made"),
        ] as [(String, String)]) func `a filter uses an index`(_ filter: String, _ kind: String) async throws
    {
        let large = try await Self.large.value
        let scope = QueryScope(space: try large.app.space(), collection: try CollectionName("Any"), rights: .master)
        var explain: PostgresQuery = """
            EXPLAIN SELECT doc FROM \(large.table)
            WHERE deleted IS NULL AND \(try FilterCompiler.condition(JSONValue(parsing: filter.utf8), in: scope)) ORDER BY id LIMIT 100
            """
        explain.isPrepared = false
        let lines: [String] = try await large.app.superuser.query(explain).map { try $0.decode(0) }
        let plan = lines.joined(separator: "\n")
        let condition =
            switch kind {
            case "gin": #"Bitmap Index Scan on _.*\n *Index Cond: \(doc @> "#
            case "pkey": #"Index Scan using _.*\n *Index Cond: \(id = "#
            default: #"Index Scan (using|on) _.*\n *Index Cond: .*doc -> 'age'"#
            }
        let regex = try Regex(condition)
        #expect(plan.contains(regex), "\(plan)")
        #expect(!plan.contains("Seq Scan"), "\(plan)")
    }

    @Test func `a list in the order of an indexed field uses the index`() async throws {
        let large = try await Self.large.value
        var explain: PostgresQuery =
            "EXPLAIN SELECT doc FROM \(large.table) WHERE deleted IS NULL ORDER BY doc->'age', id LIMIT 100"
        explain.isPrepared = false
        let lines: [String] = try await large.app.superuser.query(explain).map { try $0.decode(0) }
        let plan = lines.joined(separator: "\n")
        #expect(!plan.contains("Sort") && plan.contains("Index Scan using _"), "\(plan)")
    }

    /// The queries that `deploy/bench storage` measures with a million objects.
    @Test(
        arguments: [
            (
                nil, "-created",
                #"-> +Index Scan using _\w+ on "Large" .*\n *Filter: \(\(deleted IS NULL\) AND \(\(readers IS NULL\)"#
            ),
            (
                #"{"author":{"__type":"Pointer","className":"Member","objectId":"u77"}}"#, nil,
                #"Index Cond: \(doc @> '{"author": {"objectId": "u77"}}'"#
            ),
            (
                #"{"author":{"$in":[{"__type":"Pointer","className":"Member","objectId":"u77"}]}}"#, nil,
                #"Index Cond: \(doc @> '{"author": \[{"objectId": "u77"}\]}'"#
            ),
            (#"{"tags":"t777"}"#, nil, #"Index Cond: \(doc @> '{"tags": \["t777"\]}'"#),
            (#"{"tags":"t777"}"#, "-created", #"Index Cond: \(doc @> '{"tags": \["t777"\]}'"#),
            (#"{"tags":{"$all":["t777","all"]}}"#, nil, #"Index Cond: \(doc @> '{"tags": \["t777", "all"\]}'"#),
            (#"{"email":{"$regex":"^user77"}}"#, nil, #"Index Cond: .*->> 'email'::text\) ~>=~ 'user77'"#),
            (#"{"text":{"$text":{"$search":"w77 w777"}}}"#, nil, #"Index Cond: .*to_tsvector.*'''w77'' & ''w777'''"#),
            (
                #"{"place":{"$nearSphere":{"__type":"GeoPoint","latitude":45,"longitude":3},"$maxDistanceInKilometers":50}}"#,
                nil, #"Index Cond: .*'latitude'.*storage.<@"#
            ),
            (
                #"{"$relatedTo":{"object":{"__type":"Pointer","className":"Team","objectId":"team7"},"key":"posts"}}"#,
                nil,
                #"_relations_pkey .*\n *Index Cond: .*owner = 'team7'(.*\n)+.*Index Cond: \(id = _relations.related\)"#
            ),
            (
                #"{"tags":"t777","number":{"$lt":9000}}"#, "count",
                #"Index Cond: \(doc @> '{"tags": \["t777"\]}'(.*\n)+.*Index Cond: \(doc @> '{"tags": \["t777"\]}'"#
            ),
        ] as [(String?, String?, String)]) func `a page for a user is read by an index`(
            _ filter: String?, _ order: String?, _ pattern: String
        ) async throws
    {
        let plan = try await Self.plan(filter, order: order == "count" ? nil : order, countsAll: order == "count")
        #expect(plan.contains(try Regex(pattern)), "\(plan)")
        #expect(!plan.contains("Seq Scan"), "\(plan)")
        if order == "-created", filter == nil { #expect(!plan.contains("Sort"), "\(plan)") }
        // These values occur in every object, so scanning all of their index entries would cost more than the rest.
        let conditions = plan.split(separator: "\n").filter { $0.contains("Index Cond") }
        #expect(!conditions.contains { $0.contains("__type") || $0.contains("className") }, "\(plan)")
    }

    @Test func `the first walk of a sync with a filter is read by an index`() async throws {
        let app = try await Self.large.value.app
        let scope = QueryScope(
            space: try app.space(), collection: try CollectionName("Large"),
            rights: Rights(identity: .user("u7", roles: ["r1"]), collections: [:]))
        let filter = try LiveRequest.filter(#"{"tags":"t777"}"#, in: scope)
        var query = SyncFeed.Query()
        (query.condition, query.isIndexed) = (filter.condition, filter.isIndexed)
        var explain: PostgresQuery = "EXPLAIN \(try SyncFeed.walking(query, after: "", in: scope))"
        (explain.role, explain.isPrepared) = (scope.space.role, false)
        let plan = try await app.postgres.query(explain).map { try $0.decode(0, as: String.self) }.joined(
            separator: "\n")
        #expect(plan.contains(try Regex(#"Index Cond: \(doc @> '\{"tags": \["t777"\]\}'"#)), "\(plan)")
        #expect(!plan.contains("Seq Scan"), "\(plan)")
    }

    @Test func `a value in PostgreSQL's sample is still looked up by index`() async throws {
        let large = try await Self.large.value
        let rows = try await large.app.superuser.query(
            """
            SELECT sample::jsonb ->> 'email' FROM pg_stats, unnest(histogram_bounds::text::text[]) AS sample
            WHERE schemaname = \(try large.app.space().schema) AND tablename = 'Large' AND attname = 'doc' AND sample::jsonb ? 'email' LIMIT 3
            """)
        #expect(rows.count == 3)
        for row in rows {
            let plan = try await Self.plan(#"{"email":"\#(try row.decode(0, as: String.self))"}"#, limit: 20)
            #expect(plan.contains("Bitmap Index Scan"), "\(plan)")
            #expect(
                !plan.contains(try Regex(#"Index Scan using _\w+ on "Large""#)),
                "a walk in the order of the list: \(plan)")
        }
    }

    /// The plan of a list's statement, for a user with a role.
    private static func plan(_ filter: String?, order: String? = nil, countsAll: Bool = false, limit: Int = 100)
        async throws -> String
    {
        let app = try await large.value.app
        let scope = QueryScope(
            space: try app.space(), collection: try CollectionName("Large"),
            rights: Rights(identity: .user("u7", roles: ["r1"]), collections: [:]))
        var query = try ListQuery(Parameters(), in: scope)
        if let filter { try query.add(JSONValue(parsing: filter.utf8), in: scope) }
        query.order = try order.map { try ListOrder.keys($0[...], scope.access) }
        (query.countsAll, query.limit) = (countsAll, limit)
        var explain: PostgresQuery = "EXPLAIN \(try ListStatement(query, in: scope, known: [:]).sql)"
        (explain.role, explain.isPrepared) = (scope.space.role, false)
        return try await app.postgres.query(explain).map { try $0.decode(0, as: String.self) }.joined(separator: "\n")
    }

    private struct Large: Sendable {
        let app: StorageApp
        let table: PostgresIdentifier
    }

    /// 20,000 objects, written once and only read. Creating an index gives PostgreSQL its statistics.
    private static let large = Task {
        let app = try await StorageApp()
        #expect(try await app.client.post("/storage/Large", #"{"_id":"first"}"#).status == 201)
        #expect(try await app.client.post("/storage/Team", #"{"_id":"team7"}"#).status == 201)
        let table = try app.space().table(CollectionName("Large"))
        let relations = try app.space().own("_relations")
        try await app.superuser.execute(
            """
            INSERT INTO \(table) (id, created, readers, doc)
            SELECT 'o' || n, now() - make_interval(secs => n), CASE n % 4 WHEN 0 THEN ARRAY['u' || n % 500] WHEN 1 THEN ARRAY['role:r' || n % 9] END,
                jsonb_build_object('email', 'user' || n || '@example.com', 'number', n, 'age', n,
                'tags', jsonb_build_array('t' || n, 'all'), 'inner', jsonb_build_object('number', n), 'text', 'w' || n % 100 || ' w' || n % 1000,
                'author', jsonb_build_object('__type', 'Pointer', 'className', 'Member', 'objectId', 'u' || n % 500),
                'place', jsonb_build_object('__type', 'GeoPoint', 'latitude', 43 + n % 700 * 0.01, 'longitude', n % 900 * 0.01))
            FROM generate_series(1, 20000) AS n
            """)
        try await app.superuser.execute(
            """
            INSERT INTO \(relations) (collection, owner, key, related_collection, related)
            SELECT 'Team', 'team' || n % 100, 'posts', 'Large', 'o' || n FROM generate_series(1, 10000) AS n
            """)
        for index in [
            #"{"fields":["age"]}"#, #"{"kind":"prefix","fields":["email"]}"#, #"{"kind":"text","fields":["text"]}"#,
            #"{"kind":"geo","fields":["place"]}"#,
        ] { #expect(try await app.master.post("/collections/Large/indexes", index).status == 201) }
        var analyze: PostgresQuery = "ANALYZE \(relations)"
        analyze.isPrepared = false
        try await app.superuser.execute(analyze)
        return Large(app: app, table: table)
    }
}

@Suite struct BuildTurnTests {
    private final class Counts: Sendable {
        private let state = Mutex((running: 0, most: 0, done: 0))
        var all: [Int] { state.withLock { [$0.most, $0.done] } }

        func start() {
            state.withLock { state in
                state.running += 1
                state.most = max(state.most, state.running)
            }
        }

        func end() {
            state.withLock { state in
                state.running -= 1
                state.done += 1
            }
        }
    }

    @Test func `builds run one at a time, a cancelled one leaves the queue, and too many are refused`() async throws {
        let buildSemaphore = IndexStore.makeBuildSemaphore()
        let counts = Counts()
        let (entered, entering) = AsyncStream.makeStream(of: Void.self)
        let first = Task {
            try await buildSemaphore.withPermit {
                entering.finish()
                try await Task.sleep(for: .seconds(600))
            }
        }
        for await _ in entered {}
        let others = (0..<IndexStore.maximumWaitingBuilds).map { _ in
            Task {
                try await buildSemaphore.withPermit {
                    counts.start()
                    await Task.yield()
                    counts.end()
                }
            }
        }
        try await eventually("all others wait") { buildSemaphore.waiting >= IndexStore.maximumWaitingBuilds }
        let refusal = await #expect(throws: ServiceError.self) { try await buildSemaphore.withPermit {} }
        #expect(refusal?.code == .unavailable)
        others[3].cancel()
        await #expect(throws: CancellationError.self) { try await others[3].value }
        first.cancel()
        for (number, other) in others.enumerated() where number != 3 { try await other.value }
        #expect(counts.all == [1, IndexStore.maximumWaitingBuilds - 1])
        try await buildSemaphore.withPermit {}
    }
}

import MartletAPI
import MartletJobs
import MartletPostgres
import MartletTesting
import ServiceTesting
import Testing

@testable import StorageService

@Suite struct NamedObjectsTests {
    @Test func `objects that name a user are found by indexes, however they name the user`() async throws {
        let app = try await StorageApp()
        let named = try await Self.filled(app)
        let ids = try await named.ids(after: "", limit: 100, on: app.postgres)
        #expect(ids == ["array", "id", "pointer", "pointers", "reader", "writer"])
        #expect(try await named.ids(after: "id", limit: 2, on: app.postgres) == ["pointer", "pointers"])
        var explain: PostgresQuery =
            "EXPLAIN \(named.statement(try #require(named.condition()), after: "", limit: 100))"
        (explain.role, explain.isPrepared) = (named.space.role, false)
        let plan = try await app.postgres.query(explain).map { try $0.decode(0, as: String.self) }.joined(
            separator: "\n")
        #expect(plan.contains("BitmapOr") && !plan.contains("Seq Scan"), "\(plan)")
    }

    @Test func `a collection that is older than the index is scanned until a job has built the index`() async throws {
        // On a database of its own, because a server builds one index at a time, and waits for all transactions.
        try await MigratedDatabase.with { database in
            let app = try await StorageApp(alone: database)
            let named = try await Self.filled(app)
            let schema = try app.space().schema
            let index = try await app.superuser.query(
                """
                SELECT indexname::text FROM pg_indexes
                WHERE schemaname = \(schema) AND tablename <> '_User' AND indexdef LIKE \(CollectionStore.listedPattern)
                """
            )[0]
            let name = try #require(PostgresIdentifier(schema: schema, name: try index.decode(0)))
            try await app.superuser.execute("DROP INDEX \(name)")
            #expect(try await named.ids(after: "", limit: 100, on: app.postgres) == nil)
            try await ListedIndexes(
                postgres: app.postgres, jobs: JobQueue(postgres: app.postgres, schema: "storage"), logger: .silent
            ).work()
            let worker = app.worker()
            try await eventually("the index exists") {
                try await named.ids(after: "", limit: 100, on: app.postgres) != nil
            }
            #expect(try await named.ids(after: "", limit: 100, on: app.postgres)?.count == 6)
            worker.cancel()
            try await worker.value
        }
    }

    @Test func `a failed build is requested again a day later`() async throws {
        try await MigratedDatabase.with { database in
            let app = try await StorageApp(alone: database)
            _ = try await Self.filled(app)
            let indexes = try await app.superuser.query(
                "SELECT schemaname::text, indexname::text FROM pg_indexes WHERE indexdef LIKE \(CollectionStore.listedPattern)"
            )
            for row in indexes {
                let index = try #require(PostgresIdentifier(schema: try row.decode(0), name: try row.decode(1)))
                try await app.superuser.execute("DROP INDEX \(index)")
            }
            let listed = ListedIndexes(
                postgres: app.postgres, jobs: JobQueue(postgres: app.postgres, schema: "storage"), logger: .silent)
            var jobs: [Int] = []
            for hours in [nil, 0, 25] {
                if let hours {
                    try await app.superuser.execute(
                        "UPDATE storage.jobs SET state = 'failed', finished = now() - \(hours) * interval '1 hour'")
                }
                try await listed.work()
                jobs.append(
                    try await app.superuser.query(
                        "SELECT count(*) FROM storage.jobs WHERE kind = \(BuildListedIndex.kind)")[0].decode(0))
            }
            #expect(jobs == [1, 1, 2])
        }
    }

    @Test func `a path that could be a position in an array is not looked up by index`() async throws {
        let app = try await StorageApp()
        let named = NamedObjects(
            table: try app.space().table(CollectionName("Note")), space: try app.space(),
            collection: try CollectionName("Note"), userID: "ada",
            fields: [try FieldPath("owners.0")])
        #expect(named.condition() == nil)
    }

    /// 3,000 objects of others, and six that name ada.
    private static func filled(_ app: StorageApp) async throws -> NamedObjects {
        let collection = try CollectionName("Note")
        let table = try app.space().table(collection)
        let pointer = #"{"__type":"Pointer","className":"_User","objectId":"ada"}"#
        let objects = """
            [{"_id":"id","owner":"ada"},{"_id":"pointer","owner":\(pointer)},{"_id":"array","owner":["ben","ada"]},{"_id":"pointers","owner":[\(pointer)]},
            {"_id":"reader","_readers":["ada","ben"]},{"_id":"writer","_writers":["ada"]},{"_id":"other","text":"ada","_readers":["ben"]}]
            """
        #expect(try await app.master.post("/storage/all/Note", objects).status == 201)
        try await app.superuser.execute(
            """
            INSERT INTO \(table) (id, readers, doc)
            SELECT 'x' || n, ARRAY['u' || n % 50], jsonb_build_object('owner', 'u' || n % 50) FROM generate_series(1, 3000) AS n
            """)
        try await app.superuser.execute("ANALYZE \(table)")
        return NamedObjects(
            table: table, space: try app.space(), collection: collection, userID: "ada",
            fields: [try FieldPath("owner")])
    }
}

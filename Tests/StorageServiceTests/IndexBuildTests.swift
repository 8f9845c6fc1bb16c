import Foundation
import MartletAPI
import MartletCore
import MartletJobs
import MartletPostgres
import MartletTesting
import ServiceTesting
import Testing

@testable import StorageService

/// Collections too large to block writers during a build.
@Suite(.serialized) struct IndexBuildTests {
    @Test func `a large collection accepts writes while its index is built`() async throws {
        let large = try await LargeCollection()
        let app = large.app
        let before = try await app.contents()["Large"]
        let (accepted, listed) = try await large.withOpenWrite {
            let accepted = try await app.master.post("/collections/Large/indexes", #"{"fields":["age"]}"#)
            try await app.startWorker()
            try await large.waitUntilThereIsAnInvalidIndex()
            #expect(try await app.client.post("/storage/Large", #"{"_id":"new","age":5}"#).status == 201)
            #expect(try await app.master.post("/collections/Large/rename", #"{"name":"Huge"}"#).isProblem(.conflict))
            #expect(
                try await app.master.post("/collections/Large/indexes", #"{"fields":["age"]}"#).isProblem(
                    .conflict, field: "name"))
            return (accepted, try await app.master.get("/collections/Large/indexes"))
        }
        #expect(accepted.status == 202)
        #expect(accepted["state"] == #""building""# && accepted["fields"] == #"["age"]"#, "\(accepted)")
        #expect(listed["count"] == "1" && listed["data.0"] == accepted.json?.text, "\(listed)")
        let job = try await large.end(of: accepted)
        #expect(job["state"] == #""done""# && job["kind"] == #""index""#, "\(job)")
        let ready = try await app.master.get("/collections/Large/indexes")
        #expect(
            ready["data.0"] == #"{"fields":["age"],"kind":"ordered","name":"age","state":"ready","unique":false}"#,
            "\(ready)")
        #expect(try await large.invalidIndexes() == 0)
        #expect(try await app.master.delete("/collections/Large/indexes/age").status == 204)
        _ = try await app.master.delete("/storage/Large/new")
        #expect(try await app.contents()["Large"] == before)
    }

    @Test func `a unique index that the objects violate fails with the reason, and leaves nothing`() async throws {
        let large = try await LargeCollection()
        let app = large.app
        let before = try await app.contents()
        let accepted = try await app.master.post("/collections/Large/indexes", #"{"fields":["half"],"unique":true}"#)
        #expect(accepted.status == 202)
        try await app.startWorker()
        let job = try await large.end(of: accepted)
        #expect(job["state"] == #""failed""# && job["error.code"] == #""conflict""# && job["attempt"] == "1", "\(job)")
        let failed = try await app.master.get("/collections/Large/indexes")
        #expect(failed["data.0.state"] == #""failed""# && failed["data.0.error.code"] == #""conflict""#, "\(failed)")
        #expect(try await app.contents() == before)

        let again = try await app.master.post(
            "/collections/Large/indexes", #"{"fields":["age"],"name":"half","unique":true}"#)
        #expect(try await large.end(of: again)["state"] == #""done""#)
        #expect(try await app.master.get("/collections/Large/indexes")["count"] == "1")
        #expect(try await app.client.post("/storage/Large", #"{"age":7}"#).isProblem(.conflict))
    }

    @Test(arguments: ["/collections/Large/indexes/age", "/collections/Large"])
    func `a build is cancelled when its index or collection is deleted`(_ path: String) async throws {
        let large = try await LargeCollection()
        let app = large.app
        let accepted = try await large.withOpenRead {
            let accepted = try await app.master.post("/collections/Large/indexes", #"{"fields":["age"]}"#)
            try await app.startWorker()
            try await large.waitUntilThereIsAnInvalidIndex()
            if path.hasSuffix("age") { #expect(try await app.master.delete(path).status == 204) }
            return accepted
        }
        if !path.hasSuffix("age") { #expect(try await app.master.delete(path).status == 204) }
        // An index that was just completed is dropped with the collection.
        #expect([#""cancelled""#, #""done""#].contains(try await large.end(of: accepted)["state"]))
        #expect(try await large.invalidIndexes() == 0)
        if path.hasSuffix("age") { #expect(try await app.master.get("/collections/Large/indexes")["count"] == "0") }
    }

    @Test func `a half-built index of a killed worker is built from scratch`() async throws {
        let large = try await LargeCollection()
        let app = large.app
        let (job, relation) = try await large.claimedBuild(unique: true)
        try await large.makeInvalidIndex(relation)
        #expect(try await large.invalidIndexes() == 1)
        try await app.superuser.execute("DELETE FROM \(large.table) WHERE id > 'o1'")
        try await large.loseWorker(of: job)
        try await app.startWorker()
        let end = try await app.wait(for: job)
        #expect(end["state"] == #""done""# && end["attempt"] == "2", "\(end)")
        #expect(try await large.invalidIndexes() == 0)
        #expect(try await app.master.get("/collections/Large/indexes")["data.0.state"] == #""ready""#)
    }

    @Test func `a unique index being built does not reveal hidden values either`() async throws {
        try await MigratedDatabase.with { database in
            let large = try await LargeCollection(of: try await StorageApp(alone: database))
            let app = large.app
            #expect(try await app.master.put("/collections/Large/rules", #"{"hidden":{"half":[]}}"#).status == 200)
            let (job, _) = try await large.claimedBuild(unique: true)
            try await eventually("the instance knows of the index") {
                try await app.client.post("/storage/Large", #"{"half":1}"#).isProblem(.forbidden, field: "half")
            }
            let made = try await app.client.post("/storage/Large", #"{"half":-1}"#)
            #expect(made.isProblem(.forbidden, field: "half"), "\(made)")
            #expect(try await app.client.post("/storage/Large", #"{"age":-1}"#).status == 201)
            // The build fails because the values are not unique.
            try await large.loseWorker(of: job)
            let worker = app.worker()
            #expect(try await app.wait(for: job)["state"] == #""failed""#)
            try await eventually("clients may write it again") {
                try await app.client.post("/storage/Large", #"{"half":1}"#).status == 201
            }
            worker.cancel()
            try await worker.value
        }
    }

    @Test(arguments: [true, false])
    func `a build waits for statements of a killed worker that are still running or have yet to begin`(_ isBegun: Bool)
        async throws
    {
        let large = try await LargeCollection()
        let app = large.app
        let (job, relation) = try await large.claimedBuild(unique: false)
        let killed = app.database.client(for: "storage")
        let statement =
            "CREATE INDEX CONCURRENTLY \(try relation.identifier.quoted) ON \(large.table.quoted) ((doc->'half'))"
        let build = try await large.withOpenTransaction(
            isBegun
                ? "UPDATE \(large.table) SET version = version WHERE id = 'first'"
                : "LOCK TABLE \(large.table) IN SHARE MODE"
        ) {
            let build = Task {
                try await killed.executeScript(statement, role: try app.space().role, timeout: .seconds(300))
            }
            try await app.waitUntilStatementsWait()
            try await large.loseWorker(of: job)
            try await app.startWorker()
            if isBegun { try await large.waitUntilReported(job) } else { try await app.waitUntilStatementsWait(2) }
            return (build, try await large.oid(of: relation))
        }
        try await build.0.value
        let end = try await app.wait(for: job)
        #expect(end["state"] == #""done""# && end["attempt"] == "2", "\(end)")
        #expect(try await large.invalidIndexes() == 0)
        if isBegun { #expect(try await large.oid(of: relation) == build.1, "another index") }
        #expect(try await app.master.get("/collections/Large/indexes")["data.0.state"] == #""ready""#)
        await killed.close()
    }

    @Test func `a worker that ends half way passes its build to the next`() async throws {
        try await MigratedDatabase.with { database in
            let large = try await LargeCollection(of: try await StorageApp(alone: database))
            let app = large.app
            let accepted = try await large.withOpenWrite {
                let accepted = try await app.master.post("/collections/Large/indexes", #"{"fields":["age"]}"#)
                #expect(accepted.status == 202)
                let worker = app.worker()
                try await large.waitUntilThereIsAnInvalidIndex()
                worker.cancel()
                try await worker.value
                #expect(try await app.master.get("/collections/Large/indexes")["data.0.state"] == #""building""#)
                return accepted
            }
            let worker = app.worker()
            let end = try await large.end(of: accepted)
            #expect(end["state"] == #""done""# && end["attempt"] == "1", "\(end)")
            #expect(try await large.invalidIndexes() == 0)
            #expect(try await app.master.get("/collections/Large/indexes")["data.0.state"] == #""ready""#)
            worker.cancel()
            try await worker.value
        }
    }

    @Test func `abandoned builds are removed, and nothing else`() async throws {
        let large = try await LargeCollection()
        let app = large.app
        #expect(try await app.client.post("/storage/Small", "{}").status == 201)
        #expect(try await app.master.post("/collections/Small/indexes", #"{"fields":["a"]}"#).status == 201)
        let before = try await app.contents()
        try await large.makeInvalidIndex(IndexName.makeForJob())
        #expect(try await large.invalidIndexes() == 1)
        try await IndexSweep(postgres: app.postgres, builder: app.postgres, logger: .silent).work()
        #expect(try await app.contents() == before)
    }
}

/// A collection too large to be indexed at once: `age` is unique, `half` is not.
private struct LargeCollection: Sendable {
    let app: StorageApp
    let name: CollectionName
    let table: PostgresIdentifier

    init() async throws {
        try await self.init(of: StorageApp())
    }

    init(of app: StorageApp) async throws {
        self.app = app
        name = try CollectionName("Large")
        table = try app.space().table(name)
        #expect(try await app.client.post("/storage/Large", #"{"_id":"first"}"#).status == 201)
        try await app.superuser.execute(
            """
            INSERT INTO \(table) (id, doc)
            SELECT 'o' || n, jsonb_build_object('age', n, 'half', n / 2, 'text', repeat(md5(n::text), 50)) FROM generate_series(1, 12000) AS n
            """)
    }

    var builds: IndexBuilds {
        IndexBuilds(postgres: app.postgres, jobs: JobQueue(postgres: app.postgres, schema: "storage"))
    }

    /// Runs `body` while a build waits for a transaction that writes.
    func withOpenWrite<T: Sendable>(_ body: @Sendable () async throws -> T) async throws -> T {
        try await withOpenTransaction("UPDATE \(table) SET version = version WHERE id = 'first'", body)
    }

    /// Runs `body` while the last phase of a build waits for a transaction that has read the collection.
    func withOpenRead<T: Sendable>(_ body: @Sendable () async throws -> T) async throws -> T {
        try await withOpenTransaction("LOCK TABLE \(table) IN ROW EXCLUSIVE MODE", body)
    }

    func withOpenTransaction<T: Sendable>(_ statement: PostgresQuery, _ body: @Sendable () async throws -> T)
        async throws
        -> T
    {
        try await app.database.withSuperuser { client in
            try await client.withTransaction { transaction in
                try await transaction.execute(statement)
                return try await body()
            }
        }
    }

    /// A build on `half` that a worker has claimed.
    func claimedBuild(unique: Bool) async throws -> (job: UUID, relation: IndexName) {
        let definition = IndexDefinition(name: "half", kind: .ordered, fields: ["half"], unique: unique, language: nil)
        let job = try await app.postgres.withTransaction { transaction in
            let job = try await builds.start(definition, on: name, of: app.space(), in: transaction)
            try await transaction.execute(
                """
                UPDATE storage.jobs SET state = 'running', attempt = 1, lease = gen_random_uuid(), leased_until = now() + interval '1 hour'
                WHERE id = \(job)
                """)
            return job
        }
        return (job, try #require(try await builds.build(of: job)).relation)
    }

    func loseWorker(of job: UUID) async throws {
        try await app.superuser.execute("UPDATE storage.jobs SET leased_until = now() WHERE id = \(job)")
    }

    /// Waits until a build reports its progress.
    func waitUntilReported(_ job: UUID) async throws {
        try await eventually("the build reports its progress") {
            try await !app.superuser.query("SELECT FROM storage.jobs WHERE id = \(job) AND message IS NOT NULL").isEmpty
        }
    }

    func oid(of relation: IndexName) async throws -> Int? {
        try await app.superuser.query("SELECT oid::bigint FROM pg_class WHERE relname = \(relation.text)").first?
            .decode(0)
    }

    func end(of accepted: Answer) async throws -> Answer {
        guard case .string(let text)? = accepted.json?["job"], let id = UUID(uuidString: text) else {
            Issue.record("no job: \(accepted)")
            return accepted
        }
        return try await app.wait(for: id)
    }

    func invalidIndexes() async throws -> Int {
        try await app.superuser.query(
            """
            SELECT count(*) FROM pg_index AS x JOIN pg_class AS i ON i.oid = x.indexrelid
            WHERE i.relnamespace = to_regnamespace(quote_ident(\(try app.space().schema))) AND NOT x.indisvalid
            """)[0].decode(0)
    }

    func waitUntilThereIsAnInvalidIndex() async throws {
        try await eventually("a build has begun") { try await invalidIndexes() > 0 }
    }

    /// Creates an invalid index, as an interrupted build leaves it.
    func makeInvalidIndex(_ relation: IndexName) async throws {
        let statement =
            "CREATE UNIQUE INDEX CONCURRENTLY \(try relation.identifier.quoted) ON \(table.quoted) ((doc->'half'))"
        await #expect(throws: PostgresError.self) { try await app.superuser.executeScript(statement) }
    }
}

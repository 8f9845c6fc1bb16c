import Foundation
import MartletAPI
import MartletCore
import MartletJobs
import MartletPostgres
import MartletTesting
import NIOCore
import ServiceTesting
import Testing

@testable import StorageService

@Suite struct ImportTests {
    @Test(arguments: [
        ("json", #"[{"_id":"a","n":1.10,"t":"x"},{"_id":"b","n":2,"o":{"p":[1,null]}}]"#),
        ("jsonl", "{\"_id\":\"a\",\"n\":1.10,\"t\":\"x\"}\n\n{\"_id\":\"b\",\"n\":2,\"o\":{\"p\":[1,null]}}\r\n"),
        ("csv", "\u{feff}_id;n;t;o.p:json\r\na;1.10;x;\r\nb;2;;[1,null]"),
    ])
    func `the objects in an imported file are stored`(_ format: String, _ file: String) async throws {
        let app = try await StorageApp()
        let job = try await app.importing(file, to: "Note", "format=\(format)")
        #expect(job["state"] == #""done""# && job["result.created"] == "2" && job["result.bad"] == "0", "\(job)")
        #expect(job["result.applied"] == "true")
        let a = try await app.client.get("/storage/Note/a"), b = try await app.client.get("/storage/Note/b")
        #expect(a["n"] == "1.10" && a["t"] == #""x""# && a["_version"] == "1", "\(a)")
        #expect(b["n"] == "2" && b["o.p"] == "[1,null]" && b["t"] == nil, "\(b)")
        #expect(try await app.leftovers() == [])
    }

    @Test func `every stored object is in the change log`() async throws {
        let app = try await StorageApp()
        _ = try await app.client.post("/storage/Note", #"{"_id":"b","n":0}"#)
        _ = try await app.importing(#"[{"_id":"a"},{"_id":"b","n":1}]"#, to: "Note", "format=json&existing=replace")
        let rows = try await app.superuser.query(
            "SELECT id || kind::text || version FROM \(try app.space().own("_changes")) ORDER BY seq")
        #expect(try rows.map { try $0.decode(0, as: String.self) }.sorted() == ["ac1", "bc1", "bu2"])
    }

    @Test func `columns get the type that fits all their cells`() async throws {
        let app = try await StorageApp()
        let file = """
            _id,age,zip,done,born,note,address.city,empty,mixed
            1,34,01234,true,1990-05-01,"say ""hi"",
            twice",Bonn,,1
            2,,99999,FALSE,2000-01-02 03:04:05,,Köln,,x
            """
        let job = try await app.importing(file, to: "People", "format=csv")
        #expect(job["state"] == #""done""#, "\(job)")
        guard case .array(let columns)? = job.json?["result"]?["columns"] else {
            Issue.record("no columns: \(job)")
            return
        }
        #expect(
            columns.map { $0["type"]?.text ?? "" }
                == [
                    "string", "number", "string", "boolean", "date", "string", "string", "null", "string",
                ].map(JSONValue.quote))
        let one = try await app.client.get("/storage/People/1"), two = try await app.client.get("/storage/People/2")
        #expect(
            one["age"] == "34" && one["zip"] == #""01234""# && one["done"] == "true"
                && one["address.city"] == #""Bonn""#)
        #expect(
            one["born.iso"] == #""1990-05-01T00:00:00.000Z""# && one["note"] == #""say \"hi\",\u000atwice""#, "\(one)")
        #expect(
            two["born.iso"] == #""2000-01-02T03:04:05.000Z""# && two["age"] == nil && two["mixed"] == #""x""#, "\(two)")
    }

    @Test func `the request can give types, and can make empty cells null`() async throws {
        let app = try await StorageApp()
        let job = try await app.importing(
            "key\tn\tzip\n7\t\t123\n", to: "T", "format=csv&types=zip:string&emptyIsNull=true&idField=key")
        #expect(job["result.created"] == "1", "\(job)")
        let object = try await app.client.get("/storage/T/7")
        #expect(object["zip"] == #""123""# && object["n"] == "null" && object["key"] == nil, "\(object)")
    }

    @Test(arguments: [
        (
            "json",
            #"[{"_id":"ok"},{"a":1,},{"$a":1},{"_id":"ok"},{"created":"x"},7,{"g":{"__type":"GeoPoint"}},{"u":"\u0000"}]"#,
            [1, 1, 1, 1, 1, 1, 1]
        ),
        ("jsonl", "{\"_id\":\"ok\"}\nnull\n{\"a\":\n{\"_id\":\"a b\"}\n{\"a\":\"\u{fffd}\"} x", [2, 3, 4, 5]),
        ("csv", "_id,n:number,n.m\nok,1,\na,x,\nb,1,2\nc,1,2,3\nd,\"1\"x,\n", [3, 4, 5, 6]),
    ])
    func `invalid records are listed with line and reason, and nothing is stored`(
        _ format: String, _ file: String, _ lines: [Int]
    ) async throws {
        let app = try await StorageApp()
        let job = try await app.importing(file, to: "Note", "format=\(format)")
        #expect(job["state"] == #""failed""# && job["error.code"] == #""bad-records""#, "\(job)")
        guard case .array(let bad)? = job.json?["result"]?["badRecords"] else {
            Issue.record("no report: \(job)")
            return
        }
        #expect(bad.map { $0["line"]?.text } == lines.map { "\($0)" }, "\(job)")
        #expect(bad.allSatisfy { $0["reason"] != nil })
        #expect(try await app.master.get("/collections")["count"] == "1")
        #expect(try await app.leftovers() == [])
        let again = try await app.importing(file, to: "Note", "format=\(format)&skipBad=true")
        #expect(again["state"] == #""done""# && again["result.created"] == "1", "\(again)")
        #expect(try await app.client.get("/storage/Note").ids == ["ok"])
    }

    @Test(arguments: [
        ("json", "{}"), ("json", "[{}"), ("json", "[{},]"), ("json", "[{} {}]"), ("json", "[] x"), ("json", ""),
        ("csv", ""),
        ("csv", "a,a\n1,2"), ("csv", "a,,b\n"), ("csv", "a..b\n1"), ("csv", "a\0b\n1"),
        ("csv", (0...1_000).map { "c\($0)" }.joined(separator: ",")),
        ("csv", "\"" + String(repeating: "x", count: 1 << 20)),
    ])
    func `an unreadable file stores nothing`(_ format: String, _ file: String) async throws {
        let app = try await StorageApp()
        let job = try await app.importing(file, to: "Note", "format=\(format)&skipBad=true")
        #expect(job["state"] == #""failed""# && job["error.code"] == #""bad-records""#, "\(job)")
        #expect(try await app.master.get("/collections")["count"] == "1")
        #expect(try await app.leftovers() == [])
    }

    @Test func `a dry run reports and stores nothing`() async throws {
        let app = try await StorageApp()
        let job = try await app.importing("a,b\n1,x\n2", to: "Note", "format=csv&dryRun=true")
        #expect(job["state"] == #""done""# && job["result.applied"] == "false" && job["result.good"] == "2", "\(job)")
        #expect(try await app.master.get("/collections")["count"] == "1")
        #expect(try await app.leftovers() == [])
    }

    @Test(arguments: [("refuse", "failed", "1"), ("replace", "done", "2"), ("skip", "done", "1")])
    func `existing objects are refused, replaced or skipped`(_ existing: String, _ state: String, _ n: String)
        async throws
    {
        let app = try await StorageApp()
        _ = try await app.client.post("/storage/Note", #"{"_id":"a","n":1}"#)
        let job = try await app.importing(
            #"[{"_id":"a","n":2},{"_id":"b","n":2}]"#, to: "Note", "format=json&existing=\(existing)")
        #expect(job["state"] == JSONValue.quote(state), "\(job)")
        #expect(try await app.client.get("/storage/Note/a")["n"] == n)
        #expect(try await app.client.get("/storage/Note")["count"] == (state == "done" ? "2" : "1"))
    }

    @Test func `if a unique index refuses one record, nothing is stored and no collection is created`() async throws {
        let app = try await StorageApp()
        _ = try await app.client.post("/storage/Note", #"{"n":5}"#)
        _ = try await app.master.post("/collections/Note/indexes", #"{"fields":["n"],"unique":true}"#)
        let job = try await app.importing(#"[{"n":1},{"n":5}]"#, to: "Note", "format=json")
        #expect(job["error.code"] == #""conflict""#, "\(job)")
        #expect(try await app.client.get("/storage/Note")["count"] == "1")
    }

    @Test func `records that are too large are invalid, however large they are`() async throws {
        let app = try await StorageApp()
        let large = String(repeating: "x", count: 1 << 20)
        for (format, file) in [
            ("json", "[{\"a\":\"\(large)\"},{}]"), ("jsonl", "{\"a\":\"\(large)\"}\n{}"), ("csv", "a\n\(large)\n1"),
        ] {
            let job = try await app.importing(file, to: "Note", "format=\(format)&dryRun=true")
            #expect(job["result.bad"] == "1" && job["result.good"] == "1", "\(format) \(job)")
        }
    }

    @Test func `a cell that is not UTF-8 is invalid`() async throws {
        let app = try await StorageApp()
        let answer = try await app.master.send(
            "POST", "/imports/Note?format=csv", bytes: Array("a\nx\n".utf8) + [0xff, 0x0a])
        let job = try await app.finished(answer)
        #expect(job["result.badRecords.0.line"] == "3", "\(job)")
    }

    @Test(arguments: [
        ("format=xml", "format"), ("", "format"), ("format=csv&delimiter=x", "delimiter"),
        ("format=json&types=a:number", "types"),
        ("format=csv&types=a:int", "types"), ("format=json&existing=x", "existing"), ("format=json&dryRun=x", "dryRun"),
        ("format=json&other=1", "other"), ("format=json&idField=a.b", "idField"),
    ])
    func `invalid parameters are refused`(_ parameters: String, _ field: String) async throws {
        let app = try await StorageApp()
        try await app.expectRefusal(.invalidParameter, field: field) {
            try await app.master.post("/imports/Note?\(parameters)", "[]")
        }
    }

    @Test func `clients cannot import, export, see jobs or change environments`() async throws {
        let app = try await StorageApp()
        for (method, path) in [
            ("POST", "/imports/Note?format=json"), ("GET", "/exports/Note?format=json"),
            ("POST", "/exports/Note?format=json"), ("GET", "/jobs"),
            ("GET", "/jobs/0190c2a4-0000-7000-8000-000000000000"),
            ("DELETE", "/jobs/0190c2a4-0000-7000-8000-000000000000"),
            ("GET", "/jobs/0190c2a4-0000-7000-8000-000000000000/result"), ("POST", "/environment/copy"),
            ("DELETE", "/environment"), ("PUT", "/environment"),
            ("GET", "/collections/Note"),
        ] {
            let answer = try await app.client.send(method, path, "[]")
            #expect(answer.isProblem(.forbidden), "\(method) \(path) \(answer)")
        }
    }

    /// The job of an import that no worker has started.
    private func waiting(_ app: StorageApp, count: Int) async throws -> (
        id: UUID, options: ImportOptions, transfers: TransferStores
    ) {
        let service = StorageService(postgres: app.postgres, files: SharedFiles.settings, logger: .silent)
        var options = try ImportOptions(collection: try CollectionName("Note"), space: app.space(), format: .jsonl)
        var file = try await service.transfers.spool.write(options.file, contentType: "", name: "Note")
        try await file.write(ByteBuffer(string: (0..<count).map { "{\"_id\":\"o\($0)\"}\n" }.joined()))
        try await file.finish()
        options.sizeInBytes = file.sizeInBytes
        let (transfers, complete) = (service.transfers, options)
        let id = try await transfers.postgres.withTransaction { transaction in
            var jobOptions = transfers.options(try app.space())
            jobOptions.delay = .seconds(3_600)
            let id = try await transfers.jobs.enqueue(ImportCollection.self, complete, jobOptions, in: transaction)
            try await transfers.spool.assign(complete.file, to: try #require(id), in: transaction)
            return try #require(id)
        }
        return (id, complete, transfers)
    }

    @Test func `an import whose process died is restarted, and its leftovers are removed`() async throws {
        let app = try await StorageApp()
        let job = try await waiting(app, count: 1_200)
        try await job.transfers.spaces.prepare(app.space())
        // Suppose that a first attempt got this far and then died.
        let dead = try #require(
            ImportStage(
                postgres: app.postgres, space: try app.space(), collection: try CollectionName("Note"), job: job.id))
        try await dead.create()
        let other = try #require(
            ImportStage(
                postgres: app.postgres, space: try app.space(), collection: try CollectionName("Note"), job: UUID()))
        try await other.create()
        try await app.superuser.execute(
            "UPDATE storage.jobs SET state = 'running', attempt = 1, lease = gen_random_uuid(), leased_until = now() WHERE id = \(job.id)"
        )
        try await app.startWorker()
        let finished = try await app.wait(for: job.id)
        #expect(
            finished["state"] == #""done""# && finished["attempt"] == "2" && finished["result.created"] == "1200",
            "\(finished)")
        #expect(try await app.leftovers() == [])
    }

    @Test func `an import that is cancelled while it runs stores and leaves nothing`() async throws {
        let app = try await StorageApp()
        _ = try await app.client.post("/storage/Note", #"{"_id":"other"}"#)
        let job = try await waiting(app, count: 1_200)
        // The lock makes the import's transaction wait for this one. It lasts until the import has ended, so it is not
        // on the connection that other tests share.
        let table = try app.space().table(try CollectionName("Note"))
        try await app.database.withSuperuser { superuser in
            try await superuser.withTransaction { transaction in
                try await transaction.execute("LOCK TABLE \(table) IN EXCLUSIVE MODE")
                try await transaction.execute("SELECT FROM storage.jobs WHERE id = \(job.id)")
                var due: PostgresQuery = "UPDATE storage.jobs SET due = now() WHERE id = \(job.id)"
                due.isPrepared = false
                try await app.postgres.execute(due)
                try await app.startWorker()
                try await eventually("the import is storing objects") {
                    try await app.master.get("/jobs/\(job.id)")["progress.message"] == #""storing""#
                }
                #expect(try await app.master.delete("/jobs/\(job.id)")["cancelRequested"] == "true")
                let finished = try await app.wait(for: job.id)
                #expect(finished["state"] == #""cancelled""#, "\(finished)")
            }
        }
        #expect(try await app.client.get("/storage/Note").ids == ["other"])
        #expect(try await app.leftovers() == [])
    }

    @Test func `a job can be cancelled, but only by its app`() async throws {
        let app = try await StorageApp()
        let other = app.neighbour()
        let id = try #require(
            try await app.superuser.query(
                """
                INSERT INTO storage.jobs (id, kind, scope, parameters, maximum_attempts, due)
                VALUES (gen_random_uuid(), 'import', \(app.id), '{}', 1, now() + interval '1 day') RETURNING id::text
                """
            ).first?.decode(0, as: String.self))
        #expect(try await other.master.get("/jobs/\(id)").isProblem(.jobNotFound))
        #expect(try await other.master.delete("/jobs/\(id)").isProblem(.jobNotFound))
        #expect(try await app.master.get("/jobs/x").isProblem(.jobNotFound))
        #expect(try await app.master.get("/jobs")["data.0.state"] == #""waiting""#)
        #expect(try await app.master.delete("/jobs/\(id)")["state"] == #""cancelled""#)
        #expect(try await app.master.get("/jobs/\(id)/result").isProblem(.conflict))
    }
}

extension StorageApp {
    /// Leftover tables of imports and files of the spool.
    func leftovers() async throws -> [String] {
        // A stage is dropped after its job has ended.
        try await eventually("nothing is left over") { try await leftoversNow().isEmpty }
        return try await leftoversNow()
    }

    private func leftoversNow() async throws -> [String] {
        var left: [String] = []
        for environment in [AppEnvironment.live, .test] {
            let schema = try space(environment).schema
            left += try await superuser.query(
                "SELECT tablename::text FROM pg_tables WHERE schemaname = \(schema) AND tablename ~ '^_(import|copy)'"
            ).map { try $0.decode(0) }
        }
        left += try await superuser.query(
            "SELECT name FROM storage.job_files AS f JOIN storage.jobs AS j ON j.id = f.job WHERE j.scope = \(id) AND j.kind = 'import'"
        ).map { try $0.decode(0) }
        return left
    }
}

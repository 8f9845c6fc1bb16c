import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import Testing

@testable import StorageService

@Suite(.serialized) struct ExportTests {
    /// Each kind of value, and values that are difficult for spreadsheets and CSV.
    private static let objects = [
        #"{"_id":"a","s":"x","n":1.10,"b":true,"z":null,"e":"","d":{"__type":"Date","iso":"2026-01-02T03:04:05.678Z"}}"#,
        #"{"_id":"b","s":"=1+1","n":-5,"b":false,"o":{"p":{"q":"deep"},"r":2},"a":[1,"2",null,{"x":[]}],"m":1}"#,
        #"{"_id":"c","s":"'+quote, \"two\"\r\nlines; and\ttabs ","n":null,"o":{},"m":"1","_readers":["u1","role:r"],"_writers":[]}"#,
        #"{"_id":"d","g":{"__type":"GeoPoint","latitude":50.5,"longitude":7},"p":{"__type":"Pointer","className":"Note","objectId":"a"}}"#,
        #"{"_id":"e","f":{"__type":"File","name":"x.png"},"y":{"__type":"Bytes","base64":"AAEC"},"u":"ä€😀","k":{"a.b":1},"true":"true","num":"12"}"#,
        #"{"_id":"f","=evil":"x","w:number":"7","sp":" x ","nullword":"null","big":123456789012345678901234567890.5,"a":[]}"#,
        #"{"_id":"g"}"#,
        // Swift considers both names equal.
        "{\"_id\":\"h\",\"caf\u{e9}\":1,\"cafe\u{301}\":\"x\"}",
    ]

    private static func filled() async throws -> StorageApp {
        let app = try await StorageApp()
        let answer = try await app.master.post("/storage/all/Note", "[" + objects.joined(separator: ",") + "]")
        #expect(answer.status == 201, "\(answer)")
        return app
    }

    @Test(arguments: ["json", "jsonl", "csv"])
    func `an export that is imported again gives the same data`(_ format: String) async throws {
        let app = try await Self.filled()
        let before = try await app.master.get("/storage/Note?limit=1000")
        let file = try await app.master.get("/exports/Note?format=\(format)")
        #expect(file.status == 200 && file.header("content-disposition") == "attachment; filename=\"Note.\(format)\"")
        let job = try await app.importing(file.text, to: "Copy", "format=\(format)")
        #expect(job["state"] == #""done""# && job["result.created"] == "\(Self.objects.count)", "\(job)\n\(file.text)")
        let after = try await app.master.get("/storage/Copy?limit=1000")
        #expect(after.text == before.text)
    }

    @Test(arguments: ["json", "jsonl", "csv"])
    func `an export job writes the same file as a streamed export`(_ format: String) async throws {
        let app = try await Self.filled()
        let job = try await app.finished(app.master.post("/exports/Note?format=\(format)"))
        #expect(job["state"] == #""done""# && job["result.objects"] == "\(Self.objects.count)", "\(job)")
        guard case .string(let id)? = job.json?["id"] else { return }
        let file = try await app.master.get("/jobs/\(id)/result")
        #expect(file.status == 200)
        #expect(try await app.master.get("/exports/Note?format=\(format)").text == file.text)
    }

    @Test func `an export as CSV makes formulas harmless`() async throws {
        let app = try await StorageApp()
        _ = try await app.client.post("/storage/Note", #"{"_id":"a","s":"=cmd()","t":"plain"}"#)
        let file = try await app.master.get("/exports/Note?format=csv").text
        #expect(file.contains("s:text") && file.contains("t:string") && file.contains("'=cmd()"), "\(file)")
        #expect(!file.contains(",=cmd"))
        #expect(try await app.master.get("/exports/Note?format=csv&types=false").text.contains(",s,t\r\n"))
    }

    @Test func `removed objects and missing collections are not exported`() async throws {
        let app = try await StorageApp()
        _ = try await app.client.post("/storage/Note", #"{"_id":"a"}"#)
        _ = try await app.client.post("/storage/remove/Note/a")
        #expect(try await app.master.get("/exports/Note?format=json").text == "[\n]\n")
        #expect(try await app.master.get("/exports/Note?format=csv").text == "_id\r\n")
        try await app.expectRefusal(.collectionNotFound) { try await app.master.get("/exports/None?format=json") }
        try await app.expectRefusal(.collectionNotFound) { try await app.master.post("/exports/None?format=json") }
        try await app.expectRefusal(.invalidParameter, field: "format") { try await app.master.get("/exports/Note") }
    }

    @Test func `only the newest ten finished exports are kept`() async throws {
        let app = try await StorageApp()
        _ = try await app.client.post("/storage/Note", #"{"_id":"a"}"#)
        var ids: [String] = []
        for _ in 0..<11 {
            let job = try await app.finished(app.master.post("/exports/Note?format=jsonl"))
            guard case .string(let id) = job.json?["id"] else { continue }
            ids.append(id)
        }
        #expect(ids.count == 11)
        #expect(try await app.master.get("/jobs/\(ids[0])/result").isProblem(.conflict))
        for id in ids.dropFirst() { #expect(try await app.master.get("/jobs/\(id)/result").status == 200) }
    }

    @Test func `many objects are exported and imported in portions`() async throws {
        let app = try await StorageApp()
        let count = 7_000
        let file = (0..<count).map { #"{"_id":"\#($0)","n":\#($0),"text":"\#(String(repeating: "x", count: 300))"}"# }
            .joined(separator: "\n")
        let job = try await app.importing(file, to: "Big", "format=jsonl")
        #expect(job["result.created"] == "\(count)" && job["progress.done"] == "\(count)", "\(job)")
        let lines = try await app.master.get("/exports/Big?format=jsonl").text.split(separator: "\n")
        #expect(lines.count == count && Set(lines).count == count)
    }
}

@Suite struct EnvironmentTests {
    @Test func `test becomes a copy of live, with rules, indexes and relations, and live stays unchanged`() async throws
    {
        let app = try await StorageApp()
        _ = try await app.client.post("/storage/all/Note", #"[{"_id":"a","n":1},{"_id":"b","n":2}]"#)
        _ = try await app.client.post("/storage/Empty", #"{"_id":"x"}"#)
        _ = try await app.client.delete("/storage/Empty/x")
        _ = try await app.master.post("/collections/Note/indexes", #"{"fields":["n","-t"],"unique":true}"#)
        _ = try await app.testClient.post("/storage/Old", #"{"_id":"z"}"#)
        _ = try await app.testClient.post("/storage/Note", #"{"_id":"b","n":99}"#)
        let live = try await app.contents()
        let job = try await app.finished(app.master.post("/environment/copy"))
        #expect(
            job["state"] == #""done""# && job["result.objects"] == "2" && job["result.collections"] == "2", "\(job)")
        #expect(try await app.contents() == live)
        #expect(try await app.master.put("/environment", #"{"open":true}"#).status == 200)
        #expect(try await app.testClient.get("/storage/Note").text == app.client.get("/storage/Note").text)
        #expect(try await app.testClient.get("/storage/Old")["count"] == "0")
        let testMaster = app.testMaster
        #expect(
            try await testMaster.get("/collections/Note/indexes").text
                == app.master.get("/collections/Note/indexes").text)
        #expect(try await testMaster.get("/collections")["count"] == "3")
        // The tables are regular: they accept writes and enforce uniqueness.
        #expect(try await app.testClient.post("/storage/Note", #"{"n":3}"#).status == 201)
        #expect(try await app.testClient.post("/storage/Note", #"{"n":1,"t":null}"#).status == 201)
        #expect(try await app.leftovers() == [])
        let again = try await app.finished(app.master.post("/environment/copy"))
        #expect(again["state"] == #""done""#, "\(again)")
    }

    @Test func `files are copied with their bytes and readers, and each environment keeps its own`() async throws {
        let app = try await StorageApp()
        #expect(try await app.client.send("PUT", "/upload/a/one.txt?readers=ann", "live one").status == 201)
        #expect(try await app.client.send("PUT", "/upload/b.txt", String(repeating: "b", count: 300_000)).status == 201)
        #expect(try await app.testClient.send("PUT", "/upload/old.txt", "test").status == 201)
        let job = try await app.finished(app.master.post("/environment/copy"))
        #expect(job["state"] == #""done""# && job["result.files"] == "2", "\(job)")
        #expect(
            try await app.testMaster.get("/upload/a/one.txt?info=true").text
                == app.master.get("/upload/a/one.txt?info=true").text)
        #expect(try await app.testMaster.get("/upload/a/one.txt").text == "live one")
        #expect(try await app.master.put("/environment", #"{"open":true}"#).status == 200)
        #expect(try await app.testClient.get("/upload/a/one.txt").isProblem(.fileNotFound))
        #expect(try await app.testClient.get("/upload/b.txt").text.utf8.count == 300_000)
        #expect(try await app.testClient.get("/upload/old.txt").isProblem(.fileNotFound))
        // Changes in one environment do not affect the other.
        #expect(try await app.client.send("PUT", "/upload/b.txt", "new").status == 200)
        #expect(try await app.testMaster.delete("/upload/a/one.txt").status == 204)
        #expect(try await app.testClient.get("/upload/b.txt").text.utf8.count == 300_000)
        #expect(try await app.master.get("/upload/a/one.txt").text == "live one")
        #expect(try await app.leftovers() == [])
        #expect(try await app.master.delete("/environment").status == 204)
        #expect(try await app.testClient.get("/upload/b.txt").isProblem(.fileNotFound))
        #expect(try await app.client.get("/upload/b.txt").text == "new")
    }

    @Test func `the copying role can neither write live nor read test`() async throws {
        let app = try await StorageApp()
        _ = try await app.client.post("/storage/Note", #"{"_id":"a"}"#)
        _ = try await app.testClient.post("/storage/Note", #"{"_id":"a"}"#)
        _ = try await app.finished(app.master.post("/environment/copy"))
        for sql in [
            #"INSERT INTO "\#(try app.space().schema)"."Note" (id, doc) VALUES ('x', '{}')"#,
            #"DELETE FROM "\#(try app.space().schema)"."Note""#,
            #"SELECT * FROM "\#(try app.space(.test).schema)"."Note""#,
            #"INSERT INTO "\#(try app.space(.test).schema)"."Note" (id, doc) VALUES ('x', '{}')"#,
            #"CREATE TABLE "\#(try app.space(.test).schema)".x (y int)"#,
        ] {
            var query = PostgresQuery(unescaped: sql)
            query.role = PostgresIdentifier("app_\(app.id)_copy")
            query.isPrepared = false
            await #expect(throws: PostgresError.self, "\(sql)") { try await app.postgres.query(query) }
        }
    }

    @Test func `a failed copy leaves test unchanged`() async throws {
        let app = try await StorageApp()
        _ = try await app.client.post("/storage/all/Note", #"[{"_id":"a","n":1},{"_id":"b","n":1}]"#)
        _ = try await app.testClient.post("/storage/Note", #"{"_id":"z"}"#)
        let test = try await app.contents(.test)
        let table = try #require(PostgresIdentifier(schema: try app.space().schema, name: "Note"))
        // The copy creates a table with this name, so it fails.
        let name = try #require(PostgresIdentifier(schema: try app.space(.test).schema, name: "_copy_0"))
        try await app.superuser.execute("CREATE TABLE \(name) (id int)")
        let job = try await app.master.post("/environment/copy")
        guard case .string(let id)? = job.json?["id"] else { return }
        try await app.startWorker()
        try await eventually("the job failed once") { try await app.master.get("/jobs/\(id)")["error"] != "null" }
        #expect(try await app.master.post("/environment/copy").isProblem(.conflict))
        #expect(try await app.master.delete("/jobs/\(id)").status == 202)
        // A next attempt may have begun, and it would succeed without the obstacle.
        _ = try await app.wait(for: try #require(UUID(uuidString: id)))
        try await app.superuser.execute("DROP TABLE \(name)")
        #expect(try await app.contents(.test) == test)
        _ = table
    }

    @Test func `wiping empties test and leaves live unchanged`() async throws {
        let app = try await StorageApp()
        _ = try await app.client.post("/storage/Note", #"{"_id":"a"}"#)
        _ = try await app.testClient.post("/storage/Note", #"{"_id":"a"}"#)
        let live = try await app.contents()
        #expect(try await app.master.delete("/environment").status == 204)
        #expect(try await app.testClient.get("/storage/Note")["count"] == "0")
        #expect(try await app.testMaster.get("/collections")["count"] == "1")
        #expect(try await app.contents() == live)
        #expect(try await app.testClient.post("/storage/Note", #"{"_id":"a"}"#).status == 201)
    }
}

@Suite struct ReadCollectionTests {
    @Test func `a collection's count, sizes, fields and indexes are shown`() async throws {
        let app = try await StorageApp()
        _ = try await app.client.post(
            "/storage/all/Note",
            #"[{"_id":"a","n":1,"p":{"__type":"Pointer","className":"User","objectId":"u"}},{"n":"x","z":null},{"_id":"c"}]"#
        )
        _ = try await app.client.post("/storage/remove/Note/c")
        _ = try await app.master.post("/collections/Note/indexes", #"{"fields":["n"]}"#)
        let answer = try await app.master.get("/collections/Note")
        #expect(answer.status == 200 && answer["count"] == "2" && answer["isCountExact"] == "true", "\(answer)")
        #expect(answer["fields.0.name"] == #""n""# && answer["fields.0.types"] == #"["Number","String"]"#, "\(answer)")
        #expect(answer["fields.1.types"] == #"["Pointer<User>"]"# && answer["fields.0.sampled"] == "2", "\(answer)")
        #expect(answer["indexes.0.name"] == #""n""#)
        #expect(Int(answer["sizeInBytes"] ?? "") ?? 0 > 0)
    }

    @Test func `a missing collection is not shown`() async throws {
        let app = try await StorageApp()
        try await app.expectRefusal(.collectionNotFound) { try await app.master.get("/collections/None") }
    }
}

extension StorageApp {
    var testMaster: ServiceClient { master.acting(as: principal(.master, .test)) }
}

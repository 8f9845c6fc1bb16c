import MartletAPI
import MartletCore
import MartletHTTP
import MartletTesting
import Testing

@testable import StorageService

/// Requests that would take much more memory than their size.
@Suite struct LargeRequestTests {
    @Test(arguments: [
        ("batch", "0", ErrorCode.limitExceeded), ("batch", "[]", .limitExceeded), ("batch", #"{"":0}"#, .limitExceeded),
        ("all/Note", "0", .invalidBody), ("all/Note", #"{"a":0}"#, .limitExceeded),
        ("all/Note", #"{"__type":"x"}"#, .limitExceeded),
    ]) func `16 MB of small values are refused, and nothing is written`(
        _ path: String, _ value: String, _ code: ErrorCode
    ) async throws {
        let app = try await StorageApp()
        let count = (16 << 20) / (value.utf8.count + 1) - 20
        let list = "[" + String(repeating: value + ",", count: count) + value + "]"
        let answer = try await app.client.post("/storage/" + path, path == "batch" ? #"{"requests":\#(list)}"# : list)
        #expect(answer.isProblem(code), "\(answer.text.prefix(500))")
        #expect(try await app.contents().isEmpty)
    }

    @Test func `a request in a batch keeps its text, and errors name its place`() async throws {
        let app = try await StorageApp()
        let good = #"{"method":"POST","path":"storage/Note","body":{ "_id" : "a", "n": 1.10 }}"#
        let answer = try await app.client.post("/storage/batch", #" {"requests" : [ \#(good) ] } "#)
        #expect(answer["data.0.status"] == "201" && answer["data.0.body.n"] == "1.10", "\(answer)")
        for (bad, field) in [
            ("5", "requests.1"), (#"{"method":"POST"}"#, "requests.1"),
            (#"{"method":1,"path":"storage/Note"}"#, "requests.1"),
            (#"{"method":"POST","path":"storage/Note","body":[]}"#, "requests.1"),
            (#"{"method":"GET","path":"storage/Note"}"#, "requests.1.method"),
            (#"{"method":"POST","path":"storage/Note","body":{"$x":1}}"#, "requests.1.$x"),
        ] {
            let refused = try await app.client.post("/storage/batch", #"{"requests":[\#(good),\#(bad)]}"#)
            #expect((400..<500).contains(refused.status) && refused["field"] == "\"\(field)\"", "\(bad) \(refused)")
        }
        let many = Array(repeating: good, count: 101).joined(separator: ",")
        let tooMany = try await app.client.post("/storage/batch", #"{"requests":[\#(many)]}"#)
        #expect(tooMany.isProblem(.limitExceeded, field: "requests"))
    }

    @Test func `the objects of one post may have 10,000 different fields together`() async throws {
        let app = try await StorageApp()
        func body(_ count: Int) -> String {
            let objects = (0..<10).map { object in
                "{" + (0..<count / 10).map { #""f\#(object)_\#($0)":0"# }.joined(separator: ",") + "}"
            }
            return "[" + objects.joined(separator: ",") + "]"
        }
        let refused = try await app.client.post("/storage/all/Note", body(10_010))
        #expect(refused.isProblem(.limitExceeded), "\(refused.text.prefix(300))")
        #expect(try await app.contents().isEmpty)
    }

    @Test func `typed values in a bulk post are stored like those of single posts`() async throws {
        let app = try await StorageApp()
        let date = #"{"__type":"Date","iso":"2026-01-02T03:04:05.000Z"}"#
        let answer = try await app.client.post(
            "/storage/all/Note", #"[{"_id":"a","at":\#(date)},{"_id":"b","n":1.10},{"_id":"c","at":\#(date)}]"#)
        #expect(answer.status == 201 && answer.ids == ["a", "b", "c"], "\(answer)")
        #expect(answer["data.0.at.__type"] == #""Date""# && answer["data.1.n"] == "1.10")
        let refused = try await app.client.post(
            "/storage/all/Note", #"[{"_id":"d"},{"n":{"__op":"Increment","amount":1}}]"#)
        #expect(refused.status == 400, "\(refused)")
        #expect(try await app.client.get("/storage/Note")["count"] == "3")
    }

    @Test func `a list of several megabytes waits for a permit, arrives whole, and returns the permit`() async throws {
        let app = try await StorageApp()
        let text = String(repeating: "x", count: 200_000)
        let objects = (0..<20).map { #"{"_id":"o\#($0)","t":"\#(text)"}"# }.joined(separator: ",")
        #expect(try await app.client.post("/storage/all/Note", "[\(objects)]").status == 201)
        for _ in 0..<3 {
            let answer = try await app.client.get("/storage/Note")
            #expect(answer["count"] == "20" && answer.text.utf8.count > 4_000_000)
        }
        #expect(try await app.client.get("/storage/Note?limit=1")["count"] == "1")
        #expect(try await app.client.get("/storage/Nothing")["count"] == "0")
        let distinct = try await app.client.post("/storage/distinct/Note", #"{"field":"t"}"#)
        #expect(distinct["count"] == "1", "\(distinct.text.prefix(300))")
    }
}

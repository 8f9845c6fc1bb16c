import MartletAPI
import MartletCore
import MartletTesting
import Testing

@testable import StorageService

/// Bodies of management calls: unknown members are refused, and so is anything but JSON.
@Suite struct StrictBodyTests {
    @Test(arguments: [
        ("PUT", "/collections/Note/rules", #"{"rule":{"find":[]}}"#, "rule"),
        ("PUT", "/collections/Note/rules", #"{"rules":{"find":[]},"hiden":{}}"#, "hiden"),
        ("PUT", "/collections/Note/rules", #"{"defaults":{"reader":["owner"]}}"#, "defaults.reader"),
        ("PUT", "/collections/Note/rules", #"{"rules":{"finde":[]}}"#, "rules.finde"),
        ("POST", "/collections/Note/rename", #"{"name":"Memo","nam":"x"}"#, "nam"),
        ("POST", "/collections/Note/indexes", #"{"fields":["n"],"uniqe":true}"#, "uniqe"),
        ("POST", "/collections/Note/indexes", #"{"field":["n"]}"#, "field"),
        ("PUT", "/roles/editors", #"{"ad":["ben"]}"#, "ad"),
        ("PUT", "/roles/editors", #"{"add":["ben"],"remov":["ada"]}"#, "remov"),
        ("PATCH", "/upload/a.txt", #"{"_reader":[]}"#, "_reader"),
        ("PATCH", "/upload/a.txt", #"{"readers":[]}"#, "readers"),
        ("POST", "/upload-link/a.txt", #"{"expires":60}"#, "expires"),
        ("PUT", "/hooks/h", #"{"event":"function","url":"http://127.0.0.1:1/","timeout":5}"#, "timeout"),
        ("POST", "/environment/copy", #"{"from":"live"}"#, "from"),
        ("POST", "/hooks/saved/secret", #"{"x":1}"#, "x"), ("POST", "/exports/Note?format=json", #"{"x":1}"#, "x"),
        ("POST", "/storage/batch", #"{"requests":[],"transactions":true}"#, "transactions"),
        (
            "POST", "/storage/batch", #"{"requests":[{"method":"POST","path":"storage/Note","boddy":{}}]}"#,
            "requests.0.boddy"
        ),
    ]) func `an unknown member is refused, and nothing is written`(
        _ method: String, _ path: String, _ body: String, _ field: String
    ) async throws {
        let app = try await Self.app()
        try await app.expectRefusal(.invalidBody, field: field) { try await app.master.send(method, path, body) }
        #expect(try await app.master.get("/collections/Note/rules").text == Self.rules)
        #expect(try await app.master.get("/hooks/h").isProblem(.hookNotFound))
        #expect(try await app.master.get("/jobs")["count"] == "0")
    }

    @Test func `a misspelt member is refused with the nearest known name, and the collection stays closed`()
        async throws
    {
        let app = try await Self.app()
        let answer = try await app.master.put("/collections/Note/rules", #"{"rule":{"find":[]}}"#)
        #expect(answer["detail"] == #""Unknown member \"rule\"; did you mean \"rules\"?""#, "\(answer)")
        #expect(try await app.client.get("/storage/Note").isProblem(.forbidden))
    }

    @Test(arguments: [
        ("", ErrorCode.invalidJSON), ("{", .invalidJSON), (#"{"rules":{"find":[]},}"#, .invalidJSON),
        (#"{"rules":{"find":["*",]}}"#, .invalidJSON),
        (#"{"rules":{},"rules":{"find":[]}}"#, .invalidBody), (#"{"rules":{"find":[],"find":["*"]}}"#, .invalidBody),
        (#"{"rules":{"find":["\ud800"]}}"#, .invalidJSON),
        ("\u{feff}{}", .invalidJSON), ("{} {}", .invalidJSON), (#"{"rules":{"find":"*"}}"#, .invalidBody),
        ("[]", .invalidBody), ("null", .invalidBody),
    ]) func `rules that are not JSON are refused, and the existing ones stay`(_ body: String, _ code: ErrorCode)
        async throws
    {
        let app = try await Self.app()
        #expect(try await app.master.put("/collections/Note/rules", body).isProblem(code), "\(body)")
        #expect(try await app.master.get("/collections/Note/rules").text == Self.rules)
    }

    @Test(arguments: [
        #"{"a":1,"a":2}"#, #"{"a":{"b":1,"b":2}}"#, #"{"a":1,"\u0061":2}"#, #"{"_readers":["ada"],"_readers":["*"]}"#,
        #"{"a":[{"b":1,"b":1}]}"#,
    ]) func `an object with a duplicate name is refused`(_ body: String) async throws {
        let app = try await Self.app()
        try await app.expectRefusal(.invalidBody) { try await app.master.post("/storage/Note", body) }
        try await app.expectRefusal(.invalidBody) { try await app.master.post("/storage/all/Note", "[\(body)]") }
        try await app.expectRefusal(.invalidBody) { try await app.master.put("/storage/Note/a", body) }
        try await app.expectRefusal(.invalidBody) { try await app.master.post("/storage/query/Note", body) }
    }

    @Test(arguments: [
        "2026-02-30T00:00:00Z", "2026-01-01T25:00:00Z", "2026-01-01T00:00:00Z and so on", "294277-01-01T00:00:00Z",
        "2026-01-01T00:00:60Z",
    ])
    func `a Date that is not in the calendar is refused`(_ text: String) async throws {
        let app = try await Self.app()
        try await app.expectRefusal(.invalidBody, field: "at") {
            try await app.master.post("/storage/Note", #"{"at":{"__type":"Date","iso":"\#(text)"}}"#)
        }
    }

    private static let rules = #"{"rules":{"find":[]}}"#

    private static func app() async throws -> StorageApp {
        let app = try await StorageApp()
        try await app.set(rules, on: "Note")
        #expect(try await app.master.put("/roles/editors", #"{"add":["ada"]}"#).status == 204)
        return app
    }
}

import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import ServiceTesting
import Testing

@testable import StorageService

@Suite struct CreateObjectTests {
    @Test func `an object is stored in a collection that is created on first use`() async throws {
        let app = try await StorageApp()
        let answer = try await app.client.post("/storage/Note", #"{"title":"Müsli","n":{"a":[1,null,true]}}"#)
        #expect(answer.status == 201)
        #expect(answer.header("content-type") == "application/json; charset=utf-8")
        #expect(answer["title"] == #""Müsli""#)
        #expect(answer["n"] == #"{"a":[1,null,true]}"#)
        #expect(answer["deleted"] == "null")
        #expect(answer["_version"] == "1")
        #expect(answer["created"] == answer["updated"])
        let created = try #require(answer["created"])
        #expect(created.wholeMatch(of: /"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"/) != nil)
        let id = try #require(answer["_id"]).trimmingCharacters(in: ["\""])
        #expect(id.wholeMatch(of: /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/) != nil)
        #expect(try await app.client.get("/storage/Note/\(id)").text == answer.text)
    }

    @Test func `an empty object can be stored`() async throws {
        let app = try await StorageApp()
        let answer = try await app.client.post("/storage/Note", " {\n} ")
        #expect(answer.status == 201)
        #expect(answer.json != nil)
    }

    @Test func `fifty first users of a collection create one table and fifty objects`() async throws {
        let app = try await StorageApp()
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<50 {
                group.addTask { try await app.client.post("/storage/Fresh", #"{"number":\#(number)}"#).status }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(statuses == Array(repeating: 201, count: 50))
        #expect(try await app.contents().keys.sorted() == ["Fresh"])
        let all = try await app.client.get("/storage/Fresh?order=number")
        #expect(all["count"] == "50")
        #expect((0..<50).allSatisfy { all["data.\($0).number"] == "\($0)" })
    }

    @Test func `an object with an existing id is replaced, and restored if it was removed`() async throws {
        let app = try await StorageApp()
        let first = try await app.client.post("/storage/Note", #"{"_id":"a","x":1,"y":1}"#)
        #expect(first.status == 201)
        let second = try await app.client.post("/storage/Note", #"{"x":2,"_id":"a"}"#)
        #expect(second.status == 200)
        #expect(second["x"] == "2")
        #expect(second["y"] == nil)
        #expect(second["_version"] == "2")
        #expect(second["created"] == first["created"])
        #expect(try await app.client.post("/storage/remove/Note/a").status == 200)
        let third = try await app.client.post("/storage/Note", #"{"_id":"a"}"#)
        #expect(third.status == 200)
        #expect(third["deleted"] == "null")
        #expect(third["_version"] == "4")
        #expect(try await app.client.get("/storage/Note")["count"] == "1")
    }

    @Test func `an id posted by fifty clients at once is created once`() async throws {
        let app = try await StorageApp()
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<50 { group.addTask { try await app.client.post("/storage/Fresh", #"{"_id":"one"}"#).status } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(statuses.filter { $0 == 201 }.count == 1)
        #expect(statuses.filter { $0 == 200 }.count == 49)
        #expect(try await app.client.get("/storage/Fresh/one")["_version"] == "50")
    }

    @Test func `system fields sent by a client are not stored`() async throws {
        let app = try await StorageApp()
        let answer = try await app.client.post(
            "/storage/Note", #"{"_id":"a","created":"1999","updated":5,"deleted":true,"_version":77,"x":1}"#)
        #expect(answer.status == 201)
        #expect(answer["_version"] == "1")
        #expect(answer["deleted"] == "null")
        #expect(answer["created"]?.contains("1999") == false)
        #expect(try await app.contents()["Note"]?.contains(#"{""x"": 1}"#) == true)
    }

    @Test(arguments: [
        ("1.0", "1.0"), ("1.10", "1.10"), ("12345678901234567890.123", "12345678901234567890.123"),
        ("9007199254740993", "9007199254740993"),
        ("0.1000000000000000055511151231257827", "0.1000000000000000055511151231257827"), ("-0.00", "0.00"),
        ("1e2", "100"), ("1E+2", "100"), ("1.5e-3", "0.0015"), ("-7", "-7"),
        ("1e399", "1" + String(repeating: "0", count: 399)),
    ]) func `numbers keep their digits, and exponents are written out`(_ written: String, _ read: String) async throws {
        let app = try await StorageApp()
        let answer = try await app.client.post("/storage/Note", #"{"_id":"a","n":\#(written)}"#)
        #expect(answer.status == 201)
        #expect(answer["n"] == read)
        #expect(try await app.client.get("/storage/Note/a")["n"] == read)
        #expect(try await app.client.post("/storage/query/Note", #"{"n":\#(written)}"#).ids == ["a"])
    }

    @Test(arguments: [#"{"a":1,"a":2}"#, #"{"_id":"a","_id":"b"}"#, #"{"a":{"b":1,"\u0062":2}}"#])
    func `a duplicate name in an object is refused`(_ body: String) async throws {
        let app = try await StorageApp()
        _ = try await app.client.post("/storage/Note", "{}")
        try await app.expectRefusal(.invalidBody) { try await app.client.post("/storage/Note", body) }
    }

    @Test(arguments: [
        #"it's "quoted" \ back"#, "🦉 owl", "\u{1}\u{7f}\n\t", "e\u{301} and é", "$1 %s {} --", "\u{2028}\u{fffd}",
        #"'); DROP TABLE "Note"; --"#,
    ]) func `any text survives a round trip, as a value and as a nested name`(_ text: String) async throws {
        let app = try await StorageApp()
        let quoted = JSONValue.quote(text)
        let answer = try await app.client.post(
            "/storage/Note", #"{"_id":"a","v":\#(quoted),"o":{\#(quoted):1,"$x":2,"":3}}"#)
        #expect(answer.status == 201)
        let stored = try #require(try await app.client.get("/storage/Note/a").json)
        #expect(stored["v"] == .string(text))
        #expect(stored["o"]?[text] == .number("1"))
    }

    @Test(arguments: ["A", "a1", "Note_2", "x-y", "select", "Table", "ALL", String(repeating: "z", count: 63)])
    func `a collection's name is a letter, then letters, digits, _ or -`(_ name: String) async throws {
        let app = try await StorageApp()
        #expect(try await app.client.post("/storage/\(name)", "{}").status == 201)
        #expect(try await app.client.get("/storage/\(name)")["count"] == "1")
        #expect(try await app.contents().keys.sorted() == [name])
    }

    @Test func `a collection may have a name that PostgreSQL would give to another's index`() async throws {
        let app = try await StorageApp()
        for name in ["A", "A_pkey", "A_doc_idx", "A_pkey1", "a"] {
            #expect(try await app.client.post("/storage/\(name)", "{}").status == 201)
        }
        #expect(try await app.master.post("/collections/A/rename", #"{"name":"B"}"#).status == 200)
        #expect(try await app.client.post("/storage/A", "{}").status == 201)
        #expect(try await app.contents().count == 6)
    }

    @Test(arguments: ["all", "query", "remove", "aggregate", "distinct"])
    func `a word used in routes cannot be a collection's name`(_ name: String) async throws {
        let app = try await StorageApp()
        try await app.expectRefusal(.notFound) { try await app.client.post("/storage/\(name)", "{}") }
        try await app.expectRefusal(.invalidName) { try await app.client.post("/storage/all/\(name)", "[{}]") }
    }

    @Test(arguments: BadNames.collections) func `an invalid name of a collection creates no table`(_ name: String)
        async throws
    {
        let app = try await StorageApp()
        try await app.expectRefusal(BadNames.refusal(of: name, otherwise: .invalidName), field: "collection") {
            try await app.client.post("/storage/\(name)", "{}")
        }
    }

    @Test(arguments: [
        "a", "0", "_x", "A-b.c:d@e~f_0", String(repeating: "i", count: 128), "0190163d-8694-739b-aea5-966c26f8ad91",
    ]) func `a client may choose the id`(_ id: String) async throws {
        let app = try await StorageApp()
        #expect(try await app.client.post("/storage/Note", #"{"_id":"\#(id)"}"#)["_id"] == "\"\(id)\"")
        #expect(try await app.client.get("/storage/Note/\(id)").status == 200)
        let encoded = try #require(id.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
        #expect(try await app.client.get("/storage/Note/\(encoded)").status == 200)
    }

    @Test(arguments: [
        #"{"_id":5}"#, #"{"_id":null}"#, #"{"_id":""}"#, #"{"_id":"a b"}"#, #"{"_id":"a\"b"}"#, #"{"_id":"ü"}"#,
        #"{"_id":"-a"}"#,
        #"{"_id":"\#(String(repeating: "i", count: 129))"}"#, #"{"_id":{"$oid":"a"}}"#,
    ]) func `an invalid id is refused`(_ body: String) async throws {
        let app = try await StorageApp()
        _ = try await app.client.post("/storage/Note", "{}")
        try await app.expectRefusal(.invalidID, field: "_id") { try await app.client.post("/storage/Note", body) }
    }

    @Test(arguments: BadBodies.all) func `an invalid body is refused`(_ bad: BadBody) async throws {
        let app = try await StorageApp()
        _ = try await app.client.post("/storage/Note", "{}")
        try await app.expectRefusal(bad.code) { try await app.client.send("POST", "/storage/Note", bytes: bad.bytes) }
    }

    @Test func `an object has at most one mebibyte`() async throws {
        let app = try await StorageApp()
        func object(_ size: Int) -> String { #"{"t":"\#(String(repeating: "x", count: size - 8))"}"# }
        #expect(try await app.client.post("/storage/Note", object(1 << 20)).status == 201)
        try await app.expectRefusal(.payloadTooLarge) {
            try await app.client.post("/storage/Note", object(1 << 20 + 1))
        }
    }

    @Test func `an app has at most 500 collections`() async throws {
        let app = try await StorageApp()
        _ = try await app.client.post("/storage/Note", "{}")
        let schema = try app.space().schema
        // Takes a while, so it is not on the connection that other tests share.
        try await app.database.withSuperuser { superuser in
            try await superuser.withTransaction { transaction in
                for number in 2...500 {
                    try await transaction.execute(.init(unescaped: "CREATE TABLE \(schema).t\(number) ()"))
                }
                try await transaction.execute(
                    .init(
                        unescaped: """
                            INSERT INTO \(schema)._collections (name) SELECT 't' || n FROM generate_series(2, 500) AS n
                            """))
            }
        }
        let answer = try await app.client.post("/storage/OneMore", "{}")
        #expect(answer.isProblem(.limitExceeded, field: "collection"), "\(answer)")
        #expect(try await app.client.get("/storage/OneMore")["count"] == "0")
        #expect(try await app.client.post("/storage/Note", "{}").status == 201)
    }

    @Test func `a parameter without effect is refused`() async throws {
        let app = try await StorageApp()
        try await app.expectRefusal(.invalidParameter, field: "upsert") {
            try await app.client.post("/storage/Note?upsert=1", "{}")
        }
    }
}

struct BadBody: Sendable, CustomTestStringConvertible {
    let code: ErrorCode
    let bytes: [UInt8]

    init(_ code: ErrorCode, _ text: String) { self.init(code, Array(text.utf8)) }

    init(_ code: ErrorCode, _ bytes: [UInt8]) {
        self.code = code
        self.bytes = bytes
    }

    var testDescription: String { "\(code.rawValue): \(String(decoding: bytes.prefix(60), as: UTF8.self))" }
}

enum BadBodies {
    static let all: [BadBody] =
        json + [
            BadBody(.invalidBody, "[1]"), BadBody(.invalidBody, "1"), BadBody(.invalidBody, "null"),
            BadBody(.invalidBody, #""x""#),
            BadBody(.invalidBody, "[{}]"),
            BadBody(.limitExceeded, nested(33)),
            BadBody(.invalidName, #"{"$a":1}"#), BadBody(.invalidName, #"{"a..b":1}"#),
            BadBody(.invalidName, #"{"_a":1}"#),
            BadBody(.invalidName, #"{"":1}"#), BadBody(.invalidName, #"{"a\\b":1}"#),
            BadBody(.invalidName, #"{"a\nb":1}"#),
            BadBody(.invalidName, #"{"\#(String(repeating: "n", count: 129))":1}"#),
        ]

    /// Refused wherever JSON is stored.
    static let json: [BadBody] = [
        BadBody(.invalidJSON, ""), BadBody(.invalidJSON, "{"), BadBody(.invalidJSON, #"{"a":1,}"#),
        BadBody(.invalidJSON, "hello"),
        BadBody(.invalidJSON, #"{"a":1}{"b":2}"#), BadBody(.invalidJSON, #"{"a":"\ud800"}"#),
        BadBody(.invalidJSON, #"{"a":"\udc00\ud800"}"#),
        BadBody(.invalidJSON, #"{"a":01}"#), BadBody(.invalidJSON, #"{"a":NaN}"#), BadBody(.invalidJSON, #"{a:1}"#),
        BadBody(.invalidJSON, Array(#"{"a":""#.utf8) + [0xff] + Array(#""}"#.utf8)),
        BadBody(.invalidJSON, Array(#"{"a":""#.utf8) + [0xc0, 0x80] + Array(#""}"#.utf8)),
        BadBody(.invalidJSON, Array(#"{"a":""#.utf8) + [0] + Array(#""}"#.utf8)),
        BadBody(.invalidJSON, [0xef, 0xbb, 0xbf] + Array(#"{"a":1}"#.utf8)),
        BadBody(.invalidBody, #"{"a":"\u0000"}"#), BadBody(.invalidBody, #"{"a":{"\u0000":1}}"#),
        BadBody(.limitExceeded, #"{"a":1e400}"#), BadBody(.limitExceeded, #"{"a":1e99999999999999999999}"#),
        BadBody(.limitExceeded, #"{"a":1e-401}"#),
        BadBody(.limitExceeded, #"{"a":\#(String(repeating: "9", count: 401))}"#),
    ]

    /// An object nested `depth` levels deep.
    static func nested(_ depth: Int) -> String {
        String(repeating: #"{"a":"#, count: depth - 1) + "{}" + String(repeating: "}", count: depth - 1)
    }
}

import MartletAPI
import MartletCore
import MartletTesting
import Testing

@testable import StorageService

@Suite struct QueryObjectsTests {
    private static let documents = [
        #"{"_id":"n1","name":"tim","age":30,"score":1.5,"ok":true,"tags":["a","b"],"address":{"city":"Bern","zip":3000}}"#,
        #"{"_id":"n2","name":"tom","age":25,"ok":false,"tags":["b"],"address":{"city":"Ulm"}}"#,
        #"{"_id":"n3","name":"Tim","age":"30","ok":null,"tags":[]}"#,
        #"{"_id":"n4","name":"zoë","age":30.0,"tags":"a","list":[1,"x",true,{"y":1}]}"#,
        #"{"_id":"n5","name":null,"age":-1,"score":12345678901234567890.123}"#,
        #"{"_id":"n6","address":{"city":"Bern","zip":3000,"x":"y"},"quote":"it's \"q\" \\ $1 %","it's":1,"a\"b":1}"#,
        #"{"_id":"n7"}"#,
    ]

    @Test(
        arguments: [
            // Equality, by type of value
            ("{}", "1234567"), (#"{"name":"tim"}"#, "1"), (#"{"name":"Tim"}"#, "3"), (#"{"name":"zo\u00eb"}"#, "4"),
            (#"{"name":"ti"}"#, ""),
            (#"{"age":30}"#, "14"), (#"{"age":3.00e1}"#, "14"), (#"{"age":-1}"#, "5"), (#"{"age":"30"}"#, "3"),
            (#"{"score":12345678901234567890.123}"#, "5"), (#"{"score":12345678901234567890.1231}"#, ""),
            (#"{"ok":true}"#, "1"), (#"{"ok":false}"#, "2"), (#"{"ok":null}"#, "34567"), (#"{"name":null}"#, "567"),
            (#"{"none":null}"#, "1234567"),
            // An array matches if it contains the value
            (#"{"tags":"a"}"#, "14"), (#"{"tags":"b"}"#, "12"), (#"{"list":1}"#, "4"), (#"{"list":true}"#, "4"),
            (#"{"list":"y"}"#, ""),
            (#"{"tags":["a","b"]}"#, "1"), (#"{"tags":["b","a"]}"#, ""), (#"{"tags":["a"]}"#, ""),
            (#"{"tags":[]}"#, "3"),
            // Objects
            (#"{"address":{"city":"Ulm"}}"#, "2"), (#"{"address":{"zip":3000,"city":"Bern"}}"#, "1"),
            (#"{"address":{}}"#, ""),
            (#"{"address.city":"Bern"}"#, "16"), (#"{"address.zip":3000}"#, "16"), (#"{"address.x":"y"}"#, "6"),
            (#"{"name.first":"tim"}"#, ""),
            (#"{"a.b.c.d.e.f.g.h":null}"#, "1234567"),
            // $eq, $ne
            (#"{"name":{"$eq":"tim"}}"#, "1"), (#"{"name":{"$eq":null}}"#, "567"),
            (#"{"name":{"$ne":"tim"}}"#, "234567"),
            (#"{"name":{"$ne":null}}"#, "1234"), (#"{"tags":{"$ne":"a"}}"#, "23567"),
            (#"{"none":{"$ne":1}}"#, "1234567"),
            (#"{"address":{"$ne":{"city":"Ulm"}}}"#, "134567"), (#"{"tags":{"$ne":[]}}"#, "124567"),
            // Comparisons, between values of one type
            (#"{"age":{"$gt":25}}"#, "14"), (#"{"age":{"$gte":25}}"#, "124"), (#"{"age":{"$lt":0}}"#, "5"),
            (#"{"age":{"$lte":25}}"#, "25"),
            (#"{"age":{"$gt":0,"$lt":30}}"#, "2"), (#"{"age":{"$gt":"2"}}"#, "3"), (#"{"age":{"$lt":"2"}}"#, ""),
            (#"{"name":{"$gt":"tim"}}"#, "24"), (#"{"name":{"$lte":"tim"}}"#, "13"), (#"{"ok":{"$gt":false}}"#, "1"),
            (#"{"ok":{"$lte":true}}"#, "12"),
            (#"{"score":{"$gte":1.5}}"#, "15"), (#"{"score":{"$gt":12345678901234567890.122}}"#, "5"),
            (#"{"address.zip":{"$gt":2999.9}}"#, "16"),
            // $in, $nin
            (#"{"name":{"$in":["tim","tom"]}}"#, "12"), (#"{"name":{"$in":[]}}"#, ""),
            (#"{"name":{"$in":[null]}}"#, "567"),
            (#"{"name":{"$in":["tim",null]}}"#, "1567"), (#"{"age":{"$in":[30,"30"]}}"#, "134"),
            (#"{"tags":{"$in":["b"]}}"#, "12"),
            (#"{"tags":{"$in":[[],"a"]}}"#, "134"), (#"{"address":{"$in":[{"city":"Ulm"}]}}"#, "2"),
            (#"{"name":{"$nin":["tim","tom"]}}"#, "34567"), (#"{"name":{"$nin":[]}}"#, "1234567"),
            (#"{"name":{"$nin":[null]}}"#, "1234"),
            (#"{"ok":{"$nin":[true,false]}}"#, "34567"),
            // $exists
            (#"{"name":{"$exists":true}}"#, "12345"), (#"{"name":{"$exists":false}}"#, "67"),
            (#"{"address.zip":{"$exists":true}}"#, "16"),
            (#"{"tags":{"$exists":true,"$ne":"b"}}"#, "34"), (#"{"_id":{"$exists":false}}"#, ""),
            // Combined
            (#"{"name":"tim","age":25}"#, ""), (#"{"age":25,"name":"tom"}"#, "2"),
            (#"{"$or":[{"name":"tim"},{"age":25}]}"#, "12"),
            (#"{"$and":[{"age":30},{"name":"tim"}]}"#, "1"), (#"{"$nor":[{"name":"tim"},{"age":25}]}"#, "34567"),
            (#"{"$or":[{}]}"#, "1234567"),
            (#"{"ok":true,"$or":[{"name":"tom"},{"name":"tim"}]}"#, "1"),
            (#"{"$or":[{"$and":[{"age":30},{"ok":true}]},{"$nor":[{"tags":{"$exists":true}}]}]}"#, "1567"),
            // System fields
            (#"{"_id":"n2"}"#, "2"), (#"{"_id":{"$in":["n1","n3","x"]}}"#, "13"), (#"{"_id":{"$gt":"n5"}}"#, "67"),
            (#"{"_id":{"$ne":"n1"}}"#, "234567"),
            (#"{"_id":{"$nin":["n1"]}}"#, "234567"), (#"{"_version":1}"#, "1234567"), (#"{"_version":{"$gt":1}}"#, ""),
            (#"{"deleted":null}"#, "1234567"),
            (#"{"created":{"$gt":"2020-01-01T00:00:00Z"}}"#, "1234567"),
            (#"{"updated":{"$lte":"2020-01-01T00:00:00.500Z"}}"#, ""),
            // Names and values that look like something else
            (#"{"quote":"it's \"q\" \\ $1 %"}"#, "6"), (#"{"it's":1}"#, "6"), (#"{"a\"b":1}"#, "6"),
            (#"{"it's":{"$gt":0}}"#, "6"),
            (#"{"name":"' OR 1=1 --"}"#, ""), (#"{"x' OR 1=1 --":"1"}"#, ""), (#"{"x\") OR TRUE --":{"$gt":1}}"#, ""),
            (#"{"name":{"$in":["'; DROP TABLE \"Note\"; --"]}}"#, ""),
            (#"{"name'); DROP TABLE \"Note\"; --":null}"#, "1234567"),
        ] as [(String, String)]) func `a filter finds the right objects`(_ filter: String, _ digits: String)
        async throws
    {
        let app = try await Self.filled.value
        let answer = try await app.client.post("/storage/query/Note?order=_id&count=true", filter)
        #expect(answer.status == 200, "\(answer)")
        #expect(answer.ids.map { $0.dropFirst() }.joined() == digits)
        #expect(answer["count"] == "\(digits.count)")
        #expect(answer["config"] == #"{"version":null,"date":null}"#)
    }

    @Test(
        arguments: [
            ("", ErrorCode.invalidJSON, nil), ("{", .invalidJSON, nil), (#"{"a":"\ud800"}"#, .invalidJSON, nil),
            (#"{"a":"\u0000"}"#, .invalidBody, nil),
            ("[]", .invalidFilter, nil), (#""x""#, .invalidFilter, nil), ("1", .invalidFilter, nil),
            ("null", .invalidFilter, nil),
            (#"{"$foo":1}"#, .unknownOperator, "$foo"), (#"{"a":{"$foo":1}}"#, .unknownOperator, "$foo"),
            (#"{"$gt":1}"#, .unknownOperator, "$gt"),
            (#"{"$where":"1"}"#, .unknownOperator, "$where"), (#"{"$":1}"#, .unknownOperator, "$"),
            (#"{"a":{"$GT":1}}"#, .unknownOperator, "$GT"), (#"{"a":{"$gt":1,"$foo":1}}"#, .unknownOperator, "$foo"),
            (#"{"$or":[{"a":1},{"$foo":1}]}"#, .unknownOperator, "$foo"),
            (#"{"a":{"$gt":null}}"#, .invalidFilter, "a"), (#"{"a":{"$gt":[]}}"#, .invalidFilter, "a"),
            (#"{"a":{"$lte":{}}}"#, .invalidFilter, "a"),
            (#"{"a":{"$in":1}}"#, .invalidFilter, "a"), (#"{"a":{"$nin":{"b":1}}}"#, .invalidFilter, "a"),
            (#"{"a":{"$exists":1}}"#, .invalidFilter, "a"),
            (#"{"a":{"$gt":1,"b":2}}"#, .invalidFilter, "a"), (#"{"$or":[]}"#, .invalidFilter, "$or"),
            (#"{"$and":{}}"#, .invalidFilter, "$and"),
            (#"{"$nor":"x"}"#, .invalidFilter, "$nor"), (#"{"$or":[1]}"#, .invalidFilter, nil),
            (#"{"":1}"#, .invalidFilter, ""),
            (#"{"a..b":1}"#, .invalidFilter, "a..b"), (#"{".a":1}"#, .invalidFilter, ".a"),
            (#"{"a.":1}"#, .invalidFilter, "a."),
            (#"{"a.$b":1}"#, .invalidFilter, "a.$b"), (#"{"a\\b":1}"#, .invalidFilter, nil),
            (#"{"a\nb":1}"#, .invalidFilter, nil),
            (#"{"1.2.3.4.5.6.7.8.9":1}"#, .invalidFilter, nil),
            (#"{"\#(String(repeating: "n", count: 129))":1}"#, .invalidFilter, nil),
            (#"{"_id":5}"#, .invalidFilter, "_id"), (#"{"_id":{"$in":["a",5]}}"#, .invalidFilter, "_id"),
            (#"{"created":"yesterday"}"#, .invalidFilter, "created"),
            (#"{"updated":5}"#, .invalidFilter, "updated"), (#"{"_version":1.5}"#, .invalidFilter, "_version"),
            (#"{"_version":"1"}"#, .invalidFilter, "_version"),
            (#"{"_version":{"$gt":99999999999999999999}}"#, .invalidFilter, "_version"),
            (nested(9), .limitExceeded, nil), (conditions(101), .limitExceeded, nil),
            (#"{"a":{"$in":[\#(numbers(101))]}}"#, .limitExceeded, "a"),
            (#"{"a":\#(BadBodies.nested(33))}"#, .limitExceeded, nil), (#"{"a":1e401}"#, .limitExceeded, nil),
            (#"{"a":"\#(String(repeating: "x", count: 64 << 10))"}"#, .payloadTooLarge, nil),
        ] as [(String, ErrorCode, String?)]) func `an invalid filter is refused`(
            _ filter: String, _ code: ErrorCode, _ field: String?
        ) async throws
    {
        let app = try await Self.filled.value
        try await app.expectRefusal(code, field: field) { try await app.client.post("/storage/query/Note", filter) }
        // The same for a missing collection, so that clients notice mistakes before their first object.
        try await app.expectRefusal(code, field: field) { try await app.client.post("/storage/query/Other", filter) }
    }

    @Test(arguments: [nested(8), conditions(100), #"{"a":{"$in":[\#(numbers(100))]}}"#])
    func `a filter at the limit is accepted`(_ filter: String) async throws {
        let app = try await Self.filled.value
        #expect(try await app.client.post("/storage/query/Note", filter).status == 200)
    }

    @Test(arguments: [
        ("/storage/query/Note?limit=1&order=-_id", ["n4"]), ("/storage/query/Note/1/1", ["n4"]),
        ("/storage/query/Note/0/5", ["n1", "n4"]),
        ("/storage/query/Note?skip=2", []),
    ]) func `a query is paged and ordered like a list`(_ path: String, _ ids: [String]) async throws {
        let app = try await Self.filled.value
        #expect(try await app.client.post(path, #"{"age":30}"#).ids == ids)
    }

    @Test func `a query returns chosen fields, the total, and nothing for a missing collection`() async throws {
        let app = try await Self.filled.value
        let answer = try await app.client.post("/storage/query/Note?keys=name&limit=1&count=true", #"{"age":30}"#)
        #expect(answer["count"] == "2")
        #expect(answer["data.0.name"] == #""tim""#)
        #expect(answer["data.0.age"] == nil)
        #expect(try await app.client.post("/storage/query/Other", "{}")["data"] == "[]")
    }

    @Test(arguments: ["limit=x", "order=$", "x=1"]) func `parameters are validated as for a list`(_ query: String)
        async throws
    {
        let app = try await Self.filled.value
        try await app.expectRefusal(.invalidParameter, field: String(query.prefix { $0 != "=" })) {
            try await app.client.post("/storage/query/Note?\(query)", "{}")
        }
    }

    @Test(arguments: BadNames.collections.filter { !$0.contains("%2F") })
    func `an invalid collection name is refused`(_ name: String) async throws {
        let app = try await Self.filled.value
        try await app.expectRefusal(BadNames.refusal(of: name, otherwise: .invalidName), field: "collection") {
            try await app.client.post("/storage/query/\(name)", "{}")
        }
    }

    /// Written once and only read.
    private static let filled = Task {
        let app = try await StorageApp()
        let answer = try await app.client.post("/storage/all/Note", "[" + documents.joined(separator: ",") + "]")
        #expect(answer.status == 201)
        return app
    }

    /// A filter whose innermost object is at level `depth`.
    private static func nested(_ depth: Int) -> String {
        String(repeating: #"{"$and":["#, count: depth - 1) + "{}" + String(repeating: "]}", count: depth - 1)
    }

    private static func conditions(_ count: Int) -> String {
        "{" + (0..<count).map { #""f\#($0)":{"$gt":1}"# }.joined(separator: ",") + "}"
    }

    private static func numbers(_ count: Int) -> String {
        (0..<count).map(String.init).joined(separator: ",")
    }
}

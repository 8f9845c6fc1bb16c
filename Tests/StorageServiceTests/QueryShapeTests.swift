import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import Testing

@testable import StorageService

/// Cursors, includes, keys, distinct values and aggregates.
@Suite struct QueryShapeTests {
    private static let documents = [
        #"{"_id":"a","n":2,"s":"x","price":0.1,"city":"Bern"}"#,
        #"{"_id":"b","n":10,"s":"y","price":0.2,"city":"Ulm"}"#, #"{"_id":"c","n":null,"s":"x","price":"9"}"#,
        #"{"_id":"d","s":"x","price":0.30,"city":"Bern"}"#, #"{"_id":"e","n":"2","s":"y","city":["Ulm","Bonn"]}"#,
        #"{"_id":"f","n":2,"city":null}"#, #"{"_id":"g"}"#,
        #"{"_id":"h","n":[1],"s":{"__type":"Date","iso":"2026-01-01T00:00:00Z"}}"#,
    ]
    private static let filled = Task {
        let app = try await StorageApp()
        #expect(
            try await app.client.post("/storage/all/Note", "[" + documents.joined(separator: ",") + "]").status == 201)
        return app
    }

    @Test(arguments: [
        "_id", "-_id", "n", "-n", "n,-s", "-n,s", "s,n,price", "-s,-n,-price", "created", "-created,n", "_version,-_id",
        "deleted,n", "-updated",
    ])
    func `pages by cursor equal the list, whatever the order and the size`(_ order: String) async throws {
        let app = try await Self.filled.value
        let all = try await app.client.get("/storage/Note?order=\(order)").ids
        #expect(all.count == 8)
        for size in 1...9 {
            var (ids, cursor) = ([String](), "")
            for _ in 0..<10 {
                let page = try await app.client.get(
                    "/storage/Note?order=\(order)&limit=\(size)&cursor=\(cursor)&count=true")
                #expect(page["count"] == "8", "\(page)")
                ids += page.ids
                guard case .string(let next) = page.json?["cursor"] else { break }
                cursor = next
            }
            #expect(ids == all, "\(size)")
        }
    }

    @Test(arguments: ["x", "W10", "eyJhIjoxfQ", "%22", String(repeating: "A", count: 5_000)])
    func `a forged cursor is refused`(_ cursor: String) async throws {
        let app = try await Self.filled.value
        try await app.expectRefusal(.invalidParameter, field: "cursor") {
            try await app.client.get("/storage/Note?order=n&cursor=\(cursor)")
        }
        try await app.expectRefusal(.invalidParameter, field: "cursor") {
            try await app.client.get("/storage/Note?skip=1&cursor=")
        }
        guard
            case .string(let other) = try await app.client.get("/storage/Note?order=s&limit=1&cursor=").json?["cursor"]
        else { throw CancellationError() }
        try await app.expectRefusal(.invalidParameter, field: "cursor") {
            try await app.client.get("/storage/Note?order=n&cursor=\(other)")
        }
    }

    @Test(
        arguments: [
            (#"{"values":{"n":{"$count":true}}}"#, #"[{"n":8}]"#),
            (#"{"values":{"s":{"$sum":"price"},"a":{"$avg":"price"}}}"#, #"[{"a":0.20000000000000000000,"s":0.60}]"#),
            (
                #"{"values":{"lo":{"$min":"n"},"hi":{"$max":"price"}},"where":{"city":"Bern"}}"#,
                #"[{"hi":0.30,"lo":2}]"#
            ),
            (
                #"{"group":["s"],"values":{"n":{"$count":true}},"order":"-n,s","limit":2}"#,
                #"[{"n":3,"s":"x"},{"n":2,"s":"y"}]"#
            ),
            (
                #"{"group":["s","n"],"where":{"s":"x"},"order":"n"}"#,
                #"[{"n":null,"s":"x"},{"n":2,"s":"x"},{"n":null,"s":"x"}]"#
            ),
            (#"{"values":{"s":{"$sum":"none"},"m":{"$max":"none"}}}"#, #"[{"m":null,"s":0}]"#),
            (#"{"group":["_version"]}"#, #"[{"_version":1}]"#),
        ] as [(String, String)]) func `an aggregate gives the right result`(_ body: String, _ expected: String)
        async throws
    {
        let app = try await Self.filled.value
        let answer = try await app.client.post("/storage/aggregate/Note", body)
        #expect(answer["data"] == expected, "\(answer)")
    }

    @Test(
        arguments: [
            (#"{"field":"city"}"#, #"["Ulm","Bern","Bonn"]"#), (#"{"field":"n"}"#, #"["2",1,2,10]"#),
            (#"{"field":"city","where":{"n":2}}"#, #"["Bern"]"#), (#"{"field":"_version"}"#, "[1]"),
            (#"{"field":"none"}"#, "[]"), (#"{"field":"x') FROM pg_roles --"}"#, "[]"),
        ] as [(String, String)]) func `distinct values are listed once, and lists by element`(
            _ body: String, _ expected: String
        ) async throws
    {
        let app = try await Self.filled.value
        let answer = try await app.client.post("/storage/distinct/Note", body)
        guard case .array(let values) = answer.json?["data"],
            case .array(let wanted)? = try? JSONValue(parsing: expected.utf8)
        else { throw CancellationError() }
        #expect(values.map(\.text).sorted() == wanted.map(\.text).sorted(), "\(answer)")
        #expect(answer["count"] == "\(values.count)")
    }

    @Test func `a summary shows times like an object does`() async throws {
        let app = try await StorageApp()
        let created = try #require(try await app.client.post("/storage/Note", "{}")["created"])
        #expect(try await app.client.post("/storage/distinct/Note", #"{"field":"created"}"#)["data"] == "[\(created)]")
        let answer = try await app.client.post(
            "/storage/aggregate/Note", #"{"group":["created"],"values":{"last":{"$max":"updated"}}}"#)
        #expect(answer["data.0.created"] == created && answer["data.0.last"] == created, "\(answer)")
    }

    @Test(
        arguments: [
            ("aggregate", "[]", ErrorCode.invalidBody, nil), ("aggregate", "{}", .invalidBody, "values"),
            ("aggregate", #"{"values":{"x":{"$median":"n"}}}"#, .unknownOperator, "values.x"),
            ("aggregate", #"{"values":{"x":{"$sum":1}}}"#, .invalidBody, "values.x"),
            ("aggregate", #"{"group":["a..b"]}"#, .invalidFilter, "a..b"),
            ("aggregate", #"{"group":["a","b","c","d","e"]}"#, .invalidBody, "group"),
            ("aggregate", #"{"group":["s"],"values":{"s":{"$count":true}}}"#, .invalidBody, "values"),
            ("aggregate", #"{"group":["s"],"order":"n"}"#, .invalidBody, "order"),
            ("aggregate", #"{"group":["s"],"limit":1001}"#, .invalidBody, "limit"),
            ("aggregate", #"{"group":["s"],"pipeline":[]}"#, .invalidBody, "pipeline"),
            ("aggregate", #"{"group":["s"],"where":{"$foo":1}}"#, .unknownOperator, "$foo"),
            ("distinct", "{}", .invalidBody, "field"), ("distinct", #"{"field":"$x"}"#, .invalidFilter, "$x"),
            ("distinct", #"{"field":"a","limit":0}"#, .invalidBody, "limit"), ("distinct", "x", .invalidJSON, nil),
        ] as [(String, String, ErrorCode, String?)]) func `an invalid summary is refused`(
            _ call: String, _ body: String, _ code: ErrorCode, _ field: String?
        ) async throws
    {
        let app = try await Self.filled.value
        try await app.expectRefusal(code, field: field) { try await app.client.post("/storage/\(call)/Note", body) }
    }

    @Test func `pointers are included to any depth up to four`() async throws {
        let app = try await StorageApp()
        for (name, next) in [("E", nil), ("D", "E"), ("C", "D"), ("B", "C"), ("A", "B")] as [(String, String?)] {
            let pointer =
                next.map { #","next":{"__type":"Pointer","className":"\#($0)","objectId":"\#($0.lowercased())"}"# }
                ?? ""
            #expect(
                try await app.client.post("/storage/\(name)", #"{"_id":"\#(name.lowercased())","n":1.10\#(pointer)}"#)
                    .status == 201)
        }
        let one = try await app.client.get("/storage/A?include=next")
        #expect(one["data.0.next.n"] == "1.10" && one["data.0.next.next.__type"] == #""Pointer""#, "\(one)")
        let four = try await app.client.get("/storage/A/a?include=next.next.next.next")
        #expect(four["next.next.next.next._id"] == #""e""#, "\(four)")
        #expect(try await app.client.get("/storage/A/a?include=next.next.next.next.next").isProblem(.limitExceeded))
        _ = try await app.client.delete("/storage/B/b")
        #expect(try await app.client.get("/storage/A/a?include=next")["next"] == nil)
        #expect(try await app.client.get("/storage/A/a?include=n,none&keys=n")["n"] == "1.10")
        _ = try await app.client.patch(
            "/storage/A/a", #"{"next":{"__type":"Pointer","className":"Gone","objectId":"x"},"plain":"text"}"#)
        #expect(try await app.client.get("/storage/A/a?include=next,plain")["plain"] == #""text""#)
    }

    @Test func `another copy, not yet notified, includes the first pointers that are stored in fields`() async throws {
        let app = try await StorageApp()
        let other = try await ServiceClient(app.anotherCopy()).acting(as: app.principal(.master))
        _ = try await app.client.post("/storage/Note", #"{"_id":"n","text":"old"}"#)
        #expect(try await other.get("/storage/Note?include=event")["data.0.text"] == #""old""#)
        _ = try await app.client.post("/storage/Person", #"{"_id":"p","name":"Ann"}"#)
        let pointer = #"{"__type":"Pointer","className""#
        _ = try await app.client.post("/storage/Event", #"{"_id":"e","host":\#(pointer):"Person","objectId":"p"}}"#)
        _ = try await app.client.put("/storage/Note/n", #"{"event":\#(pointer):"Event","objectId":"e"}}"#)
        #expect(try await other.get("/storage/Note?include=event.host")["data.0.event.host.name"] == #""Ann""#)
        #expect(try await other.get("/storage/Note/n?include=event")["event.host.objectId"] == #""p""#)
    }

    @Test func `pointers in a list are included, and dangling ones are removed from it`() async throws {
        let app = try await StorageApp()
        _ = try await app.client.post("/storage/all/P", #"[{"_id":"p1","v":1},{"_id":"p2","v":2}]"#)
        func pointer(_ id: String) -> String { #"{"__type":"Pointer","className":"P","objectId":"\#(id)"}"# }
        _ = try await app.client.post(
            "/storage/A", #"{"_id":"a","list":[\#(pointer("p2")),\#(pointer("x")),"plain",\#(pointer("p1"))]}"#)
        let answer = try await app.client.get("/storage/A/a?include=list")
        #expect(
            answer["list.0.v"] == "2" && answer["list.1"] == #""plain""# && answer["list.2.v"] == "1"
                && answer["list.3"] == nil, "\(answer)")
        #expect(try await app.client.get("/storage/A?include=*")["data.0.list.0.v"] == "2")
    }

    @Test(arguments: [
        (#"{"fields":["t"],"kind":"text"}"#, "text_t"),
        (#"{"fields":["*"],"kind":"text","language":"german"}"#, "text_*"),
        (#"{"fields":["p"],"kind":"geo"}"#, "geo_p"), (#"{"fields":["t"],"kind":"prefix"}"#, "prefix_t"),
    ]) func `an index of any kind accepts every value`(_ body: String, _ name: String) async throws {
        let app = try await StorageApp()
        let odd =
            #"[{"t":1,"p":"x"},{"t":["a"],"p":{"latitude":1e300,"longitude":1e-300}},{"t":{"a":"b"},"p":{"latitude":"x"}},{"t":null},{},{"t":"\#(String(repeating: "word ", count: 100_000))"}]"#
        let values =
            body.contains("prefix")
            ? odd.replacingOccurrences(of: String(repeating: "word ", count: 100_000), with: "w") : odd
        #expect(try await app.client.post("/storage/all/Note", values).status == 201)
        let made = try await app.master.post("/collections/Note/indexes", body)
        #expect(made.status == 201 && made["name"] == JSONValue.quote(name), "\(made)")
        #expect(try await app.client.post("/storage/all/Note", values).status == 201)
        #expect(try await app.client.post("/storage/query/Note", #"{"t":{"$text":{"$search":"word"}}}"#).status == 200)
    }

    @Test(
        arguments: [
            (#"{"fields":["a"],"kind":"hash"}"#, ErrorCode.invalidBody, "kind"),
            (#"{"fields":["a","b"],"kind":"geo"}"#, .invalidBody, "fields"),
            (#"{"fields":["a"],"kind":"text","unique":true}"#, .invalidBody, "fields"),
            (#"{"fields":["created"],"kind":"prefix"}"#, .invalidBody, "fields"),
            (#"{"fields":["a"],"kind":"text","language":"x"}"#, .invalidFilter, "language"),
            (#"{"fields":["a"],"language":"english"}"#, .invalidBody, "language"),
        ] as [(String, ErrorCode, String?)]) func `an index that its kind does not support is refused`(
            _ body: String, _ code: ErrorCode, _ field: String?
        ) async throws
    {
        let app = try await StorageApp()
        _ = try await app.client.post("/storage/Note", "{}")
        try await app.expectRefusal(code, field: field) { try await app.master.post("/collections/Note/indexes", body) }
    }

    @Test func `advice names the slow shape and the index for it`() async throws {
        let advice = AdviceStore()
        let app = try await StorageApp()
        let scope = QueryScope(space: try app.space(), collection: try CollectionName("Note"), rights: .master)
        var query = try ListQuery(Parameters(), in: scope)
        try query.add(JSONValue(parsing: #"{"age":{"$gt":3},"name":"tim"}"#.utf8), in: scope)
        advice.record(query, in: scope, took: .milliseconds(20))
        #expect(advice.list(of: scope.collection, in: scope.space).isEmpty)
        for _ in 0..<2 { advice.record(query, in: scope, took: .milliseconds(80)) }
        let list = advice.list(of: scope.collection, in: scope.space)
        #expect(list.count == 1 && list[0].count == 2 && list[0].meanMilliseconds == 80)
        #expect(
            list[0].filter == ["age ordered", "name equality"] && list[0].index?.fields == ["age"]
                && list[0].index?.kind == "ordered")
        let body = #"{"where":{"size":{"$gt":3}},"group":["name"],"order":"name"}"#
        advice.record(try AggregateQuery(JSONValue(parsing: body.utf8), in: scope), in: scope, took: .milliseconds(90))
        let values = #"{"field":"name","where":{"title":{"$regex":"^ab"}}}"#
        advice.record(try DistinctQuery(JSONValue(parsing: values.utf8), in: scope), in: scope, took: .milliseconds(70))
        let all = advice.list(of: scope.collection, in: scope.space)
        #expect(
            all.map(\.index?.fields) == [["age"], ["size"], ["title"]] && all[1].order == []
                && all[2].index?.kind == "prefix")
        #expect(try await app.master.get("/collections/Note/advice")["count"] == "0")
        #expect(try await app.client.get("/collections/Note/advice").isProblem(.forbidden))
    }

    @Test func `a slow list is reported with the index for it, until that is created`() async throws {
        let app = try await StorageApp()
        _ = try await app.client.post("/storage/Note", #"{"age":5}"#)
        let table = try app.space().table(CollectionName("Note"))
        // The lock makes the list call wait longer than the threshold.
        let slow = try await app.superuser.withTransaction { transaction in
            try await transaction.execute("LOCK TABLE \(table) IN ACCESS EXCLUSIVE MODE")
            let answer = Task {
                try await app.user("u1").get("/storage/Note?where=%7B%22age%22%3A%7B%22%24gt%22%3A3%7D%7D")
            }
            try await StorageApp.waitUntilAStatementWaits(for: transaction)
            try await Task.sleep(for: AdviceStore.threshold * 3)
            return answer
        }
        #expect(try await slow.value["count"] == "1")
        let advice = try await app.master.get("/collections/Note/advice")
        #expect(
            advice["count"] == "1" && advice["data.0.filter"] == #"["age ordered"]"# && advice["data.0.count"] == "1",
            "\(advice)")
        let body = try #require(advice["data.0.index"])
        #expect(body == #"{"fields":["age"],"kind":"ordered"}"#)
        #expect(try await app.master.post("/collections/Note/indexes", body).status == 201)
        let after = try await app.master.get("/collections/Note/advice")
        #expect(after["count"] == "1" && after["data.0.index"] == nil, "\(after)")
    }

    @Test(
        arguments: [
            (#"{"place":{"$nearSphere":{"__type":"GeoPoint","latitude":1,"longitude":2}}}"#, nil, "geo place"),
            (#"{"name":{"$regex":"^ab"}}"#, nil, "prefix name"),
            (#"{"text":{"$text":{"$search":"ab"}}}"#, "-n", "text text"),
            (#"{"$text":{"$search":"ab"}}"#, nil, "text *"), (#"{"n":{"$gte":1},"m":{"$lt":3}}"#, nil, "ordered m"),
            (#"{"n":{"$gte":1}}"#, "-stars,n", "ordered -stars,n"), (#"{"n":null}"#, nil, "ordered n"),
            (#"{"n":{"$exists":false}}"#, nil, "ordered n"), (#"{"n":[1,2]}"#, nil, "ordered n"),
            (#"{"_version":3}"#, nil, "ordered _version"), (#"{"n":1}"#, nil, nil),
            (#"{"n":1}"#, "-created", "ordered n,-created"),
            (#"{"_id":"a"}"#, "_id", nil), (#"{"n":{"$ne":1}}"#, nil, nil),
            (#"{"name":{"$regex":"ab"}}"#, nil, nil), (#"{"n":{"$in":[1,null]}}"#, nil, "ordered n"),
        ] as [(String, String?, String?)]) func `the advised index is the one that is used`(
            _ filter: String, _ order: String?, _ expected: String?
        ) async throws
    {
        let app = try await StorageApp()
        let scope = QueryScope(space: try app.space(), collection: try CollectionName("Note"), rights: .master)
        var query = try ListQuery(Parameters(), in: scope)
        try query.add(JSONValue(parsing: filter.utf8), in: scope)
        query.order = try order.map { try ListOrder.keys($0[...], scope.access) }
        let advice = AdviceStore()
        advice.record(query, in: scope, took: .seconds(1))
        let index = try #require(advice.list(of: scope.collection, in: scope.space).first).index
        #expect(index.map { "\($0.kind) \($0.fields.joined(separator: ","))" } == expected)
    }
}

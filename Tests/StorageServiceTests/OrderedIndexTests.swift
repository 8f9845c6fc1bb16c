import Foundation
import MartletCore
import MartletTesting
import Testing

@testable import StorageService

/// Lists that use an ordered index contain the same objects in the same order as without it.
@Suite struct OrderedIndexTests {
    private static let filters = [
        #"{"s":"a"}"#, #"{"s":"none"}"#, #"{"s":{"$eq":"a"}}"#, #"{"s":{"$in":["a","b","a"]}}"#,
        #"{"s":{"$in":[1,true]}}"#,
        #"{"s":{"$in":[1,1.0,1e0]}}"#, #"{"s":{"$in":[1.0,"a"]}}"#,
        #"{"s":"a","n":{"$gte":2,"$lt":5}}"#, #"{"s":"a","t":"x"}"#, #"{"s":{"$in":["a","b"]},"t":{"$in":["x","y"]}}"#,
        #"{"s":"a","$or":[{"n":1},{"n":2}]}"#, #"{"s":null}"#, #"{"s":{"$in":["a",null]}}"#, #"{"s":[]}"#,
        #"{"s":{"__type":"Pointer","className":"X","objectId":"1"}}"#, #"{"s":"a","o.p":3}"#, #"{"s":1}"#,
        #"{"s":{"a":1}}"#,
        #"{"$and":[{"s":"a"},{"t":"x"}]}"#, #"{"s":"a","t":{"$exists":true}}"#, #"{"s":{"$in":["a"],"$ne":"b"}}"#,
    ]

    private static let orders = ["n", "-n", "-n,t", "n,-t", "s,-n", "-_id", "created", ""]

    private static let indexes = [
        #"["s","-n"]"#, #"["s","-n","t"]"#, #"["s","t","-n"]"#, #"["t","s"]"#, #"["s"]"#, #"["o.p","s"]"#, #"["n"]"#,
    ]

    /// Every combination of values for `s` and `t`: scalars, arrays with and without them, and values that equal none.
    private static var objects: String {
        let values = [
            #""a""#, #""b""#, "1", "true", "null", "[]", #"["a"]"#, #"["a","b"]"#, #"["c",["a"]]"#, #"{"a":1}"#, "{}",
            #"{"__type":"Pointer","className":"X","objectId":"1"}"#,
            #"[{"__type":"Pointer","className":"X","objectId":"1"}]"#,
        ]
        let others = [#""x""#, #"["x","y"]"#, "null", "7"]
        var objects: [String] = []
        for (index, s) in values.enumerated() {
            for (position, t) in others.enumerated() {
                let n = ["\(index % 4)", "\(position)", #""text""#, "null"][(index + position) % 4]
                objects.append(#"{"s":\#(s),"t":\#(t),"n":\#(n),"o":{"p":\#(position)}}"#)
                objects.append(#"{"s":\#(s),"n":\#(n)}"#)
            }
        }
        return "[\(objects.joined(separator: ","))]"
    }

    @Test func `an index changes neither the objects of a list nor their order`() async throws {
        let app = try await StorageApp()
        #expect(try await app.client.post("/storage/all/Note", Self.objects).status == 201)
        let before = try await Self.lists(app)
        for fields in Self.indexes {
            #expect(try await app.master.post("/collections/Note/indexes", #"{"fields":\#(fields)}"#).status == 201)
        }
        let after = try await Self.lists(app)
        for (name, ids) in before { #expect(after[name] == ids, "\(name)") }
        #expect(before.values.contains { $0.count > 20 })
    }

    /// The ids of every list: in pages by `skip`, and by cursor.
    private static func lists(_ app: StorageApp) async throws -> [String: [String]] {
        var lists: [String: [String]] = [:]
        for filter in filters {
            for order in orders {
                lists["\(filter) \(order)"] = try await bySkip(app, filter, order)
                lists["\(filter) \(order) by cursor"] = try await byCursor(app, filter, order)
            }
        }
        return lists
    }

    private static func bySkip(_ app: StorageApp, _ filter: String, _ order: String) async throws -> [String] {
        var ids: [String] = []
        while true {
            let page = try await Self.ids(app, filter, order, ["skip=\(ids.count)", "limit=60"]).ids
            ids += page
            if page.count < 60 { return ids }
        }
    }

    private static func byCursor(_ app: StorageApp, _ filter: String, _ order: String) async throws -> [String] {
        var (ids, cursor) = ([String](), "")
        while true {
            let page = try await Self.ids(app, filter, order, ["cursor=\(cursor)", "limit=25"])
            ids += page.ids
            guard let next = page.cursor else { return ids }
            cursor = next
        }
    }

    private static func ids(_ app: StorageApp, _ filter: String, _ order: String, _ page: [String]) async throws
        -> (ids: [String], cursor: String?)
    {
        let parameters =
            ["where=\(try #require(filter.addingPercentEncoding(withAllowedCharacters: .alphanumerics)))"]
            + (order.isEmpty ? [] : ["order=\(order)"]) + page
        let answer = try await app.client.get("/storage/Note?\(parameters.joined(separator: "&"))")
        try #require(answer.status == 200, "\(answer)")
        guard case .array(let objects)? = answer.json?["data"] else { return ([], nil) }
        let ids = objects.compactMap { object -> String? in
            if case .string(let id)? = object["_id"] { id } else { nil }
        }
        guard case .string(let cursor)? = answer.json?["cursor"] else { return (ids, nil) }
        return (ids, cursor)
    }

    @Test(
        arguments: [
            (#"{"s":"a"}"#, "-n", 2), (#"{"s":"a"}"#, "n", 2), (#"{"s":{"$in":["a","b","c"]}}"#, "-n", 4),
            (#"{"s":"a","t":"x"}"#, "-n", 2), (#"{"s":"a","n":{"$gt":1}}"#, "-n", 2),
            // No index continues with this order, or begins with this field.
            (#"{"s":"a"}"#, "created", nil), (#"{"x":"a"}"#, "-n", nil), (#"{"s":{"$gt":"a"}}"#, "-n", nil),
            (#"{"s":null}"#, "-n", nil), (#"{"$or":[{"s":"a"},{"s":"b"}]}"#, "-n", nil),
            (#"{"s":{"$in":[1,2,3,4,5,6,7,8,9,10,11]}}"#, "-n", 12),
            (#"{"s":{"$in":[1,2,3,4,5,6,7,8,9,10,11,12]}}"#, "-n", nil), (#"{"s":{"$in":[1,1.0]}}"#, "-n", nil),
        ] as [(String, String, Int?)]) func `an index on the filter's and the order's fields is used`(
            _ filter: String, _ order: String, _ branches: Int?
        ) async throws
    {
        let app = try await StorageApp()
        let scope = QueryScope(space: try app.space(), collection: try CollectionName("Note"), rights: .master)
        let compiled = try FilterCompiler.filter(JSONValue(parsing: filter.utf8), in: scope)
        let keys = ListOrder.complete(try ListOrder.keys(order[...], scope.access))
        #expect(IndexBranches(compiled, order: keys, indexes: [["s", "-n"], ["other"]])?.conditions.count == branches)
    }
}

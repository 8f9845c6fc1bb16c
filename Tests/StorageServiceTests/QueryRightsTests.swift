import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import Testing

@testable import StorageService

/// Rules, readers and hidden fields apply to every part of a query.
@Suite struct QueryRightsTests {
    private static let filled = Task {
        let app = try await StorageApp()
        _ = try await app.master.get("/storage/Post")
        let table = try app.space().own("_collections")
        for (name, rules) in [
            ("Post", #"{"hidden":{"secret":[],"mail":["role:staff"],"draft":["field:owner"]}}"#),
            ("Person", #"{"hidden":{"salary":[]},"rules":{"get":["*"],"find":["*"]}}"#),
            ("Vault", #"{"rules":{"find":[],"get":[],"count":[]}}"#),
            ("Mine", #"{"rules":{"find":["field:owner"],"get":["field:owner"],"count":["field:owner"]}}"#),
        ] {
            try await app.superuser.execute(
                "INSERT INTO \(table) (name, rules) VALUES (\(name), \(PostgresJSON(rules)))")
        }
        try await app.superuser.execute("INSERT INTO \(try app.space().own("_roles")) (name) VALUES ('staff')")
        try await app.superuser.execute(
            "INSERT INTO \(try app.space().own("_role_members")) (role, member) VALUES ('staff', 'boss')")
        let bodies = [
            (
                "Person",
                #"[{"_id":"a","name":"ann","salary":10},{"_id":"b","name":"bob","_readers":["role:staff"]},{"_id":"c","name":"cid","salary":20}]"#
            ),
            ("Vault", #"[{"_id":"v","code":1}]"#),
            ("Mine", #"[{"_id":"m1","owner":"u1","n":1},{"_id":"m2","owner":"u2","n":2}]"#),
            (
                "Post",
                #"""
                [{"_id":"1","secret":1,"mail":"x","draft":"d1","owner":"u1","n":1,"by":{"__type":"Pointer","className":"Person","objectId":"a"},"in":{"__type":"Pointer","className":"Vault","objectId":"v"}},
                {"_id":"2","secret":2,"owner":"u2","draft":"d2","n":2,"by":{"__type":"Pointer","className":"Person","objectId":"b"},"_readers":["u1"]},
                {"_id":"3","secret":3,"n":3,"by":{"__type":"Pointer","className":"Person","objectId":"c"},"_readers":["role:staff"]}]
                """#
            ),
        ]
        for (name, body) in bodies { #expect(try await app.master.post("/storage/all/\(name)", body).status == 201) }
        return app
    }

    private static func client(_ user: String?) async throws -> ServiceClient {
        let app = try await filled.value
        var principal = app.principal(.client)
        principal.userID = user
        return app.client.acting(as: principal)
    }

    @Test(
        arguments: [(nil, ["1"]), ("u1", ["1", "2"]), ("boss", ["1", "3"]), ("u2", ["1"])] as [(String?, [String])])
    func `only readable objects are found, counted, grouped and listed as distinct values`(
        _ user: String?, _ ids: [String]
    )
        async throws
    {
        let client = try await Self.client(user)
        let list = try await client.post("/storage/query/Post?count=true", "{}")
        #expect(list.ids == ids)
        #expect(list["count"] == "\(ids.count)")
        #expect(
            try await client.post("/storage/aggregate/Post", #"{"values":{"n":{"$count":true}}}"#)["data.0.n"]
                == "\(ids.count)")
        #expect(
            try await client.post("/storage/distinct/Post", #"{"field":"n"}"#)["data"]
                == "[\(ids.joined(separator: ","))]")
        #expect(try await client.get("/storage/Post?cursor=").ids == ids)
    }

    @Test(
        arguments: [
            ("secret", nil, false), ("secret", "boss", false), ("mail", nil, false), ("mail", "boss", true),
            ("draft", "u1", false), ("draft", nil, false),
            ("secret.x", nil, false), ("n", nil, true), ("by", "u2", true),
        ] as [(String, String?, Bool)]) func `a hidden field is refused wherever a query could reveal it`(
            _ field: String, _ user: String?, _ isOpen: Bool
        ) async throws
    {
        let client = try await Self.client(user)
        let top = field.split(separator: ".")[0]
        let point = #"{"__type":"GeoPoint","latitude":0,"longitude":0}"#
        var answers: [Answer] = []
        for condition in [
            "1", #"{"$ne":1}"#, #"{"$gt":1}"#, #"{"$in":[1]}"#, #"{"$nin":[1]}"#, #"{"$exists":true}"#,
            #"{"$regex":"^x"}"#, #"{"$all":["x"]}"#, #"{"$containedBy":["x"]}"#,
            #"{"$text":{"$search":"x"}}"#, #"{"$nearSphere":\#(point)}"#,
            #"{"$within":{"$box":[\#(point),\#(point)]}}"#, #"{"$geoWithin":{"$centerSphere":[[0,0],1]}}"#,
            #"{"$geoIntersects":{"$point":\#(point)}}"#, #"{"$inQuery":{"className":"Person","where":{}}}"#,
            #"{"$select":{"query":{"className":"Person"},"key":"name"}}"#,
        ] {
            answers.append(try await client.post("/storage/query/Post", #"{"\#(field)":\#(condition)}"#))
            answers.append(
                try await client.post("/storage/query/Post", #"{"$nor":[{"$or":[{"\#(field)":\#(condition)}]}]}"#))
        }
        answers.append(try await client.get("/storage/Post?order=\(field)"))
        answers.append(try await client.get("/storage/Post?order=n,-\(field)&cursor="))
        answers.append(try await client.get("/storage/Post?include=\(top)"))
        answers.append(try await client.post("/storage/distinct/Post", #"{"field":"\#(field)"}"#))
        answers.append(try await client.post("/storage/aggregate/Post", #"{"group":["\#(field)"]}"#))
        for function in ["$sum", "$avg", "$min", "$max"] {
            answers.append(
                try await client.post("/storage/aggregate/Post", #"{"values":{"x":{"\#(function)":"\#(field)"}}}"#))
        }
        answers.append(
            try await client.post(
                "/storage/aggregate/Post", #"{"values":{"x":{"$count":true}},"where":{"\#(field)":1}}"#))
        answers.append(
            try await client.post(
                "/storage/query/Person", #"{"name":{"$select":{"query":{"className":"Post"},"key":"\#(field)"}}}"#))
        answers.append(
            try await client.post(
                "/storage/query/Person", #"{"x":{"$inQuery":{"className":"Post","where":{"\#(field)":1}}}}"#))
        answers.append(
            try await client.post(
                "/storage/query/Person", #"{"x":{"$inQuery":{"className":"Post","order":"\#(field)"}}}"#))
        if !field.contains(".") {
            answers.append(
                try await client.post(
                    "/storage/query/Person",
                    #"{"$relatedTo":{"object":{"__type":"Pointer","className":"Post","objectId":"1"},"key":"\#(top)"}}"#
                ))
        }
        for answer in answers {
            #expect(
                isOpen
                    ? answer.status == 200 : [field, String(top)].contains { answer.isProblem(.forbidden, field: $0) },
                "\(answer)")
        }
    }

    @Test func `hidden fields are not shown, and a search through whole objects does not find them`() async throws {
        let client = try await Self.client("u1")
        let list = try await client.get("/storage/Post?include=by&excludeKeys=n")
        #expect(
            list["data.0.draft"] == #""d1""# && list["data.1.draft"] == nil && list["data.0.secret"] == nil
                && list["data.0.n"] == nil)
        #expect(list["data.0.by.name"] == #""ann""# && list["data.0.by.salary"] == nil)
        #expect(try await client.post("/storage/query/Post", #"{"$text":{"$search":"d2"}}"#).ids == [])
        #expect(try await client.post("/storage/query/Post", #"{"$text":{"$search":"d1"}}"#).ids == ["1"])
        #expect(try await client.get("/storage/Post?keys=secret,draft")["data.0.secret"] == nil)
    }

    @Test func `unreadable objects are not included, and their key is removed`() async throws {
        let nobody = try await Self.client("u1")
        let list = try await nobody.get("/storage/Post?include=by,in")
        #expect(
            list["data.0.by.__type"] == #""Object""# && list["data.0.by.className"] == #""Person""#
                && list["data.0.by._id"] == #""a""#)
        #expect(list["data.1.by"] == nil, "only staff may read the object")
        #expect(list["data.0.in"] == nil, "nobody may read the collection")
        #expect(try await nobody.get("/storage/Post/1?include=by")["by.name"] == #""ann""#)
        let app = try await Self.filled.value
        #expect(try await app.master.get("/storage/Post/1?include=in,by")["in.code"] == "1")
        #expect(try await app.master.get("/storage/Post/1?include=*")["by.salary"] == "10")
    }

    @Test func `a subquery sees what its caller may find`() async throws {
        let client = try await Self.client("u1")
        #expect(
            try await client.post("/storage/query/Post", #"{"by":{"$inQuery":{"className":"Person","where":{}}}}"#).ids
                == ["1"])
        #expect(
            try await client.post("/storage/query/Post", #"{"by":{"$inQuery":{"className":"Vault","where":{}}}}"#)
                .isProblem(.forbidden))
        #expect(
            try await client.post("/storage/query/Post", #"{"n":{"$select":{"query":{"className":"Mine"},"key":"n"}}}"#)
                .ids == ["1"])
        #expect(try await client.post("/storage/aggregate/Mine", #"{"values":{"s":{"$sum":"n"}}}"#)["data.0.s"] == "1")
        #expect(
            try await client.post("/storage/aggregate/Vault", #"{"values":{"s":{"$count":true}}}"#).isProblem(
                .forbidden))
        #expect(try await client.post("/storage/distinct/Vault", #"{"field":"code"}"#).isProblem(.forbidden))
    }

    @Test func `a count covers what may be found`() async throws {
        let app = try await StorageApp()
        _ = try await app.master.post("/storage/all/Pay", #"[{"owner":"ann","salary":5},{"owner":"bob","salary":9}]"#)
        _ = try await app.master.put("/collections/Pay/rules", #"{"rules":{"find":["field:owner"]}}"#)
        let ann = app.user("ann")
        #expect(try await ann.post("/storage/query/Pay?count=true&limit=0", #"{"salary":{"$gt":6}}"#)["count"] == "0")
        #expect(try await ann.post("/storage/query/Pay?count=true&limit=0", "{}")["count"] == "1")
    }

    @Test func `a bulk post keeps fields that the caller cannot see`() async throws {
        let app = try await StorageApp()
        _ = try await app.master.post("/storage/User", #"{"_id":"x","banned":true,"a":0}"#)
        _ = try await app.master.put("/collections/User/rules", #"{"hidden":{"banned":[]}}"#)
        #expect(try await app.client.post("/storage/all/User", #"[{"_id":"x","a":1},{"_id":"y","a":2}]"#).status == 201)
        let stored = try await app.master.get("/storage/User/x")
        #expect(stored["banned"] == "true" && stored["a"] == "1", "\(stored)")
    }

    /// The lists of names are `_readers` and `_writers`, by which objects cannot be sorted.
    @Test func `responses with included objects have no tag, and a list of names is not an order`() async throws {
        let app = try await StorageApp()
        _ = try await app.client.post("/storage/User", #"{"_id":"u","n":1}"#)
        _ = try await app.client.post(
            "/storage/Post", #"{"_id":"p","by":{"__type":"Pointer","className":"User","objectId":"u"}}"#)
        let plain = try await app.client.get("/storage/Post/p")
        let tag = try #require(plain.header("etag"))
        let included = try await app.client.send("GET", "/storage/Post/p?include=by", headers: ["If-None-Match": tag])
        #expect(included.status == 200 && included["by.n"] == "1" && included.header("etag") == nil, "\(included)")
        for name in ["_readers", "-_writers"] {
            #expect(
                try await app.client.get("/storage/Post?order=\(name)").isProblem(.invalidParameter, field: "order"))
        }
        _ = try await app.client.post("/storage/Long", #"{"text":"\#(String(repeating: "x", count: 5_000))"}"#)
        #expect(
            try await app.client.get("/storage/Long?order=text&limit=1&cursor=").isProblem(
                .limitExceeded, field: "order"))
    }

    /// Quotes that are parts of other characters to Swift, but not to PostgreSQL.
    @Test(arguments: [
        "\u{600}'", "'\u{301}", "\u{600}'\u{301}", "\u{200d}'\u{200d}", #"\u0600\""#, #"\"\u0301"#, #"\u0600'\u0301"#,
    ])
    func `no quote in a name escapes from the name`(_ quote: String) async throws {
        let app = try await StorageApp()
        _ = try await app.master.post(
            "/storage/all/Note", #"[{"_id":"open","n":1},{"_id":"shut","_readers":["nobody"],"n":2}]"#)
        for name in [
            "\(quote) IS NULL OR TRUE OR \(quote)", "x\(quote)) OR TRUE --", "\(quote)||(SELECT 1/0)||\(quote)",
            "a.\(quote) OR TRUE OR \(quote)",
        ] {
            let filters = [
                #"{"\#(name)":{"$exists":true}}"#, #"{"\#(name)":1}"#, #"{"\#(name)":{"$gt":1}}"#,
                #"{"\#(name)":{"$regex":"^x"}}"#,
            ]
            for filter in filters {
                let answer = try await app.client.post("/storage/query/Note", filter)
                #expect(answer.status == 400 || answer.ids == [], "\(name): \(answer)")
            }
            for call in ["distinct", "aggregate"] {
                let body =
                    call == "distinct"
                    ? #"{"field":"\#(name)"}"# : #"{"group":["\#(name)"],"values":{"\#(name)x":{"$max":"\#(name)"}}}"#
                let answer = try await app.client.post("/storage/\(call)/Note", body)
                #expect(answer.status == 400 || answer.status == 200, "\(name): \(answer)")
            }
            let stored = try await app.client.post(
                "/storage/Other", #"{"_id":"o","\#(name)":{"__type":"Pointer","className":"Note","objectId":"shut"}}"#)
            #expect(stored.status == 400 || stored.status == 200 || stored.status == 201, "\(name): \(stored)")
            let included = try await app.client.get("/storage/Other?include=*")
            #expect(included.status == 200 && !included.text.contains(#""n":2"#), "\(name): \(included)")
            let index = try await app.master.post("/collections/Note/indexes", #"{"fields":["\#(name)"]}"#)
            #expect(index.status == 400 || index.status == 409 || index.status == 201, "\(name): \(index)")
        }
        #expect(try await app.client.get("/storage/Note").ids == ["open"])
    }
}

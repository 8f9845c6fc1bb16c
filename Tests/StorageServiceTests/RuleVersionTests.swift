import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import Testing

@testable import StorageService

/// The former versions of rules, and changes to the rules of all collections at once.
@Suite struct RuleVersionTests {
    private static let path = "/collections/Note/rules"

    private static func find(_ grantees: String) -> String { #"{"rules":{"find":\#(grantees)}}"# }

    @Test func `each change of rules is a version with time and author, and can be read, compared and restored`()
        async throws
    {
        let app = try await StorageApp()
        try await app.set(Self.find(#"["*"]"#), on: "Note")
        try await app.set(#"{"rules":{"find":["authenticated"],"get":[]},"hidden":{"price":["ann"]}}"#, on: "Note")
        let list = try await app.master.get(Self.path + "/versions")
        #expect(list["count"] == "2" && list["data.0.number"] == "2" && list["data.1.number"] == "1", "\(list)")
        #expect(list["data.0.author"] == #""master:test""# && list["data.0.at"] != nil)
        let first = try await app.master.get(Self.path + "/versions/1")
        #expect(first["rules"] == Self.find(#"["*"]"#) && first["number"] == "1", "\(first)")
        let diff = try await app.master.get(Self.path + "/diff?from=1&to=2")
        #expect(
            diff["changes"]
                == #"[{"place":"hidden.price","after":["ann"]},{"place":"rules.find","before":["*"],"after":["authenticated"]},{"place":"rules.get","after":[]}]"#,
            "\(diff)")
        #expect(try await app.client.get("/storage/Note").isProblem(.forbidden))
        let restored = try await app.master.post(Self.path + "/versions/1/restore")
        #expect(restored["rules.find"] == #"["*"]"# && restored["warnings"] != nil, "\(restored)")
        #expect(try await app.client.get("/storage/Note").status == 200)
        #expect(try await app.master.get(Self.path + "/versions")["data.0.number"] == "3")
        #expect(try await app.master.get(Self.path + "/diff?from=1&to=3").text == #"{"changes":[]}"#)
    }

    @Test func `rules that were set before versions were kept become the first version`() async throws {
        let app = try await StorageApp()
        _ = try await app.master.post("/storage/Note", "{}")
        #expect(try await app.master.get(Self.path + "/versions")["count"] == "0")
        let table = try app.space().own("_collections")
        try await app.superuser.execute(
            "UPDATE \(table) SET rules = '{\"rules\":{\"find\":[]}}' WHERE name = 'Note'")
        try await app.set(Self.find(#"["*"]"#), on: "Note")
        let list = try await app.master.get(Self.path + "/versions")
        #expect(list["count"] == "2" && list["data.1.author"] == nil && list["data.0.author"] != nil, "\(list)")
        #expect(try await app.master.get(Self.path + "/versions/1")["rules"] == Self.find("[]"))
    }

    @Test func `the last hundred versions are kept, and are renamed and deleted with the collection`() async throws {
        let app = try await StorageApp()
        for number in 1...103 { try await app.set(Self.find("[\"u\(number)\"]"), on: "Note") }
        let list = try await app.master.get(Self.path + "/versions")
        #expect(list["count"] == "100" && list["data.99.number"] == "4", "\(list)")
        #expect(try await app.master.get(Self.path + "/versions/3").isProblem(.versionNotFound))
        #expect(try await app.master.post("/collections/Note/rename", #"{"name":"Other"}"#).status < 300)
        #expect(try await app.master.get("/collections/Other/rules/versions")["count"] == "100")
        #expect(try await app.master.get(Self.path + "/versions").isProblem(.collectionNotFound))
        #expect(try await app.master.delete("/collections/Other").status == 204)
        try await app.set("{}", on: "Other")
        #expect(try await app.master.get("/collections/Other/rules/versions")["count"] == "1")
    }

    @Test func `a refused change creates no version`() async throws {
        let app = try await StorageApp()
        _ = try await app.master.put("/roles/mods", #"{"add":["mia"]}"#)
        try await app.set(Self.find(#"["role:mods"]"#), on: "Note")
        try await app.set("{}", on: "Note")
        _ = try await app.master.delete("/roles/mods")
        try await app.expectRefusal(.invalidBody, field: "rules.find") {
            try await app.master.post(Self.path + "/versions/1/restore")
        }
        try await app.expectRefusal(.invalidBody, field: "rules.find") {
            try await app.master.put(Self.path, Self.find(#"["role:mods"]"#))
        }
        for number in ["0", "9", "x", "99999999999999999999"] {
            for (method, end) in [("GET", ""), ("POST", "/restore")] {
                let answer = try await app.master.send(method, Self.path + "/versions/\(number)\(end)")
                #expect(answer.status == 404 || answer.status == 400, "\(answer)")
            }
        }
        try await app.expectRefusal(.versionNotFound) { try await app.master.get(Self.path + "/diff?from=1&to=9") }
        try await app.expectRefusal(.invalidParameter) { try await app.master.get(Self.path + "/diff?from=1") }
        for client in [app.client, app.user("mia")] {
            for (method, path) in [
                ("GET", "/versions"), ("GET", "/versions/1"), ("POST", "/versions/1/restore"),
                ("GET", "/diff?from=1&to=2"),
            ] {
                #expect(try await client.send(method, Self.path + path).isProblem(.forbidden))
            }
            #expect(try await client.get("/rules").isProblem(.forbidden))
            #expect(try await client.put("/rules", "{}").isProblem(.forbidden))
        }
        #expect(try await app.master.get(Self.path + "/versions")["count"] == "2")
    }

    @Test func `the rules of all collections are read, planned and set at once`() async throws {
        let app = try await StorageApp()
        try await app.set(Self.find(#"["*"]"#), on: "Note")
        try await app.set(Self.find("[]"), on: "Kept")
        let all = try await app.master.get("/rules")
        #expect(all["access"] == #""open""# && all["collections.Note"] == Self.find(#"["*"]"#), "\(all)")
        let base = try #require(all["base"])
        // Bikes is new, and its rule reads New, which the same file creates.
        let file = """
            {"base":\(base),"access":"closed","collections":{"Note":\(Self.find(#"["authenticated"]"#)),"New":{},
            "Bikes":{"rules":{"find":[{"where":{"x":{"$inQuery":{"className":"New","where":{}}}}}]}},"Kept":\(Self.find("[]"))}}
            """
        let before = try await app.everything()
        let plan = try await app.master.put("/rules?plan=true", file)
        #expect(plan.status == 200 && plan["isCurrent"] == "true" && plan["base"] == base, "\(plan)")
        #expect(plan["changes.0.collection"] == #""Bikes""# && plan["changes.0.before"] == nil)
        #expect(plan["changes.1.place"] == #""rules.find""# && plan["changes.1.after"] == #"["authenticated"]"#)
        #expect(plan["changes.2"] == nil && plan["access"] == #"{"before":"open","after":"closed"}"#)
        #expect(plan["warnings"]?.contains("Bikes.rules.find") == true)
        #expect(try await app.everything() == before, "a plan wrote something")
        #expect(try await app.master.get("/rules/settings").text == #"{"access":"open"}"#)

        let set = try await app.master.put("/rules", file)
        #expect(set["changes"] == plan["changes"] && set["base"] != base, "\(set)")
        #expect(try await app.master.get("/rules")["base"] == set["base"])
        #expect(try await app.client.get("/storage/Note").isProblem(.forbidden))
        #expect(try await app.master.get("/rules/settings").text == #"{"access":"closed"}"#)
        #expect(try await app.master.get("/collections/Note/rules/versions")["count"] == "2")
        #expect(try await app.master.get("/collections/Kept/rules/versions")["count"] == "1", "it has not changed")
        #expect(try await app.master.get("/collections/New")["name"] == #""New""#)
        // The same file again has an old base.
        try await app.expectRefusal(.preconditionFailed, field: "base") { try await app.master.put("/rules", file) }
        let again = try await app.master.put("/rules?plan=true", file)
        #expect(again["isCurrent"] == "false" && again["changes"] == "[]")
    }

    @Test func `a file is set as a whole or not at all`() async throws {
        let app = try await StorageApp()
        try await app.set(Self.find(#"["*"]"#), on: "Note")
        let good = #""Note":{},"New":{}"#
        for (file, code, field) in [
            (
                #"{"collections":{\#(good),"B":{"rules":{"find":["role:none"]}}}}"#, .invalidBody,
                "collections.B.rules.find"
            ),
            (#"{"collections":{\#(good),"B":{"rules":{"fly":[]}}}}"#, .invalidBody, "collections.B.rules.fly"),
            (
                #"{"collections":{\#(good),"B":{"rules":{"find":[{"where":{"a":{"$near":1}}}]}}}}"#, .unknownOperator,
                "collections.B.rules.find.0.where.$near"
            ),
            (#"{"collections":{\#(good),"_b":{}}}"#, .invalidName, nil),
            (#"{"collections":{\#(good)},"access":"ajar"}"#, .invalidBody, "access"),
            (#"{"collections":[]}"#, .invalidBody, "collections"), ("{}", .invalidBody, "collections"),
            (#"{"collections":{\#(good)},"x":1}"#, .invalidBody, "x"),
            (#"{"base":"old","collections":{\#(good)}}"#, .preconditionFailed, "base"),
        ] as [(String, ErrorCode, String?)] {
            try await app.expectRefusal(code, field: field) { try await app.master.put("/rules", file) }
            guard code != .preconditionFailed else { continue }
            try await app.expectRefusal(code, field: field) { try await app.master.put("/rules?plan=true", file) }
        }
        // Without `base`, the former rules are not compared.
        #expect(try await app.master.put("/rules", #"{"collections":{\#(good)}}"#).status == 200)
        #expect(try await app.master.get("/collections/Note/rules")["rules"] == nil)
        #expect(try await app.master.get("/rules/settings").text == #"{"access":"open"}"#, "not named")
        // Rules whose members are in another order than PostgreSQL's are unchanged.
        let ordered = #"{"collections":{"Note":{"rules":{"find":[{"where":{"bb":1.0,"a":2}}]}}}}"#
        #expect(try await app.master.put("/rules", ordered)["changes"] != "[]")
        #expect(try await app.master.put("/rules?plan=true", ordered)["changes"] == "[]")
    }

    @Test func `of two changes of rules with the same base, one is refused`() async throws {
        let app = try await StorageApp()
        try await app.set(Self.find("[]"), on: "Note")
        let base = try #require(try await app.master.get("/rules")["base"])
        async let one = app.master.put("/rules", #"{"base":\#(base),"collections":{"Note":\#(Self.find(#"["a"]"#))}}"#)
        async let two = app.master.put("/rules", #"{"base":\#(base),"collections":{"Note":\#(Self.find(#"["b"]"#))}}"#)
        let statuses = try await [one.status, two.status]
        #expect(statuses.sorted() == [200, 412])
        #expect(try await app.master.get("/collections/Note/rules/versions")["count"] == "2")
    }
}

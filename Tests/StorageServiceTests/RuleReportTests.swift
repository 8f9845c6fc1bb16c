import MartletAPI
import MartletCore
import MartletTesting
import Testing

@testable import StorageService

/// The report of who may do what, and the warnings.
@Suite struct RuleReportTests {
    @Test(
        arguments: [
            // The rule for find, and the kinds of caller.
            (nil, "open", [#"anyone all ["no rule"]"#]), (nil, "closed", []), ("[]", "open", []),
            (#"["*"]"#, "closed", [#"anyone all ["rules.find.0"]"#]),
            (#"["authenticated"]"#, "closed", [#"authenticated all ["rules.find.0"]"#]),
            (#"["role:mods","ann"]"#, "closed", [#"ann all ["rules.find.1"]"#, #"role:mods all ["rules.find.0"]"#]),
            (#"["field:owner"]"#, "closed", [#"authenticated some ["rules.find.0"]"#]),
            (#"[{"where":{}}]"#, "closed", [#"anyone all ["rules.find.0"]"#]),
            (
                #"[{"where":{"state":"open"}},{"who":["role:mods"],"where":{"n":1}},"role:mods"]"#, "closed",
                [#"anyone some ["rules.find.0"]"#, #"role:mods all ["rules.find.0","rules.find.1","rules.find.2"]"#]
            ),
            (
                #"[{"where":{"owner":"$user.id"}},"authenticated"]"#, "closed",
                [#"authenticated all ["rules.find.0","rules.find.1"]"#]
            ),
            (#"["authenticated","ann"]"#, "closed", [#"authenticated all ["rules.find.0"]"#]),
        ] as [(String?, String, [String])])
    func `the report lists the kinds of caller that may perform each operation`(
        _ rule: String?, _ access: String, _ kinds: [String]
    )
        async throws
    {
        let app = try await StorageApp()
        _ = try await app.master.put("/roles/mods", #"{"add":["mia"]}"#)
        try await app.set(#"{"rules":{\#(rule.map { #""find":\#($0)"# } ?? "")}}"#, on: "Note")
        _ = try await app.master.put("/rules/settings", #"{"access":"\#(access)"}"#)
        let report = try await app.master.get("/rules/report")
        #expect(report.status == 200 && report["access"] == #""\#(access)""#, "\(report)")
        guard case .array(let found) = report.json?["data"]?["0"]?["operations"]?["find"] else {
            Issue.record("no list: \(report)")
            return
        }
        let lines = found.map { kind in
            "\(kind["who"]?.text ?? "-") \(kind["objects"]?.text ?? "-") \(kind["by"]?.text ?? "-")"
                .replacing(#/^"([^"]*)" "([^"]*)"/#) { "\($0.1) \($0.2)" }
        }
        #expect(lines == kinds)
    }

    @Test func `unreadable objects are not reported as open to changes, and limited changes as open for some objects`()
        async throws
    {
        let app = try await StorageApp()
        try await app.set(#"{"rules":{"find":[],"get":[],"update":["*"],"delete":["*"]}}"#, on: "A")
        try await app.set(
            #"{"rules":{"find":[],"get":["authenticated"],"update":[{"fields":["n"]}],"delete":["*"]}}"#, on: "B")
        let report = try await app.master.get("/rules/report")
        for operation in ["update", "delete"] {
            #expect(report["data.0.operations.\(operation)"] == "[]", "\(report)")
        }
        #expect(report["data.1.operations.update.0.who"] == #""authenticated""#)
        #expect(report["data.1.operations.update.0.objects"] == #""some""#)
        #expect(report["data.1.operations.delete.0.objects"] == #""all""#)
    }

    @Test func `a change that everyone may make is reported for those who may read`() async throws {
        let app = try await StorageApp()
        _ = try await app.master.put("/roles/mods", #"{"add":["mia"]}"#)
        try await app.set(#"{"rules":{"find":["role:mods"],"get":[],"update":["*"]}}"#, on: "A")
        let report = try await app.master.get("/rules/report")
        #expect(
            report["data.0.operations.update"]
                == #"[{"by":["rules.update.0"],"objects":"all","who":"role:mods"}]"#, "\(report)")
    }

    @Test(
        arguments: [
            // The rule for get, the grantees of the hidden field, and the kinds of caller who may read it.
            (#"["*"]"#, "[]", "[]"),
            (#"["*"]"#, #"["*"]"#, #"[{"by":["hidden.phone.0"],"objects":"all","who":"anyone"}]"#),
            (
                #"["*"]"#, #"["role:mods",{"where":{"owner":"$user.id"}}]"#,
                #"""
                [{"by":["hidden.phone.1"],"objects":"some","who":"authenticated"},\#
                {"by":["hidden.phone.0","hidden.phone.1"],"objects":"all","who":"role:mods"}]
                """#
            ),
            // Whoever cannot read the object cannot read its field.
            (#"["role:mods"]"#, #"["*"]"#, #"[{"by":["hidden.phone.0"],"objects":"all","who":"role:mods"}]"#),
            (
                #"["field:owner"]"#, #"["authenticated"]"#,
                #"[{"by":["hidden.phone.0"],"objects":"some","who":"authenticated"}]"#
            ),
            ("[]", #"["*"]"#, "[]"),
        ])
    func `the report lists the kinds of caller that may read each hidden field`(
        _ get: String, _ list: String, _ readers: String
    )
        async throws
    {
        let app = try await StorageApp()
        _ = try await app.master.put("/roles/mods", #"{"add":["mia"]}"#)
        try await app.set(#"{"rules":{"find":[],"get":\#(get)},"hidden":{"phone":\#(list)}}"#, on: "Note")
        let report = try await app.master.get("/rules/report")
        #expect(report["data.0.hidden"] == #"[{"field":"phone","readers":\#(readers)}]"#, "\(report)")
        #expect(report["data.1.hidden"] == "[]", "_User hides nothing")
    }

    @Test func `the report is paged by collection name, and only the server reads it`() async throws {
        let app = try await StorageApp()
        for name in ["C", "A", "B"] { _ = try await app.master.post("/storage/\(name)", "{}") }
        let first = try await app.master.get("/rules/report?limit=2")
        #expect(first["count"] == "2" && first["data.0.collection"] == #""A""#)
        #expect(first["data.1.collection"] == #""B""#)
        let second = try await app.master.get("/rules/report?limit=2&after=B")
        #expect(second["count"] == "2" && second["data.0.collection"] == #""C""#)
        #expect(second["data.1.collection"] == #""_User""#)
        #expect(second["warnings.0.place"] == #""C.rules.find""#)
        #expect(try await app.master.get("/rules/report?limit=0").isProblem(.invalidParameter, field: "limit"))
        for client in [app.client, app.user("ann")] {
            #expect(try await client.get("/rules/report").isProblem(.forbidden))
        }
    }

    @Test func `setting rules warns about operations open to anyone`() async throws {
        let app = try await StorageApp()
        let open = try await app.master.put(
            "/collections/Note/rules",
            #"{"rules":{"find":["*"],"get":[{"where":{"n":1}}],"count":["authenticated"],"create":[],"delete":["field:o"]}}"#
        )
        #expect(open["warnings.0"]?.contains(#""rules.find""#) == true, "\(open)")
        #expect(open["warnings.0.message"]?.contains("Anyone who has the app may list every object") == true)
        #expect(open["warnings.1.message"]?.contains("read some objects") == true)
        // The action `update` has no rule.
        #expect(open["warnings.2.place"] == #""rules.update""#)
        #expect(open["warnings.2.message"]?.contains("There is no rule") == true)
        #expect(open["warnings.3.place"] == #""rules.addField""#)
        #expect(open["warnings.4"] == nil)
        _ = try await app.master.put("/rules/settings", #"{"access":"closed"}"#)
        let closed = try await app.master.put("/collections/Note/rules", #"{"rules":{"find":["authenticated"]}}"#)
        #expect(closed["warnings"] == "[]")
        #expect(try await app.master.get("/collections/Note/rules")["warnings"] == nil)
    }

    @Test func `rules that open a closed live environment to anyone are found for the operator`() async throws {
        let app = try await StorageApp()
        func places() async throws -> [String] {
            try await OpenRules.find(on: app.superuser, upTo: .max).places.filter { $0.hasPrefix("\(app.id) ") }
                .map { String($0.dropFirst(app.id.count + 1)) }
        }
        let closed = #""create":[],"update":[],"delete":[],"addField":[]"#
        try await app.set(#"{"rules":{\#(closed),"find":["*"],"get":["authenticated"],"count":[]}}"#, on: "Posts")
        try await app.set(#"{"rules":{\#(closed),"get":[{"where":{"state":"*"}}]}}"#, on: "Pages")
        try await app.set(#"{"rules":{"get":[{"who":["authenticated"],"where":{"state":"*"}}]}}"#, on: "Own")
        #expect(try await places() == [], "an open environment is a separate finding")
        _ = try await app.master.put("/rules/settings", #"{"access":"closed"}"#)
        #expect(try await places() == ["Pages.rules.get", "Posts.rules.find"])
        let first = try await OpenRules.find(on: app.superuser, upTo: 1)
        #expect(first.places.count == 1 && first.numberOfCollections >= 2)
        let test = app.acting(as: app.principal(.master, .test))
        _ = try await test.put("/rules/settings", #"{"access":"closed"}"#)
        _ = try await test.put("/collections/Posts/rules", #"{"rules":{"find":["*"]}}"#)
        #expect(try await places() == ["Pages.rules.get", "Posts.rules.find"], "only live data")
    }
}

import MartletAPI
import MartletCore
import MartletTesting
import Testing

@testable import StorageService

/// A test of rules gives the same result as the real request.
@Suite struct RuleTestTests {
    private static let rules: [String] = [
        "{}", #"{"rules":{"find":[],"get":[],"create":[],"update":[],"delete":[]}}"#,
        #"{"rules":{"find":["*"],"get":["authenticated"],"create":["role:mods"],"update":["ann"],"delete":["field:owner"]}}"#,
        """
        {"rules":{"find":[{"where":{"state":"open"}},{"where":{"owner":"$user.id"}}],
          "get":[{"where":{"$or":[{"state":"open"},{"owner":"$user.id"}]}},"role:mods"],
          "create":[{"who":["authenticated"],"where":{"owner":"$user.id","n":{"$gt":0}}}],
          "update":[{"where":{"owner":"$user.id","$new.n":{"$gte":"$old.n"}}},
                    {"who":["authenticated"],"where":{"state":"open"},"operations":{"people":{"AddUnique":["$user.id"]}}}],
          "delete":[{"where":{"owner":"$user.id","state":{"$ne":"open"}}}]}}
        """,
        """
        {"rules":{"get":[{"where":{"club.members":"$user.id"},"through":{"club":"Clubs"}}],
          "find":[{"where":{"club":{"$inQuery":{"className":"Clubs","where":{"members":"$user.id"}}}}}],
          "create":[{"where":{"club.members":"$user.id"},"through":{"club":"Clubs"}}],
          "update":[{"where":{"owner":"$user.id"},"fields":["n"]}],"delete":[{"who":["field:owner"],"where":{"n":1}}]},
         "hidden":{"secret":[{"where":{"owner":"$user.id"}}]},"defaults":{"writers":["owner"]}}
        """,
    ]

    private static let club = #"{"__type":"Pointer","className":"Clubs","objectId":"c"}"#
    private static let objects = [
        #"{"_id":"a","owner":"ann","state":"open","n":1,"people":[],"club":\#(club)}"#,
        #"{"_id":"b","owner":"eve","state":"draft","n":1,"people":[],"secret":1}"#,
        #"{"_id":"c","owner":"ann","state":"draft","n":2,"_readers":["ann"],"_writers":[]}"#,
    ]
    /// Operation, member of the test, request.
    private static let changes = [
        #"{"n":2}"#, #"{"n":0}"#, #"{"state":"draft"}"#, #"{"owner":"eve"}"#, #"{"_writers":["*"]}"#,
        #"{"people":{"__op":"AddUnique","objects":["ann"]}}"#, #"{"people":{"__op":"AddUnique","objects":["eve"]}}"#,
        #"{"secret":{"__op":"Increment","amount":1}}"#,
    ]
    private static let documents = [
        #"{"owner":"ann","state":"open","n":1}"#, #"{"owner":"eve","n":0}"#, #"{"_id":"a","owner":"ann","n":5}"#,
        #"{"owner":"ann","club":\#(club),"n":1}"#,
    ]

    private static func app(_ rules: String, _ access: String) async throws -> StorageApp {
        let app = try await StorageApp()
        _ = try await app.master.put("/roles/mods", #"{"add":["mia"]}"#)
        _ = try await app.master.post("/storage/Clubs", #"{"_id":"c","members":["ann","mia"]}"#)
        for object in objects { _ = try await app.master.post("/storage/Notes", object) }
        try await app.set(rules, on: "Notes")
        _ = try await app.master.put("/rules/settings", #"{"access":"\#(access)"}"#)
        return app
    }

    /// A test's body without its user, and the real request.
    private struct Case {
        var test: String
        var method: String
        var path: String
        var body: String?

        /// Whether an answer means that the rules allowed it.
        func isAllowed(_ answer: Answer) -> Bool {
            path.contains("?where") ? !answer.ids.isEmpty : answer.status < 300
        }
    }

    private static var cases: [Case] {
        let ids = ["a", "b", "c", "none"]
        let reads = ids.flatMap { id in
            [
                Case(test: #""operation":"get","object":"\#(id)""#, method: "GET", path: "/storage/Notes/\(id)"),
                Case(
                    test: #""operation":"find","object":"\#(id)""#, method: "GET",
                    path: "/storage/Notes?where=%7B%22_id%22:%22\(id)%22%7D"),
                Case(
                    test: #""operation":"delete","object":"\#(id)""#, method: "DELETE", path: "/storage/Notes/\(id)"),
                Case(
                    test: #""operation":"update","object":"\#(id)","replacement":{"owner":"ann","n":3}"#, method: "PUT",
                    path: "/storage/Notes/\(id)", body: #"{"owner":"ann","n":3}"#),
            ]
        }
        let changed = ids.flatMap { id in
            changes.map { change in
                Case(
                    test: #""operation":"update","object":"\#(id)","change":\#(change)"#, method: "PATCH",
                    path: "/storage/Notes/\(id)", body: change)
            }
        }
        let created = documents.map {
            Case(test: #""operation":"create","document":\#($0)"#, method: "POST", path: "/storage/Notes", body: $0)
        }
        return reads + changed + created
    }

    /// The real request runs in a separate app for each rule. Then the objects are written again, which undoes its
    /// changes.
    @Test(arguments: [(0, "open"), (1, "open"), (2, "open"), (3, "open"), (4, "open"), (0, "closed"), (4, "closed")])
    func `a test of rules agrees with the real request, for every caller and request`(_ index: Int, _ access: String)
        async throws
    {
        let app = try await Self.app(Self.rules[index], access)
        for user in [nil, "ann", "eve", "mia"] as [String?] {
            let client = user.map(app.user) ?? app.client
            let before = try await app.everything()
            var verdicts: [Answer] = []
            for item in Self.cases {
                verdicts.append(
                    try await app.master.post(
                        "/collections/Notes/rules/test",
                        #"{"user":\#(user.map { #""\#($0)""# } ?? "null"),\#(item.test)}"#))
            }
            #expect(try await app.everything() == before, "a test wrote something")
            for (item, verdict) in zip(Self.cases, verdicts) {
                let answer = try await client.send(item.method, item.path, item.body)
                let place = "\(user ?? "nobody") \(item.test): \(verdict) but \(answer)"
                #expect(verdict.status == 200, "\(place)")
                #expect((verdict["allowed"] == "true") == item.isAllowed(answer), "\(place)")
                if answer.status >= 300 { #expect(verdict["code"] == answer["code"], "\(place)") }
                if verdict["allowed"] == "true" {
                    #expect(verdict["entry"] != nil, "\(place)")
                } else {
                    #expect(verdict["nearest.failed"] != nil, "\(place)")
                }
                guard answer.status < 300, item.method != "GET" else { continue }
                try await restore(app)
            }
        }
    }

    private func restore(_ app: StorageApp) async throws {
        for id in try await app.master.get("/storage/Notes?limit=1000").ids where !["a", "b", "c"].contains(id) {
            _ = try await app.master.delete("/storage/Notes/\(id)")
        }
        for object in Self.objects { _ = try await app.master.post("/storage/Notes", object) }
    }

    /// The rules, the test without rules, and the expected members.
    @Test(
        arguments: [
            (rules[3], #""user":null,"operation":"find","object":"a""#, #"true rules.find.0"#),
            (rules[3], #""user":"eve","operation":"find","object":"b""#, #"true rules.find.1"#),
            (rules[3], #""user":"mia","operation":"get","object":"b""#, #"true rules.get.1"#),
            (rules[0], #""user":null,"operation":"find","object":"a""#, #"true no rule"#),
            (rules[1], #""user":"ann","operation":"get","object":"a""#, #"false rules.get empty list"#),
            (rules[2], #""user":null,"operation":"get","object":"a""#, #"false rules.get.0 who"#),
            (rules[2], #""user":"ann","operation":"create","document":{"n":1}"#, #"false rules.create.0 who"#),
            (
                rules[3], #""user":"ann","operation":"create","document":{"owner":"ann","n":0}"#,
                #"false rules.create.0 where.n"#
            ),
            (
                rules[3], #""user":null,"operation":"create","document":{"owner":"ann","n":1}"#,
                #"false rules.create.0 who"#
            ),
            (rules[3], #""user":"ann","operation":"delete","object":"a""#, #"false rules.delete.0 where.state"#),
            (
                rules[3], #""user":"ann","operation":"update","object":"a","change":{"n":0}"#,
                #"false rules.update.0 where.$new.n"#
            ),
            (
                rules[3], #""user":"eve","operation":"update","object":"a","change":{"n":2}"#,
                #"false rules.update.0 where.owner"#
            ),
            (
                rules[3], #""user":"eve","operation":"get","document":{"state":"draft","owner":"ann"}"#,
                #"false rules.get.0 where.$or"#
            ),
            (
                rules[3], #""user":"eve","roles":["mods"],"operation":"get","document":{"state":"draft"}"#,
                #"true rules.get.1"#
            ),
            (
                rules[4], #""user":"eve","operation":"get","object":"a""#, #"false rules.get.0 where.club.members"#
            ),
            (
                rules[0], #""user":"eve","operation":"get","object":"c""#, #"false - _readers"#
            ),
            (
                rules[0], #""user":"ann","operation":"update","object":"c","change":{"n":1}"#, #"false - _writers"#
            ),
            (
                rules[2].replacing(#""authenticated""#, with: #""eve""#).replacing(#""*""#, with: #""eve""#),
                #""user":"ann","operation":"update","object":"a","change":{"n":1}"#, #"false rules.get.0 who"#
            ),
            (rules[0], #""user":"ann","operation":"get","object":"none""#, #"false - object"#),
            (
                #"{"hidden":{"secret":[]}}"#,
                #""user":"ann","operation":"update","object":"b","change":{"secret":{"__op":"Increment","amount":1}}"#,
                #"false - hidden.secret"#
            ),
            (
                #"{"rules":{"addField":[]}}"#, #""user":"ann","operation":"update","object":"a","change":{"new":1}"#,
                #"false rules.addField new field new"#
            ),
        ] as [(String, String, String)])
    func `a test of rules names the entry that decides, or the part of the nearest one that fails`(
        _ rules: String, _ test: String, _ expected: String
    ) async throws {
        let app = try await Self.app(rules, "open")
        let verdict = try await app.master.post("/collections/Notes/rules/test", "{\(test)}")
        func text(_ path: String) -> String? { verdict[path].map { $0.filter { $0 != "\"" } } }
        let found =
            verdict["allowed"] == "true"
            ? ["true", text("entry")] : ["false", text("nearest.entry") ?? "-", text("nearest.failed")]
        #expect(found.compactMap(\.self).joined(separator: " ") == expected, "\(verdict)")
    }

    @Test func `a test of rules names all of several obstacles`() async throws {
        let app = try await Self.app(#"{"rules":{"update":[{"where":{"n":5}}],"addField":[]}}"#, "open")
        let verdict = try await app.master.post(
            "/collections/Notes/rules/test",
            #"{"user":"ann","operation":"update","object":"c","change":{"new":1}}"#)
        #expect(verdict["nearest"] == #"{"entry":"rules.update.0","failed":"where.n"}"#, "\(verdict)")
        #expect(verdict["others.0.failed"] == #""_writers""#)
        #expect(verdict["others.1.entry"] == #""rules.addField""#)
        #expect(verdict["others.2"] == nil)
    }

    @Test func `a test of rules names a closed environment and a missing rule`() async throws {
        let app = try await Self.app("{}", "closed")
        let test = #"{"user":"ann","operation":"get","object":"a"}"#
        let verdict = try await app.master.post("/collections/Notes/rules/test", test)
        #expect(verdict["nearest"] == #"{"entry":"rules.get","failed":"no rule"}"#, "\(verdict)")
        _ = try await app.testMaster.post("/storage/Notes", #"{"_id":"a"}"#)
        _ = try await app.master.put("/environment", #"{"open":false}"#)
        let locked = try await app.testMaster.post("/collections/Notes/rules/test", test)
        #expect(locked["nearest.failed"] == #""environment""# && locked["code"] == #""forbidden""#, "\(locked)")
    }

    @Test(
        arguments: [
            ("{}", .invalidBody, "operation"), (#"{"operation":"fly"}"#, .invalidBody, "operation"),
            (#"{"operation":"get"}"#, .invalidBody, "object"),
            (#"{"operation":"get","object":"-"}"#, .invalidID, "object"),
            (#"{"operation":"get","object":"a","document":{}}"#, .invalidBody, "object"),
            (#"{"operation":"get","object":"a","change":{}}"#, .invalidBody, "change"),
            (#"{"operation":"update","object":"a"}"#, .invalidBody, "change"),
            (#"{"operation":"update","object":"a","change":{},"replacement":{}}"#, .invalidBody, "replacement"),
            (#"{"operation":"create","object":"a"}"#, .invalidBody, "document"),
            (#"{"operation":"get","object":"a","user":"a b"}"#, .invalidBody, "user"),
            (#"{"operation":"get","object":"a","roles":["mods"]}"#, .invalidBody, "roles"),
            (#"{"operation":"get","object":"a","user":"ann","roles":["a:b"]}"#, .invalidBody, "roles"),
            (#"{"operation":"get","object":"a","x":1}"#, .invalidBody, "x"),
            (#"{"operation":"create","document":{"n":"\u0000"}}"#, nil, nil),
        ] as [(String, ErrorCode?, String?)])
    func `a test of rules with an invalid body is refused`(_ body: String, _ code: ErrorCode?, _ field: String?)
        async throws
    {
        let app = try await Self.app("{}", "open")
        let before = try await app.everything()
        let answer = try await app.master.post("/collections/Notes/rules/test", body)
        if let code {
            #expect(answer.isProblem(code, field: field), "\(answer)")
        } else {
            #expect(answer.status == 400)
        }
        #expect(try await app.everything() == before)
    }

    @Test func `a test of rules names obstacles other than rules, and writes nothing`() async throws {
        let app = try await Self.app("{}", "open")
        _ = try await app.master.put(
            "/collections/Notes/schema?allowExisting=true", #"{"properties":{"n":{"type":"number"}}}"#)
        _ = try await app.master.post("/collections/Notes/indexes", #"{"fields":["owner","state"],"unique":true}"#)
        let path = "/collections/Notes/rules/test"
        try await app.expectRefusal(.documentRefused, field: "/n") {
            try await app.master.post(path, #"{"operation":"create","document":{"n":"one"}}"#)
        }
        try await app.expectRefusal(.conflict) {
            try await app.master.post(path, #"{"operation":"create","document":{"owner":"ann","state":"open"}}"#)
        }
        try await app.expectRefusal(.documentRefused) {
            try await app.master.post(path, #"{"operation":"get","document":{"n":"one"}}"#)
        }
        try await app.expectRefusal(.collectionNotFound) {
            try await app.master.post("/collections/Nothing/rules/test", #"{"operation":"get","object":"a"}"#)
        }
        for client in [app.client, app.user("ann")] {
            #expect(try await client.post(path, #"{"operation":"get","object":"a"}"#).isProblem(.forbidden))
        }
    }
}

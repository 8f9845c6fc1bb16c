import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import Testing

@testable import StorageService

@Suite struct RightsTests {
    /// The callers: nobody, three users, the app's own server. `ada` has `editors` through `admins`.
    enum Caller: String, CaseIterable, Sendable {
        case anonymous, ada, ben, eve, master
    }

    private static func app() async throws -> StorageApp {
        let app = try await StorageApp()
        #expect(try await app.master.put("/roles/editors", #"{"add":["ben","role:admins"]}"#).status == 204)
        #expect(try await app.master.put("/roles/admins", #"{"add":["ada","role:editors"]}"#).status == 204)
        return app
    }

    @Test(
        arguments: [
            // The callers who see an object with these readers
            ("null", [.anonymous, .ada, .ben, .eve, .master]), (#"["*"]"#, [.anonymous, .ada, .ben, .eve, .master]),
            (#"["ada"]"#, [.ada, .master]), (#"["role:editors"]"#, [.ada, .ben, .master]),
            (#"["role:admins"]"#, [.ada, .ben, .master]),
            (#"["role:none"]"#, [.master]), ("[]", [.master]),
            (#"["eve","role:editors"]"#, [.ada, .ben, .eve, .master]),
        ] as [(String, [Caller])]) func `only its readers see an object`(
            _ readers: String, _ seers: [Caller]
        ) async throws
    {
        let app = try await Self.app()
        #expect(try await app.master.post("/storage/Note", #"{"_id":"a","n":1,"_readers":\#(readers)}"#).status == 201)
        for caller in Caller.allCases {
            let client = app.acting(as: caller)
            let sees = seers.contains(caller)
            #expect(try await client.get("/storage/Note/a").status == (sees ? 200 : 404), "\(caller)")
            #expect(try await client.get("/storage/Note").ids == (sees ? ["a"] : []), "\(caller)")
            let counted = try await client.post("/storage/query/Note?count=true&limit=0", #"{"n":1}"#)
            #expect(counted["count"] == (sees ? "1" : "0"), "\(caller)")
            #expect(try await client.patch("/storage/Note/a", "{}").status == (sees ? 200 : 404), "\(caller)")
        }
    }

    @Test(
        arguments: [
            ("null", [.anonymous, .ada, .ben, .eve, .master]), (#"["ada"]"#, [.ada, .master]),
            (#"["role:editors"]"#, [.ada, .ben, .master]),
            ("[]", [.master]),
        ] as [(String, [Caller])]) func `only its writers change an object`(
            _ writers: String, _ writing: [Caller]
        ) async throws
    {
        let app = try await Self.app()
        for caller in Caller.allCases {
            let client = app.acting(as: caller)
            let may = writing.contains(caller)
            let object = #"{"_id":"\#(caller)","n":1,"_writers":\#(writers)}"#
            #expect(try await app.master.post("/storage/Note", object).status == 201)
            let path = "/storage/Note/\(caller)"
            let before = try await app.everything()
            // All of them may read it.
            #expect(try await client.patch(path, #"{"n":2}"#).status == (may ? 200 : 403), "\(caller)")
            #expect(try await client.put(path, #"{"n":3}"#).status == (may ? 200 : 403), "\(caller)")
            #expect(
                try await client.post("/storage/Note", #"{"_id":"\#(caller)","n":4}"#).status == (may ? 200 : 403),
                "\(caller)")
            let bulk = try await client.post("/storage/all/Note", #"[{"_id":"\#(caller)","n":5}]"#)
            #expect(bulk.status == (may ? 201 : 403), "\(caller)")
            #expect(try await client.post("/storage/remove/Note/\(caller)").status == (may ? 200 : 403), "\(caller)")
            if !may { #expect(try await app.everything() == before, "\(caller)") }
            #expect(try await client.delete(path).status == (may ? 204 : 403), "\(caller)")
        }
    }

    @Test func `a replacement without lists keeps readers and writers`() async throws {
        let app = try await Self.app()
        _ = try await app.master.post("/storage/Note", #"{"_id":"a","_readers":["ada"],"_writers":["ada"]}"#)
        let ada = app.acting(as: .ada)
        for answer in [
            try await ada.put("/storage/Note/a", #"{"n":1}"#),
            try await ada.post("/storage/Note", #"{"_id":"a","n":2}"#),
            try await ada.patch("/storage/Note/a", #"{"n":3}"#),
        ] {
            #expect(answer["_readers"] == #"["ada"]"#)
            #expect(answer["_writers"] == #"["ada"]"#)
        }
        #expect(try await ada.post("/storage/all/Note", #"[{"_id":"a","n":4}]"#)["data.0._readers"] == #"["ada"]"#)
        #expect(try await app.client.get("/storage/Note/a").status == 404)
        #expect(try await ada.patch("/storage/Note/a", #"{"_readers":null}"#)["_readers"] == nil)
        #expect(try await app.client.get("/storage/Note/a").status == 200)
    }

    /// Operation, its grantees, and who is allowed.
    @Test(
        arguments: [
            ("find", "[]", [.master]), ("find", #"["*"]"#, [.anonymous, .ada, .ben, .eve, .master]),
            ("find", #"["authenticated"]"#, [.ada, .ben, .eve, .master]),
            ("find", #"["role:editors"]"#, [.ada, .ben, .master]),
            ("find", #"["eve"]"#, [.eve, .master]), ("get", #"["role:admins"]"#, [.ada, .ben, .master]),
            ("count", #"["eve"]"#, [.eve, .master]), ("create", #"["authenticated"]"#, [.ada, .ben, .eve, .master]),
            ("update", #"["eve"]"#, [.eve, .master]), ("delete", #"["role:editors"]"#, [.ada, .ben, .master]),
            ("addField", #"["eve"]"#, [.eve, .master]),
        ] as [(String, String, [Caller])])
    func `a rule opens an operation only to its grantees`(_ operation: String, _ grantees: String, _ open: [Caller])
        async throws
    {
        let app = try await Self.app()
        _ = try await app.master.post("/storage/all/Note", #"[{"_id":"a","n":1},{"_id":"b","n":1}]"#)
        #expect(
            try await app.master.put("/collections/Note/rules", #"{"rules":{"\#(operation)":\#(grantees)}}"#).status
                == 200)
        for caller in Caller.allCases {
            let client = app.acting(as: caller)
            let answer =
                switch operation {
                case "find": try await client.post("/storage/query/Note", #"{"n":1}"#)
                case "get": try await client.get("/storage/Note/a")
                case "count": try await client.get("/storage/Note?count=true")
                case "create": try await client.post("/storage/Note", #"{"n":2}"#)
                case "update": try await client.patch("/storage/Note/a", #"{"n":1}"#)
                case "delete":
                    try await client.post(
                        "/storage/batch",
                        #"{"requests":[{"method":"DELETE","path":"storage/Note/x"}],"transaction":true}"#)
                default: try await client.patch("/storage/Note/b", #"{"new\#(caller)":1}"#)
                }
            if open.contains(caller) {
                #expect(answer.status != 403, "\(caller): \(answer)")
            } else {
                #expect(
                    answer.isProblem(
                        .forbidden,
                        field: operation == "addField" ? "new\(caller)" : operation == "delete" ? "requests.0" : nil),
                    "\(caller): \(answer)")
            }
        }
    }

    @Test(arguments: [#""ada""#, #"["ben","ada"]"#, #"{"__type":"Pointer","className":"_User","objectId":"ada"}"#])
    func `a field that names the user opens the object to that user`(_ owner: String) async throws {
        let app = try await Self.app()
        _ = try await app.master.post(
            "/storage/all/Note", #"[{"_id":"a","owner":\#(owner)},{"_id":"b","owner":"eve"},{"_id":"c"}]"#)
        let grant = #"["field:owner"]"#
        _ = try await app.master.put(
            "/collections/Note/rules",
            #"{"rules":{"find":\#(grant),"get":\#(grant),"update":\#(grant),"delete":\#(grant),"create":\#(grant)}}"#)
        let ada = app.acting(as: .ada)
        #expect(try await ada.get("/storage/Note").ids == ["a"])
        #expect(try await ada.get("/storage/Note/b").status == 404)
        #expect(try await ada.patch("/storage/Note/b", #"{"n":1}"#).status == 404)
        #expect(try await ada.patch("/storage/Note/a", #"{"n":1}"#).status == 200)
        #expect(try await ada.delete("/storage/Note/c").status == 404)
        #expect(try await ada.post("/storage/Note", #"{"owner":"ada"}"#).status == 201)
        #expect(try await ada.post("/storage/Note", #"{"_id":"z","owner":"ada"}"#).status == 201)
        for body in [#"{"owner":"eve"}"#, "{}", #"{"_id":"y","owner":"eve"}"#] {
            try await app.expectRefusal(.forbidden) { try await ada.post("/storage/Note", body) }
        }
        try await app.expectRefusal(.forbidden) {
            try await ada.post("/storage/all/Note", #"[{"owner":"ada"},{"owner":"eve"}]"#)
        }
        #expect(try await app.client.get("/storage/Note").isProblem(.forbidden))
    }

    @Test func `a hidden field is shown nowhere, and neither filter nor order reveals it`() async throws {
        let app = try await Self.app()
        _ = try await app.master.post(
            "/storage/all/Note",
            #"[{"_id":"a","owner":"ada","place":{"x":1},"mail":"m1"},{"_id":"b","owner":"eve","place":{"x":2},"mail":"m2"}]"#
        )
        _ = try await app.master.put(
            "/collections/Note/rules", #"{"hidden":{"place":["field:owner"],"mail":["role:editors"]}}"#)
        let (ada, eve) = (app.acting(as: .ada), app.acting(as: .eve))
        let seen = try await eve.get("/storage/Note?order=_id")
        #expect(seen["data.0.place"] == nil)
        #expect(seen["data.1.place"] == #"{"x":2}"# || seen["data.1.place"] == #"{"x": 2}"#)
        #expect(!seen.text.contains("m1") && !seen.text.contains("m2"))
        #expect(try await ada.get("/storage/Note/a")["mail"] == #""m1""#)
        #expect(try await ada.get("/storage/Note/b")["place"] == nil)
        #expect(try await app.client.get("/storage/Note/a?keys=mail,place,owner")["mail"] == nil)
        #expect(try await app.master.get("/storage/Note/a")["mail"] == #""m1""#)
        for answer in [
            try await eve.patch("/storage/Note/a", #"{"n":1}"#), try await eve.post("/storage/remove/Note/a"),
            try await eve.post("/storage/Note", #"{"_id":"a","n":2}"#),
            try await eve.put("/storage/Note/a", #"{"n":3}"#),
        ] {
            #expect(answer.status == 200)
            #expect(!answer.text.contains("m1") && !answer.text.contains("place"), "\(answer)")
        }
        // A replacement does not remove fields that the caller cannot see.
        _ = try await app.master.put("/storage/Note/b", #"{"owner":"eve","mail":"m2"}"#)
        #expect(try await eve.put("/storage/Note/b", #"{"n":3}"#).status == 200)
        #expect(try await app.master.get("/storage/Note/b")["mail"] == #""m2""#)
        for filter in [
            #"{"mail":"m2"}"#, #"{"$or":[{"n":1},{"mail":{"$gt":"a"}}]}"#, #"{"place.x":2}"#,
            #"{"mail":{"$exists":true}}"#,
        ] {
            try await app.expectRefusal(.forbidden) { try await eve.post("/storage/query/Note", filter) }
        }
        for path in ["/storage/Note?order=mail", "/storage/Note?order=n,-place.x"] {
            try await app.expectRefusal(.forbidden) { try await eve.get(path) }
        }
        #expect(try await ada.post("/storage/query/Note", #"{"mail":"m2"}"#).ids == ["b"])
    }

    @Test func `objects created without lists get the collection's`() async throws {
        let app = try await Self.app()
        _ = try await app.master.put(
            "/collections/Note/rules", #"{"defaults":{"readers":["owner","role:admins"],"writers":["owner"]}}"#)
        let made = try await app.acting(as: .eve).post("/storage/Note", "{}")
        #expect(made["_readers"] == #"["eve","role:admins"]"#)
        #expect(made["_writers"] == #"["eve"]"#)
        #expect(try await app.acting(as: .eve).post("/storage/all/Note", "[{}]")["data.0._writers"] == #"["eve"]"#)
        #expect(try await app.acting(as: .eve).post("/storage/Note", #"{"_readers":null}"#)["_readers"] == nil)
    }

    @Test func `users read their own roles, and internal services anybody's, including nested ones`() async throws {
        let app = try await Self.app()
        let both = #"["admins","editors"]"#
        for (caller, roles) in [(Caller.ada, both), (.ben, both), (.eve, "[]")] {
            let own = try await app.acting(as: caller).get("/auth/me/roles")
            #expect(own.status == 200 && own["data"] == roles, "\(own)")
            let body = #"{"app":"\#(app.id)","environment":"live","user":"\#(caller.rawValue)"}"#
            let answer = try await app.acting(as: .service("config")).post("/internal/users/roles", body)
            #expect(answer.status == 200 && answer["roles"] == roles, "\(answer)")
            #expect(
                try await app.acting(as: .service("config")).post(
                    "/internal/users/roles", body.replacing("live", with: "test"))["roles"] == "[]")
            #expect(try await app.acting(as: caller).post("/internal/users/roles", body).isProblem(.forbidden))
        }
        #expect(try await app.acting(as: .anonymous).get("/auth/me/roles").isProblem(.invalidToken))
        #expect(try await app.master.get("/auth/me/roles").isProblem(.invalidToken))
        #expect(try await app.master.put("/roles/editors", #"{"remove":["role:admins"]}"#).status == 204)
        #expect(try await app.acting(as: .ada).get("/auth/me/roles")["data"] == #"["admins"]"#)
    }

    @Test func `revoking a role closes what it opened`() async throws {
        let app = try await Self.app()
        _ = try await app.master.post("/storage/Note", #"{"_id":"a","_readers":["role:editors"]}"#)
        #expect(try await app.acting(as: .ada).get("/storage/Note/a").status == 200)
        #expect(try await app.master.put("/roles/editors", #"{"remove":["role:admins"]}"#).status == 204)
        #expect(try await app.acting(as: .ada).get("/storage/Note/a").status == 404)
        #expect(try await app.acting(as: .ben).get("/storage/Note/a").status == 200)
        #expect(try await app.master.delete("/roles/editors").status == 204)
        #expect(try await app.acting(as: .ben).get("/storage/Note/a").status == 404)
        #expect(try await app.master.get("/roles/editors").isProblem(.roleNotFound))
        #expect(try await app.master.get("/roles/admins")["members"] == #"["ada"]"#)
    }

    @Test(arguments: [
        (#"{"rules":{"fly":["*"]}}"#, "rules.fly"), (#"{"rules":{"find":["a:b"]}}"#, "rules.find"),
        (#"{"rules":{"addField":["field:a"]}}"#, "rules.addField"),
        (#"{"hidden":{"_id":[]}}"#, "hidden._id"), (#"{"hidden":{"a.b":[]}}"#, "hidden.a.b"),
        (#"{"hidden":{"a":["role:"]}}"#, "hidden.a"),
        (#"{"defaults":{"readers":["a b"]}}"#, "defaults.readers"),
        (#"{"rules":{"find":["field:a..b"]}}"#, "rules.find"),
    ]) func `invalid rules are refused`(_ body: String, _ field: String) async throws {
        let app = try await StorageApp()
        try await app.expectRefusal(.invalidBody, field: field) {
            try await app.master.put("/collections/Note/rules", body)
        }
    }

    @Test(arguments: ["_readers", "_writers"], [#""ada""#, "[1]", #"["a b"]"#, #"["role:"]"#, "{}"])
    func `invalid lists are refused`(_ field: String, _ list: String) async throws {
        let app = try await StorageApp()
        try await app.expectRefusal(.invalidBody, field: field) {
            try await app.client.post("/storage/Note", #"{"\#(field)":\#(list)}"#)
        }
    }

    @Test func `looking up many users' roles gives the same result as looking up each`() async throws {
        let app = try await StorageApp()
        #expect(try await app.master.put("/roles/editors", #"{"add":["ben","role:admins"]}"#).status == 204)
        #expect(try await app.master.put("/roles/admins", #"{"add":["ada","role:editors"]}"#).status == 204)
        #expect(try await app.master.put("/roles/guests", #"{"add":["ben"]}"#).status == 204)
        let together = RightsStore(postgres: app.postgres, spaces: app.objects.spaces)
        let each = RightsStore(postgres: app.postgres, spaces: app.objects.spaces)
        let users = ["ada", "ben", "cid"]
        try await together.prepare(users, in: try app.space(), for: .zero)
        for (user, roles) in zip(users, [["admins", "editors"], ["admins", "editors", "guests"], []]) {
            var principal = app.principal(.client)
            principal.userID = user
            #expect(try await together.rights(of: principal, in: app.space()).identity == .user(user, roles: roles))
            #expect(try await each.rights(of: principal, in: app.space()).identity == .user(user, roles: roles))
        }
    }

    @Test func `rules follow a renamed collection, even on an instance that knows only the old name`() async throws {
        let app = try await StorageApp()
        let client = try await ServiceClient(app.anotherCopy()).acting(as: app.principal(.client))
        #expect(try await app.master.put("/collections/Note/rules", #"{"rules":{"find":[]}}"#).status == 200)
        #expect(try await client.get("/storage/Note").isProblem(.forbidden))
        #expect(try await app.master.post("/collections/Note/rename", #"{"name":"Memo"}"#).status == 200)
        #expect(try await client.get("/storage/Memo").isProblem(.forbidden))
        #expect(try await app.client.get("/storage/Memo").isProblem(.forbidden))
        #expect(try await client.get("/storage/New").status == 200)
        #expect(try await app.master.put("/collections/New/rules", #"{"rules":{"create":[]}}"#).status == 200)
        #expect(try await client.post("/storage/New", "{}").isProblem(.forbidden))
    }

    /// Calls, and rules that allow them.
    private static let calls: [(rules: String, send: @Sendable (ServiceClient) async throws -> Answer)] = [
        (#"{"find":["*"]}"#, { try await $0.get("/storage/Note") }),
        (#"{"find":["ada"]}"#, { try await $0.post("/storage/query/Note", "{}") }),
        (#"{"find":["authenticated"]}"#, { try await $0.get("/changes/Note") }),
        (#"{"find":["*"],"count":["*"]}"#, { try await $0.post("/storage/distinct/Note", #"{"field":"n"}"#) }),
        (#"{"get":["*"]}"#, { try await $0.get("/storage/Note/a") }),
        (#"{"create":["*"]}"#, { try await $0.post("/storage/Note", #"{"n":1}"#) }),
        (#"{"create":["*"]}"#, { try await $0.post("/storage/all/Note", #"[{"n":1}]"#) }),
        (#"{"get":["*"],"update":["*"]}"#, { try await $0.patch("/storage/Note/a", #"{"n":2}"#) }),
        (#"{"get":["*"],"update":["*"]}"#, { try await $0.put("/storage/Note/a", #"{"n":3}"#) }),
        (
            #"{"get":["*"],"update":["*"]}"#,
            {
                let write = #"{"method":"PATCH","path":"storage/Note/a","body":{"n":4}}"#
                return try await $0.post("/storage/batch", #"{"transaction":true,"requests":[\#(write)]}"#)
            }
        ),
        (#"{"find":["*"],"delete":["*"]}"#, { try await $0.delete("/storage/Note/b") }),
    ]

    @Test func `what another copy of the service has just allowed is not refused`() async throws {
        let app = try await StorageApp.withDefaultAccess()
        let copy = app.anotherCopy()
        let ada = try await ServiceClient(copy).acting(as: app.ada)
        for id in ["a", "b"] { _ = try await app.master.post("/storage/Note", #"{"_id":"\#(id)","n":1}"#) }
        for (rules, send) in Self.calls {
            try await app.set("{}", on: "Note")
            copy.rights.forgetAll()
            _ = try await copy.rights.rights(of: app.ada, in: app.space())
            try await app.set(#"{"rules":\#(rules)}"#, on: "Note")
            let answer = try await send(ada)
            #expect((200..<300).contains(answer.status), "\(rules): \(answer)")
        }
    }

    @Test func `a field, a role and the access that another copy has just allowed are not refused`() async throws {
        let app = try await StorageApp.withDefaultAccess()
        let copy = app.anotherCopy()
        let ada = try await ServiceClient(copy).acting(as: app.ada)
        let create = #""create":["*"]"#
        try await app.set(#"{"rules":{\#(create)}}"#, on: "Note")
        copy.rights.forgetAll()
        #expect(try await ada.post("/storage/Note", #"{"x":1}"#).isProblem(.forbidden, field: "x"))
        try await app.set(#"{"rules":{\#(create),"addField":["ada"]}}"#, on: "Note")
        #expect(try await ada.post("/storage/Note", #"{"x":1}"#).status == 201)
        try await app.set(#"{"rules":{\#(create)}}"#, on: "Note")
        copy.rights.forgetAll()
        #expect(try await ada.post("/storage/Note", #"{"y":1}"#).isProblem(.forbidden, field: "y"))
        let schema = #"{"properties":{"y":{"type":"integer"}}}"#
        #expect(try await app.master.put("/collections/Note/schema", schema).status == 200)
        #expect(try await ada.post("/storage/Note", #"{"y":1}"#).status == 201)

        #expect(try await app.master.put("/roles/team", #"{"add":["ben"]}"#).status == 204)
        try await app.set(#"{"rules":{"find":["role:team"]}}"#, on: "Note")
        copy.rights.forgetAll()
        #expect(try await ada.get("/storage/Note").isProblem(.forbidden))
        #expect(try await app.master.put("/roles/team", #"{"add":["ada"]}"#).status == 204)
        #expect(try await ada.get("/auth/me/roles")["data"] == #"["team"]"#)
        #expect(try await ada.get("/storage/Note").status == 200)
        #expect(try await ada.get("/storage/Other").isProblem(.forbidden))
        let visitor = try await ServiceClient(copy).acting(as: app.principal(.client))
        let upload = ["Tus-Resumable": "1.0.0", "Upload-Length": "0", "Upload-Metadata": "path Yg=="]
        #expect(try await visitor.put("/upload/a", "x").isProblem(.forbidden))
        #expect(try await app.master.put("/rules/settings", #"{"access":"open"}"#).status == 200)
        #expect(try await visitor.put("/upload/a", "x").status == 201)
        #expect(try await app.master.put("/rules/settings", #"{"access":"closed"}"#).status == 200)
        copy.rights.forgetAll()
        #expect(try await visitor.send("POST", "/files/tus", bytes: [], headers: upload).isProblem(.forbidden))
        #expect(try await app.master.put("/rules/settings", #"{"access":"open"}"#).status == 200)
        #expect(try await visitor.send("POST", "/files/tus", bytes: [], headers: upload).status == 201)
        #expect(try await app.master.put("/rules/settings", #"{"access":"closed"}"#).status == 200)
        copy.rights.forgetAll()
        #expect(try await ada.get("/storage/Other").isProblem(.forbidden))
        #expect(try await app.master.put("/rules/settings", #"{"access":"open"}"#).status == 200)
        #expect(try await ada.get("/storage/Other").status == 200)
    }

    @Test func `a refusal that is right does not empty the cache`() async throws {
        let app = try await StorageApp.withDefaultAccess()
        let space = try app.space()
        let rights = RightsStore(postgres: app.postgres, spaces: app.objects.spaces)
        let needs = try [CollectionName("Note"): Set([Access.Operation.find])]
        _ = try await rights.rights(of: app.principal(.client), in: space, for: needs)
        let revision = rights.revision
        _ = try await rights.rights(of: app.principal(.client), in: space, for: needs)
        #expect(rights.revision == revision)
    }

    @Test func `a collection that another copy has just dropped is created with its fields`() async throws {
        let app = try await StorageApp()
        let copy = app.anotherCopy()
        let master = try await ServiceClient(copy).acting(as: app.principal(.master))
        let write = #"{"method":"POST","path":"storage/Note","body":{"n":1}}"#
        for (path, body) in [
            ("/storage/Note", #"{"n":1}"#), ("/storage/batch", #"{"transaction":true,"requests":[\#(write)]}"#),
        ] {
            _ = try await app.master.post("/storage/Note", #"{"n":1}"#)
            copy.rights.forgetAll()
            #expect(try await master.get("/storage/Note?include=n").status == 200)
            #expect(try await app.master.delete("/collections/Note").status == 204)
            let answer = try await master.post(path, body)
            #expect((200..<300).contains(answer.status), "\(answer)")
            let fields = try await app.superuser.query(
                "SELECT fields::text FROM \(try app.space().own("_collections")) WHERE name = 'Note'")
            #expect(try fields.first?.decode(0, as: String.self).contains("Number") == true, "\(path)")
        }
    }

    @Test func `the rules of a collection that another copy has just dropped allow nothing any more`() async throws {
        let app = try await StorageApp.withDefaultAccess()
        let copy = app.anotherCopy()
        let client = try await ServiceClient(copy).acting(as: app.principal(.client))
        let write = #"{"method":"POST","path":"storage/Note","body":{}}"#
        let calls: [(path: String, body: String, key: String?)] = [
            ("/storage/Note", "{}", nil), ("/storage/Note", "{}", "a"), ("/storage/all/Note", "[{}]", nil),
            ("/storage/batch", #"{"requests":[\#(write)]}"#, nil),
            ("/storage/batch", #"{"transaction":true,"requests":[\#(write)]}"#, nil),
            ("/storage/batch", #"{"transaction":true,"requests":[\#(write)]}"#, "b"),
        ]
        for (path, body, key) in calls {
            try await app.set(#"{"rules":{"create":["*"]}}"#, on: "Note")
            copy.rights.forgetAll()
            _ = try await copy.rights.rights(of: app.principal(.client), in: app.space())
            #expect(try await app.master.delete("/collections/Note").status == 204)
            let headers = key.map { ["Idempotency-Key": $0] } ?? [:]
            let answer = try await client.send("POST", path, body, headers: headers)
            #expect(answer.status == 403 || answer["data.0.status"] == "403", "\(path): \(answer)")
            // Only that of users: a write that is refused creates no collection.
            #expect(try await app.master.get("/collections")["count"] == "1", "\(path)")
        }
    }

    @Test func `clients and users cannot manage rights`() async throws {
        let app = try await StorageApp()
        for (client, refusal) in [(app.client, ErrorCode.invalidToken), (app.acting(as: .ada), .forbidden)] {
            #expect(try await client.put("/collections/Note/rules", "{}").isProblem(.forbidden))
            #expect(try await client.get("/collections/Note/rules").isProblem(.forbidden))
            #expect(try await client.put("/roles/a", #"{"add":["ada"]}"#).isProblem(refusal))
            #expect(try await client.get("/roles").isProblem(.forbidden))
            #expect(try await client.delete("/roles/a").isProblem(.forbidden))
        }
    }
}

extension StorageApp {
    fileprivate var ada: Principal {
        var principal = principal(.client)
        principal.userID = "ada"
        return principal
    }

    fileprivate func acting(as caller: RightsTests.Caller) -> ServiceClient {
        switch caller {
        case .anonymous: client
        case .master: master
        default:
            acting(
                as: Principal(
                    kind: .client, appID: id, appNumber: 1, environment: .live, credentialID: "test",
                    userID: caller.rawValue))
        }
    }
}

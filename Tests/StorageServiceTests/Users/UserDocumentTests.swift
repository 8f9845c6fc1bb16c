import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import Testing

@testable import StorageService

extension StorageApp {
    /// What auth sends of users.
    func publish(_ users: [UserDocuments.User], _ environment: AppEnvironment = .live) async throws {
        let body = UserDocuments(app: id, environment: environment, users: users)
        let answer = try await acting(as: .service("auth")).post(
            "/internal/users/documents", String(decoding: try JSONEncoder().encode(body), as: UTF8.self))
        try #require(answer.status == 200, "\(answer)")
    }

    /// - Parameter profile: Nil for a user who was deleted.
    func publish(
        _ id: String, version: Int64 = 1, name: String? = nil, verified: Bool = false, disabled: Bool = false,
        _ profile: String?, _ environment: AppEnvironment = .live
    ) async throws {
        let stored = profile.map {
            UserDocuments.Shown(
                userName: name, profile: $0, created: "2026-01-02T03:04:05.678Z", updated: "2026-02-03T04:05:06.789Z",
                isEmailVerified: verified)
        }
        let user = UserDocuments.User(
            id: id, version: version, shown: disabled ? nil : stored, hidden: disabled ? stored : nil)
        try await publish([user], environment)
    }
}

/// The collection `_User`.
@Suite struct UserDocumentTests {
    private static func place(_ latitude: Double) -> String {
        #"{"__type":"GeoPoint","latitude":\#(latitude),"longitude":7.4}"#
    }

    @Test func `one query finds the people within a radius who like tennis, with and without indexes`() async throws {
        let app = try await StorageApp()
        for (id, latitude, sports) in [
            ("far", 48.9, #"["tennis"]"#), ("near", 46.91, #"["tennis","golf"]"#), ("golfer", 46.9, #"["golf"]"#),
            ("here", 46.9, #"["tennis"]"#),
        ] {
            try await app.publish(id, name: id, #"{"place":\#(Self.place(latitude)),"sports":\#(sports),"age":30}"#)
        }
        let query = #"{"sports":"tennis","place":{"$nearSphere":\#(Self.place(46.9)),"$maxDistanceInKilometers":50}}"#
        for _ in 1...2 {
            #expect(try await app.user("here").post("/storage/query/_User", query).ids == ["here", "near"])
            let index = #"{"kind":"geo","fields":["place"]}"#
            let made = try await app.master.post("/collections/_User/indexes", index)
            #expect(made.status == 201 || made.isProblem(.conflict), "\(made)")
        }
        let one = try await app.user("near").get("/storage/_User/here")
        #expect(one["userName"] == #""here""# && one["age"] == "30" && one["created"] == #""2026-01-02T03:04:05.678Z""#)
        #expect(one["updated"] == #""2026-02-03T04:05:06.789Z""#, "\(one)")
        #expect(try await app.user("near").get("/storage/_User?order=-userName&limit=2").ids == ["near", "here"])
        #expect(try await app.user("near").get("/storage/_User?count=true&limit=0")["count"] == "4")
        #expect(try await app.master.get("/storage/_User").ids.count == 4)
    }

    @Test func `users are included by Pointer and joined in a query`() async throws {
        let app = try await StorageApp()
        try await app.publish("ada", #"{"city":"Bern"}"#)
        try await app.publish("ben", #"{"city":"Rome"}"#)
        for (id, user) in [("a", "ada"), ("b", "ben")] {
            let pointer = #"{"__type":"Pointer","className":"_User","objectId":"\#(user)"}"#
            #expect(try await app.client.post("/storage/Notes", #"{"_id":"\#(id)","by":\#(pointer)}"#).status == 201)
        }
        let ada = app.user("ada")
        let list = try await ada.get("/storage/Notes?include=by&order=_id")
        #expect(list["data.0.by.city"] == #""Bern""# && list["data.1.by.city"] == #""Rome""#, "\(list)")
        let query = #"{"by":{"$inQuery":{"className":"_User","where":{"city":"Rome"}}}}"#
        #expect(try await ada.post("/storage/query/Notes", query).ids == ["b"])
        #expect(try await app.client.post("/storage/query/Notes", query).isProblem(.forbidden), "a visitor")
        #expect(try await app.client.get("/storage/Notes?include=by")["data.0.by.city"] == nil)
    }

    @Test func `anonymous callers see no users, and rules decide who may read users, but not who may write them`()
        async throws
    {
        let app = try await StorageApp()
        try await app.publish("ada", #"{"city":"Bern","phone":"1"}"#)
        for path in ["_User", "_User/ada", "_User?count=true"] {
            #expect(try await app.client.get("/storage/\(path)").isProblem(.forbidden), "\(path)")
        }
        let path = "/collections/_User/rules"
        for body in [
            #"{"rules":{"create":["*"]}}"#, #"{"rules":{"update":["field:owner"]}}"#,
            #"{"rules":{"delete":["authenticated"]}}"#,
            #"{"rules":{"addField":["*"]}}"#, #"{"defaults":{"readers":["owner"]}}"#,
        ] { try await app.expectRefusal(.invalidBody) { try await app.master.put(path, body) } }
        let set = try await app.master.put(path, #"{"rules":{"get":["*"],"update":[]},"hidden":{"phone":[]}}"#)
        #expect(set["rules.find"] == #"["authenticated"]"# && set["rules.create"] == "[]", "\(set)")
        let one = try await app.client.get("/storage/_User/ada")
        #expect(one["city"] == #""Bern""# && one["phone"] == nil)
        #expect(try await app.client.get("/storage/_User").isProblem(.forbidden))
        #expect(try await app.master.get(path)["rules.delete"] == "[]")
    }

    @Test(arguments: ["client", "user", "master"])
    func `the collection of users cannot be written through storage`(_ caller: String) async throws {
        let app = try await StorageApp()
        try await app.publish("ada", #"{"city":"Bern"}"#)
        let client = ["client": app.client, "user": app.user("ada"), "master": app.master][caller] ?? app.client
        let batch = #"{"requests":[{"method":"PATCH","path":"storage/_User/ada","body":{"n":1}}],"transaction":true}"#
        for (method, path, body) in [
            ("POST", "_User", "{}"), ("POST", "_User", #"{"_id":"ada"}"#), ("POST", "all/_User", "[{}]"),
            ("PUT", "_User/ada", "{}"), ("PATCH", "_User/ada", #"{"city":"Rome"}"#), ("DELETE", "_User/ada", nil),
            ("POST", "remove/_User/ada", ""), ("POST", "batch", batch),
        ] as [(String, String, String?)] {
            try await app.expectRefusal(.forbidden) { try await client.send(method, "/storage/\(path)", body) }
        }
        let answer = try await client.send("PATCH", "/storage/_User/ada", "{}")
        #expect(answer.text.contains("PATCH auth/me"), "\(answer)")
        let hook = #"{"event":"beforeSave","collection":"_User","url":"https://example.org/hook"}"#
        for (method, path, body) in [
            ("DELETE", "collections/_User", nil), ("POST", "collections/_User/rename", #"{"name":"People"}"#),
            ("PUT", "collections/_User/schema", "{}"), ("DELETE", "collections/_User/schema", nil),
            ("POST", "imports/_User?format=jsonl", "{}"), ("PUT", "hooks/h", hook),
        ] as [(String, String, String?)] {
            try await app.expectRefusal(.forbidden) { try await client.send(method, "/\(path)", body) }
        }
        #expect(try await app.client.post("/storage/People", "{}").status == 201)
        let taken = try await app.master.post("/collections/People/rename", #"{"name":"_User"}"#)
        #expect(taken.isProblem(.conflict), "\(taken)")
        #expect(try await app.master.get("/storage/_User/ada")["city"] == #""Bern""#)
    }

    @Test func `the server and staff see disabled users, and nobody else does`() async throws {
        let app = try await StorageApp()
        try await app.publish("ada", name: "ada", #"{"city":"Bern"}"#)
        try await app.publish("ben", #"{"city":"Bern"}"#)
        let pointer = #"{"__type":"Pointer","className":"_User","objectId":"ada"}"#
        _ = try await app.master.post("/storage/Notes", #"{"_id":"n","by":\#(pointer)}"#)
        let everyone = #"{"rules":{"find":["*"],"get":["*"],"count":["*"]}}"#
        #expect(try await app.master.put("/collections/_User/rules", everyone).status == 200)
        try await app.publish("ada", version: 2, name: "ada", disabled: true, #"{"city":"Bern","level":3}"#)
        let query = #"{"by":{"$inQuery":{"className":"_User","where":{"city":"Bern"}}}}"#
        for server in [app.master, app.staff(may: [.storage: [.read]])] {
            let one = try await server.get("/storage/_User/ada")
            #expect(one["level"] == "3" && one["_readers"] == "[]" && one["deleted"] == "null", "\(one)")
            #expect(try await server.get("/storage/_User?order=_id").ids == ["ada", "ben"])
            #expect(try await server.get("/storage/Notes?include=by")["data.0.by.city"] == #""Bern""#)
            #expect(try await server.post("/storage/query/Notes", query).ids == ["n"])
        }
        for client in [app.client, app.user("ben"), app.user("ada")] {
            #expect(try await client.get("/storage/_User/ada").isProblem(.objectNotFound))
            for filter in ["", "&deleted=true"] {
                let list = try await client.get("/storage/_User?count=true\(filter)")
                #expect(list.ids == ["ben"] && list["count"] == "1", "\(list)")
            }
            #expect(try await client.post("/storage/query/_User", #"{"level":3}"#).ids == [])
            #expect(try await client.get("/storage/Notes?include=by")["data.0.by"] == nil)
            #expect(try await client.post("/storage/query/Notes", query).ids == [])
        }
        let report = #"{"reason":"rude"}"#
        #expect(try await app.user("ben").post("/storage/_User/ada/report", report).isProblem(.objectNotFound))
    }

    @Test(
        arguments: [
            #"{"where":{"by.city":"Bern"},"through":{"by":"_User"}}"#,
            #"{"where":{"by":{"$inQuery":{"className":"_User","where":{"city":"Bern"}}}}}"#,
            #"{"where":{"$user.city":"Bern"}}"#,
        ])
    func `rules treat disabled users as missing`(_ entry: String) async throws {
        let app = try await StorageApp()
        let pointer = #"{"__type":"Pointer","className":"_User","objectId":"ada"}"#
        _ = try await app.master.post("/storage/Notes", #"{"_id":"n","by":\#(pointer)}"#)
        try await app.set(#"{"rules":{"find":[\#(entry)]}}"#, on: "Notes")
        for (version, isDisabled) in [(1, false), (2, true), (3, false)] {
            try await app.publish("ada", version: Int64(version), disabled: isDisabled, #"{"city":"Bern"}"#)
            let seen = try await app.user("ada").get("/storage/Notes").ids
            #expect(seen == (isDisabled ? [] : ["n"]), "version \(version)")
        }
    }

    @Test func `a deleted user leaves the lists, and an older message changes nothing`() async throws {
        let app = try await StorageApp()
        func ids() async throws -> [String] { try await app.user("x").get("/storage/_User").ids }
        try await app.publish("ada", version: 5, #"{"city":"Bern"}"#)
        try await app.publish("ada", version: 4, #"{"city":"Rome"}"#)
        #expect(try await app.user("x").get("/storage/_User/ada")["city"] == #""Bern""#)
        try await app.publish("ada", version: 7, nil)
        try await app.publish("ada", version: 6, #"{"city":"Rome"}"#)
        try await app.publish("ben", version: 9, nil)
        try await app.publish("ben", version: 8, #"{"city":"Rome"}"#)
        #expect(try await ids() == [])
        let removed = try await app.user("x").get("/storage/_User?deleted=true")
        #expect(removed.ids.sorted() == ["ada", "ben"] && !removed.text.contains("Bern"), "\(removed)")
        try await app.publish("ada", version: 10, #"{"city":"Thun"}"#)
        #expect(try await ids() == ["ada"])
    }

    @Test func `members that an object cannot have are omitted from a profile`() async throws {
        let app = try await StorageApp()
        let profile = #"""
            {"_id":"x","_version":9,"_secret":1,"$a":1,"a.b":1,"userName":"eve","created":"x","bad":{"__type":"GeoPoint","latitude":95,
             "longitude":1},"op":{"__op":"Increment","amount":1},"back\\\\slash":1,"city":"Bern",
             "at":{"__type":"Date","iso":"2026-01-01T00:00:00Z"}}
            """#
        try await app.publish("ada", name: "ada", profile)
        let one = try await app.user("x").get("/storage/_User/ada")
        #expect(one["_id"] == #""ada""# && one["userName"] == #""ada""# && one["city"] == #""Bern""#, "\(one)")
        #expect(one["at.iso"] == #""2026-01-01T00:00:00.000Z""# && one["created"] == #""2026-01-02T03:04:05.678Z""#)
        for word in ["_secret", "$a", "a.b", "bad", "op", "slash"] { #expect(!one.text.contains(word), "\(word)") }
        try await app.publish("ben", "not an object")
        #expect(try await app.user("x").get("/storage/_User/ben").status == 200)
    }

    @Test func `streams follow profiles, but not what is hidden in them`() async throws {
        let app = try await StorageApp()
        let stream = LiveStream()
        var principal = app.principal(.client)
        principal.userID = "x"
        let follower = Task { [principal, live = app.live] in try await stream.follow(live, "_User", as: principal) }
        defer { follower.cancel() }
        try await stream.waitForOpen()
        try await app.publish("ada", version: 1, #"{"city":"Bern"}"#)
        try await app.publish("ada", version: 2, verified: true, #"{"city":"Bern"}"#)
        try await app.publish("ada", version: 3, #"{"city":"Rome"}"#)
        try await app.publish("ada", version: 4, nil)
        try await app.publish("ada", version: 5, nil)
        try await app.publish("ada", version: 6, #"{"city":"Thun"}"#)
        try await app.publish("ada", version: 7, disabled: true, #"{"city":"Thun"}"#)
        try await app.publish("ada", version: 8, disabled: true, #"{"city":"Paris"}"#)
        try await app.publish("ada", version: 9, #"{"city":"Thun"}"#)
        try await stream.wait(for: 6)
        #expect(
            stream.lines == ["create ada", "update ada", "delete ada", "create ada", "leave ada", "enter ada"])
        #expect(!stream.events.contains { $0.data.text.contains("Paris") })
        #expect(!stream.events.contains { $0.data.text.contains("erified") })
        let feed = try await app.user("x").get("/changes/_User")
        #expect(feed.status == 200 && feed.text.contains("Thun"), "\(feed)")
    }

    @Test func `erasing a user empties the document, and housekeeping removes the rest after a day`() async throws {
        let app = try await StorageApp()
        try await app.publish("ada", #"{"city":"Bern"}"#)
        try await app.publish("ben", #"{"city":"Bern"}"#)
        let request = UserDataRequest(app: app.id, environment: .live, user: "ada")
        let erased = try await app.acting(as: .service("auth")).post(
            "/internal/users/erase", String(decoding: try JSONEncoder().encode(request), as: UTF8.self))
        #expect(erased.status == 200, "\(erased)")
        #expect(try await app.user("x").get("/storage/_User").ids == ["ben"])
        let users = try app.space().table(.users)
        #expect(try await app.superuser.query("SELECT doc::text FROM \(users) WHERE id = 'ada'")[0].decode(0) == "{}")
        let housekeeping = Housekeeping(postgres: app.postgres, logger: .silent, retentionInDays: 7)
        try await housekeeping.sweep()
        #expect(try await app.superuser.query("SELECT FROM \(users)").count == 2)
        try await app.superuser.execute("UPDATE \(users) SET deleted = deleted - interval '25 hours'")
        try await housekeeping.sweep()
        #expect(try await app.superuser.query("SELECT FROM \(users)").count == 1)
    }

    @Test func `each environment has its own users, also after test was wiped`() async throws {
        let app = try await StorageApp()
        try await app.publish("ada", #"{"city":"Bern"}"#)
        try await app.publish("eve", #"{"city":"Test"}"#, .test)
        let master = app.acting(as: app.principal(.master, .test))
        _ = try await master.put("/collections/_User/rules", #"{"rules":{"find":[]}}"#)
        #expect(try await app.master.delete("/environment").status == 204)
        #expect(try await master.get("/storage/_User").ids == ["eve"])
        let rules = try await master.get("/collections/_User/rules")
        #expect(rules["rules.find"] == #"["authenticated"]"#, "\(rules)")
        #expect(try await app.master.get("/storage/_User").ids == ["ada"])
    }

    @Test func `a copy has live's rules and managers, and leaves test's users unchanged`() async throws {
        let app = try await StorageApp()
        try await app.publish("ada", #"{"city":"Bern"}"#)
        try await app.publish("eve", #"{"city":"Test"}"#, .test)
        #expect(try await app.master.put("/collections/_User/rules", #"{"rules":{"find":["*"]}}"#).status == 200)
        #expect(try await app.master.put("/roles/team", #"{"managers":["ada"]}"#).status == 204)
        let job = try await app.finished(app.master.post("/environment/copy"))
        #expect(job["state"] == #""done""#, "\(job)")
        let master = app.acting(as: app.principal(.master, .test))
        #expect(try await master.get("/storage/_User").ids == ["eve"])
        #expect(try await master.get("/collections/_User/rules")["rules.find"] == #"["*"]"#)
        #expect(try await master.get("/roles/team")["managers"] == #"["ada"]"#)
        try await app.publish("eve", version: 2, #"{"city":"New"}"#, .test)
        #expect(try await master.get("/storage/_User/eve")["city"] == #""New""#)
    }

    @Test func `only internal services send users, of an app and within limits`() async throws {
        let app = try await StorageApp()
        let body = #"{"app":"\#(app.id)","environment":"live","users":[]}"#
        for caller in [app.client, app.user("x"), app.master] {
            #expect(try await caller.post("/internal/users/documents", body).isProblem(.forbidden))
        }
        let service = app.acting(as: .service("auth"))
        #expect(try await service.post("/internal/users/documents", body).status == 200)
        let strange = body.replacing(app.id, with: "no-app")
        #expect(try await service.post("/internal/users/documents", strange).isProblem(.invalidBody))
        let many = Array(repeating: #"{"id":"a","version":1}"#, count: 101).joined(separator: ",")
        let tooMany = body.replacing("[]", with: "[\(many)]")
        #expect(try await service.post("/internal/users/documents", tooMany).isProblem(.limitExceeded))
    }
}

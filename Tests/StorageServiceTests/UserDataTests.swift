import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import Testing

@testable import StorageService

/// The user data that storage erases and exports at auth's request.
@Suite struct UserDataTests {
    private let anna = "0190c2a4-0000-7000-8000-00000000000a"
    private let berta = "0190c2a4-0000-7000-8000-00000000000b"

    private func body(_ app: StorageApp, _ user: String, _ environment: AppEnvironment = .live, after: String? = nil)
        throws -> String
    {
        let request = UserDataRequest(app: app.id, environment: environment, user: user, after: after)
        return String(decoding: try JSONEncoder().encode(request), as: UTF8.self)
    }

    /// Erases everything, call by call.
    private func erase(_ app: StorageApp, _ user: String, _ environment: AppEnvironment = .live) async throws
        -> [String: Int]
    {
        var erased: [String: Int] = [:]
        var place: String?
        repeat {
            let answer = try await app.acting(as: .service("auth")).post(
                "/internal/users/erase", try body(app, user, environment, after: place))
            try #require(answer.status == 200, "\(answer)")
            let slice = try JSONDecoder().decode(UserErasure.self, from: Data(answer.text.utf8))
            erased.merge(slice.erased) { $0 + $1 }
            #expect(slice.erased.values.reduce(0, +) < 2 * StoredUserData.rowsPerSlice)
            place = slice.next
        } while place != nil
        return erased
    }

    /// The lines of a complete export.
    private func export(_ app: StorageApp, _ user: String, _ environment: AppEnvironment = .live) async throws
        -> [JSONValue]
    {
        var lines: [JSONValue] = []
        var place: String?
        repeat {
            let answer = try await app.acting(as: .service("auth")).post(
                "/internal/users/export", try body(app, user, environment, after: place))
            try #require(answer.status == 200, "\(answer)")
            lines += try answer.text.split(separator: "\n").map { try JSONValue(parsing: $0.utf8) }
            place = answer.header(HeaderName.next)
        } while place != nil
        return lines
    }

    private func ids(_ app: StorageApp, _ collection: String, _ environment: AppEnvironment = .live) async throws
        -> [String]
    {
        let master = app.acting(as: app.principal(.master, environment))
        return try await master.get("/storage/\(collection)?limit=1000&deleted=true").ids.sorted()
    }

    @Test func `objects that only the user may write are erased, and the user is removed from shared ones`()
        async throws
    {
        let app = try await StorageApp()
        for (id, rights) in [
            ("own", #""_writers":["\#(anna)"]"#), ("secret", #""_readers":["\#(anna)"]"#),
            ("both", #""_readers":["\#(anna)"],"_writers":["\#(anna)"]"#),
            ("shared", #""_readers":["\#(anna)","\#(berta)"],"_writers":["\#(anna)","\#(berta)"]"#),
            ("team", #""_writers":["\#(anna)","role:team"]"#), ("hers", #""_writers":["\#(berta)"]"#),
            ("open", #""text":"\#(anna)""#),
            ("nobody", #""_writers":[]"#),
        ] {
            #expect(try await app.master.post("/storage/Notes", #"{"_id":"\#(id)",\#(rights)}"#).status == 201)
        }
        #expect(
            try await app.master.post("/storage/Notes", #"{"_id":"removed","_writers":["\#(anna)"]}"#).status == 201)
        #expect(try await app.master.post("/storage/remove/Notes/removed").status == 200)
        #expect(try await erase(app, anna) == ["objects": 4, "sharedObjects": 2])
        #expect(try await ids(app, "Notes") == ["hers", "nobody", "open", "shared", "team"])
        let shared = try await app.master.get("/storage/Notes/shared")
        #expect(
            shared["_readers"] == #"["\#(berta)"]"# && shared["_writers"] == #"["\#(berta)"]"#
                && shared["_version"] == "2", "\(shared)")
        #expect(try await app.master.get("/storage/Notes/team")["_writers"] == #"["role:team"]"#)
        // A second erasure finds nothing and changes nothing.
        #expect(try await erase(app, anna) == [:])
        #expect(try await app.master.get("/storage/Notes/shared")["_version"] == "2")
    }

    @Test func `fields by which rules let users change an object determine its owner`() async throws {
        let app = try await StorageApp()
        #expect(try await app.master.put("/roles/admin", "{}").status == 204)
        let rules =
            #"{"rules":{"update":["field:by","field:team"],"delete":["field:by","role:admin"],"get":["authenticated"]}}"#
        #expect(try await app.master.put("/collections/Posts/rules", rules).status == 200)
        #expect(
            try await app.master.put(
                "/collections/Wiki/rules", #"{"rules":{"delete":["field:by"],"get":["field:by"]}}"#
            ).status == 200)
        let pointer = #"{"__type":"Pointer","className":"_User","objectId":"\#(anna)"}"#
        for (id, doc) in [
            ("id", #""by":"\#(anna)""#), ("pointer", #""by":\#(pointer)"#), ("list", #""by":["\#(anna)"]"#),
            ("two", #""by":"\#(anna)","team":["\#(anna)"]"#),
            ("team", #""by":"\#(anna)","team":["\#(berta)","\#(anna)",\#(pointer)],"n":1.50"#),
            ("other", #""by":"\#(berta)","team":[]"#),
            ("member", #""by":"\#(berta)","team":["\#(anna)"]"#), ("text", #""by":null,"text":"\#(anna)""#),
        ] {
            #expect(try await app.master.post("/storage/Posts", #"{"_id":"\#(id)",\#(doc)}"#).status == 201)
        }
        #expect(try await app.master.post("/storage/Wiki", #"{"_id":"page","by":"\#(anna)"}"#).status == 201)
        #expect(
            try await export(app, anna).compactMap { $0["data"]?["_id"]?.text } == [
                #""id""#, #""list""#, #""pointer""#, #""two""#,
            ])
        #expect(try await erase(app, anna) == ["objects": 4, "sharedObjects": 2])
        #expect(try await ids(app, "Posts") == ["member", "other", "team", "text"])
        let team = try await app.master.get("/storage/Posts/team")
        #expect(team["by"] == nil && team["team"] == #"["\#(berta)"]"# && team["n"] == "1.50", "\(team)")
        #expect(try await app.master.get("/storage/Posts/member")["team"] == "[]")
        // Everyone may change these, so no field determines an owner.
        #expect(try await ids(app, "Wiki") == ["page"])
    }

    @Test func `a condition names the owner, and users who may change an object only in some states do not own it`()
        async throws
    {
        let app = try await StorageApp()
        let entry = #"[{"where":{"author":"$user.id"}},{"who":["field:reviewer"],"where":{"state":"review"}}]"#
        try await app.set(#"{"rules":{"update":\#(entry),"find":\#(entry),"get":\#(entry)}}"#, on: "Docs")
        for (id, doc) in [
            ("final", #""author":"\#(anna)","reviewer":"\#(berta)","state":"final""#),
            ("review", #""author":["\#(anna)"],"reviewer":["\#(berta)"],"state":"review""#),
            ("nobody", #""reviewer":"\#(berta)","state":"final""#),
            ("alone", #""author":"\#(anna)","state":"final""#),
            ("self", #""author":"\#(berta)","reviewer":"\#(berta)","state":"final""#),
        ] {
            #expect(try await app.master.post("/storage/Docs", #"{"_id":"\#(id)",\#(doc)}"#).status == 201)
        }
        #expect(try await export(app, berta).compactMap { $0["data"]?["_id"]?.text } == [#""self""#])
        #expect(try await erase(app, berta) == ["objects": 1, "sharedObjects": 3])
        #expect(try await ids(app, "Docs") == ["alone", "final", "nobody", "review"])
        let nobody = try await app.master.get("/storage/Docs/nobody")
        #expect(nobody["reviewer"] == nil && nobody["state"] == #""final""#, "\(nobody)")
        #expect(try await export(app, anna).compactMap { $0["data"]?["_id"]?.text }.count == 3)
        #expect(try await erase(app, anna) == ["objects": 3])
        #expect(try await ids(app, "Docs") == ["nobody"])
    }

    @Test func `an export omits objects that the rules do not show`() async throws {
        let app = try await StorageApp()
        try await app.set(
            #"{"rules":{"update":["field:by"],"get":[{"where":{"state":"open"}}],"find":[]}}"#, on: "Docs")
        for state in ["open", "shut"] {
            _ = try await app.master.post("/storage/Docs", #"{"_id":"\#(state)","by":"\#(anna)","state":"\#(state)"}"#)
        }
        #expect(try await export(app, anna).compactMap { $0["data"]?["_id"]?.text } == [#""open""#])
    }

    @Test func `an export has the user's objects that a moderator has hidden, each once`() async throws {
        let app = try await StorageApp()
        let rules = #"{"rules":{"update":["field:by"],"get":[{"where":{"state":"open"}}],"find":[]}}"#
        try await app.set(rules, on: "Docs")
        try await app.set(#"{"rules":{"update":["field:by"]}}"#, on: "Posts")
        let objects = [
            ("Docs", "ruled", #""by":"\#(anna)","state":"open""#), ("Notes", "hers", #""_writers":["\#(berta)"]"#),
            ("Notes", "listed", #""_writers":["\#(anna)"]"#), ("Notes", "reused", #""_writers":["\#(anna)"]"#),
            ("Posts", "named", #""by":"\#(anna)""#),
        ]
        for (collection, id, fields) in objects {
            #expect(try await app.master.post("/storage/\(collection)", #"{"_id":"\#(id)",\#(fields)}"#).status == 201)
            let report = try await app.user("eve").post("/storage/\(collection)/\(id)/report", #"{"reason":"spam"}"#)
            let number = try #require(report["id"]).filter { $0 != "\"" }
            #expect(try await app.master.post("/reports/\(number)/resolve", #"{"action":"hide"}"#)["resolved"] == "1")
        }
        let exported = try await export(app, anna).compactMap { $0["data"]?["_id"]?.text }
        #expect(exported == [#""ruled""#, #""listed""#, #""reused""#, #""named""#])
        #expect(try await app.user(anna).get("/storage/Notes/listed").isProblem(.objectNotFound))

        // An object that gets other lists from the server is not hidden any more, and may be closed for good later.
        for lists in [#"{"_writers":["\#(berta)"]}"#, #"{"_writers":[]}"#] {
            #expect(try await app.master.patch("/storage/Notes/listed", lists).status == 200)
        }
        #expect(try await app.master.delete("/storage/Notes/reused").status == 204)
        let closed = #"{"_id":"reused","_readers":[],"_writers":[]}"#
        #expect(try await app.master.post("/storage/Notes", closed).status == 201)
        let left = try await export(app, anna).compactMap { $0["data"]?["_id"]?.text }
        #expect(left == [#""ruled""#, #""named""#])
    }

    @Test func `a unique index that keeps a field from being cleared does not block the rest`() async throws {
        let app = try await StorageApp()
        #expect(
            try await app.master.put("/collections/Chats/rules", #"{"rules":{"update":["field:members"]}}"#).status
                == 200)
        for (id, members) in [("a", #""\#(anna)","\#(berta)""#), ("b", #""\#(berta)""#), ("c", #""\#(anna)""#)] {
            #expect(
                try await app.master.post(
                    "/storage/Chats", #"{"_id":"\#(id)","members":[\#(members)],"_readers":["\#(anna)","x"]}"#
                ).status == 201)
        }
        let index = try await app.master.post("/collections/Chats/indexes", #"{"fields":["members"],"unique":true}"#)
        #expect(index.status == 201, "\(index)")
        #expect(try await erase(app, anna) == ["objects": 1, "sharedObjects": 2])
        let chat = try await app.master.get("/storage/Chats/a")
        #expect(chat["members"] == #"["\#(anna)","\#(berta)"]"# && chat["_readers"] == #"["x"]"#, "\(chat)")
        #expect(try await ids(app, "Chats") == ["a", "b"])
    }

    @Test func `files, their history and roles are erased in the same way`() async throws {
        let app = try await StorageApp()
        #expect(try await app.master.put("/roles/team", #"{"add":["\#(anna)","\#(berta)"]}"#).status == 204)
        for (user, path, query) in [
            (anna, "a/own.txt", ""), (anna, "a/private.txt", "?readers=\(anna)&writers=\(anna)"),
            (anna, "a/shared.txt", "?writers=\(anna),\(berta)"),
            (berta, "b/hers.txt", ""), (berta, "b/shown.txt", "?readers=\(anna),\(berta)"), (anna, "a/gone.txt", ""),
        ] {
            let answer = try await app.user(user).put("/upload/\(path)\(query)", "text of \(path)")
            #expect(answer.status == 201, "\(answer)")
        }
        #expect(try await app.user(anna).delete("/upload/a/gone.txt").status == 204)
        let lines = try await export(app, anna)
        #expect(lines.compactMap { $0["data"]?["path"]?.text } == [#""a/own.txt""#, #""a/private.txt""#])
        #expect(lines.compactMap { $0["data"]?["name"]?.text }.first == #""team""#)
        #expect(try await erase(app, anna) == ["files": 2, "sharedFiles": 2, "roles": 1, "fileHistory": 2])
        let paths = try await app.master.get("/upload/a/")
        #expect(paths["data.0.path"] == #""a/shared.txt""# && paths["data.1"] == nil, "\(paths)")
        let shared = try await app.master.get("/upload/a/")["data.0._writers"]
        #expect(shared == #"["\#(berta)"]"#)
        #expect(try await app.master.get("/roles/team")["members"] == #"["\#(berta)"]"#)
        // The space has no trace of the user.
        for (table, rows) in try await app.everything() { #expect(!rows.contains(anna), "\(table): \(rows)") }
    }

    @Test func `environments and apps are separate`() async throws {
        let app = try await StorageApp()
        let other = app.neighbour()
        let note = #"{"_id":"n","_writers":["\#(anna)"]}"#
        for client in [app.master, app.acting(as: app.principal(.master, .test)), other.master] {
            #expect(try await client.post("/storage/Notes", note).status == 201)
        }
        #expect(try await erase(app, anna, .test) == ["objects": 1])
        #expect(try await ids(app, "Notes", .test) == [])
        #expect(try await ids(app, "Notes") == ["n"])
        #expect(try await erase(app, anna) == ["objects": 1])
        #expect(try await ids(other, "Notes") == ["n"])
    }

    @Test func `many objects are erased and exported in slices, each once, and followers see each erasure`()
        async throws
    {
        let app = try await StorageApp()
        let count = 1_234
        for start in stride(from: 0, to: count, by: 500) {
            let objects = (start..<min(start + 500, count)).map {
                #"{"_id":"o\#($0)","_writers":["\#(anna)"],"text":"\#(String(repeating: "x", count: 2_000))"}"#
            }
            #expect(try await app.master.post("/storage/all/Many", "[\(objects.joined(separator: ","))]").status == 201)
        }
        #expect(try await app.master.post("/storage/Many", #"{"_id":"other"}"#).status == 201)
        let ids = try await export(app, anna).compactMap { $0["data"]?["_id"]?.text }
        #expect(ids.count == count && Set(ids).count == count)
        let before = try await app.master.get("/changes/Many?limit=1")
        #expect(before.status == 200, "\(before)")
        #expect(try await erase(app, anna) == ["objects": count])
        #expect(try await self.ids(app, "Many") == ["other"])
        let space = try app.space()
        let deleted: Int = try await app.superuser.query(
            "SELECT count(*) FROM \(try space.own("_changes")) WHERE kind = 'd' AND collection = 'Many'")[0].decode(0)
        #expect(deleted == count)
    }

    @Test func `fields hidden from the user are not exported`() async throws {
        let app = try await StorageApp()
        #expect(try await app.master.put("/roles/admin", "{}").status == 204)
        #expect(
            try await app.master.put("/collections/Notes/rules", #"{"hidden":{"remark":["role:admin"]}}"#).status == 200
        )
        #expect(
            try await app.master.post("/storage/Notes", #"{"_id":"n","_writers":["\#(anna)"],"a":1,"remark":"rude"}"#)
                .status == 201)
        let lines = try await export(app, anna)
        #expect(
            lines.count == 1 && lines[0]["data"]?["a"]?.text == "1" && lines[0]["data"]?["remark"] == nil, "\(lines)")
        #expect(lines[0]["service"]?.text == #""storage""# && lines[0]["collection"]?.text == #""Notes""#)
    }

    @Test func `an app without data answers at once, and nothing is created for it`() async throws {
        let app = try await StorageApp()
        #expect(try await erase(app, anna) == [:])
        #expect(try await export(app, anna) == [])
        let schemas = try await app.superuser.query(
            "SELECT FROM pg_namespace WHERE nspname = \(try app.space().schema)")
        #expect(schemas.isEmpty)
    }

    @Test func `only internal services may export and erase, with a valid app, user and position`() async throws {
        let app = try await StorageApp()
        #expect(try await app.master.post("/storage/Notes", #"{"_id":"n","_writers":["\#(anna)"]}"#).status == 201)
        let good = try body(app, anna)
        for path in ["/internal/users/erase", "/internal/users/export"] {
            for client in [app.client, app.master, app.user(anna)] {
                try await app.expectRefusal(.forbidden) { try await client.post(path, good) }
            }
            let caller = app.acting(as: .service("auth"))
            for (field, text) in [
                ("user", good.replacing(anna, with: "a b")), ("app", good.replacing(app.id, with: "x-y")),
                ("after", try body(app, anna, after: "x")),
                ("after", try body(app, anna, after: Base64URL.encode("history\nx".utf8))),
            ] {
                try await app.expectRefusal(.invalidBody, field: field) { try await caller.post(path, text) }
            }
            try await app.expectRefusal(.invalidJSON) { try await caller.post(path, "x") }
            try await app.expectRefusal(.invalidBody, field: "user") {
                try await caller.post(path, #"{"app":"a","environment":"live"}"#)
            }
        }
    }
}

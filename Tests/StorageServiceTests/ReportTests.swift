import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import Testing

@testable import StorageService

/// Reports of objects, and their queue.
@Suite struct ReportTests {
    private static func app() async throws -> StorageApp {
        let app = try await StorageApp()
        for body in [
            #"{"_id":"a","by":"ann"}"#, #"{"_id":"b","by":"ann","_readers":["ann"]}"#, #"{"_id":"c","by":"ann"}"#,
        ] {
            #expect(try await app.master.post("/storage/Posts", body).status == 201)
        }
        #expect(try await app.master.post("/storage/remove/Posts/c").status == 200)
        return app
    }

    private static let report = #"{"reason":"spam"}"#

    @Test func `a user reports a readable object once, and the queue shows the report until it is resolved`()
        async throws
    {
        let app = try await Self.app()
        let (eve, ben) = (app.user("eve"), app.user("ben"))
        let first = try await eve.post("/storage/Posts/a/report", Self.report)
        #expect(first.status == 201 && first["object"] == #""a""# && first["reason"] == #""spam""#, "\(first)")
        let again = try await eve.post("/storage/Posts/a/report", #"{"reason":"again"}"#)
        #expect(again.status == 200 && again["id"] == first["id"] && again["reason"] == #""spam""#, "\(again)")
        #expect(try await ben.post("/storage/Posts/a/report", #"{"reason":"rude"}"#).status == 201)
        try await app.publish("ann", "{}")
        #expect(try await ben.post("/storage/_User/ann/report", Self.report).status == 201)

        let queue = try await app.master.get("/reports?collection=Posts")
        #expect(queue["count"] == "2" && queue["data.0.reporter"] == #""eve""#, "\(queue)")
        #expect(try await app.master.get("/reports?limit=1")["count"] == "1")
        let id = try #require(queue["data.0.id"]).filter { $0 != "\"" }
        #expect(try await app.master.get("/reports?after=\(id)")["count"] == "2")
        let resolved = try await app.master.post("/reports/\(id)/resolve", #"{"resolution":"removed"}"#)
        #expect(resolved["resolved"] == "2", "\(resolved)")
        #expect(try await app.master.post("/reports/\(id)/resolve", "{}")["resolved"] == "0")
        #expect(try await app.master.get("/reports")["count"] == "1")
        let old = try await app.master.get("/reports?state=resolved")
        #expect(old["data.1.resolution"] == #""removed""# && old["data.1.resolved"] != nil, "\(old)")
        #expect(try await eve.post("/storage/Posts/a/report", Self.report).status == 200, "not reopened")
    }

    @Test func `a user cannot report objects that they cannot read, and only the server reads the queue`()
        async throws
    {
        let app = try await Self.app()
        let eve = app.user("eve")
        for path in ["Posts/b", "Posts/c", "Posts/x", "Nothing/x"] {
            try await app.expectRefusal(.objectNotFound) { try await eve.post("/storage/\(path)/report", Self.report) }
        }
        try await app.set(#"{"rules":{"find":["ann"],"get":["ann"]}}"#, on: "Posts")
        try await app.expectRefusal(.objectNotFound) { try await eve.post("/storage/Posts/a/report", Self.report) }
        #expect(try await app.user("ann").post("/storage/Posts/a/report", Self.report).status == 201)
        let long = String(repeating: "x", count: 1_001)
        for body in ["{}", #"{"reason":""}"#, #"{"reason":"\#(long)"}"#, #"{"why":"x"}"#] {
            try await app.expectRefusal(.invalidBody) {
                try await app.user("ann").post("/storage/Posts/a/report", body)
            }
        }
        try await app.expectRefusal(.invalidToken) { try await app.client.post("/storage/Posts/a/report", Self.report) }
        for user in [app.client, eve] {
            try await app.expectRefusal(.forbidden) { try await user.get("/reports") }
            let id = UUID().uuidString.lowercased()
            try await app.expectRefusal(.forbidden) { try await user.post("/reports/\(id)/resolve", "{}") }
        }
        for query in ["state=x", "after=x", "limit=0"] {
            #expect(try await app.master.get("/reports?\(query)").isProblem(.invalidParameter))
        }
        let id = UUID().uuidString.lowercased()
        #expect(try await app.master.post("/reports/\(id)/resolve", "{}").isProblem(.notFound))
    }

    @Test func `reports are limited, follow a renamed collection, and are deleted with their reporter's account`()
        async throws
    {
        let app = try await Self.app()
        let reports = try app.space().own("_reports")
        try await app.superuser.execute(
            """
            INSERT INTO \(reports) (id, collection, object, reporter, reason)
            SELECT gen_random_uuid(), 'Posts', n::text, 'eve', 'x' FROM generate_series(1, 100) AS n
            """)
        let eve = app.user("eve")
        try await app.expectRefusal(.tooManyRequests) { try await eve.post("/storage/Posts/a/report", Self.report) }
        try await app.superuser.execute("UPDATE \(reports) SET created = created - interval '25 hours'")
        try await app.superuser.execute(
            """
            INSERT INTO \(reports) (id, collection, object, reporter, reason, created)
            SELECT gen_random_uuid(), 'Other', n::text, 'eve', 'x', now() - interval '25 hours'
            FROM generate_series(1, 400) AS n
            """)
        try await app.expectRefusal(.limitExceeded) { try await eve.post("/storage/Posts/a/report", Self.report) }
        try await app.superuser.execute("UPDATE \(reports) SET resolved = now() WHERE collection = 'Other'")
        #expect(try await eve.post("/storage/Posts/a/report", Self.report).status == 201)
        #expect(try await app.user("ben").post("/storage/Posts/a/report", Self.report).status == 201)
        #expect(try await app.master.post("/collections/Posts/rename", #"{"name":"Texts"}"#).status == 200)
        #expect(try await app.master.get("/reports?collection=Texts&limit=1000")["count"] == "102")
        let request = UserDataRequest(app: app.id, environment: .live, user: "eve")
        let body = String(decoding: try JSONEncoder().encode(request), as: UTF8.self)
        #expect(try await app.acting(as: .service("auth")).post("/internal/users/erase", body).status == 200)
        #expect(try await app.master.get("/reports")["count"] == "1")
        #expect(try await app.master.delete("/collections/Texts").status == 204)
        #expect(try await app.master.get("/reports")["count"] == "0")
    }

    // MARK: Copies

    private static func erase(_ user: String, _ app: StorageApp) async throws {
        var next: String?
        repeat {
            let request = UserDataRequest(app: app.id, environment: .live, user: user, after: next)
            let body = String(decoding: try JSONEncoder().encode(request), as: UTF8.self)
            let answer = try await app.acting(as: .service("auth")).post("/internal/users/erase", body)
            try #require(answer.status == 200, "\(answer)")
            next = try JSONDecoder().decode(UserErasure.self, from: Data(answer.text.utf8)).next
        } while next != nil
    }

    @Test func `a report keeps the object as it was, for the server and staff`() async throws {
        let app = try await Self.app()
        try await app.set(#"{"hidden":{"mail":[]}}"#, on: "Posts")
        _ = try await app.master.post(
            "/storage/Posts", #"{"_id":"own","text":"insult","mail":"x@y","_writers":["cid"]}"#)
        let eve = app.user("eve")
        let made = try await eve.post("/storage/Posts/own/report", Self.report)
        let id = try #require(made["id"]).filter { $0 != "\"" }
        #expect(try await app.user("cid").patch("/storage/Posts/own", #"{"text":"nice"}"#).status == 200)
        let again = try await eve.post("/storage/Posts/own/report", Self.report)
        #expect(!made.text.contains("insult") && !again.text.contains("insult"), "the reporter gets no copy")
        #expect(try await app.user("cid").delete("/storage/Posts/own").status == 204)
        for server in [app.master, app.staff(may: [.storage: [.read]])] {
            let report = try await server.get("/reports/\(id)")
            #expect(report["reporter"] == #""eve""# && report["resolved"] == nil && report["object"] == #""own""#)
            #expect(report["copy.text"] == #""insult""# && report["copy.mail"] == #""x@y""#, "\(report)")
            #expect(report["copy._version"] == "1" && report["copy._writers"] == #"["cid"]"#, "\(report)")
        }
        #expect(try await !app.master.get("/reports").text.contains("insult"))
        for caller in [app.client, eve, app.user("cid")] {
            #expect(try await caller.get("/reports/\(id)").isProblem(.forbidden))
        }
        let none = UUID().uuidString.lowercased()
        #expect(try await app.master.get("/reports/\(none)").isProblem(.notFound))

        let large = String(repeating: "x", count: 65_600)
        _ = try await app.master.post("/storage/Posts", #"{"_id":"large","text":"\#(large)"}"#)
        let ofLarge = try await Self.reported("large", app)
        let report = try await app.master.get("/reports/\(ofLarge)")
        #expect(report.status == 200 && report["copy"] == nil)
    }

    @Test func `a copy is deleted with the account of the object's author, even if the object is gone`() async throws {
        let app = try await Self.app()
        try await app.set(#"{"rules":{"update":["field:by"],"delete":["field:by"]}}"#, on: "Posts")
        _ = try await app.master.post("/storage/Posts", #"{"_id":"own","text":"x","_writers":["ann"]}"#)
        _ = try await app.master.post("/storage/Posts", #"{"_id":"other","by":"ben"}"#)
        try await app.publish("ann", #"{"city":"Bern"}"#)
        var ids = [try await Self.reported("own", app), try await Self.reported("a", app)]
        let ofUser = try await app.user("eve").post("/storage/_User/ann/report", Self.report)
        ids.append(try #require(ofUser["id"]).filter { $0 != "\"" })
        let other = try await Self.reported("other", app)
        for object in ["own", "a"] { #expect(try await app.master.delete("/storage/Posts/\(object)").status == 204) }
        try await Self.erase("cid", app)
        for id in ids + [other] { #expect(try await app.master.get("/reports/\(id)")["copy"] != nil) }
        try await Self.erase("ann", app)
        for id in ids {
            let report = try await app.master.get("/reports/\(id)")
            #expect(report["reason"] == #""spam""# && report["copy"] == nil, "\(report)")
        }
        #expect(try await app.master.get("/reports/\(other)")["copy.by"] == #""ben""#)
    }

    // MARK: Hiding and restoring

    /// Reports an object in the name of `eve`, and returns the report's id.
    private static func reported(_ object: String, _ app: StorageApp, by user: String = "eve") async throws -> String {
        let answer = try await app.user(user).post("/storage/Posts/\(object)/report", report)
        return try #require(answer["id"]).filter { $0 != "\"" }
    }

    private static func resolve(_ report: String, _ action: String, _ app: StorageApp) async throws -> Answer {
        try await app.master.post("/reports/\(report)/resolve", #"{"resolution":"x","action":"\#(action)"}"#)
    }

    @Test func `nobody but the server reads or changes a hidden object, and restoring gives it back its lists`()
        async throws
    {
        let app = try await Self.app()
        let (eve, ann) = (app.user("eve"), app.user("ann"))
        let lists = #"{"_readers":["ann","eve"],"_writers":["ann"]}"#
        #expect(try await app.master.patch("/storage/Posts/a", lists).status == 200)
        let id = try await Self.reported("a", app)
        let start = try await app.feed("Posts", since: nil, user: "eve").cursor
        #expect(try await Self.resolve(id, "hide", app)["resolved"] == "1")
        for user in [eve, ann, app.client] {
            #expect(try await user.get("/storage/Posts/a").isProblem(.objectNotFound))
            #expect(try await user.get("/storage/Posts/a?deleted=true").isProblem(.objectNotFound))
            #expect(try await user.get("/storage/Posts?deleted=true").ids.contains("a") == false)
            try await app.expectRefusal(.conflict, field: "_id") {
                try await user.post("/storage/Posts", #"{"_id":"a","by":"ann"}"#)
            }
            try await app.expectRefusal(.objectNotFound) {
                try await user.patch("/storage/Posts/a", #"{"_readers":null,"_writers":null}"#)
            }
            try await app.expectRefusal(.objectNotFound) { try await user.delete("/storage/Posts/a") }
        }
        let gone = try await app.feed("Posts", since: start, user: "eve")
        #expect(gone.deleted == ["a"] && gone.changed.isEmpty, "\(gone)")
        let hidden = try await app.master.get("/storage/Posts/a")
        #expect(hidden["by"] == #""ann""# && hidden["_readers"] == "[]" && hidden["_writers"] == "[]", "\(hidden)")

        #expect(try await Self.resolve(id, "hide", app)["resolved"] == "0")
        #expect(try await app.master.get("/storage/Posts/a")["_version"] == hidden["_version"], "hidden already")
        #expect(try await Self.resolve(id, "restore", app)["resolved"] == "0")
        let restored = try await eve.get("/storage/Posts/a")
        #expect(restored["_readers"] == #"["ann","eve"]"# && restored["_writers"] == #"["ann"]"#, "\(restored)")
        #expect(try await app.feed("Posts", since: gone.cursor, user: "eve").changed == ["a"])
        #expect(try await Self.resolve(id, "restore", app)["resolved"] == "0")
        #expect(try await app.master.get("/storage/Posts/a")["_version"] == restored["_version"], "not hidden")

        // Lists that the server sets replace those kept for restoring.
        #expect(try await Self.resolve(id, "hide", app).status == 200)
        for other in [#"{"_writers":["ann"]}"#, #"{"_writers":[]}"#] {
            #expect(try await app.master.patch("/storage/Posts/a", other).status == 200)
        }
        try await app.expectRefusal(.conflict) { try await Self.resolve(id, "restore", app) }
        // Those of an object that is removed while it is hidden are kept.
        #expect(try await app.master.patch("/storage/Posts/a", lists).status == 200)
        #expect(try await Self.resolve(id, "hide", app).status == 200)
        #expect(try await app.master.post("/storage/remove/Posts/a").status == 200)
        #expect(try await Self.resolve(id, "restore", app).status == 200)
        #expect(try await app.master.get("/storage/Posts/a?deleted=true")["_writers"] == #"["ann"]"#)
    }

    @Test func `a hidden object leaves the streams and feeds of followers`() async throws {
        let app = try await Self.app()
        let id = try await Self.reported("a", app)
        let (stream, principal) = (LiveStream(), app.principal(.client))
        let follower = Task { [live = app.live] in try await stream.follow(live, "Posts", as: principal) }
        defer { follower.cancel() }
        try await stream.waitForOpen()
        for action in ["hide", "restore"] { #expect(try await Self.resolve(id, action, app).status == 200) }
        try await stream.wait(for: 2)
        #expect(stream.lines == ["leave a", "enter a"])
        #expect(stream.events[0].data["object"] == nil)
    }

    @Test func `an object can be hidden even if its author removed it, or if it does not fit a later schema`()
        async throws
    {
        let app = try await Self.app()
        let schema = #"{"properties":{"by":{"type":"number"}}}"#
        #expect(try await app.master.put("/collections/Posts/schema?allowExisting=true", schema).status == 200)
        let id = try await Self.reported("a", app)
        #expect(try await app.user("ann").post("/storage/remove/Posts/a").status == 200)
        #expect(try await Self.resolve(id, "hide", app)["resolved"] == "1")
        #expect(try await app.client.get("/storage/Posts/a?deleted=true").isProblem(.objectNotFound))
        try await app.expectRefusal(.conflict, field: "_id") {
            try await app.user("ann").post("/storage/Posts", #"{"_id":"a","by":1}"#)
        }
        #expect(try await Self.resolve(id, "restore", app)["resolved"] == "0")
        let restored = try await app.client.get("/storage/Posts/a?deleted=true")
        #expect(restored["by"] == #""ann""# && restored["deleted"] != "null" && restored["_readers"] == nil)
    }

    @Test func `hiding or restoring an object that does not allow it is refused, and its report stays open`()
        async throws
    {
        let app = try await Self.app()
        let id = try await Self.reported("a", app)
        for body in [#"{"action":"remove"}"#, #"{"action":1}"#] {
            try await app.expectRefusal(.invalidBody, field: "action") {
                try await app.master.post("/reports/\(id)/resolve", body)
            }
        }
        let hide = #"{"action":"hide"}"#
        for caller in [app.client, app.user("ann"), app.staff(may: [.storage: [.read]])] {
            try await app.expectRefusal(.forbidden) { try await caller.post("/reports/\(id)/resolve", hide) }
        }
        #expect(try await app.master.patch("/storage/Posts/a", #"{"_readers":[],"_writers":[]}"#).status == 200)
        try await app.expectRefusal(.conflict) { try await Self.resolve(id, "restore", app) }
        #expect(try await app.master.delete("/storage/Posts/a").status == 204)
        try await app.expectRefusal(.objectNotFound) { try await Self.resolve(id, "hide", app) }
        try await app.publish("ann", "{}")
        let user = try await app.user("eve").post("/storage/_User/ann/report", Self.report)
        let ofUser = try #require(user["id"]).filter { $0 != "\"" }
        try await app.expectRefusal(.forbidden) { try await Self.resolve(ofUser, "hide", app) }
        let none = UUID().uuidString.lowercased()
        try await app.expectRefusal(.notFound) { try await Self.resolve(none, "hide", app) }
    }

    @Test func `staff who may update storage can hide objects, and erased users leave the lists kept for restoring`()
        async throws
    {
        let app = try await Self.app()
        #expect(try await app.master.patch("/storage/Posts/a", #"{"_writers":["ann","ben"]}"#).status == 200)
        let id = try await Self.reported("a", app)
        let staff = app.staff(may: [.storage: [.update]])
        #expect(try await staff.post("/reports/\(id)/resolve", #"{"action":"hide"}"#)["resolved"] == "1")
        #expect(try await app.user("ann").get("/storage/Posts/a").isProblem(.objectNotFound))
        let request = UserDataRequest(app: app.id, environment: .live, user: "ben")
        let body = String(decoding: try JSONEncoder().encode(request), as: UTF8.self)
        #expect(try await app.acting(as: .service("auth")).post("/internal/users/erase", body).status == 200)
        #expect(try await Self.resolve(id, "restore", app).status == 200)
        #expect(try await app.master.get("/storage/Posts/a")["_writers"] == #"["ann"]"#)
    }

    @Test func `a hidden object that only its author could change is deleted with the author's account`() async throws {
        let app = try await Self.app()
        _ = try await app.master.post("/storage/Posts", #"{"_id":"own","text":"x","_writers":["cid"]}"#)
        _ = try await Self.resolve(try await Self.reported("own", app), "hide", app)
        try await Self.erase("cid", app)
        #expect(try await app.master.get("/storage/Posts/own?deleted=true").isProblem(.objectNotFound))
    }
}

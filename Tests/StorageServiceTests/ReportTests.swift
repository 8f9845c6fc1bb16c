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

    @Test func `a user reports what they can read, once, and the queue shows it until it is resolved`() async throws {
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

    @Test func `what a user cannot read cannot be reported, and only the server reads the queue`() async throws {
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

    @Test func `reports are limited, follow a renamed collection, and go with their reporter`() async throws {
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
}

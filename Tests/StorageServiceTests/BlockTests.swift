import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import ServiceTesting
import Testing

@testable import StorageService

/// Users who block others, and rules that read these blocks.
@Suite struct BlockTests {
    private static let rules = #"""
        {"rules":{"find":[{"where":{"author":{"$nin":"$user.blocked"}}}],
                  "get":[{"where":{"author":{"$nin":"$user.blocked"}}}],
                  "count":["*"],
                  "create":[{"where":{"to":{"$nin":"$user.blockedBy"}}}]}}
        """#

    private static func app() async throws -> StorageApp {
        let app = try await StorageApp()
        try await app.set(rules, on: "Posts")
        let pointer = #"{"__type":"Pointer","className":"_User","objectId":"eve"}"#
        let posts = #"""
            [{"_id":"a","author":"ann"},{"_id":"e1","author":"eve"},{"_id":"e2","author":\#(pointer)},
             {"_id":"e3","author":["ann","eve"]},{"_id":"n"},{"_id":"o","author":{"name":"eve"}}]
            """#
        #expect(try await app.master.post("/storage/all/Posts", posts).status == 201)
        return app
    }

    private func seen(_ caller: ServiceClient) async throws -> [String] {
        let page = try await caller.get("/storage/Posts?order=_id")
        return page.text.matches(of: /"_id":"([a-z0-9]+)"/).map { String($0.1) }
    }

    @Test func `objects of a blocked user are hidden from the user who blocked them, until they are unblocked`()
        async throws
    {
        let app = try await Self.app()
        let (ben, eve) = (app.user("ben"), app.user("eve"))
        let all = ["a", "e1", "e2", "e3", "n", "o"]
        #expect(try await seen(ben) == all)
        for _ in 0..<2 { #expect(try await ben.put("/auth/me/blocks/eve", "").status == 204) }
        #expect(try await seen(ben) == ["a", "n", "o"])
        #expect(try await ben.get("/storage/Posts/e2").isProblem(.objectNotFound))
        for other in [eve, app.user("ann"), app.client] { #expect(try await seen(other) == all) }
        // A blocked user cannot write to the user who blocked them, and others can.
        try await app.expectRefusal(.forbidden) { try await eve.post("/storage/Posts", #"{"to":"ben"}"#) }
        #expect(try await eve.post("/storage/Posts", #"{"_id":"x","to":"ann"}"#).status == 201)
        #expect(try await app.user("ann").post("/storage/Posts", #"{"_id":"y","to":"ben"}"#).status == 201)
        let list = try await ben.get("/auth/me/blocks")
        #expect(list["count"] == "1" && list["data.0.user"] == #""eve""# && list["data.0.created"] != nil, "\(list)")
        for _ in 0..<2 { #expect(try await ben.delete("/auth/me/blocks/eve").status == 204) }
        #expect(try await ben.get("/auth/me/blocks")["count"] == "0")
        #expect(try await ben.get("/storage/Posts/e2").status == 200)
    }

    @Test func `an open stream no longer shows what a blocked user writes`() async throws {
        let app = try await Self.app()
        let stream = LiveStream()
        var principal = app.principal(.client)
        principal.userID = "ben"
        let follower = Task { [principal, live = app.live] in try await stream.follow(live, "Posts", as: principal) }
        defer { follower.cancel() }
        try await stream.waitForOpen()
        _ = try await app.master.patch("/storage/Posts/e1", #"{"n":1}"#)
        try await stream.wait(for: 1)
        #expect(try await app.user("ben").put("/auth/me/blocks/eve", "").status == 204)
        _ = try await app.master.patch("/storage/Posts/e1", #"{"n":2}"#)
        _ = try await app.master.patch("/storage/Posts/a", #"{"n":2}"#)
        try await stream.wait(for: 2)
        #expect(stream.lines.contains("update a") && stream.lines.filter { $0 == "update e1" }.count == 1)
    }

    @Test func `users block only for themselves, within limits`() async throws {
        let app = try await Self.app()
        let ben = app.user("ben")
        for (method, path) in [("GET", ""), ("PUT", "/eve"), ("DELETE", "/eve")] {
            try await app.expectRefusal(.invalidToken) { try await app.client.send(method, "/auth/me/blocks\(path)") }
        }
        #expect(try await ben.put("/auth/me/blocks/ben", "").isProblem(.invalidParameter))
        #expect(try await ben.put("/auth/me/blocks/a%20b", "").isProblem(.invalidParameter))
        let table = try app.space().own("_blocks")
        _ = try await app.superuser.execute(
            "INSERT INTO \(table) (member, blocked) SELECT 'ben', 'u' || i FROM generate_series(1, 1000) AS i")
        #expect(try await ben.put("/auth/me/blocks/eve", "").isProblem(.limitExceeded))
        #expect(try await ben.put("/auth/me/blocks/u7", "").status == 204, "blocked already")
        #expect(try await ben.delete("/auth/me/blocks/u7").status == 204)
        #expect(try await ben.put("/auth/me/blocks/eve", "").status == 204)
        for rules in [#"{"author":"$user.blocked"}"#, #"{"n":{"$gt":"$user.blockedBy"}}"#] {
            #expect(
                try await app.master.put("/collections/Posts/rules", #"{"rules":{"find":[{"where":\#(rules)}]}}"#)
                    .isProblem(.invalidFilter))
        }
    }

    @Test func `a search for people omits blocked users`() async throws {
        let app = try await Self.app()
        for user in ["ann", "eve"] { try await app.publish(user, "{}") }
        try await app.set(#"{"rules":{"find":[{"where":{"_id":{"$nin":"$user.blocked"}}}]}}"#, on: "_User")
        #expect(try await app.user("ann").get("/storage/_User")["count"] == "2")
        #expect(try await app.user("ann").put("/auth/me/blocks/eve", "").status == 204)
        #expect(try await app.user("ann").get("/storage/_User")["data.0._id"] == #""ann""#)
        #expect(try await app.user("ann").get("/storage/_User")["count"] == "1")
    }
}

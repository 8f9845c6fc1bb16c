import MartletAPI
import MartletCore
import MartletTesting
import Testing

@testable import StorageService

/// `$user.<field>` and `$user.emailVerified` in rules.
@Suite struct ProfileConditionTests {
    /// `ann` is in Bern and verified, `bob` has an empty profile, `new` has no document, `out` is disabled.
    private static func app() async throws -> StorageApp {
        let app = try await StorageApp()
        try await app.publish(
            "ann", verified: true,
            #"{"city":"Bern","level":3,"teams":["red","blue"],"none":null,"emailVerified":false,"friend":"o2","banned":false}"#
        )
        try await app.publish("bob", #"{"emailVerified":true}"#)
        try await app.publish("out", version: 1, verified: true, #"{"city":"Bern","level":3}"#)
        try await app.publish("out", version: 2, nil)
        for body in [
            #"{"_id":"o1","city":"Bern","level":3,"team":"red","cities":["Rome","Bern"],"flag":true}"#,
            #"{"_id":"o2","city":"Rome","level":4,"team":"green","cities":[],"flag":false}"#,
            #"{"_id":"o3","level":2,"team":["blue"],"city":null}"#,
        ] { #expect(try await app.master.post("/storage/Places", body).status == 201) }
        return app
    }

    static let conditions: [(String, [String], [String])] = [
        (#"{"city":"$user.city"}"#, ["o1"], []),
        (#"{"cities":"$user.city"}"#, ["o1"], []),
        (#"{"city":{"$in":["Rome","$user.city"]}}"#, ["o1", "o2"], ["o2"]),
        (#"{"city":{"$ne":"$user.city"}}"#, ["o2", "o3"], ["o1", "o2", "o3"]),
        (#"{"level":{"$lte":"$user.level"}}"#, ["o1", "o3"], []),
        (#"{"team":{"$in":"$user.teams"}}"#, ["o1", "o3"], []),
        (#"{"team":{"$nin":"$user.teams"}}"#, ["o2"], ["o1", "o2", "o3"]),
        (#"{"city":"$user.none"}"#, [], []),
        (#"{"city":"$user.nothing"}"#, [], []),
        (#"{"_id":"$user.friend"}"#, ["o2"], []),
        (#"{"$user.city":"Bern","level":{"$gt":2}}"#, ["o1", "o2"], []),
        (#"{"$user.level":{"$gte":3}}"#, ["o1", "o2", "o3"], []),
        (#"{"$user.level":{"$gt":3}}"#, [], []),
        (#"{"$user.teams":{"$all":["red","blue"]}}"#, ["o1", "o2", "o3"], []),
        (#"{"$user.emailVerified":true}"#, ["o1", "o2", "o3"], []),
        (#"{"$user.emailVerified":false}"#, [], ["o1", "o2", "o3"]),
        (#"{"flag":"$user.emailVerified"}"#, ["o1"], ["o2"]),
        (#"{"$user.banned":{"$ne":true}}"#, ["o1", "o2", "o3"], ["o1", "o2", "o3"]),
        (#"{"$nor":[{"$user.city":"Bern"}]}"#, [], ["o1", "o2", "o3"]),
        (#"{"$or":[{"$user.city":"Bern"},{"_id":"o3"}]}"#, ["o1", "o2", "o3"], ["o3"]),
    ]

    @Test(arguments: conditions)
    func `a condition reads the caller's profile, and admits nobody without one`(
        _ condition: String, _ ann: [String], _ bob: [String]
    ) async throws {
        let app = try await Self.app()
        try await app.set(
            #"{"rules":{"find":[{"where":\#(condition)}],"get":[{"where":\#(condition)}]}}"#, on: "Places")
        let path = "/storage/Places?order=_id"
        #expect(try await app.user("ann").get(path).ids == ann)
        #expect(try await app.user("bob").get(path).ids == bob)
        for user in ["new", "out"] { #expect(try await app.user(user).get(path).ids == [], "\(user)") }
        #expect(try await app.client.get(path).isProblem(.forbidden))
        #expect(try await app.user("ann").get("/storage/Places/o1").status == (ann.contains("o1") ? 200 : 404))
        #expect(try await app.user("new").get("/storage/Places/o1").status == 404)
    }

    @Test func `writes are checked against the profile, with every element that they add`() async throws {
        let app = try await Self.app()
        try await app.set(
            #"{"rules":{"create":[{"where":{"$user.emailVerified":true,"city":"$user.city"}}],"update":[{"where":{"$new.level":{"$lte":"$user.level"}}}]}}"#,
            on: "Places")
        let (ann, bob) = (app.user("ann"), app.user("bob"))
        #expect(try await ann.post("/storage/Places", #"{"city":"Bern"}"#).status == 201)
        for (user, body) in [
            (ann, #"{"city":"Rome"}"#), (ann, #"{"city":["Bern","Rome"]}"#), (ann, "{}"), (bob, #"{"city":"Bern"}"#),
            (bob, "{}"), (app.user("out"), #"{"city":"Bern"}"#),
        ] { try await app.expectRefusal(.forbidden) { try await user.post("/storage/Places", body) } }
        #expect(try await ann.patch("/storage/Places/o1", #"{"level":1}"#).status == 200)
        try await app.expectRefusal(.forbidden) { try await ann.patch("/storage/Places/o1", #"{"level":4}"#) }
    }

    @Test func `a changed profile counts at the next request, and for the next event of an open stream`() async throws {
        let app = try await Self.app()
        try await app.set(#"{"rules":{"find":[{"where":{"city":"$user.city"}}]}}"#, on: "Places")
        let stream = LiveStream()
        var principal = app.principal(.client)
        principal.userID = "bob"
        let follower = Task { [principal, live = app.live] in try await stream.follow(live, "Places", as: principal) }
        defer { follower.cancel() }
        try await stream.waitForOpen()
        _ = try await app.master.post("/storage/Places", #"{"_id":"a","city":"Bern"}"#)
        try await app.publish("bob", version: 2, #"{"city":"Bern"}"#)
        #expect(try await app.user("bob").get("/storage/Places?order=_id").ids == ["a", "o1"])
        _ = try await app.master.post("/storage/Places", #"{"_id":"b","city":"Bern"}"#)
        try await stream.wait(for: 1)
        try await app.publish("bob", version: 3, #"{"city":"Rome"}"#)
        _ = try await app.master.post("/storage/Places", #"{"_id":"c","city":"Bern"}"#)
        _ = try await app.master.post("/storage/Places", #"{"_id":"d","city":"Rome"}"#)
        try await eventually("the last event has arrived") { stream.lines.last == "create d" }
        #expect(!stream.lines.contains("create c"), "\(stream.lines)")
    }

    @Test(arguments: [
        (#"{"find":[{"where":{"x":"$user._id"}}]}"#, "rules.find.0.where"),
        (#"{"find":[{"where":{"x":"$user.id.y"}}]}"#, "rules.find.0.where"),
        (#"{"find":[{"where":{"place":{"$nearSphere":"$user.place"}}}]}"#, "rules.find.0.where"),
        (#"{"find":[{"where":{"created":"$user.born"}}]}"#, "rules.find.0.where"),
        (#"{"create":[{"where":{"$user.city":"$new.city"}}]}"#, "rules.create.0.where"),
        (#"{"update":[{"operations":{"x":{"AddUnique":["$user.city"]}}}]}"#, "rules.update.0"),
    ])
    func `a variable in the wrong place is refused`(_ rules: String, _ field: String) async throws {
        let app = try await Self.app()
        let answer = try await app.master.put("/collections/Places/rules", #"{"rules":\#(rules)}"#)
        #expect(answer.isProblem(.invalidFilter), "\(answer)")
        #expect(answer["field"]?.contains(field) == true, "\(answer)")
    }
}

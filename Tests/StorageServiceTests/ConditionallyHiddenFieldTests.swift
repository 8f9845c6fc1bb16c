import Foundation
import MartletAPI
import MartletCore
import MartletTesting
import Testing

@testable import StorageService

/// A field that a condition on the object shows to some callers. No path shows the field or its value to others.
@Suite struct ConditionallyHiddenFieldTests {
    /// `place` of `a` is for ann, that of `b` for eve.
    private static func app() async throws -> StorageApp {
        let app = try await StorageApp()
        let body = #"""
            [{"_id":"a","owner":"ann","place":"secret1","n":1},
            {"_id":"b","owner":"eve","place":"secret2","n":2}]
            """#
        #expect(try await app.master.post("/storage/all/Bikes", body).status == 201)
        let bikes = ["a", "b"].map { #"{"__type":"Pointer","className":"Bikes","objectId":"\#($0)"}"# }
        let links = #"{"_id":"l","word":"x","bikes":[\#(bikes.joined(separator: ","))],"bike":\#(bikes[0])}"#
        #expect(try await app.master.post("/storage/Links", links).status == 201)
        try await app.set(#"{"hidden":{"place":[{"where":{"owner":"$user.id"}}]}}"#, on: "Bikes")
        return app
    }

    @Test(arguments: [("ann", "secret1"), ("eve", "secret2"), (nil, nil)] as [(String?, String?)])
    func `objects are shown with the field only to those for whom the condition holds`(
        _ user: String?, _ secret: String?
    ) async throws {
        let app = try await Self.app()
        let client = user.map { app.user($0) } ?? app.client
        let answers = [
            try await client.get("/storage/Bikes/a"), try await client.get("/storage/Bikes/b"),
            try await client.get("/storage/Bikes?keys=place"), try await client.get("/storage/Bikes?cursor=&order=-n"),
            try await client.post("/storage/query/Bikes?count=true", #"{"n":{"$gte":1}}"#),
            try await client.get("/storage/Links?include=bikes,bike"), try await client.get("/changes/Bikes"),
            try await client.get("/changes/Bikes?keys=place"),
            try await client.patch("/storage/Bikes/a", #"{"n":1}"#),
            try await client.patch("/storage/Bikes/b", #"{"n":2}"#),
            try await client.post(
                "/storage/batch", #"{"requests":[{"method":"PATCH","path":"storage/Bikes/a","body":{"n":1}}]}"#),
        ]
        for (number, answer) in answers.enumerated() {
            #expect(answer.status == 200, "\(number) \(answer)")
            for other in ["secret1", "secret2"] where other != secret {
                #expect(!answer.text.contains(other), "\(number) \(answer)")
            }
        }
        guard let secret else { return }
        for number in [2, 3, 4, 5, 6, 7] { #expect(answers[number].text.contains(secret), "\(number)") }
    }

    /// Callers who see the field in some objects cannot use it either: a filter would reveal its values in the others.
    @Test(arguments: ["ann", "eve", "bob", nil] as [String?])
    func `no query, stream or feed can use the hidden field`(_ user: String?) async throws {
        let app = try await Self.app()
        let client = user.map { app.user($0) } ?? app.client
        let filter = #"{"place":"secret1"}"#
        let nested = #"{"$or":[{"n":1},{"$nor":[{"place":{"$ne":"secret1"}}]}]}"#
        for body in [filter, nested, #"{"place":{"$exists":true}}"#, #"{"place.x":null}"#] {
            let encoded = try #require(body.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
            let answers = [
                try await client.post("/storage/query/Bikes", body),
                try await client.post("/storage/query/Bikes?count=true&limit=0", body),
                try await client.get("/storage/Bikes?where=\(encoded)"),
                try await client.get("/live/Bikes?where=\(encoded)"),
                try await client.get("/changes/Bikes?where=\(encoded)"),
                try await client.post("/storage/distinct/Bikes", #"{"field":"n","where":\#(body)}"#),
                try await client.post(
                    "/storage/aggregate/Bikes", #"{"values":{"n":{"$count":true}},"where":\#(body)}"#),
                try await client.post(
                    "/storage/query/Links", #"{"bike":{"$inQuery":{"className":"Bikes","where":\#(body)}}}"#),
                try await client.post(
                    "/storage/query/Links", #"{"bike":{"$notInQuery":{"className":"Bikes","where":\#(body)}}}"#),
            ]
            for (number, answer) in answers.enumerated() {
                #expect(
                    answer.isProblem(.forbidden) && answer["field"]?.contains("place") == true, "\(number) \(answer)")
            }
        }
        for (path, body) in [
            ("query/Bikes?order=place", "{}"), ("query/Bikes?order=n,-place&cursor=", "{}"),
            ("query/Bikes?include=place", "{}"),
            ("distinct/Bikes", #"{"field":"place"}"#), ("aggregate/Bikes", #"{"group":["place"]}"#),
            ("aggregate/Bikes", #"{"values":{"x":{"$min":"place"}}}"#),
            ("aggregate/Bikes", #"{"values":{"x":{"$sum":"place"}}}"#),
            ("query/Links", #"{"word":{"$select":{"query":{"className":"Bikes","where":{}},"key":"place"}}}"#),
            ("query/Links", #"{"word":{"$dontSelect":{"query":{"className":"Bikes","where":{}},"key":"place"}}}"#),
            ("query/Links", #"{"bike":{"$inQuery":{"className":"Bikes","where":{},"order":"place","limit":1}}}"#),
        ] {
            let answer = try await client.post("/storage/\(path)", body)
            #expect(answer.isProblem(.forbidden, field: "place"), "\(path) \(body): \(answer)")
        }
    }

    @Test func `an event shows the field only if the condition holds for the state that it reports`()
        async throws
    {
        let app = try await Self.app()
        try await following(app, ["ann", "eve"]) { streams in
            _ = try await app.master.patch("/storage/Bikes/a", #"{"place":"secret3"}"#)
            for stream in streams { try await stream.wait(for: 1) }
            _ = try await app.master.patch("/storage/Bikes/a", #"{"owner":"eve","place":"secret4"}"#)
            for stream in streams { try await stream.wait(for: 2) }
            _ = try await app.master.delete("/storage/Bikes/a")
            for stream in streams { try await stream.wait(for: 3) }
            let shown = streams.map { $0.events.map { $0.data["object"]?["place"]?.text } }
            #expect(shown == [[#""secret3""#, nil, nil], [nil, #""secret4""#, #""secret4""#]])
        }
    }

    /// A condition on the document, and conditions on system fields, which change with each write.
    @Test(arguments: [
        #"{"owner":"$user.id"}"#, #"{"owner":{"$exists":true},"_version":1}"#, #"{"_readers":null}"#,
    ]) func `a missed event does not show a field that has been hidden since`(_ condition: String) async throws {
        let app = try await StorageApp()
        #expect(try await app.master.post("/storage/Bikes", #"{"_id":"z","owner":"x","place":"y"}"#).status == 201)
        try await app.set(#"{"hidden":{"place":[{"where":\#(condition)}]}}"#, on: "Bikes")
        let start = try await app.feed("Bikes", since: nil, user: "ann").cursor
        var cursor = ""
        try await following(app, ["ann"]) { streams in cursor = streams[0].cursor ?? "" }
        _ = try await app.master.post("/storage/Bikes", #"{"_id":"a","owner":"ann","place":"secret1"}"#)
        _ = try await app.master.patch("/storage/Bikes/a", #"{"owner":"eve","n":1,"_readers":["ann"]}"#)
        _ = try await app.master.post("/storage/Bikes", #"{"_id":"last"}"#)
        #expect(!(try await app.user("ann").get("/changes/Bikes?since=\(start)").text.contains("secret1")))
        try await following(app, ["ann"], since: cursor) { streams in
            try await streams[0].wait(for: 3)
            #expect(streams[0].lines == ["create a", "update a", "create last"])
            #expect(!streams[0].events.contains { $0.data.text.contains("secret1") })
        }
    }

    @Test func `a user's export has the field only of objects that show it to the user`() async throws {
        let app = try await StorageApp()
        let (ann, eve) = ("0190c2a4-0000-7000-8000-00000000000a", "0190c2a4-0000-7000-8000-00000000000b")
        for (id, reviewer) in [("a", ann), ("b", eve)] {
            let body = #"{"_id":"\#(id)","owner":"\#(ann)","reviewer":"\#(reviewer)","remark":"secret-\#(id)"}"#
            #expect(try await app.master.post("/storage/Papers", body).status == 201)
        }
        try await app.set(
            #"""
            {"rules":{"get":["field:owner"],"update":["field:owner"],"delete":["field:owner"]},
            "hidden":{"remark":[{"where":{"reviewer":"$user.id"}}]}}
            """#, on: "Papers")
        var (text, next): (String, String?) = ("", nil)
        repeat {
            let request = UserDataRequest(app: app.id, environment: .live, user: ann, after: next)
            let body = String(decoding: try JSONEncoder().encode(request), as: UTF8.self)
            let answer = try await app.acting(as: .service("auth")).post("/internal/users/export", body)
            try #require(answer.status == 200, "\(answer)")
            text += answer.text
            next = answer.header(HeaderName.next)
        } while next != nil
        #expect(text.contains(#""_id":"a""#) && text.contains(#""_id":"b""#), "\(text)")
        #expect(text.contains("secret-a") && !text.contains("secret-b"), "\(text)")
    }

    /// Follows as several users at once.
    private func following(
        _ app: StorageApp, _ users: [String], since: String? = nil, _ body: ([LiveStream]) async throws -> Void
    ) async throws {
        let streams = users.map { _ in LiveStream() }
        let followers = zip(users, streams).map { user, stream in
            var principal = app.principal(.client)
            principal.userID = user
            return Task { [principal, live = app.live] in
                try await stream.follow(live, "Bikes", as: principal, since: since)
            }
        }
        defer { for follower in followers { follower.cancel() } }
        for stream in streams { try await stream.waitForOpen() }
        try await body(streams)
    }
}

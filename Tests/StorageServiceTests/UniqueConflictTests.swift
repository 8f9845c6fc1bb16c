import MartletAPI
import MartletCore
import MartletTesting
import Testing

@testable import StorageService

/// What the refusal of a write reveals about the object that already has the values or the id: docs/SECURITY.md,
/// "Hidden fields".
@Suite struct UniqueConflictTests {
    /// Ann sees `mine` and `other`, and not Eve's `e-9`. No two objects have the same `code`.
    private static func app(_ rules: String) async throws -> StorageApp {
        let app = try await StorageApp()
        let body = #"""
            [{"_id":"mine","owner":"ann","code":"mine"},{"_id":"other","owner":"ann","code":"seen"},
            {"_id":"e-9","owner":"eve","code":"unseen"}]
            """#
        #expect(try await app.master.post("/storage/all/Notes", body).status == 201)
        let index = try await app.master.post("/collections/Notes/indexes", #"{"fields":["code"],"unique":true}"#)
        #expect(index.status == 201, "\(index)")
        try await app.set(rules, on: "Notes")
        return app
    }

    private static let own = #"""
        {"rules":{"find":["field:owner"],"get":["field:owner"],"delete":["field:owner"],
        "create":[{"where":{"owner":"$user.id"}}],"update":[{"where":{"owner":"$user.id"}}]}}
        """#

    /// A way to write an object with this owner and code, which changes nothing if it is refused.
    private struct Way: Sendable {
        var name: String
        var send: @Sendable (ServiceClient, _ owner: String, _ code: String) async throws -> Answer

        static let all = [
            Way(name: "POST") { try await $0.post("/storage/Notes", #"{"owner":"\#($1)","code":"\#($2)"}"#) },
            Way(name: "POST with a new id") {
                try await $0.post("/storage/Notes", #"{"_id":"new","owner":"\#($1)","code":"\#($2)"}"#)
            },
            Way(name: "POST with an id") {
                try await $0.post("/storage/Notes", #"{"_id":"mine","owner":"\#($1)","code":"\#($2)"}"#)
            },
            Way(name: "PUT") { try await $0.put("/storage/Notes/mine", #"{"owner":"\#($1)","code":"\#($2)"}"#) },
            Way(name: "PATCH") { try await $0.patch("/storage/Notes/mine", #"{"owner":"\#($1)","code":"\#($2)"}"#) },
            Way(name: "PATCH or create") {
                try await $0.patch("/storage/Notes/new?upsert=true", #"{"owner":"\#($1)","code":"\#($2)"}"#)
            },
            Way(name: "bulk") {
                let good = #"{"owner":"ann","code":"good"}"#
                return try await $0.post("/storage/all/Notes", #"[\#(good),{"owner":"\#($1)","code":"\#($2)"}]"#)
            },
            Way(name: "bulk with an id") {
                try await $0.post("/storage/all/Notes", #"[{"_id":"mine","owner":"\#($1)","code":"\#($2)"}]"#)
            },
            Way(name: "transaction") { try await $0.post("/storage/batch", batch($1, $2, isTransaction: true)) },
        ]

        static func batch(_ owner: String, _ code: String, isTransaction: Bool) -> String {
            let body = #"{"owner":"\#(owner)","code":"\#(code)"}"#
            return #"""
                {"requests":[{"method":"POST","path":"storage/Notes","body":\#(body)},
                {"method":"PUT","path":"storage/Notes/mine","body":\#(body)},
                {"method":"PATCH","path":"storage/Notes/mine","body":\#(body)}],"transaction":\#(isTransaction)}
                """#
        }
    }

    @Test func `a conflict with an unreadable object reveals no more than one with a readable object`()
        async throws
    {
        let app = try await Self.app(Self.own)
        try await expectSameRefusal(.conflict, of: ["seen", "unseen"], for: "ann", in: app)
    }

    @Test func `a write that the rules refuse gets the same answer whether or not its values are taken`() async throws {
        let app = try await Self.app(Self.own)
        try await expectSameRefusal(.forbidden, of: ["unseen", "free"], for: "bob", in: app)
    }

    @Test func `a field hidden by a condition does not reveal its values in other objects`() async throws {
        let app = try await Self.app(#"{"hidden":{"code":[{"where":{"owner":"$user.id"}}]}}"#)
        let ann = app.user("ann")
        // Ann learns that the value is taken, whether she may read the field or not: this is documented.
        for code in ["seen", "unseen"] {
            try await app.expectRefusal(.conflict) {
                try await ann.post("/storage/Notes", #"{"owner":"ann","code":"\#(code)"}"#)
            }
        }
        for code in ["unseen", "free"] {
            let body = #"{"owner":"bob","code":"\#(code)"}"#
            for request in [
                { try await ann.post("/storage/Notes", body) },
                { try await ann.post("/storage/all/Notes", "[\(body)]") },
                { try await ann.patch("/storage/Notes/new?upsert=true", body) },
                { try await ann.patch("/storage/Notes/e-9", #"{"code":"\#(code)"}"#) },
                { try await ann.put("/storage/Notes/e-9", #"{"owner":"eve","code":"\#(code)"}"#) },
            ] as [() async throws -> Answer] { try await app.expectRefusal(.forbidden, request) }
            for isTransaction in [true, false] {
                let answer = try await ann.post(
                    "/storage/batch",
                    #"{"requests":[{"method":"POST","path":"storage/Notes","body":\#(body)}],"transaction":\#(isTransaction)}"#
                )
                #expect((isTransaction ? "\(answer.status)" : answer["data.0.status"]) == "403", "\(answer)")
            }
        }
    }

    @Test func `the id of an unreadable object is reported as taken, whatever else is written`() async throws {
        let app = try await Self.app(Self.own)
        let ann = app.user("ann")
        for code in ["unseen", "free"] {
            let body = #"{"_id":"e-9","owner":"ann","code":"\#(code)"}"#
            try await app.expectRefusal(.conflict) { try await ann.post("/storage/Notes", body) }
            try await app.expectRefusal(.conflict) { try await ann.post("/storage/all/Notes", "[\(body)]") }
            try await app.expectRefusal(.objectNotFound) { try await ann.put("/storage/Notes/e-9", body) }
            try await app.expectRefusal(.objectNotFound) { try await ann.patch("/storage/Notes/e-9", body) }
            try await app.expectRefusal(.objectNotFound) { try await ann.delete("/storage/Notes/e-9") }
            try await app.expectRefusal(.preconditionFailed) {
                try await ann.patch("/storage/Notes/e-9?upsert=true", body)
            }
        }
    }

    /// Expects that no way to write an object of this owner tells one code from the other.
    private func expectSameRefusal(
        _ code: ErrorCode, of codes: [String], for owner: String, in app: StorageApp
    ) async throws {
        let ann = app.user("ann")
        for way in Way.all {
            var answers: [String] = []
            for value in codes {
                try await app.expectRefusal(code) {
                    let answer = try await way.send(ann, owner, value)
                    answers.append(answer.text)
                    return answer
                }
            }
            #expect(answers == [answers[0], answers[0]], "\(way.name)")
            for word in ["e-9", "unseen", "23505"] { #expect(!answers[0].contains(word), "\(answers)") }
        }
        var batches: [String] = []
        for value in codes {
            let answer = try await ann.post("/storage/batch", Way.batch(owner, value, isTransaction: false))
            for number in 0..<3 { #expect(answer["data.\(number).status"] == "\(code.status)", "\(answer)") }
            batches.append(answer.text)
        }
        #expect(batches == [batches[0], batches[0]])
    }
}

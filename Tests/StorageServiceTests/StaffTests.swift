import MartletAPI
import MartletCore
import MartletTesting
import Testing

@testable import StorageService

/// Staff with rights in the area `storage` work on an app's data with the rights of the app's server.
@Suite struct StaffTests {
    private static let everything: StaffRights.Areas = [.storage: [.create, .read, .update, .delete]]

    @Test func `staff read, write and delete objects whatever the rules of the collection are`() async throws {
        let app = try await StorageApp()
        let staff = app.staff(may: Self.everything)
        #expect(
            try await app.master.put(
                "/collections/Note/rules", #"{"rules":{"create":[],"find":[],"get":[],"update":[],"delete":[]}}"#
            ).status == 200)
        #expect(try await staff.post("/storage/Note", #"{"_id":"a","n":1}"#).status == 201)
        #expect(try await app.client.get("/storage/Note/a").status >= 400)
        #expect(try await staff.get("/storage/Note/a")["n"] == "1")
        #expect(try await staff.patch("/storage/Note/a", #"{"n":2}"#)["n"] == "2")
        #expect(try await staff.put("/storage/Note/a", #"{"n":3}"#)["n"] == "3")
        #expect(try await staff.post("/storage/query/Note", #"{"n":3}"#)["count"] == "1")
        let batch = #"{"requests":[{"method":"POST","path":"storage/Note","body":{"_id":"b"}}]}"#
        #expect(try await staff.post("/storage/batch", batch)["data.0.status"] == "201")
        #expect(try await staff.get("/changes/Note").status == 200)
        #expect(try await staff.delete("/storage/Note/a").status == 204)
        #expect(try await app.master.get("/storage/Note")["count"] == "1")
    }

    @Test func `staff manage collections, indexes, schemas, hooks, files and the test environment`() async throws {
        let app = try await StorageApp()
        let staff = app.staff(may: Self.everything)
        #expect(try await staff.post("/storage/Note", #"{"_id":"a","n":1}"#).status == 201)
        #expect(try await staff.get("/collections")["data.0.name"] == #""Note""#)
        #expect(try await staff.post("/collections/Note/indexes", #"{"fields":["n"]}"#).status == 201)
        #expect(try await staff.put("/collections/Note/schema", #"{"type":"object"}"#).status == 200)
        #expect(try await staff.get("/hooks")["count"] == "0")
        #expect(try await staff.put("/upload/a.txt", "text").status == 201)
        #expect(try await staff.get("/upload/a.txt").text == "text")
        #expect(try await staff.get("/exports/Note?format=jsonl").text.contains(#""_id":"a""#))
        #expect(try await staff.get("/jobs")["count"] == "0")
        #expect(try await app.staff(may: Self.everything, .test).post("/storage/Note", "{}").status == 201)
        #expect(try await staff.get("/storage/Note")["count"] == "1")
        #expect(try await staff.delete("/environment").status == 204)
        #expect(try await app.testClient.get("/storage/Note")["count"] == "0")
        #expect(try await staff.delete("/collections/Note").status == 204)
    }

    @Test func `roles of users belong to the area users`() async throws {
        let app = try await StorageApp()
        let staff = app.staff(may: [.users: [.read, .update]])
        #expect(try await staff.put("/roles/editors", #"{"add":["u1"]}"#).status == 204)
        #expect(try await staff.get("/roles")["count"] == "1")
        try await app.expectRefusal(.forbidden) { try await app.staff(may: Self.everything).get("/roles") }
        try await app.expectRefusal(.forbidden) { try await staff.delete("/roles/editors") }
    }

    @Test(
        arguments: [
            ("POST", "/storage/Note", "{}", StaffAction.create),
            ("POST", "/storage/all/Note", "[{}]", .create),
            ("PUT", "/storage/Note/a", "{}", .update),
            ("PATCH", "/storage/Note/a", "{}", .update),
            ("POST", "/storage/remove/Note/a", nil, .delete),
            ("DELETE", "/storage/Note/a", nil, .delete),
            ("POST", "/storage/batch", #"{"requests":[{"method":"DELETE","path":"storage/Note/a"}]}"#, .delete),
            ("PUT", "/upload/a.txt", "x", .create),
            ("PUT", "/upload/a.txt", "x", .update),
            ("DELETE", "/collections/Note", nil, .delete),
            ("POST", "/imports/Note?format=jsonl", "{}", .create),
            ("POST", "/imports/Note?format=jsonl&existing=replace", "{}", .update),
        ] as [(String, String, String?, StaffAction)])
    func `staff without a right write nothing`(_ method: String, _ path: String, _ body: String?, _ action: StaffAction)
        async throws
    {
        let app = try await StorageApp()
        #expect(try await app.master.post("/storage/Note", #"{"_id":"a","n":1}"#).status == 201)
        let staff = app.staff(may: [.storage: Set(StaffAction.allCases).subtracting([action])])
        try await app.expectRefusal(.forbidden) { try await staff.send(method, path, body) }
    }
}

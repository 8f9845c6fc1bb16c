import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import MartletTesting
import ServiceTesting
import Testing

@testable import StorageService

/// One after the other: all apps have one ``ObjectQuota``, and a measurement that began before another test stored its
/// limit may end after that test's own, so the limit would have no effect until the next one.
@Suite(.serialized) struct ObjectQuotaTests {
    private static func limit(_ app: StorageApp, _ limits: String) async throws -> Answer {
        try await app.staff(may: [.applications: [.update]]).put("/admin/apps/\(app.id)/objects/limits", limits)
    }

    /// PostgreSQL's statistics follow within ten seconds.
    private static func waitUntilCounted(_ objects: Int, in app: StorageApp) async throws {
        try await eventually("\(objects) objects are counted") {
            try await app.master.get("/objects/usage")["objects"] == String(objects)
        }
    }

    @Test func `every way to create objects respects their maximum number, and deleting frees space`() async throws {
        let app = try await StorageApp()
        for id in ["a", "b", "c"] { _ = try await app.client.post("/storage/Note", #"{"_id":"\#(id)","n":1}"#) }
        try await Self.waitUntilCounted(3, in: app)
        #expect(try await Self.limit(app, #"{"maximumObjects":4}"#)["objects"] == "3")
        #expect(try await app.client.post("/storage/Note", "{}").status == 201)
        try await Self.waitUntilCounted(4, in: app)
        try await app.objects.quota.measure()
        let batch = #"{"requests":[{"method":"POST","path":"storage/Note","body":{}}],"transaction":true}"#
        for request in [
            { try await app.client.post("/storage/Note", "{}") }, { try await app.client.post("/storage/Other", "{}") },
            { try await app.master.post("/storage/Note", "{}") },
            { try await app.client.patch("/storage/Note/new?upsert=true", #"{"n":1}"#) },
            { try await app.client.post("/storage/all/Note", "[{}]") },
            { try await app.client.post("/storage/batch", batch) },
        ] as [() async throws -> Answer] { try await app.expectRefusal(.objectQuotaExceeded, request) }
        #expect(try await app.client.patch("/storage/Note/a", #"{"n":2}"#).status == 200)
        #expect(try await app.client.get("/storage/Note/a").status == 200)
        #expect(try await app.client.delete("/storage/Note/b").status == 204)
        try await Self.waitUntilCounted(3, in: app)
        try await app.objects.quota.measure()
        #expect(try await app.client.post("/storage/Note", "{}").status == 201)
    }

    @Test func `the size is limited, and other environments and apps are not affected`() async throws {
        let app = try await StorageApp()
        let other = app.neighbour()
        _ = try await app.client.post("/storage/Note", #"{"_id":"a"}"#)
        let set = try await Self.limit(app, #"{"maximumBytes":1000,"maximumObjects":null}"#)
        #expect(set["maximumBytes"] == "1000" && set["maximumObjects"] == nil, "\(set)")
        try await app.expectRefusal(.objectQuotaExceeded) { try await app.client.post("/storage/Note", "{}") }
        #expect(try await other.client.post("/storage/Note", "{}").status == 201)
        #expect(try await other.master.get("/objects/usage")["maximumBytes"] == nil)
        // The test environment has the same limits and uses nothing yet.
        let test = app.acting(as: app.principal(.master, .test))
        #expect(try await test.post("/storage/Note", "{}").status == 201)
        #expect(try await test.get("/objects/usage")["maximumBytes"] == "1000")
        #expect(try await Self.limit(app, "{}")["maximumBytes"] == nil)
        #expect(try await app.client.post("/storage/Note", "{}").status == 201)
    }

    @Test func `only staff who may change the app set its limits`() async throws {
        let app = try await StorageApp()
        let path = "/admin/apps/\(app.id)/objects/limits"
        try await app.expectRefusal(.forbidden) { try await app.master.put(path, #"{"maximumObjects":3}"#) }
        try await app.expectRefusal(.forbidden) { try await app.client.get("/objects/usage") }
        try await app.expectRefusal(.forbidden) {
            try await app.staff(may: [.storage: [.update], .applications: [.read]]).put(path, "{}")
        }
        for (body, field) in [
            (#"{"maximumObjects":-1}"#, "maximumObjects"), (#"{"maximumBytes":"1"}"#, "maximumBytes"),
            (#"{"objects":1}"#, "objects"),
        ] { try await app.expectRefusal(.invalidBody, field: field) { try await Self.limit(app, body) } }
    }
}

import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import Testing

@testable import StorageService

/// Live data are copied to test only with a live key, and are not open there until the app says so.
@Suite struct ClosedEnvironmentTests {
    @Test func `a test key can neither copy live nor open the copy`() async throws {
        let app = try await StorageApp()
        _ = try await app.master.post("/storage/Note", #"{"_id":"a"}"#)
        try await app.expectRefusal(.forbidden) { try await app.testMaster.post("/environment/copy") }
        #expect(try await app.master.get("/jobs")["count"] == "0")
        try await app.expectRefusal(.forbidden) { try await app.testMaster.put("/environment", #"{"open":true}"#) }
        for body in ["{}", #"{"open":1}"#, #"{"open":true,"x":1}"#] {
            try await app.expectRefusal(.invalidBody) { try await app.master.put("/environment", body) }
        }
        #expect(try await app.client.put("/environment", #"{"open":true}"#).isProblem(.forbidden))
    }

    @Test func `clients are kept out of copied data, whatever test's rules allow, until the app opens it`() async throws
    {
        let app = try await StorageApp()
        _ = try await app.master.put(
            "/collections/Note/rules", #"{"rules":{"get":["authenticated"],"find":["authenticated"]}}"#)
        _ = try await app.master.post("/storage/Note", #"{"_id":"a","n":1}"#)
        _ = try await app.master.put("/upload/a.txt", "live")
        #expect(try await app.testClient.get("/storage/Note").status == 200)
        let job = try await app.finished(app.master.post("/environment/copy"))
        #expect(job["state"] == #""done""#, "\(job)")
        var guest = app.principal(.client, .test)
        guest.userID = "anybody"
        for client in [app.testClient, app.acting(as: guest)] {
            for (method, path) in [
                ("GET", "/storage/Note"), ("GET", "/storage/Note/a"), ("POST", "/storage/query/Note"),
                ("POST", "/storage/aggregate/Note"),
                ("POST", "/storage/distinct/Note"), ("POST", "/storage/Note"), ("PUT", "/storage/Note/a"),
                ("PATCH", "/storage/Note/a"),
                ("DELETE", "/storage/Note/a"), ("POST", "/storage/remove/Note/a"), ("POST", "/storage/all/Note"),
                ("GET", "/live/Note"),
                ("GET", "/changes/Note"), ("GET", "/upload/a.txt"), ("GET", "/upload"), ("PUT", "/upload/b.txt"),
                ("DELETE", "/upload/a.txt"),
                ("GET", "/upload-history"), ("POST", "/upload-link/a.txt"), ("POST", "/functions/f"),
                ("GET", "/auth/me/roles"),
            ] {
                let answer = try await client.send(method, path, method == "GET" || method == "DELETE" ? nil : "{}")
                #expect(answer.isProblem(.forbidden), "\(method) \(path): \(answer)")
            }
            let batch = #"{"requests":[{"method":"DELETE","path":"storage/Note/a"}]}"#
            #expect(try await client.post("/storage/batch", batch).isProblem(.forbidden))
        }
        #expect(try await app.testMaster.get("/storage/Note/a")["n"] == "1")
        #expect(try await app.user("ada").get("/storage/Note/a")["n"] == "1", "live stays open")
        // Another instance of the service knows it too.
        let other = try await ServiceClient(
            StorageService(
                postgres: app.postgres, files: SharedFiles.settings, logger: .silent, hooks: SharedHooks.settings))
        #expect(try await other.acting(as: guest).get("/storage/Note").isProblem(.forbidden))

        #expect(try await app.master.put("/environment", #"{"open":true}"#).text == #"{"open":true}"#)
        #expect(try await app.acting(as: guest).get("/storage/Note/a")["n"] == "1")
        #expect(try await app.testClient.get("/storage/Note/a").isProblem(.forbidden), "the rules were copied")
        #expect(try await app.master.put("/environment", #"{"open":false}"#).status == 200)
        #expect(try await app.acting(as: guest).get("/storage/Note/a").isProblem(.forbidden))
        // An empty environment is open again.
        #expect(try await app.master.delete("/environment").status == 204)
        #expect(try await app.testClient.get("/storage/Note")["count"] == "0")
    }

    @Test func `a failed copy does not close the environment`() async throws {
        let app = try await StorageApp()
        _ = try await app.client.post("/storage/Note", #"{"_id":"a"}"#)
        _ = try await app.testClient.post("/storage/Note", #"{"_id":"z"}"#)
        await #expect(throws: (any Error).self) {
            try await app.postgres.withTransaction(isolation: .repeatableRead) { transaction in
                let copy = EnvironmentCopy(
                    live: try app.space(), test: try app.space(.test), transaction: transaction, timeout: .seconds(60))
                try await copy.replaceTables([])
                try await copy.close()
                throw CancellationError()
            }
        }
        #expect(try await app.testClient.get("/storage/Note").ids == ["z"])
    }

    @Test func `jobs of one environment cannot be seen, cancelled or downloaded from the other`() async throws {
        let app = try await StorageApp()
        _ = try await app.client.post("/storage/Note", #"{"_id":"a","n":1}"#)
        _ = try await app.testClient.post("/storage/Note", #"{"_id":"b","n":2}"#)
        let environments = [
            (own: app.master, other: app.testMaster, id: "a"), (own: app.testMaster, other: app.master, id: "b"),
        ]
        try await app.startWorker()
        for (own, other, id) in environments {
            let started = try await own.post("/exports/Note?format=jsonl")
            let job = try #require(started.json?["id"]).text.filter { $0 != "\"" }
            let path = "/jobs/\(job)"
            for answer in [
                try await other.get(path), try await other.delete(path), try await other.get(path + "/result"),
            ] {
                #expect(answer.isProblem(.jobNotFound), "\(answer)")
            }
            try await eventually("the export is finished") { try await own.get(path)["finished"] != "null" }
            #expect(try await own.get(path + "/result").text.contains(#""_id":"\#(id)""#))
            #expect(try await other.get(path + "/result").isProblem(.jobNotFound))
            #expect(try await own.get("/jobs")["count"] == "1")
        }
    }
}

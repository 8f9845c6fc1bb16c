import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import MartletTesting
import ServiceTesting
import Testing

@testable import StorageService

@Suite struct FileQuotaTests {
    @Test func `usage follows every way to create, change and delete files`() async throws {
        let app = try await StorageApp()
        func usage() async throws -> String? {
            let usage = try await app.master.get("/files/usage")
            return "\(usage["files"] ?? "?") \(usage["bytes"] ?? "?")"
        }
        #expect(try await usage() == "0 0")
        _ = try await app.client.put("/upload/a.txt", "12345")
        _ = try await app.user("ada").put("/upload/b.txt?writers=ada", "123")
        #expect(try await usage() == "2 8")
        _ = try await app.client.put("/upload/a.txt", "1")
        #expect(try await usage() == "2 4")
        _ = try await app.client.send("PATCH", "/upload/a.txt", #"{"_readers":["ada"]}"#)
        #expect(try await usage() == "2 4")
        #expect(try await app.master.delete("/upload/a.txt").status == 204)
        #expect(try await usage() == "1 3")
        try await app.superuser.execute("TRUNCATE \(try app.space().own("_files"))")
        #expect(try await usage() == "0 0")
    }

    @Test func `the number of files is limited, even for concurrent uploads`() async throws {
        let app = try await StorageApp()
        try await app.limit(files: 5)
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<20 { group.addTask { try await app.client.put("/upload/\(number).txt", "x").status } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(statuses.sorted() == Array(repeating: 201, count: 5) + Array(repeating: 413, count: 15))
        try await app.expectRefusal(.fileQuotaExceeded) { try await app.client.put("/upload/new.txt", "x") }
        let list = try await app.client.get("/upload/")
        #expect(list["count"] == "5", "\(list)")
        #expect(
            try await app.client.put("/upload/\(try app.name(in: list))", "longer").status == 200,
            "a new version is no further file")
    }

    @Test func `the total size is limited, and an upload that does not increase it is accepted`() async throws {
        let app = try await StorageApp()
        _ = try await app.client.put("/upload/a.txt", "12345678")
        try await app.limit(bytes: 10)
        try await app.expectRefusal(.fileQuotaExceeded) { try await app.client.put("/upload/b.txt", "123") }
        #expect(try await app.client.put("/upload/b.txt", "12").status == 201)
        try await app.expectRefusal(.fileQuotaExceeded) { try await app.client.put("/upload/b.txt", "123") }
        #expect(try await app.client.put("/upload/a.txt", "1234567").status == 200)
        try await app.limit(bytes: 3)
        #expect(try await app.client.put("/upload/a.txt", "123456").status == 200)
        try await app.limit()
        #expect(try await app.client.put("/upload/c.txt", "123456789").status == 201)
    }

    @Test func `changes by others while an upload waits for the lock count`() async throws {
        let app = try await StorageApp()
        let (files, usage) = (try app.space().own("_files"), try app.space().own("_file_usage"))
        _ = try await app.client.put("/upload/a.txt", "12345678")
        try await app.limit(bytes: 10)
        // While the upload waits, the stored file becomes smaller and other files use the room.
        let large = try await app.answer(behind: ["UPDATE \(files) SET size = 1", "UPDATE \(usage) SET bytes = 10"]) {
            try await app.client.put("/upload/a.txt", "87654321")
        }
        #expect(large.isProblem(.fileQuotaExceeded), "\(large)")
        let replaced = try await app.answer(behind: ["DELETE FROM \(files)"]) {
            try await app.client.send("PUT", "/upload/a.txt", "1", headers: ["If-Match": "*"])
        }
        #expect(replaced.isProblem(.preconditionFailed), "\(replaced)")
        #expect(try await app.client.get("/upload/a.txt").status == 404)
    }

    @Test func `a resumable upload needs room for all of it at the start`() async throws {
        let app = try await StorageApp()
        try await app.limit(bytes: 10)
        func begin(_ size: Int, _ path: String) async throws -> Answer {
            try await app.client.send(
                "POST", "/files/tus",
                headers: [
                    "Tus-Resumable": "1.0.0", "Upload-Length": "\(size)",
                    "Upload-Metadata": "path \(Data(path.utf8).base64EncodedString())",
                ])
        }
        #expect(try await begin(6, "a").status == 201)
        try await app.expectRefusal(.fileQuotaExceeded) { try await begin(5, "b") }
        #expect(try await begin(4, "b").status == 201)
        #expect(try await app.master.get("/files/usage")["unfinishedBytes"] == "10")
    }

    @Test func `only staff who may change the app set its limits`() async throws {
        let app = try await StorageApp()
        let (path, body) = ("/admin/apps/\(app.id)/files/limits", #"{"maximumFiles":3,"maximumBytes":null}"#)
        try await app.expectRefusal(.forbidden) { try await app.master.put(path, body) }
        try await app.expectRefusal(.forbidden) { try await app.client.get("/files/usage") }
        try await app.expectRefusal(.forbidden) {
            try await app.staff(may: [.storage: [.read, .update], .applications: [.read]]).put(path, body)
        }
        let staff = app.staff(may: [.storage: [.read], .applications: [.update]])
        for (body, field) in [
            (#"{"maximumFiles":-1}"#, "maximumFiles"), (#"{"maximumBytes":"1"}"#, "maximumBytes"),
            (#"{"bytes":1}"#, "bytes"),
        ] {
            try await app.expectRefusal(.invalidBody, field: field) { try await staff.put(path, body) }
        }
        let set = try await staff.put(path, body)
        #expect(
            set.status == 200 && set["maximumFiles"] == "3" && set["maximumBytes"] == nil
                && set["isDefault"] == "false", "\(set)")
        #expect(try await staff.get("/files/usage").text == set.text)
        // The limits apply to both environments.
        let test = try await app.acting(as: app.principal(.master, .test)).get("/files/usage")
        #expect(test["maximumFiles"] == "3")
    }

    @Test func `the server's limits apply if an app has none of its own`() async throws {
        let app = try await StorageApp()
        var settings = SharedFiles.settings
        settings.quota = FileQuota(maximumFiles: 1, maximumBytes: nil)
        let service = StorageService(
            postgres: app.postgres, files: settings, logger: .silent, hooks: SharedHooks.settings)
        let client = try await ServiceClient(service).acting(as: app.principal(.master))
        #expect(try await client.put("/upload/a.txt", "x").status == 201)
        try await app.expectRefusal(.fileQuotaExceeded) { try await client.put("/upload/b.txt", "x") }
        #expect(try await client.get("/files/usage")["isDefault"] == "true")
        try await app.limit(files: 2)
        #expect(try await client.put("/upload/b.txt", "x").status == 201)
    }
}

extension StorageApp {
    /// The response to a request that waits for a transaction which changes files first.
    fileprivate func answer(
        behind statements: [PostgresQuery], to request: @escaping @Sendable () async throws -> Answer
    ) async throws -> Answer {
        let answer = try await database.withSuperuser { somebody in
            try await somebody.withTransaction { transaction in
                for statement in statements { try await transaction.execute(statement) }
                let answer = Task { try await request() }
                try await waitUntilStatementsWait()
                return answer
            }
        }
        return try await answer.value
    }

    fileprivate func limit(files: Int? = nil, bytes: Int? = nil) async throws {
        let store = FileStore(postgres: postgres, spaces: Spaces(postgres: postgres))
        try await store.limit(space(), to: FileQuota(maximumFiles: files, maximumBytes: bytes))
    }

    fileprivate func name(in list: Answer) throws -> String {
        guard let name = list["data.0.name"] else { throw ServiceError(.internalError) }
        return name.filter { $0 != "\"" }
    }

}

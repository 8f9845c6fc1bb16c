import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import ServiceTesting
import Testing

@testable import StorageService

/// What staff change in an app's data is in the audit log, written by the statement of the change.
@Suite struct StaffAuditTests {
    private static let everything: StaffRights.Areas = [
        .storage: Set(StaffAction.allCases), .users: Set(StaffAction.allCases),
    ]

    private func log(_ app: StorageApp) async throws -> [String] {
        try await app.superuser.query(
            """
            SELECT concat_ws(' ', staff_name, action, area, environment, target, before, after) FROM auth.audit_log
            WHERE app_id = \(app.id) ORDER BY number
            """
        ).map { try $0.decode(0) }
    }

    @Test func `writes of objects are logged with the names of the changed fields, not with their values`() async throws
    {
        let app = try await StorageApp()
        let staff = app.staff(may: Self.everything)
        #expect(try await app.master.post("/storage/Note", #"{"_id":"a","n":1,"secret":"s"}"#).status == 201)
        #expect(try await staff.patch("/storage/Note/a", #"{"n":2,"m":3}"#).status == 200)
        #expect(try await app.master.patch("/storage/Note/a", #"{"n":4}"#).status == 200)
        #expect(try await staff.post("/storage/all/Note", #"[{"_id":"b"},{"_id":"c","x":1}]"#).status == 201)
        #expect(try await staff.delete("/storage/Note/a").status == 204)
        #expect(try await app.staff(may: Self.everything, .test).post("/storage/Note", #"{"_id":"t"}"#).status == 201)
        let log = try await log(app)
        #expect(
            log == [
                #"sam update-object storage live Note/a {"fields": ["m", "n"]}"#,
                #"sam create-object storage live Note/b {"fields": []}"#,
                #"sam create-object storage live Note/c {"fields": ["x"]}"#,
                "sam delete-object storage live Note/a",
                #"sam create-collection storage test Note {"name": "Note", "rules": {}}"#,
                #"sam create-object storage test Note/t {"fields": []}"#,
            ], "\(log)")
    }

    @Test func `collections, indexes, schemas, rules, hooks, roles and files are logged`() async throws {
        let app = try await StorageApp()
        let staff = app.staff(may: Self.everything)
        #expect(try await app.master.post("/storage/Note", "{}").status == 201)
        #expect(try await staff.post("/collections/Note/indexes", #"{"fields":["n"],"name":"byN"}"#).status == 201)
        #expect(try await staff.put("/collections/Note/rules", #"{"rules":{"find":[]}}"#).status == 200)
        #expect(try await staff.put("/collections/Note/schema", #"{"type":"object"}"#).status == 200)
        #expect(try await staff.put("/roles/editors", #"{"add":["u1"]}"#).status == 204)
        #expect(try await staff.put("/upload/a.txt", "text").status == 201)
        #expect(try await staff.put("/upload-verdict/a.txt", #"{"allow":false,"reason":"r"}"#).status == 200)
        #expect(try await staff.delete("/upload/a.txt").status == 204)
        #expect(try await staff.delete("/collections/Note/indexes/byN").status == 204)
        #expect(try await staff.post("/exports/Note?format=jsonl").status == 202)
        #expect(try await staff.delete("/collections/Note").status == 204)
        let entries = try await log(app)
        let actions = entries.map { $0.split(separator: " ").dropFirst().prefix(1).joined() }
        #expect(
            actions == [
                "create-index", "update-collection", "update-collection", "create-role", "create-role-member",
                "create-file", "update-file", "delete-file", "delete-index", "create-job", "delete-collection",
            ], "\(entries)")
        #expect(entries.contains { $0.contains(#""state": "refused""#) && $0.contains(#""reason": "r""#) })
    }

    @Test func `a refused write leaves no entry, and the next caller on the connection is not taken for staff`()
        async throws
    {
        let app = try await StorageApp()
        let staff = app.staff(may: Self.everything)
        #expect(try await app.master.post("/storage/Note", #"{"_id":"a","n":1}"#).status == 201)
        #expect(
            try await app.master.post("/collections/Note/indexes", #"{"fields":["n"],"unique":true}"#).status == 201)
        #expect(try await staff.post("/storage/Note", #"{"n":1}"#).isProblem(.conflict))
        #expect(try await staff.put("/storage/Note/none", "{}").isProblem(.objectNotFound))
        #expect(try await log(app).isEmpty)
        try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<120 {
                let caller = number % 3 == 0 ? staff : number % 3 == 1 ? app.master : app.client
                group.addTask { try await caller.post("/storage/Note", #"{"_id":"n\#(number)"}"#).status }
            }
            for try await status in group { #expect(status == 201) }
        }
        let targets = try await log(app).map { $0.split(separator: " ")[4] }
        #expect(Set(targets) == Set((0..<120).filter { $0 % 3 == 0 }.map { "Note/n\($0)" }))
        #expect(targets.count == 40)
    }

    @Test func `a change that cannot be logged is not made`() async throws {
        try await MigratedDatabase.with { database in
            let app = try await StorageApp(alone: database)
            #expect(try await app.master.post("/storage/Note", #"{"_id":"a"}"#).status == 201)
            try await app.superuser.execute(
                "ALTER TABLE auth.audit_log ADD CHECK (action NOT IN ('create-object', 'create-role')) NOT VALID")
            let staff = app.staff(may: Self.everything)
            let before = try await app.everything()
            #expect(try await staff.post("/storage/Note", #"{"_id":"b"}"#).status >= 400)
            #expect(try await staff.put("/roles/editors", #"{"add":["u1"]}"#).status >= 400)
            #expect(try await app.everything() == before)
            #expect(try await app.master.post("/storage/Note", #"{"_id":"b"}"#).status == 201)
        }
    }
}

import MartletAPI
import MartletPostgres
import MartletTesting
import ServiceTesting
import Testing

@testable import ConfigService

@Suite struct StaffAuditTests {
    @Test func `what staff change in documents is in the audit log, by the kind's area`() async throws {
        try await ConfigApp.run(kinds: .plain) { app in
            let rights = StaffRights(["app1": [.config: Set(StaffAction.allCases)]])
            let path = "/config/flags/default"
            try await app.publish(.flags, "other", #"{"text":"one"}"#)
            #expect(
                try await app.staff(
                    "PUT", path, #"{"text":"one"}"#, rights: rights, headers: ["if-none-match": "*"]
                ).status == 201)
            #expect(try await app.staff("POST", path + "/publish", rights: rights).status == 200)
            #expect(try await app.staff("GET", path, rights: rights).status == 200)
            let log = try await log(app)
            #expect(
                log.first?.hasPrefix("sam create-document config app1 live flags/default") == true, "\(log)")
            #expect(log.contains { $0.hasPrefix("sam update-document config app1 live flags/default") }, "\(log)")
            #expect(!log.joined().contains("one") && !log.joined().contains("other"), "\(log)")
        }
    }

    private func log(_ app: ConfigApp) async throws -> [String] {
        try await app.database.withSuperuser { client in
            try await client.query(
                """
                SELECT concat_ws(' ', staff_name, action, area, app_id, environment, target, before, after)
                FROM auth.audit_log ORDER BY number
                """
            ).map { try $0.decode(0, as: String.self) }
        }
    }
}

import MartletAPI
import MartletPostgres
import MartletTesting
import ServiceTesting
import Testing

@testable import AnalyticsService

@Suite struct StaffAuditTests {
    @Test func `what staff change in settings and tickets is in the audit log, without texts`() async throws {
        try await AnalyticsApp.run { app in
            let all = Set(StaffAction.allCases)
            let rights = StaffRights(["app1": [.analytics: all, .tickets: all]])
            #expect(try await app.master("PUT", "/analytics/settings", #"{"retentionDays":90}"#).status == 200)
            #expect(
                try await app.staff("PUT", "/analytics/settings", #"{"retentionDays":60}"#, rights: rights).status
                    == 200)
            let ticket = try await app.staff(
                "POST", "/tickets", #"{"type":"bug","title":"It breaks"}"#, rights: rights)
            #expect(ticket.status == 201, "\(ticket)")
            let log = try await log(app)
            #expect(
                log.first?.hasPrefix("sam update-settings analytics app1 live") == true
                    && log.first?.contains(#"{"retention_days": 90}"#) == true, "\(log)")
            #expect(log.contains { $0.hasPrefix("sam create-ticket tickets app1 live 1") }, "\(log)")
            #expect(!log.joined().contains("It breaks"), "\(log)")
        }
    }

    @Test func `questions that staff save, and debug files that they upload, are in the audit log`() async throws {
        try await AnalyticsApp.run { app in
            let all = Set(StaffAction.allCases)
            let rights = StaffRights(["app1": [.analytics: all, .crashes: all]])
            let path = "/analytics/questions/People"
            for days in [7, 30] {
                let body = #"{"kind":"people","days":\#(days)}"#
                #expect(try await app.staff("PUT", path, body, rights: rights).status == 200)
            }
            #expect(try await app.staff("DELETE", path, rights: rights).status == 204)
            let file = Array("no debug file".utf8)
            let sha1 = SymbolUpload.sha1(file)
            #expect(try await SymbolUpload(app: app).send([(sha1, file)]).status == 200)
            let body = #"{"\#(sha1)":{"name":"App","chunks":["\#(sha1)"]}}"#
            #expect(try await app.staff("POST", "/crashes/symbols/assemble", body, rights: rights).status == 200)
            let log = try await log(app)
            #expect(log.count == 4, "\(log)")
            #expect(log[0].hasPrefix("sam create-question analytics app1 live People"), "\(log)")
            #expect(log[1].contains("update-question") && log[1].contains(#""days": 30"#), "\(log)")
            #expect(log[2].contains("delete-question analytics app1 live People"), "\(log)")
            #expect(log[3].hasPrefix("sam create-symbol-upload crashes app1 live App"), "\(log)")
        }
    }

    private func log(_ app: AnalyticsApp) async throws -> [String] {
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

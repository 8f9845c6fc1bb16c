import MartletAPI
import MartletPostgres
import MartletTesting
import ServiceTesting
import Testing

@testable import NotificationsService

@Suite struct StaffAuditTests {
    @Test func `what staff change in templates and segments is in the audit log, without texts`() async throws {
        try await NotificationsApp.run { app in
            let rights = StaffRights(["app1": [.notifications: Set(StaffAction.allCases)]])
            let template = #"{"content":{"body":"Dear all"}}"#
            #expect(try await app.master("PUT", "/notifications/templates/a", template).status < 300)
            #expect(try await app.staff("PUT", "/notifications/templates/b", template, rights: rights).status < 300)
            #expect(try await app.staff("DELETE", "/notifications/templates/a", rights: rights).status == 204)
            let log = try await app.database.withSuperuser { client in
                try await client.query(
                    """
                    SELECT concat_ws(' ', staff_name, action, area, app_id, environment, target) FROM auth.audit_log
                    ORDER BY number
                    """
                ).map { try $0.decode(0, as: String.self) }
            }
            #expect(
                log == [
                    "sam create-template notifications app1 live b", "sam delete-template notifications app1 live a",
                ], "\(log)")
        }
    }
}

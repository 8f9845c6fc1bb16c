import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import ServiceTesting
import Testing

@testable import AuthService

/// Staff with rights in the area `users` manage an app's end users like the app's server.
@Suite struct StaffOfUsersTests {
    @Test func `staff read a user completely, change, disable and delete the user`() async throws {
        try await UserClient.run { client in
            let anna = try await client.signUp(more: #","email":"anna@example.org""#)
            let actions = Set(StaffAction.allCases)
            func staff(_ method: String, _ path: String, _ body: String? = nil) async throws -> Answer {
                try await client.staff(may: [.users: actions], method, path, body)
            }
            #expect(try await staff("GET", "users?userName=anna")["count"] == "1")
            #expect(try await staff("GET", "users/\(anna.userID)").string("email") == "anna@example.org")
            #expect(try await staff("PATCH", "users/\(anna.userID)", #"{"profile":{"a":1}}"#).status == 200)
            #expect(try await staff("GET", "settings").status == 200)
            #expect(try await staff("GET", "providers")["count"] == "0")
            #expect(try await staff("GET", "mail/templates").status == 200)
            #expect(try await staff("PATCH", "users/\(anna.userID)", #"{"disabled":true}"#)["disabled"] == "true")
            #expect(try await client.refresh(anna.refresh).isProblem(.invalidToken))
            let receipt = try await staff("DELETE", "users/\(anna.userID)")
            #expect(receipt.status == 202, "\(receipt)")
            #expect(try await staff("GET", "users")["count"] == "0")
        }
    }

    @Test func `staff see and end the sessions of a user`() async throws {
        try await UserClient.run { client in
            let anna = try await client.signUp()
            _ = try await client.logIn()
            let path = "users/\(anna.userID)/sessions"
            let list = try await client.staff(may: [.users: [.read]], "GET", path)
            #expect(list["count"] == "2" && list["data.0.current"] == "false", "\(list)")
            #expect(try await client.staff(may: [.users: [.read, .delete]], "DELETE", path).isProblem(.forbidden))
            #expect(try await client.master("GET", path)["count"] == "2")
            #expect(try await client.staff(may: [.users: [.update]], "DELETE", path)["count"] == "2")
            #expect(try await client.refresh(anna.refresh).isProblem(.invalidToken))
            let other = "users/\(UUID().uuidString.lowercased())/sessions"
            for method in ["GET", "DELETE"] {
                #expect(try await client.master(method, other).isProblem(.userNotFound))
                #expect(try await client.send(method, path, as: anna).isProblem(.forbidden))
            }
        }
    }

    @Test func `staff without the right see and change no user`() async throws {
        try await UserClient.run { client in
            let anna = try await client.signUp()
            let rights: StaffRights.Areas = [.storage: Set(StaffAction.allCases), .users: [.create]]
            for (method, path, body) in [
                ("GET", "users", nil), ("GET", "users/\(anna.userID)", nil),
                ("PATCH", "users/\(anna.userID)", #"{"disabled":true}"#), ("DELETE", "users/\(anna.userID)", nil),
                ("PUT", "settings", "{}"), ("DELETE", "mail", nil),
            ] {
                let answer = try await client.staff(may: rights, method, path, body)
                #expect(answer.isProblem(.forbidden), "\(method) \(path): \(answer)")
            }
            #expect(try await client.logIn().status == 200)
        }
    }
}

extension StaffOfUsersTests {
    @Test func `the log has what staff change about users, without names, addresses and passwords`() async throws {
        try await UserClient.run { client in
            let anna = try await client.signUp(more: #","email":"anna@example.org""#)
            let rights: StaffRights.Areas = [.users: Set(StaffAction.allCases)]
            let body = #"{"disabled":true,"userName":"berta","password":"another horse","email":"b@example.org"}"#
            #expect(try await client.master("PATCH", "users/\(anna.userID)", #"{"profile":{"x":1}}"#).status == 200)
            #expect(try await client.staff(may: rights, "PATCH", "users/\(anna.userID)", body).status == 200)
            #expect(try await client.staff(may: rights, "PATCH", "users/\(anna.userID)", "{}").status == 200)
            let settings = #"{"mailsPerHour":100}"#
            #expect(try await client.staff(may: rights, "PUT", "settings", settings).status == 200)
            let log = try await client.auth.postgres.query(
                """
                SELECT concat_ws(' ', staff_name, action, area, environment, app_id = \(client.app.id), address, target, before, after)
                FROM auth.audit_log WHERE app_id IS NOT NULL ORDER BY number
                """
            ).map { try $0.decode(0, as: String.self) }
            let start = "sam update-user users live t 192.0.2.7 \(anna.userID) "
            let change = log.first { $0.hasPrefix(start) }
            #expect(
                change == start
                    + #"{"disabled": false} {"changed": ["email", "password", "user_name"], "disabled": true}"#,
                "\(log)")
            #expect(log.contains { $0.hasPrefix("sam update-session users live t 192.0.2.7 \(anna.userID)/") })
            #expect(log.contains { $0.hasPrefix("sam create-settings users live") })
            #expect(!log.joined().contains("berta") && !log.joined().contains("b@example.org"))
            #expect(log.count { $0.contains("update-user") } == 1, "an update without changes is not logged")
        }
    }

    @Test func `old entries of the log are deleted, and no others`() async throws {
        try await UserClient.run { client in
            try await client.auth.database.withSuperuser {
                _ = try await $0.execute(
                    """
                    INSERT INTO auth.audit_log (staff_name, action, area, at)
                    VALUES ('a', 'old', 'users', now() - interval '40 days'), ('a', 'new', 'users', now() - interval '20 days')
                    """)
            }
            let audit = AuditStore(postgres: client.auth.postgres)
            await #expect(throws: (any Error).self) { try await audit.prune(olderThan: 29) }
            #expect(try await client.count("SELECT count(*) FROM auth.audit_log WHERE action IN ('old', 'new')") == 2)
            try await audit.prune(olderThan: 30)
            #expect(try await client.count("SELECT count(*) FROM auth.audit_log WHERE action = 'old'") == 0)
            #expect(try await client.count("SELECT count(*) FROM auth.audit_log WHERE action = 'new'") == 1)
        }
    }
}

extension UserClient {
    /// A call by a staff member with rights in the app.
    func staff(may areas: StaffRights.Areas, _ method: String, _ path: String, _ body: String? = nil) async throws
        -> Answer
    {
        let grant = StaffGrant(
            id: "0193a000-0000-7000-8000-000000000001", userName: "sam", rights: StaffRights([app.id: areas]),
            confirmed: Int64(Date().timeIntervalSince1970))
        let principal = Principal(
            kind: .staff, appID: app.id, appNumber: app.number, environment: environment, credentialID: grant.id,
            staff: grant)
        return try await auth.gateway.acting(as: principal).send(
            method, "/auth/" + path, body, headers: [HeaderName.address: "0:ffffc0000207"])
    }
}

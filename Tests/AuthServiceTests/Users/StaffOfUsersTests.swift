import Foundation
import MartletAPI
import MartletCore
import MartletTesting
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

extension UserClient {
    /// A call by a staff member with rights in the app.
    func staff(may areas: StaffRights.Areas, _ method: String, _ path: String, _ body: String? = nil) async throws
        -> Answer
    {
        let grant = StaffGrant(
            id: "0193a000-0000-7000-8000-000000000001", userName: "sam", rights: StaffRights([app.id: areas]))
        let principal = Principal(
            kind: .staff, appID: app.id, appNumber: app.number, environment: environment, credentialID: grant.id,
            staff: grant)
        return try await auth.gateway.acting(as: principal).send(
            method, "/auth/" + path, body, headers: [HeaderName.address: "0:ffffc0000207"])
    }
}

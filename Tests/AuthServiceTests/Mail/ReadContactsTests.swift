import Foundation
import MartletAPI
import MartletCore
import MartletMail
import MartletPostgres
import MartletTesting
import Testing

@testable import AuthService

/// How other services learn where to send users' mail.
@Suite struct ReadContactsTests {
    private func contacts(
        _ client: UserClient, _ users: [String], app: String? = nil, _ environment: AppEnvironment = .live
    ) async throws -> MailContacts {
        let request = MailContacts.Request(app: app ?? client.app.id, environment: environment, users: users)
        let body = String(decoding: try JSONEncoder().encode(request), as: UTF8.self)
        let answer = try await client.auth.gateway.post("/internal/users/contacts", body)
        try #require(answer.status == 200, "\(answer)")
        return try JSONDecoder().decode(MailContacts.self, from: Data(answer.text.utf8))
    }

    @Test func `An address is returned if it is verified and its user is not disabled`() async throws {
        try await UserClient.run { client in
            let user = try await client.signUp(
                "anna", more: #","email":"Anna@Example.org","private":{"language":"de-AT"}"#
            ).userID
            #expect(try await contacts(client, [user]).users == [.init(id: user, email: nil, language: "de-AT")])
            try await client.auth.postgres.execute("UPDATE auth.users SET email_verified = TRUE")
            let known = try await contacts(client, [user.uppercased(), "7", UUID().uuidString])
            #expect(
                known
                    == MailContacts(app: "Shop", users: [.init(id: user, email: "anna@example.org", language: "de-AT")])
            )
            try await client.auth.postgres.execute("UPDATE auth.users SET disabled = TRUE")
            #expect(try await contacts(client, [user]).users.first?.email == nil)
            // Environments and apps are separate.
            #expect(try await contacts(client, [user], .test).users.isEmpty)
            let other = try await client.auth.apps.create(name: "Other")
            #expect(try await contacts(client, [user], app: other.id).users.isEmpty)
            #expect(try await contacts(client, [user], app: "nobody") == MailContacts(app: nil, users: []))
        }
    }

    @Test func `Only internal services may request addresses, for a limited number of users`() async throws {
        try await UserClient.run { client in
            let body = #"{"app":"\#(client.app.id)","environment":"live","users":[]}"#
            for kind in [Principal.Kind.client, .master, .staff, .visitor] {
                let caller = client.auth.gateway.acting(
                    as: Principal(kind: kind, appID: client.app.id, appNumber: 1, environment: .live, credentialID: "x")
                )
                let answer = try await caller.post("/internal/users/contacts", body)
                #expect(answer.isProblem(.forbidden))
            }
            #expect(
                try await client.auth.gateway.acting(as: nil).post("/internal/users/contacts", body).isProblem(
                    .unauthorized))
            let many = (0...MailContacts.Request.maximumUsers).map { _ in #""x""# }.joined(separator: ",")
            let tooMany = #"{"app":"\#(client.app.id)","environment":"live","users":[\#(many)]}"#
            #expect(
                try await client.auth.gateway.post("/internal/users/contacts", tooMany).isProblem(
                    .limitExceeded, field: "users"))
        }
    }
}

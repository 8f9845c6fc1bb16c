import Foundation
import MartletAPI
import MartletCore
import MartletTesting
import Testing

@testable import AuthService

@Suite struct ProfileOfUserTests {
    private static func ask(
        _ client: UserClient, _ user: String, as principal: Principal = .service("config"), environment: String = "live"
    ) async throws -> Answer {
        let body = #"{"app":"\#(client.app.id)","environment":"\#(environment)","user":"\#(user)"}"#
        return try await client.auth.gateway.acting(as: principal).send("POST", "/internal/users/profile", body)
    }

    @Test func `Services get the attributes that conditions use, and nothing private`() async throws {
        try await UserClient.run { client in
            let anna = try await client.signUp(
                more: #","email":"anna@example.org","profile":{"plan":"gold"},"private":{"phone":"1"}"#)
            let answer = try await Self.ask(client, anna.userID)
            #expect(
                answer.status == 200 && answer["profile"] == #"{"plan":"gold"}"# && answer["emailVerified"] == "false"
                    && answer["anonymous"] == "false", "\(answer)")
            #expect(!answer.text.contains("anna") && !answer.text.contains("phone"))
            #expect(
                try await Self.ask(client, anna.userID, environment: "test").text == "{}", "of the other environment")
            #expect(try await Self.ask(client, UUID().uuidString).text == "{}")
            #expect(try await client.master("PATCH", "users/\(anna.userID)", #"{"disabled":true}"#).status == 200)
            #expect(try await Self.ask(client, anna.userID).text == "{}")
            #expect(try await Self.ask(client, "x").text == "{}", "an id of the app's own")
            for kind in [Principal.Kind.client, .master, .staff, .evaluation] {
                let principal = Principal(
                    kind: kind, appID: client.app.id, appNumber: 1, environment: .live, credentialID: "c")
                #expect(try await Self.ask(client, anna.userID, as: principal).isProblem(.forbidden))
            }
        }
    }
}

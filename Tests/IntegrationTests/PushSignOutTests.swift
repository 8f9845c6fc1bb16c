import Foundation
import MartletAPI
import MartletCore
import MartletTesting
import Testing

extension IntegrationTests {
    /// Sessions end in auth, which informs notifications; both run as in operation.
    @Suite(.localServer) struct PushSignOutTests {
        let server: LocalServer

        init() throws { server = try .current }

        /// A user's device: its installation, and the client signed in on it.
        private func device(_ tokens: Reply) async throws -> (path: String, client: Client) {
            let client = Client(server.connection).adding(
                "authorization", "Bearer \(try #require(tokens.string("accessToken")))")
            let path = "installations/\(UUID().uuidString.lowercased())"
            let secret = Base64URL.encode((0..<32).map { _ in UInt8.random(in: 0...255) })
            server.record(secret: secret)
            let answer = try await client.adding("Installation-Secret", secret).send(
                "PUT", path, #"{"platform":"android"}"#)
            try #require(answer.status == 201 && answer.string("user") == tokens.string("user.id"), "\(answer)")
            return (path, client)
        }

        private func user(_ path: String) async throws -> String? {
            let answer = try await Client.master(server.connection).get("notifications/" + path)
            try #require(answer.status == 200, "\(answer)")
            return answer.string("user")
        }

        @Test
        func `A user who signs out everywhere else, or changes the password, gets no more push there`()
            async throws
        {
            let client = Client(server.connection)
            let name = "push\(UUID().uuidString.prefix(8).lowercased())"
            let first = try await client.post("auth/signup", #"{"userName":"\#(name)","password":"correct horse"}"#)
            try #require(first.status == 201, "\(first)")
            func logIn() async throws -> Reply {
                try await client.post("auth/login", #"{"userName":"\#(name)","password":"correct horse"}"#)
            }
            let (kept, second, third) = (
                try await device(first), try await device(try await logIn()), try await device(try await logIn())
            )

            #expect(try await third.client.send("POST", "auth/logout").status == 204)
            try await eventually("the third device is signed out") { try await user(third.path) == nil }
            let (others, keeps) = (try await user(second.path), try await user(kept.path))
            #expect(others != nil && keeps != nil)

            #expect(
                try await kept.client.send(
                    "PUT", "auth/me/password", #"{"password":"correct horse","newPassword":"battery staple"}"#
                ).status == 204)
            try await eventually("the second device is signed out") { try await user(second.path) == nil }
            #expect(try await user(kept.path) == first.string("user.id"))

            #expect(try await kept.client.send("DELETE", "auth/sessions").isSuccess)
            try await eventually("all are signed out") { try await user(kept.path) == nil }
        }

        @Test func `No client can sign others out of push through the gateway`() async throws {
            let answer = try await Client.master(server.connection).post("internal/users/sign-out", "{}")
            #expect(answer.status == 404, "\(answer)")
        }
    }
}

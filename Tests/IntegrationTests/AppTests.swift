import Foundation
import MartletAPI
import MartletTesting
import Testing

extension IntegrationTests {
    /// Apps and their keys as managed by staff, and their effect on gateways.
    @Suite(.localServer)
    struct AppTests {
        let server: LocalServer
        let console: StaffConsole

        init() throws {
            server = try .current
            console = StaffConsole(server: server)
        }

        /// Creates an app, and a client with its first keys.
        private func make(_ name: String, as token: String) async throws -> (id: String, client: Client) {
            let made = try await console.send("POST", "apps", #"{"name":"\#(name)"}"#, as: token)
            try #require(made.status == 201, "\(made)")
            for kind in ["appKey", "secret", "masterKey", "testAppKey", "ingestKey", "evaluationKey"] {
                server.record(secret: try #require(made.string("keys.\(kind)")))
            }
            let client = Client(
                url: server.connection.url, appKey: try #require(made.string("keys.appKey")),
                headers: [HeaderName.secret: try #require(made.string("keys.secret"))])
            let app = try #require(made.string("app.id"))
            try await server.open(app)
            try await waitUntilOpen(client)
            return (app, client)
        }

        private func text(of reply: Reply, status: Int = 201) throws -> String {
            try #require(reply.status == status, "\(reply)")
            let text = try #require(reply.string("key"))
            server.record(secret: text)
            return text
        }

        @Test func `A key that staff create has its scopes' access, is rotated, and is refused once it is revoked`()
            async throws
        {
            let token = try await console.asAdministrator()
            let (app, client) = try await make("Console", as: token)
            func keys(_ method: String, _ path: String = "", _ body: String? = nil) async throws -> Reply {
                try await console.send(method, "apps/\(app)/keys\(path)", body, as: token)
            }
            let made = try await keys("POST", "", #"{"kind":"secret","label":"reader","scopes":["storage:read"]}"#)
            let (id, reader) = (
                try #require(made.string("record.id")), client.adding(HeaderName.secret, try text(of: made))
            )
            try await waitUntilOpen(reader)
            #expect(try await reader.post("storage/Notes", #"{"_id":"a"}"#).isProblem(.forbidden))
            #expect(try await client.get("storage/Notes")["count"] == "0")

            #expect(try await keys("PATCH", "/\(id)", #"{"scopes":["storage"]}"#).status == 200)
            try await eventually("the wider scope is in effect", within: .seconds(180)) {
                try await reader.post("storage/Notes", #"{"_id":"a"}"#).isSuccess
            }
            #expect(try await keys("PATCH", "/\(id)", #"{"networks":["192.0.2.0/24"]}"#).status == 200)
            try await waitUntilRefused(reader)
            #expect(try await keys("PATCH", "/\(id)", #"{"networks":null}"#).status == 200)
            try await waitUntilOpen(reader)

            let rotated = try await keys("POST", "/\(id)/rotate", #"{"graceSeconds":3600}"#)
            let (next, second) = (
                try #require(rotated.string("record.id")), client.adding(HeaderName.secret, try text(of: rotated))
            )
            try await waitUntilOpen(second)
            #expect(try await reader.get("storage/Notes").status == 200, "both keys are valid in the grace period")
            let again = try await keys("POST", "/\(id)/rotate", #"{"graceSeconds":0}"#)
            _ = try text(of: again)
            try await waitUntilRefused(reader)
            #expect(try await second.get("storage/Notes").status == 200)

            // Requests with this key have just succeeded, and the client keeps its connection to the gateway.
            #expect(try await keys("DELETE", "/\(next)").status == 204)
            try await waitUntilRefused(second)
            #expect(try await client.get("storage/Notes").ids == ["a"])
            let log = try await console.send("GET", "audit?app=\(app)", as: token)
            for action in ["create", "create-key", "update-key", "rotate-key", "revoke-key"] {
                #expect(log.text.contains(#""action": "\#(action)""#), "\(action): \(log)")
            }
        }

        @Test func `An archived app is closed at the gateway, and open again when it is restored`() async throws {
            let token = try await console.asAdministrator()
            let (app, client) = try await make("Archived", as: token)
            #expect(try await console.send("POST", "apps/\(app)/archive", as: token).status == 200)
            try await waitUntilRefused(client)
            #expect(try await console.send("PATCH", "apps/\(app)", #"{"name":"x"}"#, as: token).isProblem(.conflict))
            #expect(try await console.send("POST", "apps/\(app)/restore", as: token).status == 200)
            try await waitUntilOpen(client)
        }

        @Test func `Keys that the operator creates and revokes are logged`() async throws {
            let token = try await console.asAdministrator()
            let app = try await server.makeApp("By command")
            let made = try await console.send("GET", "audit?app=\(app.appId)", as: token)
            #expect(
                made["count"] == "1" && made.string("data.0.action") == "create"
                    && made.string("data.0.staff.userName") == "operator", "\(made)")
            let key = try await server.martlet(
                "key", "create", "--app", app.appId, "--kind", "secret", "--label", "logged")
            let text = key.output.trimmingCharacters(in: .whitespacesAndNewlines)
            try #require(key.status == 0 && text.hasPrefix("ms_"), "\(key)")
            server.record(secret: text)
            let added = try await console.send("GET", "audit?app=\(app.appId)&limit=1", as: token)
            #expect(
                added.string("data.0.action") == "create-key" && added.string("data.0.after.label") == "logged"
                    && !added.text.contains(text), "\(added)")
            let id = try #require(added.string("data.0.target"))
            #expect(try await server.martlet("key", "revoke", id).status == 0)
            let revoked = try await console.send("GET", "audit?app=\(app.appId)&limit=1", as: token)
            #expect(
                revoked.string("data.0.action") == "revoke-key" && revoked.string("data.0.target") == id, "\(revoked)")
        }

        @Test func `Staff begin signing in at a provider without a token, and even with an invalid one`() async throws {
            let token = try await console.asAdministrator()
            // This text has the form of a token; other texts are refused everywhere.
            let gone = "eyJhbGciOiJFUzI1NiJ9.e30.AAAA"
            #expect(try await console.send("GET", "auth/providers", as: gone)["count"] == "0")
            #expect(try await console.send("GET", "auth/providers", as: "none").isProblem(.invalidToken))
            #expect(try await console.send("GET", "identity-providers", as: token)["count"] == "0")
            #expect(try await console.send("GET", "identity-providers").isProblem(.invalidToken))
            let body = #"{"redirectURL":"https://console.example/","codeChallenge":"x"}"#
            for token in [nil, gone] as [String?] {
                #expect(try await console.send("POST", "auth/oidc/none/start", body, as: token).isProblem(.notFound))
                #expect(
                    try await console.send("GET", "auth/oidc/callback?state=x&code=y", as: token).isProblem(
                        .invalidLink))
                #expect(
                    try await console.send("POST", "auth/oidc/finish", #"{"code":"x","codeVerifier":"y"}"#, as: token)
                        .isProblem(.invalidToken))
            }
        }
    }
}

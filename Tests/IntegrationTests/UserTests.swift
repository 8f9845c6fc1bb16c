import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import Testing

extension IntegrationTests {
    /// End users with an app on a device.
    @Suite(.localServer)
    struct UserTests {
        let server: LocalServer
        let client: Client
        let master: Client

        init() throws {
            server = try .current
            client = Client(server.connection)
            master = .master(server.connection)
        }

        private func signUp(_ name: String) async throws -> (tokens: Reply, client: Client) {
            let tokens = try await client.post("auth/signup", #"{"userName":"\#(name)","password":"correct horse"}"#)
            try #require(tokens.status == 201, "\(tokens)")
            for kind in ["accessToken", "refreshToken"] { server.record(secret: try #require(tokens.string(kind))) }
            server.record(secret: "correct horse")
            return (tokens, client.adding("authorization", "Bearer \(try #require(tokens.string("accessToken")))"))
        }

        @Test func `Signed-in users own what they store, and others do not see it`() async throws {
            let (anna, asAnna) = try await signUp("anna")
            let (_, asBerta) = try await signUp("berta")
            let rules =
                #"{"rules":{"create":["authenticated"],"get":["field:by"],"find":["field:by"],"update":["field:by"]}}"#
            let set = try await master.send("PUT", "collections/Diary/rules", rules)
            #expect(set.status == 200, "\(set)")
            try await eventually("the rules are in effect") { try await client.get("storage/Diary/d1").status == 403 }
            let id = try #require(anna.string("user.id"))
            let made = try await asAnna.post("storage/Diary", #"{"_id":"d1","by":"\#(id)","text":"mine"}"#)
            #expect(made.status == 201, "\(made)")
            #expect(try await asAnna.get("storage/Diary/d1").status == 200)
            #expect(try await asBerta.get("storage/Diary/d1").status == 404)
            #expect(try await client.get("storage/Diary/d1").status == 403)
            #expect(try await client.post("storage/Diary", "{}").status == 403)
        }

        /// One management call of each kind in every service.
        static let management = [
            ("GET", "collections", nil), ("PUT", "collections/Diary/rules", "{}"), ("DELETE", "collections/Diary", nil),
            ("GET", "roles", nil),
            ("PUT", "roles/editors", #"{"add":["x"]}"#), ("GET", "hooks", nil),
            ("PUT", "hooks/h", #"{"event":"function","url":"https://example.com/"}"#),
            ("GET", "jobs", nil), ("POST", "exports/Diary", "{}"), ("POST", "imports/Diary", "[]"),
            ("DELETE", "environment", nil), ("GET", "files/usage", nil),
            ("GET", "config/flags", nil), ("PUT", "config/flags/default", #"{"flags":{}}"#),
            ("POST", "config/flags/default/publish", "{}"),
            ("GET", "tickets", nil), ("POST", "tickets", #"{"title":"t"}"#), ("GET", "tickets/events", nil),
            ("GET", "crashes/issues", nil),
            ("POST", "crashes/alerts", "{}"), ("GET", "analytics/names", nil), ("POST", "analytics/funnel", "{}"),
            ("GET", "notifications/templates", nil),
            ("POST", "notifications/messages", #"{"template":"t","audience":{"users":["x"]}}"#),
            ("POST", "notifications/preview", "{}"),
            ("GET", "auth/users", nil), ("POST", "auth/users/import", "{}"),
            ("GET", "auth/clients", nil), ("PUT", "auth/settings", "{}"), ("GET", "auth/settings", nil),
            ("GET", "auth/providers", nil),
        ]

        @Test
        func
            `A master key with a user's token has that user's rights in every service, and with a malformed token none at all`()
            async throws
        {
            let (tokens, _) = try await signUp("helga")
            let token = try #require(tokens.string("accessToken"))
            #expect(try await master.post("storage/Diary", #"{"_id":"kept"}"#).isSuccess)
            let settings = try await master.get("auth/settings").text
            for (method, path, body) in Self.management {
                let asUser = try await master.adding("authorization", "Bearer \(token)").send(method, path, body)
                #expect(asUser.isProblem(.forbidden), "\(method) \(path): \(asUser)")
                let named = try await master.adding(HeaderName.user, try #require(tokens.string("user.id"))).send(
                    method, path, body)
                #expect(named.isProblem(.forbidden), "\(method) \(path): \(named)")
                for malformed in ["Bearer null", "Bearer \(token)x.y", token] {
                    let refused = try await master.adding("authorization", malformed).send(method, path, body)
                    #expect(refused.isProblem(.invalidToken), "\(method) \(path): \(refused)")
                }
            }
            #expect(try await master.get("storage/Diary/kept").status == 200)
            #expect(try await master.get("roles")["count"] == "0")
            #expect(try await master.get("hooks")["count"] == "0")
            #expect(try await master.get("auth/settings").text == settings)
        }

        @Test func `An ended session is refused by the gateway within two seconds, everywhere`() async throws {
            let (tokens, asUser) = try await signUp("carla")
            #expect(try await asUser.get("auth/me").status == 200)
            #expect(try await asUser.get("storage/Notes").status == 200)
            #expect(try await asUser.post("auth/logout", "").status == 204)
            try await eventually("the token is refused", within: .seconds(25)) {
                try await asUser.get("storage/Notes").status == 401
            }
            #expect(try await asUser.get("auth/me").isProblem(.invalidToken))
            let refresh = try await client.post(
                "auth/refresh", #"{"refreshToken":"\#(try #require(tokens.string("refreshToken")))"}"#)
            #expect(refresh.isProblem(.invalidToken), "\(refresh)")
        }

        @Test func `Sessions and keys survive the restart of every process`() async throws {
            let (tokens, asUser) = try await signUp("dora")
            for name in ["auth", "gateway", "postgres"] { try await server.restart(name) }
            try await eventually("everything is ready", within: .seconds(180)) { await server.isEverythingReady() }
            try await eventually("the token is accepted", within: .seconds(180)) {
                try await asUser.get("auth/me").status == 200
            }
            let refreshed = try await client.post(
                "auth/refresh", #"{"refreshToken":"\#(try #require(tokens.string("refreshToken")))"}"#)
            #expect(refreshed.status == 200, "\(refreshed)")
        }

        @Test func `An expired access token does not prevent a refresh`() async throws {
            let (tokens, asUser) = try await signUp("gerda")
            let stale = client.adding(
                "authorization", "Bearer \(try #require(tokens.string("accessToken")).dropLast(4))AAAA")
            #expect(try await stale.get("auth/me").status == 401)
            let refreshed = try await stale.post(
                "auth/refresh", #"{"refreshToken":"\#(try #require(tokens.string("refreshToken")))"}"#)
            #expect(refreshed.status == 200, "\(refreshed)")
            #expect(
                try await stale.post("auth/login", #"{"userName":"gerda","password":"correct horse"}"#).status == 200)
            #expect(try await asUser.get("auth/sessions")["count"] == "2")
            for text in ["Bearer null", "Bearer undefined", "Bearer", "x"] {
                let refused = try await client.adding("authorization", text).post(
                    "auth/login", #"{"userName":"gerda","password":"correct horse"}"#)
                #expect(refused.isProblem(.invalidToken), "\(text): \(refused)")
            }
            #expect(try await asUser.get("auth/sessions")["count"] == "2")
        }

        @Test func `While auth is unavailable signed-in users can continue`() async throws {
            let (_, asUser) = try await signUp("elsa")
            try await server.withoutSupervisor {
                try server.signal("auth", SIGKILL)
                for number in 0..<10 {
                    let made = try await asUser.post("storage/Notes", #"{"n":\#(number)}"#)
                    #expect(made.status == 201, "\(made)")
                }
            }
            try await eventually("everything is ready", within: .seconds(180)) { await server.isEverythingReady() }
        }

        @Test func `Forged tokens are refused`() async throws {
            let (tokens, _) = try await signUp("frida")
            let token = try #require(tokens.string("accessToken"))
            let keys = try await Client(url: client.url, appKey: client.appKey, headers: [:]).get("auth/jwks")
            #expect(keys.status == 200 && keys["keys.0.alg"] == #""ES256""#, "\(keys)")
            let parts = token.split(separator: ".").map(String.init)
            let none = Base64URL.encode(Array(#"{"alg":"none","typ":"at+jwt"}"#.utf8))
            for forged in ["\(none).\(parts[1]).", "\(parts[0]).\(parts[1]).AAAA", "x", token.uppercased()] {
                let answer = try await client.adding("authorization", "Bearer \(forged)").get("auth/me")
                #expect(answer.isProblem(.invalidToken), "\(answer)")
            }
            #expect(
                try await client.adding("x-martlet-user", "0190163d-8694-739b-aea5-966c26f8ad91").get("auth/me").status
                    == 401)
        }
    }
}

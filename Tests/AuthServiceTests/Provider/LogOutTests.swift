import Foundation
import MartletAPI
import MartletPostgres
import MartletTesting
import Testing

@testable import AuthService

/// OpenID Connect RP-Initiated Logout 1.0.
@Suite struct LogOutTests {
    private static let goodbye = "https://calendar.example/bye?x=1"

    /// Lends a browser in which anna is signed in, and the client's ID token for her.
    private func run(_ body: @Sendable (TestProvider, TestBrowser, String) async throws -> Void) async throws {
        try await TestProvider.run { provider async throws in
            _ = try await provider.users.signUp()
            let set = try await provider.users.master(
                "PUT", "clients/\(provider.client.id)",
                #"{"name":"Calendar","redirectUris":["\#(provider.client.redirectURI)"],"postLogoutRedirectUris":["\#(Self.goodbye)"]}"#
            )
            try #require(set.status == 200, "\(set)")
            var browser = provider.browser()
            let code = try #require(try await browser.signIn(provider.request(["scope": "openid"])).parameters["code"])
            let tokens = try ProviderAnswer(try await provider.exchange(code))
            try await body(provider, browser, try #require(tokens.id))
        }
    }

    private func query(_ fields: [String: String?]) -> String {
        FormFields.encode(fields.compactMap { name, value in value.map { (name, $0) } })
    }

    private func isSignedIn(_ browser: TestBrowser) async throws -> Bool {
        var browser = browser
        return try await browser.authorize(browser.provider.request(["prompt": "none", "scope": "openid"])).parameters[
            "code"] != nil
    }

    @Test func `A client with the user's ID token signs the browser out, which returns to the client`() async throws {
        try await run { provider, known, token async throws in
            var browser = known
            #expect(try await isSignedIn(browser))
            let answer = try await browser.send(
                "GET",
                "logout?" + query(["id_token_hint": token, "post_logout_redirect_uri": Self.goodbye, "state": "s/2"]))
            #expect(answer.status == 303 && answer.location == Self.goodbye + "&state=s%2F2", "\(answer)")
            #expect(answer.header("cache-control") == "no-store" && answer.header("referrer-policy") == "no-referrer")
            #expect(
                browser.setCookies.contains { $0.hasPrefix("martlet_session=;") && $0.contains("Max-Age=0") },
                "\(browser.setCookies)")
            // The session itself has ended, not only the cookie.
            #expect(try await !isSignedIn(known))
            #expect(
                try await provider.users.count(
                    "SELECT count(*) FROM auth.sessions WHERE revoked IS NULL AND device = 'Browser'") == 0)
            let again = try await browser.send(
                "GET", "logout?" + query(["id_token_hint": token, "post_logout_redirect_uri": Self.goodbye]))
            #expect(again.status == 303 && again.location == Self.goodbye, "\(again)")
            #expect(try await browser.send("GET", "logout").text.contains("You are signed out of Shop"))
        }
    }

    @Test func `A client's tokens end with the browser's session, unless it has offline access`() async throws {
        try await run { provider, known, token async throws in
            var browser = known
            func tokens(_ scope: String) async throws -> ProviderAnswer {
                try ProviderAnswer(
                    try await provider.exchange(
                        try #require(try await browser.signIn(provider.request(["scope": scope])).parameters["code"])))
            }
            let (online, offline) = (try await tokens("openid"), try await tokens("openid offline_access"))
            #expect(try await browser.send("GET", "logout?" + query(["id_token_hint": token])).status == 200)
            #expect(try await provider.userInfo(online.access).isOAuthError("invalid_token", status: 401))
            #expect(try await provider.userInfo(offline.access).status == 200)
        }
    }

    @Test func `Without an ID token of the signed-in user, the user must confirm in their own browser`() async throws {
        try await run { provider, known, token async throws in
            _ = try await provider.users.signUp("berta")
            var other = provider.browser()
            let code = try #require(
                try await other.signIn(provider.request(["scope": "openid"]), name: "berta").parameters["code"])
            let ofBerta = try #require(try ProviderAnswer(try await provider.exchange(code)).id)
            let parts = token.split(separator: ".")
            let forged = "\(parts[0]).\(parts[1]).\(String(repeating: "A", count: parts[2].count))"
            for hint in [nil, ofBerta, forged, "x"] as [String?] {
                var browser = known
                let request = query([
                    "id_token_hint": hint, "client_id": provider.client.id, "post_logout_redirect_uri": Self.goodbye,
                ])
                let page = try await browser.send("GET", "logout?" + request)
                #expect(page.status == 200 && page.isPage && page.text.contains("anna"), "\(page)")
                #expect(try await isSignedIn(known))
                // Forged requests: without a token, with another user's, or with another request's.
                #expect(try await browser.send("POST", "logout/confirm?" + request, form: [:]).status == 400)
                #expect(
                    try await browser.send("POST", "logout/confirm?" + request, form: ["form_token": "x"]).status
                        == 400)
                let action = try #require(page.text.firstMatch(of: /name="form_token" value="([^"]+)"/)?.1)
                #expect(
                    try await browser.send(
                        "POST", "logout/confirm?" + query(["state": "x"]), form: ["form_token": String(action)]
                    ).status == 400)
                #expect(try await other.submit(page, [:]).status == 400)
            }
            #expect(try await isSignedIn(known))
            var browser = known
            let page = try await browser.send(
                "GET", "logout?" + query(["client_id": provider.client.id, "post_logout_redirect_uri": Self.goodbye]))
            let back = try await browser.submit(page, [:])
            #expect(back.status == 303 && back.location == Self.goodbye, "\(back)")
            #expect(try await !isSignedIn(known))
        }
    }

    /// There is no redirect to another address, and no session ends for one.
    @Test func `A redirect address that does not match byte for byte ends on a page`() async throws {
        try await run { provider, known, token async throws in
            let other = try await TestProvider.makeClient(provider.users, name: "Other")
            var browser = known
            for uri in [
                "https://evil.example/", "https://calendar.example/bye", Self.goodbye + "/", Self.goodbye + "&y",
                "https://calendar.example/back",
                "//calendar.example/bye?x=1", "javascript:alert(1)",
            ] {
                for hint in [["id_token_hint": token], ["client_id": provider.client.id]] {
                    let answer = try await browser.send(
                        "GET", "logout?" + query(hint.merging(["post_logout_redirect_uri": uri]) { $1 }))
                    #expect(answer.status == 400 && answer.isPage && answer.location == nil, "\(uri): \(answer)")
                }
            }
            for fields in [
                ["post_logout_redirect_uri": Self.goodbye],
                ["post_logout_redirect_uri": Self.goodbye, "client_id": other.id],
                ["id_token_hint": token, "client_id": other.id],
                ["post_logout_redirect_uri": Self.goodbye, "client_id": "x"],
            ] {
                let answer = try await browser.send("GET", "logout?" + query(fields))
                #expect(answer.status == 400 && answer.isPage && answer.location == nil, "\(fields): \(answer)")
            }
            #expect(try await isSignedIn(known))
        }
    }

    @Test func `A client's form post continues as a GET`() async throws {
        try await run { provider, known, token async throws in
            var browser = known
            let answer = try await browser.send("POST", "logout", form: ["id_token_hint": token])
            #expect(
                answer.status == 303
                    && answer.location == provider.issuer + "/logout?" + query(["id_token_hint": token]), "\(answer)")
            #expect(try await isSignedIn(known))
        }
    }
}

import Crypto
import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import Testing

@testable import AuthService

@Suite struct AuthorizeTests {
    @Test func `A user signs in, consents and returns with a code, and is not asked the next time`() async throws {
        try await TestProvider.run { provider async throws in
            _ = try await provider.users.signUp()
            var browser = provider.browser()
            let logIn = try await browser.authorize(provider.request(["login_hint": "anna"]))
            #expect(
                logIn.status == 200 && logIn.isPage && logIn.text.contains("value=\"anna\"")
                    && logIn.text.contains("Calendar"), "\(logIn)")
            let consent = try await browser.logIn(logIn)
            #expect(
                consent.status == 200 && consent.isPage && consent.text.contains("see your e-mail address"),
                "\(consent)")
            let cookie = try #require(browser.setCookies.first { $0.hasPrefix("martlet_session=mpb_") })
            let properties = Set(cookie.components(separatedBy: "; ").dropFirst())
            #expect(properties == ["Path=\(provider.path)", "HttpOnly", "SameSite=Lax"])
            let back = try await browser.submit(consent, ["decision": "allow"])
            #expect(
                back.status == 303 && back.location?.hasPrefix("https://calendar.example/back?code=") == true, "\(back)"
            )
            #expect(back.parameters["state"] == "s/1" && back.parameters["iss"] == provider.issuer)
            #expect(back.header("cache-control") == "no-store" && back.header("referrer-policy") == "no-referrer")

            let again = try await browser.authorize(provider.request())
            #expect(
                again.status == 303 && again.parameters["code"] != nil
                    && again.parameters["code"] != back.parameters["code"], "\(again)")
            let silent = try await browser.authorize(provider.request(["prompt": "none"]))
            #expect(silent.status == 303 && silent.parameters["code"] != nil, "\(silent)")
            let stored: [String] = try await provider.users.auth.postgres.query(
                "SELECT encode(sha256, 'hex') || redirect_uri FROM auth.authorization_codes"
            )
            .map { try $0.decode(0) }
            #expect(stored.count == 3 && !stored.contains { $0.contains(back.parameters["code"] ?? "?") })
        }
    }

    @Test func `prompt and max_age are respected`() async throws {
        try await TestProvider.run { provider async throws in
            _ = try await provider.users.signUp()
            var browser = provider.browser()
            #expect(
                try await browser.authorize(provider.request(["prompt": "none"])).parameters["error"]
                    == "login_required")
            let consent = try await browser.logIn(try await browser.authorize(provider.request()))
            let refused = try await browser.authorize(provider.request(["prompt": "none"]))
            #expect(
                refused.parameters["error"] == "consent_required" && refused.parameters["state"] == "s/1"
                    && refused.parameters["iss"] == provider.issuer)
            _ = try await browser.submit(consent, ["decision": "allow"])
            for prompt in ["login", "select_account", "login consent"] {
                #expect(
                    try await browser.authorize(provider.request(["prompt": prompt])).text.contains(
                        "name=\"password\""), "\(prompt)")
            }
            #expect(
                try await browser.authorize(provider.request(["prompt": "consent"])).text.contains("name=\"decision\""))
            #expect(try await browser.authorize(provider.request(["max_age": "0"])).text.contains("name=\"password\""))
            #expect(try await browser.authorize(provider.request(["max_age": "100000"])).status == 303)
            // A user who signs in because of these parameters is not asked again.
            var other = provider.browser()
            let page = try await other.authorize(provider.request(["prompt": "login", "max_age": "0"]))
            #expect(try await other.logIn(page).parameters["code"] != nil)
            // A narrower request is covered by the consent, a wider one is not.
            #expect(try await browser.authorize(provider.request(["scope": "openid"])).parameters["code"] != nil)
            var narrow = provider.browser()
            _ = try await provider.users.signUp("berta")
            _ = try await narrow.signIn(provider.request(["scope": "openid"]), name: "berta")
            #expect(
                try await narrow.authorize(provider.request(["scope": "openid email"])).text.contains(
                    "name=\"decision\""))
        }
    }

    @Test func `A refusal or an invalid request returns to the client with an error`() async throws {
        try await TestProvider.run { provider async throws in
            _ = try await provider.users.signUp()
            var browser = provider.browser()
            let consent = try await browser.logIn(try await browser.authorize(provider.request()))
            let back = try await browser.submit(consent, ["decision": "deny"])
            #expect(
                back.status == 303 && back.parameters["error"] == "access_denied" && back.parameters["code"] == nil
                    && back.parameters["iss"] == provider.issuer)
            #expect(try await provider.users.count("SELECT count(*) FROM auth.client_grants") == 0)
            let errors: [([String: String?], String)] = [
                (["response_type": "token"], "unsupported_response_type"),
                (["response_type": nil], "unsupported_response_type"),
                (["response_type": "code id_token"], "unsupported_response_type"),
                (["response_mode": "fragment"], "invalid_request"),
                (["scope": nil], "invalid_scope"), (["scope": "admin"], "invalid_scope"),
                (["prompt": "none login"], "invalid_request"),
                (["prompt": "x"], "invalid_request"), (["max_age": "-1"], "invalid_request"),
                (["max_age": "x"], "invalid_request"),
                (["request": "x.y."], "request_not_supported"),
                (["request_uri": "https://evil.example/"], "request_uri_not_supported"),
                (["registration": "{}"], "registration_not_supported"),
                (["nonce": String(repeating: "n", count: 1_001)], "invalid_request"),
                // PKCE missing, plain, plain by default, and too short.
                (["code_challenge": nil, "code_challenge_method": nil], "invalid_request"),
                (["code_challenge_method": "plain"], "invalid_request"),
                (["code_challenge_method": nil], "invalid_request"), (["code_challenge": "short"], "invalid_request"),
                (["code_challenge": String(repeating: "*", count: 43)], "invalid_request"),
            ]
            for (changes, error) in errors {
                let answer = try await browser.authorize(provider.request(changes))
                #expect(
                    answer.status == 303 && answer.parameters["error"] == error && answer.parameters["state"] == "s/1",
                    "\(changes): \(answer)")
                #expect(
                    answer.parameters["iss"] == provider.issuer
                        && answer.location?.hasPrefix("https://calendar.example/back?error=") == true)
            }
            #expect(try await provider.users.count("SELECT count(*) FROM auth.authorization_codes") == 0)
        }
    }

    /// Nothing is ever sent to an address that is not the client's: neither a code nor an error.
    @Test func `An invalid redirect address or client ends on an error page`() async throws {
        try await TestProvider.run { provider async throws in
            _ = try await provider.users.signUp()
            var browser = provider.browser()
            _ = try await browser.signIn(provider.request())
            let other = try await TestProvider.makeClient(
                provider.users, name: "Other", redirectURI: "https://other.example/back")
            for uri in [
                "https://evil.example/back", "https://calendar.example/back/", "https://calendar.example/back/../x",
                "https://calendar.example/backx",
                "https://calendar.example@evil.example/back", "https://calendar.example/back#x",
                "https://calendar.example/Back", "https://calendar.example:444/back",
                "http://calendar.example/back", "//calendar.example/back", "/back", "javascript:alert(1)",
                other.redirectURI, "https://calendar.example/bac\u{212A}",
            ] {
                for more in [[:], ["response_type": "token"], ["code_challenge": nil], ["prompt": "none"]]
                    as [[String: String?]]
                {
                    let answer = try await browser.authorize(
                        provider.request(more.merging(["redirect_uri": uri]) { $1 }))
                    #expect(answer.status == 400 && answer.isPage && answer.location == nil, "\(uri): \(answer)")
                }
            }
            for changes in [
                ["redirect_uri": nil], ["client_id": nil], ["client_id": "x"], ["client_id": UUID().uuidString],
            ] as [[String: String?]] {
                let answer = try await browser.authorize(provider.request(changes))
                #expect(answer.status == 400 && answer.isPage && answer.location == nil, "\(changes): \(answer)")
            }
            let twice = try await browser.authorize(provider.request() + "&redirect_uri=https%3A%2F%2Fevil.example%2F")
            #expect(twice.status == 400 && twice.location == nil)
            // The client is not known in another environment or in another app.
            var test = provider.users
            test.environment = .test
            #expect(
                try await provider.visitor.get("\(provider.path)-test/authorize?" + provider.request()).status == 400)
            #expect(try await provider.visitor.get("/oidc/nobody/authorize?" + provider.request()).isProblem(.notFound))
        }
    }

    @Test func `Pages cannot be framed or cached, run no scripts, and escape their values`() async throws {
        try await TestProvider.run { provider async throws in
            var browser = provider.browser()
            let evil = "\"><script>alert(1)</script>"
            let page = try await browser.authorize(provider.request(["login_hint": evil, "state": evil]))
            #expect(
                page.status == 200 && !page.text.contains("<script") && page.text.contains("&quot;&gt;&lt;script&gt;"),
                "\(page)")
            let failed = try await browser.logIn(page, name: evil)
            #expect(failed.status == 403 && !failed.text.contains("<script"), "\(failed)")
            let failure = try await browser.authorize(provider.request(["client_id": evil]))
            #expect(!failure.text.contains("<script"))
            for answer in [page, failed, failure] {
                let policy = try #require(answer.header("content-security-policy"))
                #expect(
                    policy.hasPrefix("default-src 'none'; style-src 'sha256-")
                        && policy.contains("frame-ancestors 'none'") && policy.contains("base-uri 'none'"))
                #expect(
                    !policy.contains("unsafe") && answer.header("x-frame-options") == "DENY"
                        && answer.header("x-content-type-options") == "nosniff")
                #expect(
                    answer.header("cache-control") == "no-store" && answer.header("referrer-policy") == "no-referrer")
            }
            #expect(page.header("content-security-policy")?.contains("form-action 'self' https:;") == true)
            #expect(failure.header("content-security-policy")?.contains("form-action 'self';") == true)
        }
    }

    @Test func `A form is valid only in its browser, for its request, after signing in there`()
        async throws
    {
        try await TestProvider.run { provider async throws in
            _ = try await provider.users.signUp()
            _ = try await provider.users.signUp("mallory")
            var victim = provider.browser()
            var attacker = provider.browser()
            let attackersPage = try await attacker.authorize(provider.request())
            _ = try await victim.authorize(provider.request())
            // The attacker's form in the victim's browser: login CSRF.
            let forced = try await victim.logIn(attackersPage, name: "mallory")
            #expect(forced.status == 403 && victim.cookies["martlet_session"] == nil, "\(forced)")
            // The form is sent without a token, with another token, and without cookies.
            let query = provider.request()
            for form in [
                ["name": "anna", "password": "correct horse"],
                ["name": "anna", "password": "correct horse", "form_token": "AAAA"],
            ] {
                let answer = try await victim.send("POST", "login?" + query, form: form)
                #expect(answer.status == 403 && victim.cookies["martlet_session"] == nil)
            }
            var bare = provider.browser()
            #expect(try await bare.logIn(attackersPage).status == 403)

            let consent = try await victim.logIn(try await victim.authorize(query))
            let attackersConsent = try await attacker.logIn(try await attacker.authorize(query), name: "mallory")
            for form in [[:], ["decision": "allow"]] as [[String: String]] {
                #expect(try await victim.send("POST", "consent?" + query, form: form).status == 400)
            }
            #expect(try await victim.submit(attackersConsent, ["decision": "allow"]).status == 400)
            // The token of another request, and of another form.
            let token = String(try #require(consent.text.firstMatch(of: /name="form_token" value="([^"]+)"/)?.1))
            let wider = provider.request(["state": "other"])
            #expect(
                try await victim.send("POST", "consent?" + wider, form: ["form_token": token, "decision": "allow"])
                    .status == 400)
            #expect(
                try await victim.send(
                    "POST", "login?" + query, form: ["form_token": token, "name": "anna", "password": "correct horse"]
                ).status == 403)
            #expect(try await provider.users.count("SELECT count(*) FROM auth.client_grants") == 0)
            #expect(try await provider.users.count("SELECT count(*) FROM auth.authorization_codes") == 0)
            // A body that is not a form is refused, too.
            let json = try await provider.visitor.send(
                "POST", provider.path + "/consent?" + query, "{}",
                headers: [
                    "content-type": "application/json",
                    "cookie": victim.cookies.map { "\($0.key)=\($0.value)" }.joined(separator: "; "),
                ])
            #expect(json.status == 400)
            #expect(try await victim.submit(consent, ["decision": "allow"]).parameters["code"] != nil)
        }
    }

    @Test func `Each sign-in creates a new browser session, and none can be planted`() async throws {
        try await TestProvider.run { provider async throws in
            let anna = try await provider.users.signUp()
            var attacker = provider.browser()
            _ = try await provider.users.signUp("mallory")
            _ = try await attacker.signIn(provider.request(), name: "mallory")
            let planted = try #require(attacker.cookies["martlet_session"])
            var victim = provider.browser()
            victim.cookies = attacker.cookies
            let page = try await victim.authorize(provider.request(["prompt": "login"]))
            _ = try await victim.logIn(page)
            #expect(victim.cookies["martlet_session"] != planted)
            // The planted session is useless to anyone.
            #expect(try await attacker.authorize(provider.request()).text.contains("name=\"password\""))
            let own = try #require(victim.cookies["martlet_session"])
            for forged in [
                planted, "x", "mpb_", own.dropLast(8) + "AAAAAAAA", "mpa_" + own.dropFirst(4), anna.access,
                anna.refresh, anna.sessionID,
            ] {
                victim.cookies["martlet_session"] = String(forged)
                #expect(try await victim.authorize(provider.request()).text.contains("name=\"password\""), "\(forged)")
            }
            // A browser's session gives no access to the app's routes, though the user can see and end it there.
            #expect(try await provider.users.refresh(own).isProblem(.invalidToken))
            #expect(try await provider.userInfo(own).isOAuthError("invalid_token", status: 401))
            let list = try await provider.users.send("GET", "sessions", as: anna)
            let id = try #require(list.string("data.0.id"))
            #expect(list.string("data.0.device") == "Browser")
            victim.cookies["martlet_session"] = own
            #expect(try await victim.authorize(provider.request()).text.contains("name=\"decision\""))
            #expect(try await provider.users.send("DELETE", "sessions/\(id)", as: anna).status == 204)
            // If the public address uses HTTPS, the cookie is sent over HTTPS only.
            let cookies = ProviderCookies(
                sessions: ClientSessionStore(postgres: provider.users.auth.postgres),
                tokens: ProviderTokens(key: SymmetricKey(size: .bits256)),
                formKey: SymmetricKey(size: .bits256))
            let issuer = Issuer(
                publicURL: "https://x.example", space: AppSpace(appID: "shop", environment: .live), appName: "Shop")
            let cookie = cookies.sessionCookie(UUID(), issuer)
            #expect(
                cookie.name == "__Secure-martlet_session" && cookie.secure && cookie.httpOnly
                    && cookie.path == "/oidc/shop")
            #expect(try await victim.authorize(provider.request()).text.contains("name=\"password\""))
        }
    }

    @Test func `Guessing is slowed down, and all refusals look the same`() async throws {
        try await TestProvider.run { provider async throws in
            _ = try await provider.users.signUp()
            var browser = provider.browser()
            let page = try await browser.authorize(provider.request())
            func without(_ answer: Answer, _ name: String) -> String {
                answer.text.replacing(name, with: "").replacing(/form_token" value="[^"]+"/, with: "")
            }
            let wrong = try await browser.logIn(page, password: "wrong horse")
            let nobody = try await browser.logIn(page, name: "nobody")
            #expect(
                wrong.status == 403 && nobody.status == 403 && without(wrong, "anna") == without(nobody, "nobody"),
                "\(wrong) \(nobody)")
            var last = wrong
            for _ in 0..<14 where last.status != 429 { last = try await browser.logIn(page, password: "wrong horse") }
            #expect(last.status == 429 && last.header("retry-after") != nil, "\(last)")
            try await provider.users.auth.postgres.execute(
                "UPDATE auth.attempts SET not_before = now() + interval '1 hour'")
            // The same counter as for the app's sign-in.
            #expect(try await provider.users.logIn().isProblem(.tooManyRequests))
            #expect(browser.cookies["martlet_session"] == nil)
        }
    }

    @Test func `A user with a second factor must give its code`() async throws {
        try await TestProvider.run { provider async throws in
            let anna = try await provider.users.signUp()
            let added = try await provider.users.send("POST", "me/totp", #"{"password":"correct horse"}"#, as: anna)
            let secret = SecondFactorTests.decodeBase32(try #require(added.string("secret")))
            let first = OneTimePassword.code(secret: secret, counter: Int64(Date().timeIntervalSince1970) / 30)
            let confirmed = try await provider.users.send("POST", "me/totp/confirm", #"{"code":"\#(first)"}"#, as: anna)
            guard case .array(let codes)? = confirmed.json?["recoveryCodes"],
                case .string(let recoveryCode)? = codes.first
            else {
                Issue.record("\(confirmed)")
                return
            }
            var browser = provider.browser()
            let page = try await browser.authorize(provider.request())
            let codePage = try await browser.logIn(page)
            #expect(
                codePage.status == 403 && codePage.text.contains("name=\"code\"")
                    && browser.cookies["martlet_session"] == nil, "\(codePage)")
            let wrong = try await browser.logIn(codePage, code: "000000")
            #expect(
                wrong.status == 403 && wrong.text.contains("name=\"code\"") && browser.cookies["martlet_session"] == nil
            )
            #expect(try await browser.logIn(codePage, code: first).status == 403, "used before")
            let consent = try await browser.logIn(codePage, code: recoveryCode)
            #expect(consent.status == 200 && consent.text.contains("name=\"decision\""), "\(consent)")
            var other = provider.browser()
            let again = try await other.logIn(try await other.authorize(provider.request()))
            #expect(try await other.logIn(again, code: recoveryCode).status == 403, "a recovery code is valid once")
        }
    }

    @Test func `The page shows that the address must be verified`() async throws {
        try await TestProvider.run { provider async throws in
            _ = try await provider.users.signUp(more: #","email":"anna@example.org""#)
            #expect(try await provider.users.master("PUT", "settings", #"{"requireVerifiedEmail":true}"#).status == 200)
            var browser = provider.browser()
            let page = try await browser.logIn(try await browser.authorize(provider.request()))
            #expect(
                page.status == 403 && page.isPage && page.text.contains("must be verified")
                    && page.text.contains("name=\"password\""), "\(page)")
            #expect(browser.cookies["martlet_session"] == nil)
        }
    }

    /// A code intercepted by another program is useless without the secret.
    @Test(arguments: ["http://127.0.0.1:1/back", "http://localhost:3000/back", "com.example.desk:/back"])
    func `A confidential client's consent holds for any of its addresses, and no other client can use it`(uri: String)
        async throws
    {
        try await TestProvider.run { provider async throws in
            _ = try await provider.users.signUp()
            let desk = provider.with(try await TestProvider.makeClient(provider.users, name: "Desk", redirectURI: uri))
            var browser = desk.browser()
            #expect(
                try await browser.logIn(try await browser.authorize(desk.request())).text.contains("name=\"decision\""))
            let consent = try await browser.authorize(desk.request())
            #expect(try await browser.submit(consent, ["decision": "allow"]).parameters["code"] != nil)
            for changes in [[:], ["prompt": "none"]] as [[String: String?]] {
                let code = try #require(try await browser.authorize(desk.request(changes)).parameters["code"])
                let thief = desk.with(TestOAuthClient(id: desk.client.id, secret: nil, redirectURI: uri))
                #expect(try await thief.exchange(code).isOAuthError("invalid_client", status: 401))
                #expect(try await desk.exchange(code).status == 200)
            }
            // A request for more than was allowed needs consent, and so does one that demands it.
            let narrow = provider.with(
                try await TestProvider.makeClient(provider.users, name: "Narrow", redirectURI: uri))
            #expect(try await browser.signIn(narrow.request(["scope": "openid"])).parameters["code"] != nil)
            #expect(try await browser.authorize(narrow.request()).text.contains("name=\"decision\""))
            #expect(try await browser.authorize(desk.request(["prompt": "consent"])).text.contains("name=\"decision\""))
        }
    }

    /// Any program may listen on a local port or claim a scheme, so a public client needs consent every time (RFC 8252
    /// §8.6).
    @Test func `A native app needs consent each time, and may choose its port`() async throws {
        try await TestProvider.run { provider async throws in
            _ = try await provider.users.signUp()
            let native = provider.with(
                try await TestProvider.makeClient(
                    provider.users, name: "Desk", type: "public", redirectURI: "http://127.0.0.1/back"))
            var browser = native.browser()
            for port in [50_000, 50_001] {
                let uri = "http://127.0.0.1:\(port)/back"
                let page = try await browser.authorize(native.request(["redirect_uri": uri]))
                let consent = page.text.contains("name=\"password\"") ? try await browser.logIn(page) : page
                #expect(
                    consent.header("content-security-policy")?.contains(
                        "form-action 'self' https: http://127.0.0.1:\(port);") == true)
                let back = try await browser.submit(consent, ["decision": "allow"])
                #expect(back.location?.hasPrefix(uri + "?code=") == true, "\(back)")
                let code = try #require(back.parameters["code"])
                #expect(
                    try await native.exchange(code).isOAuthError("invalid_grant"),
                    "with the address that it is registered with")
                #expect(try await native.exchange(code, ["redirect_uri": uri]).status == 200)
            }
            #expect(
                try await browser.authorize(native.request(["prompt": "none"])).parameters["error"]
                    == "consent_required")
            let own = provider.with(
                try await TestProvider.makeClient(
                    provider.users, name: "Phone", type: "public", redirectURI: "com.example.phone:/back"))
            let consent = try await browser.authorize(own.request())
            #expect(
                consent.header("content-security-policy")?.contains("form-action 'self' https: com.example.phone:;")
                    == true)
            #expect(
                try await browser.submit(consent, ["decision": "allow"]).location?.hasPrefix(
                    "com.example.phone:/back?code=") == true)
        }
    }

    @Test func `A form post from another site continues as a GET`() async throws {
        try await TestProvider.run { provider async throws in
            _ = try await provider.users.signUp()
            var browser = provider.browser()
            _ = try await browser.signIn(provider.request())
            let answer = try await provider.visitor.send(
                "POST", provider.path + "/authorize", provider.request(),
                headers: ["content-type": "application/x-www-form-urlencoded"])
            let location = try #require(answer.location)
            #expect(answer.status == 303 && location.hasPrefix(provider.issuer + "/authorize?"), "\(answer)")
            #expect(
                try await browser.authorize(String(location.dropFirst((provider.issuer + "/authorize?").count)))
                    .parameters["code"] != nil)
        }
    }
}

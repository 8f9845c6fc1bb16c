import Crypto
import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import ServiceTesting
import Testing

@testable import AuthService

@Suite struct OAuthTests {
    @Test func `A code flow with PKCE on both sides signs a user in`() async throws {
        try await FakeProvider.run { client, provider in
            try await client.register(provider)
            let (url, state) = try await client.begin()
            let query = try fields(inQueryOf: url)
            #expect(
                url.hasPrefix(provider.url + "/authorize?") && query["state"] == state
                    && query["response_type"] == "code")
            #expect(
                query["client_id"] == "ios.app" && query["scope"] == "openid email profile"
                    && query["code_challenge_method"] == "S256")
            #expect(
                query["code_challenge"]?.utf8.count == 43 && query["nonce"]?.utf8.count == 43
                    && query["response_mode"] == nil)
            #expect(query["code_challenge"] != "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM")
            let callback = try #require(query["redirect_uri"])
            #expect(
                callback.hasPrefix("http://127.0.0.1:8080/api/mk_") && callback.hasSuffix("/auth/oauth/callback"),
                "\(callback)")
            let listed = try await client.master("GET", "providers")
            #expect(listed.string("data.0.callbackURL") == callback)

            let back = try await client.callBack([
                ("code", try provider.approve(url, ["email": #""ada@example.org""#, "email_verified": "true"])),
                ("state", state),
            ])
            let call = try back.appRedirect()
            #expect(call["state"] == state && call["error"] == nil)
            let signedIn = try await client.finish(call["code"], more: #","device":"phone""#)
            #expect(signedIn.status == 201 && signedIn["user.email"] == #""ada@example.org""#, "\(signedIn)")
            let form = try #require(provider.look(\.tokenRequests).first)
            // The issuer names no method of client authentication, so Basic is used.
            #expect(
                form["authorization"] == "Basic " + Data("ios.app:s3cret".utf8).base64EncodedString()
                    && form["client_secret"] == nil)
            #expect(form["client_id"] == nil && form["redirect_uri"] == callback)
            // No usable secret is stored, and nothing is left afterwards.
            #expect(try await client.finish(call["code"]).isProblem(.invalidToken))
            #expect(try await client.count("SELECT count(*) FROM auth.oauth_flows") == 0)
            #expect(try await client.count("SELECT count(*) FROM auth.oauth_codes") == 0)

            let again = try await client.finish(try await client.consent(at: provider)["code"])
            #expect(again.status == 200 && again["user.id"] == signedIn["user.id"], "\(again)")
            // The ID token of the same person leads to the same user.
            #expect(try await client.signIn(idToken: try provider.token())["user.id"] == signedIn["user.id"])
        }
    }

    @Test func `A state is valid once, for its app, for ten minutes`() async throws {
        try await FakeProvider.run { client, provider in
            try await client.register(provider)
            let (url, state) = try await client.begin()
            let code = try provider.approve(url)
            let other = try await client.auth.apps.create(name: "Other")
            for wrong in [[("code", code)], [("code", code), ("state", "x")], [("code", code), ("state", "")]] {
                #expect(try await client.callBack(wrong).isProblem(.invalidLink))
            }
            #expect(try await client.callBack([("code", code), ("state", state)], of: other).isProblem(.invalidLink))
            let answers = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<6 {
                    group.addTask { try await client.callBack([("code", code), ("state", state)]).status }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(answers.filter { $0 == 303 }.count == 1 && answers.filter { $0 == 403 }.count == 5, "\(answers)")
            #expect(provider.look(\.tokenRequests).count == 1)

            let (_, late) = try await client.begin()
            // The service itself has no right to change a flow, so the superuser does.
            try await client.auth.database.withSuperuser {
                _ = try await $0.execute("UPDATE auth.oauth_flows SET expires = now() - interval '1 second'")
            }
            #expect(try await client.callBack([("code", code), ("state", late)]).isProblem(.invalidLink))
            #expect(
                try await client.count(
                    "SELECT count(*) FROM auth.oauth_flows WHERE state_hash = convert_to(\(late), 'UTF8')") == 0)
            // Only the route of the callback completes a sign-in. Neither the app nor its server can complete one.
            #expect(try await client.send("GET", "oauth/callback?state=\(late)&code=x").isProblem(.forbidden))
        }
    }

    @Test func `The result can be used only by the client that began the flow`() async throws {
        try await FakeProvider.run { client, provider in
            try await client.register(provider)
            // Login CSRF, and a code intercepted by another app on the device: without the verifier there is no
            // session, and the code is used up.
            let code = try await client.consent(at: provider)["code"]
            let stolen = try await client.finish(code, verifier: String(repeating: "x", count: 43))
            #expect(stolen.isProblem(.invalidToken, field: "codeVerifier"), "\(stolen)")
            #expect(try await client.finish(code).isProblem(.invalidToken))
            // Values other than the verifier are refused: the challenge itself, and an empty text.
            for verifier in ["", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"] {
                #expect(
                    try await client.finish(
                        try await client.consent(at: provider)["code"], verifier: verifier
                    ).isProblem(.invalidToken))
            }
            // Session fixation: the state is not a code, and neither is an invented one.
            let (_, state) = try await client.begin()
            #expect(try await client.finish(state).isProblem(.invalidToken))
            // The code is not valid in another environment or in another app.
            let good = try await client.consent(at: provider)["code"]
            var test = client
            test.environment = .test
            #expect(try await test.finish(good).isProblem(.invalidToken))
            let other = UserClient(auth: client.auth, app: try await client.auth.apps.create(name: "Other"))
            #expect(try await other.finish(good).isProblem(.invalidToken))
            // Concurrent calls create one session.
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<6 { group.addTask { try await client.finish(good).status } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(statuses.filter { $0 == 201 }.count == 1 && statuses.filter { $0 == 401 }.count == 5, "\(statuses)")
            #expect(try await client.count("SELECT count(*) FROM auth.sessions") == 1)
        }
    }

    @Test(arguments: [
        "com.example.shop:/signed-in/", "com.example.shop:/signed-in?x", "com.example.shop:/SIGNED-IN",
        "COM.EXAMPLE.SHOP:/signed-in",
        "com.example.shop:/signed-in#x", "https://shop.example.org/in", "https://shop.example.org/in?x=1&y",
        "https://shop.example.org.evil.org/in?x=1",
        "https://shop.example.org@evil.org/in?x=1", "//evil.org", "https:/\\evil.org", "javascript:alert(1)", "",
        "com.example.shop:/signed-in\n",
    ])
    func `The app is redirected only to the exact addresses its server has set`(url: String) async throws {
        try await FakeProvider.run { client, provider in
            try await client.register(provider)
            let body =
                #"{"redirectURL":\#(JSONValue.quote(url)),"codeChallenge":"E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"}"#
            let answer = try await client.send("POST", "oauth/acme/start", body)
            #expect(answer.isProblem(.invalidBody, field: "redirectURL"), "\(answer)")
            #expect(try await client.count("SELECT count(*) FROM auth.oauth_flows") == 0)
        }
    }

    @Test func `Starting a flow requires a challenge`() async throws {
        try await FakeProvider.run { client, provider in
            try await client.register(provider)
            for challenge in ["", "abc", String(repeating: "=", count: 43), String(repeating: "a", count: 44)] {
                let body = #"{"redirectURL":"com.example.shop:/signed-in","codeChallenge":"\#(challenge)"}"#
                let answer = try await client.send("POST", "oauth/acme/start", body)
                #expect(answer.isProblem(.invalidBody, field: "codeChallenge"), "\(answer)")
            }
            let answer = try await client.send(
                "POST", "oauth/nobody/start", #"{"redirectURL":"a","codeChallenge":"b"}"#)
            #expect(answer.isProblem(.notFound), "\(answer)")
            // The app's own query is kept.
            let (url, state) = try await client.begin(redirectURL: "https://shop.example.org/in?x=1")
            let back = try await client.callBack([("code", try provider.approve(url)), ("state", state)])
            #expect(back.header("location")?.hasPrefix("https://shop.example.org/in?x=1&code=") == true, "\(back)")
        }
    }

    @Test func `The app is redirected with errors of the provider`() async throws {
        try await FakeProvider.run { client, provider in
            try await client.register(provider)
            func back(_ parameters: [(String, String)]) async throws -> [String: String] {
                let (url, state) = try await client.begin()
                let code = try provider.approve(url)
                let answer = try await client.callBack(
                    parameters.map { ($0.0, $0.1 == "good" ? code : $0.1) } + [("state", state)])
                let call = try answer.appRedirect()
                #expect(call["state"] == state && call["code"] == nil, "\(call)")
                return call
            }
            #expect(
                try await back([("error", "access_denied"), ("error_description", "no")])["error"] == "access_denied")
            #expect(try await back([("error", "x&code=1\r\n")])["error"] == "server_error")
            #expect(try await back([("code", "wrong")])["error"] == "server_error")
            #expect(try await back([])["error"] == "server_error")
            // RFC 9207: a mix-up with another issuer.
            #expect(try await back([("code", "good"), ("iss", "https://evil.example.org")])["error"] == "server_error")
            // The ID token of another flow, or of another app.
            for (claim, value) in [
                ("nonce", #""other""#), ("nonce", ""), ("aud", #""web.app""#), ("iss", #""https://evil.example.org""#),
                ("exp", "1"),
            ] {
                provider.change { $0.forgedClaims = [claim: value] }
                #expect(try await back([("code", "good")])["error"] == "server_error", "\(claim)")
            }
            provider.change { $0.isUnavailable = true }
            #expect(try await client.count("SELECT count(*) FROM auth.users") == 0)
            #expect(try await client.count("SELECT count(*) FROM auth.oauth_codes") == 0)
        }
    }

    @Test func `If the ID token has no address, the user info of the same person is used`() async throws {
        try await FakeProvider.run { client, provider in
            try await client.register(provider)
            provider.change { $0.user = #"{"sub":"s-2","email":"eve@example.org","email_verified":true}"# }
            #expect(try await client.consent(at: provider)["error"] == "server_error")
            provider.change { $0.user = #"{"sub":"s-1","email":"ada@example.org","email_verified":true}"# }
            let signedIn = try await client.finish(try await client.consent(at: provider)["code"])
            #expect(
                signedIn["user.email"] == #""ada@example.org""# && signedIn["user.emailVerified"] == "true",
                "\(signedIn)")
        }
    }

    @Test func `GitHub users are identified by number, and the primary address counts if it is verified`() async throws
    {
        try await FakeProvider.run { client, provider in
            try await client.register(provider, "github", kind: "github")
            provider.change {
                $0.user = #"{"id":583231,"login":"octocat","name":"Mona","email":"public@example.org"}"#
                $0.emails = """
                    [{"email":"other@example.org","primary":false,"verified":true},{"email":"mona@example.org","primary":true,"verified":true}]
                    """
            }
            let first = try await client.finish(try await client.consent(at: provider, "github")["code"])
            #expect(
                first.status == 201 && first["user.email"] == #""mona@example.org""#
                    && first["user.private.name"] == #""Mona""#, "\(first)")
            let form = try #require(provider.look(\.tokenRequests).first)
            #expect(form["client_id"] == "ios.app" && form["client_secret"] == "s3cret" && form["authorization"] == nil)
            let list = try await client.send("GET", "me/identities", as: try Tokens(first))
            #expect(list["data.0.subject"] == #""583231""#, "\(list)")
            // Names and addresses change owners; numbers do not.
            provider.change {
                $0.user = #"{"id":7,"login":"octocat"}"#
                $0.emails = #"[{"email":"mona2@example.org","primary":true,"verified":false}]"#
            }
            let other = try await client.finish(try await client.consent(at: provider, "github")["code"])
            #expect(
                other.status == 201 && other["user.email"] == "null" && other["user.id"] != first["user.id"], "\(other)"
            )
            #expect(
                try await client.signIn(idToken: try provider.token(), "github").isProblem(
                    .invalidBody, field: "provider"))
        }
    }

    @Test func `Facebook's address leads to no account, and its limited sign-in uses an ID token`() async throws {
        try await FakeProvider.run { client, provider in
            try await client.register(provider, "facebook", kind: "facebook")
            let anna = try await client.signUp(more: #","email":"anna@example.org""#)
            #expect(try await client.master("PATCH", "users/\(anna.userID)", #"{"emailVerified":true}"#).status == 200)
            provider.change { $0.user = #"{"id":"10158","name":"Anna","email":"anna@example.org"}"# }
            let first = try await client.finish(try await client.consent(at: provider, "facebook")["code"])
            #expect(
                first.status == 201 && first["user.email"] == "null" && first.string("user.id") != anna.userID,
                "\(first)")
            let token = try provider.token(["sub": #""10158""#])
            #expect(try await client.signIn(idToken: token, "facebook")["user.id"] == first["user.id"])
        }
    }
}

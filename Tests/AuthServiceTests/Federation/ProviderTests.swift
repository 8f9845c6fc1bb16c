import Crypto
import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import MartletTesting
import Testing

@testable import AuthService

@Suite struct ProviderTests {
    @Test func `An app's server creates, reads and deletes providers, and never sees the secret`() async throws {
        try await UserClient.run { client async throws in
            let body =
                #"{"kind":"google","clientIDs":["a.apps.example.org","b"],"clientSecret":"s3cret","redirectURLs":["app:/in"]}"#
            let made = try await client.master("PUT", "providers/google", body)
            #expect(
                made.status == 200 && made["hasSecret"] == "true"
                    && made["issuer"] == #""https://accounts.google.com""#, "\(made)")
            #expect(
                made["scopes"] == #"["openid","email","profile"]"# && made["trustsEmail"] == "true"
                    && made["callbackURL"] == nil)
            #expect(!made.text.contains("s3cret"))
            let sealed: Data = try await client.auth.postgres.query(
                "SELECT sealed_secret FROM auth.identity_providers")[0].decode(0)
            #expect(sealed.range(of: Data("s3cret".utf8)) == nil)
            // If left out, the secret stays; with another kind of provider it is removed.
            let changed = try await client.master(
                "PUT", "providers/google", #"{"kind":"google","clientIDs":["c"],"trustsEmail":false}"#)
            #expect(
                changed["hasSecret"] == "true" && changed["clientIDs"] == #"["c"]"#
                    && changed["trustsEmail"] == "false", "\(changed)")
            #expect(
                try await client.master("PUT", "providers/google", #"{"kind":"github","clientIDs":["c"]}"#)["hasSecret"]
                    == "false")
            let list = try await client.master("GET", "providers")
            #expect(list["count"] == "1" && list["data.0.name"] == #""google""#, "\(list)")
            var test = client
            test.environment = .test
            #expect(try await test.master("GET", "providers")["count"] == "0")
            #expect(try await test.master("DELETE", "providers/google").isProblem(.notFound))
            #expect(try await client.master("DELETE", "providers/google").status == 204)
            #expect(try await client.master("DELETE", "providers/google").isProblem(.notFound))
            for (method, path) in [("GET", "providers"), ("PUT", "providers/x"), ("DELETE", "providers/x")] {
                #expect(try await client.send(method, path, method == "GET" ? nil : "{}").isProblem(.forbidden))
            }
        }
    }

    private static let base = #""kind":"oidc","clientIDs":["a"],"issuer":"https://93.184.215.14""#
    private static let apple = #""kind":"apple","clientIDs":["a"],"teamID":"T","keyID":"K""#

    @Test(arguments: [
        ("{}", "kind"), (#"{"kind":"myspace"}"#, "kind"),
        (#"{"kind":"oidc","issuer":"https://93.184.215.14"}"#, "clientIDs"),
        (#"{"kind":"google","clientIDs":[]}"#, "clientIDs"), (#"{"kind":"google","clientIDs":["a b"]}"#, "clientIDs"),
        (#"{"kind":"google","clientIDs":[1]}"#, "clientIDs"), (#"{"kind":"google","clientIDs":"a"}"#, "clientIDs"),
        (#"{"kind":"oidc","clientIDs":["a"]}"#, "issuer"),
        (#"{"kind":"oidc","clientIDs":["a"],"issuer":"http://example.org"}"#, "issuer"),
        (#"{"kind":"oidc","clientIDs":["a"],"issuer":"https://u:p@example.org"}"#, "issuer"),
        (#"{"kind":"oidc","clientIDs":["a"],"issuer":"file:///etc/passwd"}"#, "issuer"),
        ("{\(base),\"endpoints\":{\"token\":\"ftp://example.org\"}}", "endpoints.token"),
        ("{\(base),\"endpoints\":{\"tokens\":\"https://example.org\"}}", "endpoints.tokens"),
        ("{\(base),\"endpoints\":[]}", "endpoints"),
        ("{\(base),\"redirectURLs\":[\"javascript:alert(1)\"]}", "redirectURLs"),
        ("{\(base),\"redirectURLs\":[\"http://example.org/\"]}", "redirectURLs"),
        ("{\(base),\"redirectURLs\":[\"https://a@example.org/\"]}", "redirectURLs"),
        ("{\(base),\"redirectURLs\":[\"https://example.org/#x\"]}", "redirectURLs"),
        ("{\(base),\"redirectURLs\":[\"/in\"]}", "redirectURLs"),
        ("{\(base),\"redirectURLs\":[\"data:text/html,x\"]}", "redirectURLs"),
        ("{\(base),\"appKey\":\"mk_live_unknown\"}", "appKey"), ("{\(base),\"clientSecret\":\"\"}", "clientSecret"),
        ("{\(base),\"privateKey\":\"x\"}", "privateKey"), ("{\(base),\"teamID\":\"T\"}", "teamID"),
        ("{\(base),\"scope\":\"x\"}", "scope"),
        ("{\(apple),\"privateKey\":\"no key\"}", "privateKey"), ("{\(apple),\"clientSecret\":\"x\"}", "clientSecret"),
        (#"{"kind":"apple","clientIDs":["a"],"keyID":"K"}"#, "teamID"),
        (#"{"kind":"apple","clientIDs":["a"],"teamID":"T"}"#, "keyID"),
    ])
    func `Invalid providers are refused, and nothing is written`(body: String, field: String) async throws {
        try await UserClient.run { client async throws in
            let answer = try await client.master("PUT", "providers/x", body)
            #expect(answer.isProblem(.invalidBody, field: field), "\(answer)")
            #expect(try await client.count("SELECT count(*) FROM auth.identity_providers") == 0)
        }
    }

    @Test func `Names and numbers of providers are limited`() async throws {
        try await UserClient.run { client async throws in
            for name in ["A", "a_b", "-a", String(repeating: "a", count: 33)] {
                #expect(try await client.master("PUT", "providers/\(name)", "{}").isProblem(.invalidName))
            }
            for number in 0..<20 {
                #expect(
                    try await client.master("PUT", "providers/p\(number)", #"{"kind":"google","clientIDs":["a"]}"#)
                        .status == 200)
            }
            #expect(
                try await client.master("PUT", "providers/p20", #"{"kind":"google","clientIDs":["a"]}"#).isProblem(
                    .limitExceeded))
            #expect(
                try await client.master("PUT", "providers/p3", #"{"kind":"google","clientIDs":["b"]}"#).status == 200)
        }
    }

    @Test(arguments: [
        "https://127.0.0.1/", "https://10.0.0.1/", "https://169.254.169.254/latest", "https://[::1]/",
        "https://[::ffff:192.168.0.1]/", "https://192.168.1.1:8443/",
    ])
    func `Unless allowed by a setting, the server never calls internal addresses`(url: String) async throws {
        let client = ProviderClient(arePrivateAddressesAllowed: false)
        await #expect(throws: ProviderFailure.call(.privateAddress)) { try await client.check(url) }
        await #expect(throws: ProviderFailure.call(.privateAddress)) { _ = try await client.get(url) }
    }

    @Test func `Plain HTTP is allowed only for the local machine`() async throws {
        for isAllowed in [false, true] {
            let client = ProviderClient(arePrivateAddressesAllowed: isAllowed)
            await #expect(throws: ProviderFailure.call(.invalidURL)) { try await client.check("http://93.184.215.14/") }
            if !isAllowed {
                await #expect(throws: ProviderFailure.call(.invalidURL)) { try await client.check("http://127.0.0.1/") }
            }
        }
        try await ProviderClient(arePrivateAddressesAllowed: true).check("http://127.0.0.1:1/")
    }

    @Test func `After a change of the internal secret, the provider's secret must be set again`() async throws {
        try await UserClient.run { client async throws in
            #expect(
                try await client.master(
                    "PUT", "providers/x", #"{"kind":"google","clientIDs":["a"],"clientSecret":"s"}"#
                ).status == 200)
            let space = AppSpace(appID: client.app.id, environment: .live)
            let other = ServerKeys(internalSecret: Secret("another-internal-secret-of-the-tests-012345"))
            let store = IdentityProviderStore(postgres: client.auth.postgres, key: other.identities, logger: .silent)
            #expect(try await store.find("x", in: space)?.secret == nil)
            #expect(try await store.find("x", in: space)?.settings.kind == .google)
        }
    }
}

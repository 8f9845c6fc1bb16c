import Crypto
import CryptoExtras
import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import MartletTesting
import Testing

@testable import AuthService

@Suite struct IDTokenTests {
    @Test(arguments: [IssuerKey.rsa, .p256(), .ed25519()])
    func `An ID token creates a user, and the next token of the same person signs in the same user`(key: IssuerKey)
        async throws
    {
        try await FakeProvider.run { client, provider in
            try await client.register(provider)
            provider.change { $0.keys = [.rsa, key] }
            let claims = ["email": #""Ada@Example.org""#, "email_verified": "true", "name": #""Ada \u0000L""#]
            let first = try await client.signIn(
                idToken: try provider.token(claims, key: key), more: #","device":"phone""#)
            #expect(
                first.status == 201 && first["user.email"] == #""ada@example.org""#
                    && first["user.emailVerified"] == "true", "\(first)")
            #expect(
                first["user.isAnonymous"] == "false" && first["user.private"] == #"{"name":"Ada L"}"#
                    && first["user.profile"] == "{}", "\(first)")
            #expect(first.header("cache-control") == "no-store")
            let user = try Tokens(first)
            #expect(try await client.refresh(user.refresh)["user.isAnonymous"] == "false")
            let second = try await client.signIn(idToken: try provider.token(claims, key: key))
            #expect(second.status == 200 && second["user.id"] == first["user.id"], "\(second)")
            let other = try await client.signIn(idToken: try provider.token(["sub": #""s-2""#], key: key))
            #expect(
                other.status == 201 && other["user.id"] != first["user.id"] && other["user.email"] == "null", "\(other)"
            )
            let list = try await client.send("GET", "me/identities", as: user)
            #expect(
                list["count"] == "1" && list["data.0.provider"] == #""acme""# && list["data.0.subject"] == #""s-1""#,
                "\(list)")
            #expect(list["data.0.email"] == #""ada@example.org""#)
            // Live and test environments are separate.
            var test = client
            test.environment = .test
            #expect(
                try await test.signIn(idToken: try provider.token(claims, key: key)).isProblem(
                    .invalidBody, field: "provider"))
        }
    }

    struct Forgery: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var make: @Sendable (FakeProvider) throws -> String

        init(_ description: String, _ make: @escaping @Sendable (FakeProvider) throws -> String) {
            testDescription = description
            self.make = make
        }
    }

    private static let now = Int(Date().timeIntervalSince1970)

    static let forgeries: [Forgery] = [
        Forgery("alg=none") { try $0.token(header: #"{"alg":"none"}"#).replacing(/\.[^.]*$/, with: ".") },
        Forgery("alg=none with a signature") { try $0.token(header: #"{"alg":"None","kid":"rsa-1"}"#) },
        Forgery("HS256 with the public key") { provider in
            guard case .rsa(let key) = IssuerKey.rsa.pair else { return "" }
            let text = try provider.token(header: #"{"alg":"HS256","kid":"rsa-1"}"#).replacing(/\.[^.]*$/, with: "")
            let mac = HMAC<SHA256>.authenticationCode(
                for: Data(text.utf8), using: SymmetricKey(data: Data(key.publicKey.pemRepresentation.utf8)))
            return "\(text).\(Base64URL.encode(mac))"
        },
        Forgery("ES256 with an RSA key's id") { try $0.token(key: .p256("rsa-1")) },
        Forgery("RS512") { try $0.token(header: #"{"alg":"RS512","kid":"rsa-1"}"#) },
        Forgery("a foreign key under a known id") { provider in
            let foreign = IssuerKey(id: "rsa-1", pair: .rsa(try _RSA.Signing.PrivateKey(keySize: .bits2048)))
            return try provider.token(key: foreign)
        },
        Forgery("a foreign kid") { try $0.token(key: .p256("ec-9")) },
        Forgery("the key in the token's own header") { provider in
            let key = IssuerKey.p256("ec-9")
            return try provider.token(key: key, header: #"{"alg":"ES256","kid":"ec-9","jwk":\#(try key.jwk())}"#)
        },
        Forgery("crit") { try $0.token(header: #"{"alg":"RS256","kid":"rsa-1","crit":["b64"],"b64":false}"#) },
        Forgery("another issuer") { try $0.token(["iss": #""https://accounts.google.com""#]) },
        Forgery("no issuer") { try $0.token(["iss": ""]) },
        Forgery("another audience") { try $0.token(["aud": #""other.app""#]) },
        Forgery("no audience") { try $0.token(["aud": "[]"]) },
        Forgery("several audiences without azp") { try $0.token(["aud": #"["ios.app","other.app"]"#]) },
        Forgery("another azp") { try $0.token(["azp": #""other.app""#]) },
        Forgery("expired") { try $0.token(["exp": "\(now - 120)"]) },
        Forgery("no exp") { try $0.token(["exp": ""]) },
        Forgery("issued tomorrow") { try $0.token(["iat": "\(now + 86_400)", "exp": "\(now + 90_000)"]) },
        Forgery("issued last week, valid for a year") {
            try $0.token(["iat": "\(now - 7 * 86_400)", "exp": "\(now + 365 * 86_400)"])
        },
        Forgery("not valid yet") { try $0.token(["nbf": "\(now + 6_000)"]) },
        Forgery("no subject") { try $0.token(["sub": #""""#]) },
        Forgery("a subject of zero bytes") { try $0.token(["sub": #""a\u0000b""#]) },
        Forgery("another payload") { provider in
            let (one, other) = (try provider.token(), try provider.token(["sub": #""s-2""#]))
            let (parts, others) = (one.split(separator: "."), other.split(separator: "."))
            return "\(parts[0]).\(others[1]).\(parts[2])"
        },
        Forgery("too long") { try $0.token(["x": "\"\(String(repeating: "x", count: 17_000))\""]) },
        Forgery("no token") { _ in "a.b" },
    ]

    @Test func `A token is refused unless the issuer signed it for this app and it is valid now`() async throws {
        try await FakeProvider.run { client, provider in
            try await client.register(provider)
            for forgery in Self.forgeries {
                var client = client
                client.address = "0:\(forgery.testDescription.hashValue)"
                let answer = try await client.signIn(idToken: try forgery.make(provider))
                #expect(answer.isProblem(.invalidToken, field: "idToken"), "\(forgery.testDescription): \(answer)")
            }
            #expect(try await client.count("SELECT count(*) FROM auth.users") == 0)
            #expect(try await client.count("SELECT count(*) FROM auth.used_id_tokens") == 0)
            // Unknown keys were looked up once.
            #expect(provider.look(\.keyFetches) == 1)
            #expect(try await client.signIn(idToken: try provider.token()).status == 201)
        }
    }

    @Test func `A token holds the SHA-256 of the presented nonce, not the nonce itself`() async throws {
        try await FakeProvider.run { client, provider in
            try await client.register(provider, nonceRequired: true)
            let hash = SHA256.hash(data: Data("n-1".utf8)).map { String(format: "%02x", $0) }.joined()
            // A holder of the token also has its claim, so presenting the claim proves nothing.
            for (claim, nonce) in [("n-1", "n-1"), (hash, hash), ("n-2", "n-1"), ("", "n-1"), (hash, "n-2")] {
                let answer = try await client.signIn(
                    idToken: try provider.token(["nonce": "\"\(claim)\""]), more: #","nonce":"\#(nonce)""#)
                #expect(answer.isProblem(.invalidToken, field: "idToken"), "\(claim) \(nonce): \(answer)")
            }
            let token = try provider.token(["nonce": "\"\(hash)\""])
            #expect(try await client.signIn(idToken: token).isProblem(.invalidBody, field: "nonce"))
            #expect(try await client.signIn(idToken: try provider.token()).isProblem(.invalidBody, field: "nonce"))
            #expect(try await client.count("SELECT count(*) FROM auth.users") == 0)
            #expect(try await client.signIn(idToken: token, more: #","nonce":"n-1""#).status == 201)
        }
    }

    @Test func `A provider requires nonces unless its app says otherwise`() async throws {
        try await FakeProvider.run { client, provider in
            let body = #"{"kind":"oidc","clientIDs":["ios.app"],"issuer":"\#(provider.url)""#
            let made = try await client.master("PUT", "providers/acme", body + "}")
            #expect(made["nonceRequired"] == "true", "\(made)")
            // The form stored by earlier versions.
            try await client.auth.postgres.execute(
                "UPDATE auth.identity_providers SET configuration = configuration - 'nonceRequired'")
            #expect(try await client.signIn(idToken: try provider.token()).isProblem(.invalidBody, field: "nonce"))
            #expect(
                try await client.master("PUT", "providers/acme", body + #","nonceRequired":false}"#)["nonceRequired"]
                    == "false")
            // This token comes from an SDK that creates a nonce without revealing it.
            #expect(
                try await client.signIn(idToken: try provider.token(["nonce": #""made by the kit""#])).status == 201)
        }
    }

    @Test func `A token works once, even when sent many times at once`() async throws {
        try await FakeProvider.run { client, provider in
            try await client.register(provider)
            let token = try provider.token()
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<8 { group.addTask { try await client.signIn(idToken: token).status } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(statuses.filter { $0 < 300 }.count == 1 && statuses.filter { $0 == 401 }.count == 7, "\(statuses)")
            #expect(try await client.signIn(idToken: token).isProblem(.signInFailed))
            #expect(try await client.count("SELECT count(*) FROM auth.users") == 1)
            #expect(try await client.count("SELECT count(*) FROM auth.sessions") == 1)
        }
    }

    @Test func `Two concurrent first sign-ins of one person create one user`() async throws {
        try await FakeProvider.run { client, provider in
            try await client.register(provider)
            let tokens = try (0..<6).map { _ in
                try provider.token(["email": #""ada@example.org""#, "email_verified": "true"])
            }
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for token in tokens { group.addTask { try await client.signIn(idToken: token).status } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(statuses.filter { $0 == 201 }.count == 1 && statuses.filter { $0 == 200 }.count == 5, "\(statuses)")
            #expect(try await client.count("SELECT count(*) FROM auth.users") == 1)
            #expect(try await client.count("SELECT count(*) FROM auth.identities") == 1)
        }
    }

    @Test func `A user with a second factor must give a code, and the token stays valid until then`() async throws {
        try await FakeProvider.run { client, provider in
            try await client.register(provider)
            let user = try await client.signUp()
            let linked = try await client.send(
                "POST", "me/identities",
                #"{"provider":"acme","idToken":"\#(try provider.token())","password":"correct horse"}"#, as: user)
            try #require(linked.status == 200, "\(linked)")
            let codes = try await client.addSecondFactor(of: user)
            let token = try provider.token()
            #expect(try await client.signIn(idToken: token).isProblem(.secondFactorRequired))
            let wrong = try await client.signIn(idToken: token, more: #","secondFactorCode":"000000""#)
            #expect(wrong.isProblem(.signInFailed), "\(wrong)")
            let right = try await client.signIn(idToken: token, more: #","secondFactorCode":"\#(codes[0])""#)
            #expect(right.status == 200 && right["user.secondFactor"] == "true", "\(right)")
            #expect(
                try await client.signIn(idToken: token, more: #","secondFactorCode":"\#(codes[1])""#).isProblem(
                    .signInFailed))
            // The same with the code flow.
            let code = try await client.consent(at: provider, "acme", ["sub": #""s-1""#])["code"]
            #expect(try await client.finish(code).isProblem(.secondFactorRequired))
            #expect(try await client.finish(code, more: #","secondFactorCode":"\#(codes[2])""#).status == 200)
            #expect(
                try await client.finish(code, more: #","secondFactorCode":"\#(codes[3])""#).isProblem(.invalidToken))
        }
    }

    @Test func `Keys rotate without a refusal, and the old ones remain usable while the issuer is unavailable`()
        async throws
    {
        let clock = TestClock()
        let documents = FakeDocuments()
        let cache = DocumentCache(now: { clock.now }) { try documents.fetch($0) }
        func has(_ key: String) async throws -> Bool {
            let document = try await cache.document(at: "a") { $0.string("key") == key }
            return document.string("key") == key
        }
        documents.set("a", "1")
        for _ in 0..<3 { #expect(try await has("1")) }
        #expect(documents.count == 1)
        // A new key is looked up at the earliest a minute after the last look-up.
        documents.set("a", "2")
        #expect(try await !has("2") && documents.count == 1)
        clock.advance(61)
        for _ in 0..<3 { #expect(try await has("2")) }
        #expect(documents.count == 2)
        for _ in 0..<10 { #expect(try await !has("3")) }
        #expect(documents.count == 2)
        // The issuer is unavailable for more than an hour.
        documents.set("a", nil)
        clock.advance(4_000)
        for _ in 0..<3 { #expect(try await has("2")) }
        #expect(documents.count == 3)
        clock.advance(86_400)
        await #expect(throws: ProviderFailure.call(.timeout)) { try await has("2") }
        await #expect(throws: ProviderFailure.call(.timeout)) { try await has("2") }
        #expect(documents.count == 4)
        documents.set("a", "4")
        clock.advance(6)
        #expect(try await has("4"))
    }

    @Test func `The number of cached issuers is limited`() async throws {
        let documents = FakeDocuments()
        let cache = DocumentCache(now: { Date() }) { try documents.fetch($0) }
        for number in 0...DocumentCache.maximumCount {
            documents.set("\(number)", "k")
            _ = try await cache.document(at: "\(number)")
        }
        _ = try await cache.document(at: "\(DocumentCache.maximumCount)")
        #expect(documents.count == DocumentCache.maximumCount + 1)
        _ = try await cache.document(at: "0")
        #expect(documents.count == DocumentCache.maximumCount + 2)
    }

    @Test func `An unavailable provider is not reported as a wrong token, but malformed tokens are still refused`()
        async throws
    {
        try await FakeProvider.run { client, provider in
            try await client.register(provider)
            provider.change { $0.isUnavailable = true }
            #expect(try await client.signIn(idToken: try provider.token()).isProblem(.unavailable))
            let good = try provider.token().split(separator: ".").map(String.init)
            func encoded(_ text: String) -> String { Base64URL.encode(Array(text.utf8)) }
            let signed = good[1] + "." + good[2]
            let malformed = [
                "", "x", "a.b", "..", "a.b.c", "a.b.c.d", "null", good[0] + "." + good[1],
                good[0] + "." + good[1] + ".!", "é." + signed,
                encoded("[]") + "." + signed, encoded("{}") + "." + signed, encoded("{") + "." + signed,
                encoded(#"{"alg":1}"#) + "." + signed,
                encoded(#"{"alg":"none"}"#) + "." + good[1] + ".", encoded(#"{"alg":"HS256"}"#) + "." + signed,
                encoded(#"{"alg":"RS256","kid":7}"#) + "." + signed,
                encoded(#"{"alg":"RS256","crit":["x"]}"#) + "." + signed,
                good[0] + "." + encoded("[1]") + "." + good[2], good[0] + ".x." + good[2],
                encoded(String(repeating: "[", count: 5_000)) + "." + signed,
                good[0] + "." + String(repeating: "A", count: 17_000) + "." + good[2],
            ]
            for (number, text) in malformed.enumerated() {
                var client = client
                client.address = "0:\(number)"
                let answer = try await client.signIn(idToken: text)
                #expect(answer.isProblem(.invalidToken, field: "idToken"), "\(text.prefix(80)): \(answer)")
            }
            #expect(try await client.count("SELECT count(*) FROM auth.users") == 0)
        }
    }

    @Test func `A token signed by an unpublished key is wrong, and an issuer without keys counts as unavailable`()
        async throws
    {
        try await FakeProvider.run { client, provider in
            try await client.register(provider)
            #expect(
                try await client.signIn(idToken: try provider.token(key: .p256("ec-9"))).isProblem(
                    .invalidToken, field: "idToken"))
            let facebook =
                #"{"kind":"facebook","clientIDs":["ios.app"],"issuer":"\#(provider.url)","nonceRequired":false,"endpoints":{"keys":"\#(provider.url)/user"}}"#
            #expect(try await client.master("PUT", "providers/other", facebook).status == 200)
            let answer = try await client.send(
                "POST", "idtoken", #"{"provider":"other","idToken":"\#(try provider.token())"}"#)
            #expect(answer.isProblem(.unavailable), "\(answer)")
        }
    }
}

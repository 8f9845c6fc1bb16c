import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import Testing

@testable import AuthService

@Suite struct StaffProviderTests {
    @Test func `Staff linked by subject sign in with the provider, once per code, and this is logged`()
        async throws
    {
        try await StaffClient.run { client, root, provider async throws in
            let id = try await client.make("berta", rights: #"{"*":{"staff":["read"]}}"#, by: root)
            let linked = try await client.link(id, #"{"subject":"s-1"}"#, as: root)
            #expect(
                linked.status == 200 && linked.string("identities.0.provider") == "acme"
                    && linked.string("identities.0.subject") == "s-1", "\(linked)")
            #expect(try await client.log() == ["root link-identity staff \(id)"])
            #expect(try await client.send("GET", "auth/providers")["data"] == #"[{"name":"acme"}]"#)

            let (url, state) = try await client.begin()
            let query = try fields(inQueryOf: url)
            #expect(
                query["redirect_uri"] == "http://127.0.0.1:8080/admin/auth/oidc/callback"
                    && query["code_challenge_method"] == "S256")
            let code = try provider.approve(url)
            let back = try await client.callBack(["code": code, "state": state])
            #expect(
                try await client.callBack(["code": code, "state": state]).isProblem(.invalidLink), "a state works once"
            )
            let call = try fields(inQueryOf: try #require(back.header("location")))
            let own = try #require(call["code"])
            let tokens = try StaffTokens(try await client.finish(own, more: #","staySignedIn":true,"device":"Laptop""#))
            #expect(tokens.staffID == id && !tokens.mustReset)
            #expect(try await client.send("GET", "staff", as: tokens).status == 200)
            #expect(try await client.log() == ["berta sign-in staff \(tokens.sessionID)"])
            let provided: String = try await client.auth.postgres.query(
                "SELECT after->>'provider' FROM auth.audit_log ORDER BY number DESC LIMIT 1")[0]
                .decode(0)
            #expect(provided == "acme")
            #expect(try await client.finish(own).isProblem(.invalidToken))
            #expect(try await client.send("GET", "staff/\(id)", as: root).string("identities.0.lastUsed") != nil)
            #expect(try await client.send("GET", "sign-ins", as: root).text.contains("berta"))
        }
    }

    @Test func `Only one of many concurrent uses of a code signs in`() async throws {
        try await StaffClient.run { client, root, provider async throws in
            let id = try await client.make("berta", by: root)
            #expect(try await client.link(id, #"{"subject":"s-1"}"#, as: root).status == 200)
            let code = try await client.consent(at: provider)
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<6 { group.addTask { try await client.finish(code).status } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(statuses.filter { $0 == 200 }.count == 1 && statuses.filter { $0 == 401 }.count == 5, "\(statuses)")
            #expect(
                try await client.count(
                    "SELECT count(*) FROM auth.staff_sessions WHERE staff_id = \(UUID(uuidString: id))") == 1)
        }
    }

    @Test func `An address that is not linked, or not verified, signs no one in`() async throws {
        try await StaffClient.run { client, root, provider async throws in
            // A staff member whose user name equals the address is not linked to the provider's account.
            let id = try await client.make("carla@example.org", isAdministrator: true, by: root)
            let verified = ["sub": #""s-7""#, "email": #""carla@example.org""#, "email_verified": "true"]
            #expect(try await client.signIn(provider, verified).isProblem(.signInFailed))
            #expect(try await client.log() == ["unknown sign-in-failed staff acme"])
            #expect(try await client.link(id, #"{"email":"Carla@example.org"}"#, as: root).status == 200)
            for claims in [
                ["sub": #""s-7""#, "email": #""carla@example.org""#],
                ["sub": #""s-7""#, "email": #""carla@example.org""#, "email_verified": "false"],
                ["sub": #""s-7""#, "email": #""carla@evil.example""#, "email_verified": "true"],
            ] {
                #expect(try await client.signIn(provider, claims).isProblem(.signInFailed), "\(claims)")
            }
            #expect(try StaffTokens(try await client.signIn(provider, verified)).staffID == id)
            // From now on the subject counts, even if the address changes.
            provider.change { $0.user = #"{"sub":"s-7"}"# }
            #expect(try StaffTokens(try await client.signIn(provider, ["sub": #""s-7""#])).staffID == id)
            #expect(
                try await client.signIn(
                    provider, ["sub": #""s-8""#, "email": #""carla@example.org""#, "email_verified": "true"]
                ).isProblem(.signInFailed))
            #expect(try await client.count("SELECT count(*) FROM auth.staff") == 2)
        }
    }

    @Test func `With GitHub, a linked number or a verified primary address signs in, and nothing else`() async throws {
        try await StaffClient.run { client, root, provider async throws in
            let saved = try await client.send(
                "PUT", "identity-providers/github",
                """
                {"kind":"github","clientIDs":["martlet"],"clientSecret":"s3cret","issuer":"\(provider.url)","redirectURLs":["\(StaffClient.console)"],
                 "endpoints":{"authorization":"\(provider.url)/authorize","token":"\(provider.url)/token","userInfo":"\(provider.url)/user","emails":"\(provider.url)/emails"}}
                """, as: root)
            try #require(saved.status == 200, "\(saved)")
            let (mona, eve) = (try await client.make("mona", by: root), try await client.make("eve", by: root))
            #expect(
                try await client.link(mona, #"{"email":"mona@example.org"}"#, name: "github", as: root).status == 200)
            #expect(try await client.link(eve, #"{"subject":"7"}"#, name: "github", as: root).status == 200)
            for (id, emails, member) in [
                (583_231, #"[{"email":"mona@example.org","primary":true,"verified":false}]"#, nil),
                (583_231, #"[{"email":"mona@example.org","primary":false,"verified":true}]"#, nil),
                (583_231, #"[{"email":"mona@example.org","primary":true,"verified":true}]"#, mona),
                // From now on, the number identifies the member, as names and addresses change owners.
                (583_231, "[]", mona), (9, #"[{"email":"mona@example.org","primary":true,"verified":true}]"#, nil),
                (7, "[]", eve),
            ] as [(Int, String, String?)] {
                provider.change {
                    $0.user = #"{"id":\#(id),"login":"octocat","name":"Mona"}"#
                    $0.emails = emails
                }
                let answer = try await client.finish(try await client.consent(at: provider, name: "github"))
                if let member {
                    #expect(try StaffTokens(answer).staffID == member, "\(answer)")
                } else {
                    #expect(answer.isProblem(.signInFailed), "\(id) \(emails): \(answer)")
                }
            }
        }
    }

    @Test func `An allowed domain creates members without rights, and only its own`() async throws {
        try await StaffClient.run(#","allowedDomains":["Example.org"]"#) { client, root, provider async throws in
            _ = try await client.make("taken@example.org", by: root)
            for (address, isVerified) in [
                ("eve@evil.example", "true"), ("eve@example.org.evil.example", "true"), ("eve@sub.example.org", "true"),
                ("eve@example.org", "false"),
                ("taken@example.org", "true"), ("e+ve@example.org", "true"),
            ] {
                let answer = try await client.signIn(
                    provider, ["sub": #""x""#, "email": "\"\(address)\"", "email_verified": isVerified])
                #expect(answer.isProblem(.signInFailed), "\(address): \(answer)")
            }
            #expect(try await client.count("SELECT count(*) FROM auth.staff") == 2)
            let claims = ["sub": #""s-9""#, "email": #""New@Example.org""#, "email_verified": "true"]
            let answer = try await client.signIn(provider, claims)
            #expect(
                answer["staff.isAdministrator"] == "false" && answer["staff.rights"] == "{}"
                    && answer.string("staff.userName") == "new@example.org" && answer["staff.hasPassword"] == "false",
                "\(answer)")
            let tokens = try StaffTokens(answer)
            #expect(try await client.send("GET", "staff", as: tokens).isProblem(.forbidden))
            #expect(
                try await client.log(2) == [
                    "new@example.org sign-in staff \(tokens.sessionID)",
                    "new@example.org create staff \(tokens.staffID)",
                ])
            #expect(try StaffTokens(try await client.signIn(provider, claims)).staffID == tokens.staffID)
            for (change, hasPassword) in [
                (#"{"firstName":"New"}"#, "false"), (#"{"password":"\#(StaffClient.password)"}"#, "true"),
                // A disabled member is not created again by signing in.
                (#"{"disabled":true}"#, "true"),
            ] {
                let changed = try await client.send("PATCH", "staff/\(tokens.staffID)", change, as: root)
                #expect(changed.status == 200 && changed["hasPassword"] == hasPassword, "\(changed)")
            }
            #expect(try await client.signIn(provider, claims).isProblem(.signInFailed))
            #expect(try await client.log() == ["new@example.org sign-in-failed staff acme"])
        }
    }

    @Test func `The second factor is still required, and the same code continues with it`() async throws {
        try await StaffClient.run { client, root, provider async throws in
            let id = try await client.make("berta", by: root)
            #expect(try await client.link(id, #"{"subject":"s-1"}"#, as: root).status == 200)
            let berta = try StaffTokens(try await client.signIn(provider))
            let added = try await client.send("POST", "me/totp", #"{"password":"\#(StaffClient.password)"}"#, as: berta)
            let code = SecondFactorTests.code(SecondFactorTests.decodeBase32(try #require(added.string("secret"))), 0)
            let recovery = try await client.send("POST", "me/totp/confirm", #"{"code":"\#(code)"}"#, as: berta)
            let own = try await client.consent(at: provider)
            #expect(try await client.finish(own).isProblem(.secondFactorRequired))
            #expect(try await client.finish(own, more: #","secondFactorCode":"nonsense""#).isProblem(.signInFailed))
            #expect(try await client.log() == ["berta sign-in-failed staff acme"])
            let right = try #require(recovery.string("recoveryCodes.0"))
            #expect(try await client.finish(own, more: #","secondFactorCode":"\#(right)""#).status == 200)
            #expect(
                try await client.finish(
                    try await client.consent(at: provider), more: #","secondFactorCode":"\#(right)""#
                ).isProblem(.signInFailed))
        }
    }

    @Test func `A deleted or changed provider or link no longer works`() async throws {
        try await StaffClient.run { client, root, provider async throws in
            let id = try await client.make("berta", by: root)
            #expect(try await client.link(id, #"{"subject":"s-1"}"#, as: root).status == 200)
            let waiting = try await client.consent(at: provider)
            #expect(try await client.send("DELETE", "staff/\(id)/identities/acme", as: root)["identities"] == "[]")
            #expect(try await client.finish(waiting).isProblem(.signInFailed))
            #expect(try await client.send("DELETE", "staff/\(id)/identities/acme", as: root).isProblem(.notFound))
            #expect(try await client.link(id, #"{"subject":"s-1"}"#, as: root).status == 200)
            // The provider has the same name, but the member is linked to another issuer's subject.
            try await client.auth.postgres.execute("UPDATE auth.staff_identities SET issuer = 'https://former.example'")
            #expect(try await client.signIn(provider).isProblem(.signInFailed))
            #expect(try await client.link(id, #"{"subject":"s-1"}"#, as: root).status == 200)
            let late = try await client.begin()
            let code = try await client.consent(at: provider)
            #expect(try await client.send("DELETE", "identity-providers/acme", as: root).status == 204)
            #expect(try await client.finish(code).isProblem(.signInFailed), "a code obtained before the deletion")
            let back = try await client.callBack(["code": try provider.approve(late.url), "state": late.state])
            #expect(back.header("location")?.contains("error=server_error") == true, "\(back)")
            #expect(try await client.send("DELETE", "identity-providers/acme", as: root).isProblem(.notFound))
            #expect(
                try await client.send("POST", "auth/oidc/acme/start", #"{"redirectURL":"x","codeChallenge":"x"}"#)
                    .isProblem(.notFound))
        }
    }

    @Test func `States and codes of users and staff are not interchangeable`() async throws {
        try await FakeProvider.run { users, provider in
            let client = StaffClient(auth: users.auth)
            #expect(
                try await client.store.create(
                    userName: "root", password: Secret(StaffClient.password), isAdministrator: true))
            let root = try await client.signIn("root")
            try await client.setUp(issuer: provider.url, as: root)
            try await users.register(provider)
            #expect(
                try await client.link(
                    root.staffID, #"{"subject":"s-1","password":"\#(StaffClient.password)"}"#, as: root
                ).status == 200)

            let ofUser = try #require(try await users.consent(at: provider)["code"])
            #expect(try await client.finish(ofUser).isProblem(.invalidToken))
            #expect(try await users.finish(try await client.consent(at: provider)).isProblem(.invalidToken))
            let (url, state) = try await client.begin()
            #expect(
                try await users.callBack([("code", try provider.approve(url)), ("state", state)]).isProblem(
                    .invalidLink))
            let (userURL, userState) = try await users.begin()
            #expect(
                try await client.callBack(["code": try provider.approve(userURL), "state": userState]).isProblem(
                    .invalidLink))
            // An app's server cannot see or change the providers of staff either.
            #expect(try await users.master("GET", "providers")["count"] == "1")
            #expect(try await users.master("DELETE", "providers/acme").status == 204)
            #expect(try await client.send("GET", "identity-providers", as: root)["count"] == "1")
        }
    }

    @Test func `Forged claims, a wrong code verifier and an unknown redirect address are refused`() async throws {
        try await StaffClient.run { client, root, provider async throws in
            let id = try await client.make("berta", by: root)
            #expect(try await client.link(id, #"{"subject":"s-1"}"#, as: root).status == 200)
            let stolen = try await client.consent(at: provider)
            #expect(
                try await client.finish(stolen, verifier: String(repeating: "x", count: 43)).isProblem(
                    .invalidToken, field: "codeVerifier"))
            #expect(try await client.finish(stolen).isProblem(.invalidToken), "the code is used up")
            for url in ["https://evil.example/", StaffClient.console + "/", StaffClient.console + "?x"] {
                let answer = try await client.send(
                    "POST", "auth/oidc/acme/start",
                    #"{"redirectURL":"\#(url)","codeChallenge":"\#(TestProvider.challenge)"}"#)
                #expect(answer.isProblem(.invalidBody, field: "redirectURL"), "\(url)")
            }
            for forged in [
                ["aud": #""other""#], ["iss": #""https://evil.example""#], ["nonce": #""x""#], ["exp": "1"],
                ["sub": #""""#],
            ] {
                provider.change { $0.forgedClaims = forged }
                let (url, state) = try await client.begin()
                let back = try await client.callBack(["code": try provider.approve(url), "state": state])
                #expect(back.header("location")?.contains("error=server_error") == true, "\(forged): \(back)")
            }
            #expect(
                try await client.count(
                    "SELECT count(*) FROM auth.staff_sessions WHERE staff_id = \(UUID(uuidString: id))") == 0)
        }
    }

    @Test func `Only administrators set up providers, and links need at least the rights of the member`() async throws {
        try await StaffClient.run { client, root, provider async throws in
            let all = #"{"*":{"staff":["create","read","update","delete"]}}"#
            _ = try await client.make("berta", rights: all, by: root)
            let strong = try await client.make("carla", rights: #"{"*":{"staff":["read"],"audit":["read"]}}"#, by: root)
            let weak = try await client.make("dora", by: root)
            let berta = try await client.signIn("berta")
            let before = try await client.count("SELECT count(*) FROM auth.audit_log")
            let body = #"{"kind":"oidc","clientIDs":["m"],"issuer":"\#(provider.url)"}"#
            #expect(try await client.send("PUT", "identity-providers/evil", body, as: berta).isProblem(.forbidden))
            #expect(try await client.send("DELETE", "identity-providers/acme", as: berta).isProblem(.forbidden))
            for id in [root.staffID, strong] {
                #expect(try await client.link(id, #"{"subject":"evil"}"#, as: berta).isProblem(.forbidden))
                #expect(try await client.send("DELETE", "staff/\(id)/identities/acme", as: berta).isProblem(.forbidden))
            }
            // Linking one's own identity needs the password: a stolen access token must not add a way to sign in.
            #expect(
                try await client.link(berta.staffID, #"{"subject":"evil"}"#, as: berta).isProblem(
                    .invalidBody, field: "password"))
            #expect(
                try await client.link(berta.staffID, #"{"subject":"evil","password":"wrong horse battery"}"#, as: berta)
                    .isProblem(.signInFailed))
            #expect(try await client.count("SELECT count(*) FROM auth.audit_log") == before)
            #expect(try await client.count("SELECT count(*) FROM auth.staff_identities") == 0)
            let listed = try await client.send("GET", "identity-providers", as: berta)
            #expect(listed["count"] == "1" && !listed.text.contains("s3cret"), "\(listed)")
            #expect(try await client.link(weak, #"{"subject":"s-1"}"#, as: berta).status == 200)
            #expect(try await client.link(strong, #"{"subject":"s-1"}"#, as: root).isProblem(.conflict))
            let text: String = try await client.auth.postgres.query(
                "SELECT string_agg(l::text, '|') FROM auth.audit_log AS l")[0].decode(0)
            #expect(!text.contains("s3cret") && text.contains("set-identity-provider"))
        }
    }

    @Test(arguments: [
        (#"{"kind":"facebook","clientIDs":["m"]}"#, "kind"), (#"{"kind":"oidc","clientIDs":["m"]}"#, "issuer"),
        (#"{"kind":"oidc","issuer":"https://x.example"}"#, "clientIDs"),
        (#"{"kind":"oidc","clientIDs":["m"],"issuer":"ftp://x.example"}"#, "issuer"),
        (#"{"kind":"google","clientIDs":["m"],"allowedDomains":["example.org"]}"#, "allowedDomains"),
        (
            #"{"kind":"github","clientIDs":["m"],"clientSecret":"s","allowedDomains":["example.org"]}"#,
            "allowedDomains"
        ),
        (
            #"{"kind":"oidc","issuer":"https://accounts.google.com","clientIDs":["m"],"allowedDomains":["example.org"]}"#,
            "allowedDomains"
        ),
        (
            #"{"kind":"oidc","issuer":"https://127.0.0.1","clientIDs":["m"],"allowedDomains":["a@b.example"]}"#,
            "allowedDomains"
        ),
        (#"{"kind":"oidc","issuer":"https://127.0.0.1","clientIDs":["m"],"allowedDomains":["org"]}"#, "allowedDomains"),
        (#"{"kind":"google","clientIDs":["m"],"appKey":"mk_live_x"}"#, "appKey"),
        (#"{"kind":"google","clientIDs":["m"],"redirectURLs":["javascript:alert(1)"]}"#, "redirectURLs"),
    ])
    func `Invalid fields of a provider are refused by name, and nothing is written`(_ body: String, _ field: String)
        async throws
    {
        try await StaffClient.run { client, root async throws in
            let answer = try await client.send("PUT", "identity-providers/x", body, as: root)
            #expect(answer.isProblem(.invalidBody, field: field), "\(answer)")
            #expect(try await client.count("SELECT count(*) FROM auth.identity_providers") == 0)
        }
    }

    @Test func `Invalid fields of a link are refused by name`() async throws {
        try await StaffClient.run { client, root, _ async throws in
            let id = try await client.make("berta", by: root)
            for (body, field) in [
                ("{}", "subject"), (#"{"subject":"a","email":"a@example.org"}"#, "subject"),
                (#"{"subject":""}"#, "subject"), (#"{"subject":"é"}"#, "subject"),
                (#"{"email":"nobody"}"#, "email"), (#"{"subject":"a","issuer":"https://x.example"}"#, "issuer"),
            ] {
                #expect(try await client.link(id, body, as: root).isProblem(.invalidBody, field: field), "\(body)")
            }
            #expect(try await client.link(id, #"{"subject":"a"}"#, name: "none", as: root).isProblem(.notFound))
            #expect(try await client.link(UUID().uuidString, #"{"subject":"a"}"#, as: root).isProblem(.staffNotFound))
            #expect(try await client.count("SELECT count(*) FROM auth.staff_identities") == 0)
        }
    }
}

import Crypto
import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import Testing

@testable import AuthService

@Suite struct IdentityTests {
    private func link(
        _ client: UserClient, _ token: String, as user: Tokens, more: String = "", _ name: String = "acme"
    ) async throws -> Answer {
        try await client.send(
            "POST", "me/identities", #"{"provider":"\#(name)","idToken":"\#(token)"\#(more)}"#, as: user)
    }

    private func makeOld(_ client: UserClient) async throws {
        try await client.auth.postgres.execute("UPDATE auth.sessions SET created = now() - interval '11 minutes'")
    }

    @Test func `An anonymous user who links an identity becomes a regular user and stays the same`() async throws {
        try await FakeProvider.run { client, provider in
            try await client.register(provider)
            let user = try Tokens(try await client.send("POST", "anonymous", #"{"profile":{"score":3}}"#))
            try await makeOld(client)
            let claims = ["email": #""ada@example.org""#, "email_verified": "true"]
            let linked = try await link(client, try provider.token(claims), as: user)
            #expect(
                linked.status == 200 && linked["isAnonymous"] == "false" && linked.string("id") == user.userID,
                "\(linked)")
            #expect(
                linked["email"] == #""ada@example.org""# && linked["emailVerified"] == "true"
                    && linked["profile.score"] == "3")
            let again = try await client.signIn(idToken: try provider.token(claims))
            #expect(again.status == 200 && again.string("user.id") == user.userID, "\(again)")
            #expect(try await client.refresh(user.refresh).status == 200)
        }
    }

    @Test func `A completed code flow can also link an identity`() async throws {
        try await FakeProvider.run { client, provider in
            try await client.register(provider)
            let user = try await client.signUp()
            let code = try #require(try await client.consent(at: provider)["code"])
            let body = #"{"code":"\#(code)","codeVerifier":"\#(UserClient.codeVerifier)","password":"correct horse"}"#
            #expect(try await client.send("POST", "me/identities", body, as: user).status == 200)
            #expect(try await client.send("POST", "me/identities", body, as: user).isProblem(.invalidToken))
            #expect(try await client.signIn(idToken: try provider.token()).string("user.id") == user.userID)
        }
    }

    @Test func `An identity of another user cannot be linked, and an access token alone is not enough`() async throws {
        try await FakeProvider.run { client, provider in
            try await client.register(provider)
            let anna = try await client.signUp()
            let berta = try await client.signUp("berta")
            let password = #","password":"correct horse""#
            #expect(try await link(client, try provider.token(), as: anna).isProblem(.invalidBody, field: "password"))
            #expect(
                try await link(client, try provider.token(), as: anna, more: #","password":"wrong horse""#).isProblem(
                    .signInFailed))
            #expect(try await client.count("SELECT count(*) FROM auth.identities") == 0)
            #expect(try await link(client, try provider.token(), as: anna, more: password).status == 200)
            #expect(try await link(client, try provider.token(), as: anna, more: password).status == 200)
            #expect(try await link(client, try provider.token(), as: berta, more: password).isProblem(.conflict))
            #expect(
                try await link(client, try provider.token(["sub": #""s-2""#]), as: anna, more: password).isProblem(
                    .conflict))
            #expect(
                try await link(client, "a.b.c", as: anna, more: password).isProblem(.invalidToken, field: "idToken"))
            #expect(try await client.send("POST", "me/identities", "{}").isProblem(.invalidToken))
            let known = try await client.send("POST", "me/identities", #"{"userID":"x"}"#, as: anna)
            #expect(known.isProblem(.invalidBody, field: "userID"), "\(known)")
            #expect(try await client.count("SELECT count(*) FROM auth.identities") == 1)
            // The address belongs to another user and stays theirs.
            let carla = try await client.signUp("carla", more: #","email":"carla@example.org""#)
            let claims = ["sub": #""s-3""#, "email": #""carla@example.org""#, "email_verified": "true"]
            let linked = try await link(client, try provider.token(claims), as: berta, more: password)
            #expect(linked.status == 200 && linked["email"] == "null", "\(linked)")
            #expect(try await client.send("GET", "me", as: carla)["emailVerified"] == "false")
        }
    }

    @Test func `The last way to sign in cannot be removed`() async throws {
        try await FakeProvider.run { client, provider in
            try await client.register(provider)
            let facebook =
                #"{"kind":"facebook","clientIDs":["ios.app"],"issuer":"https://other.example.org","nonceRequired":false,"endpoints":{"keys":"\#(provider.url)/keys"}}"#
            #expect(try await client.master("PUT", "providers/other", facebook).status == 200)
            let user = try Tokens(try await client.signIn(idToken: try provider.token()))
            #expect(try await client.send("DELETE", "me/identities/acme", as: user).isProblem(.conflict))
            #expect(try await client.send("DELETE", "me/identities/other", as: user).isProblem(.notFound))
            #expect(
                try await link(client, try provider.token(["iss": #""https://other.example.org""#]), as: user, "other")
                    .status == 200)
            #expect(try await client.send("GET", "me/identities", as: user)["count"] == "2")
            // If both are removed at the same time, one of the two calls fails.
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for name in ["acme", "other"] {
                    group.addTask { try await client.send("DELETE", "me/identities/\(name)", as: user).status }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(statuses.sorted() == [204, 409])
            // With a password the last identity can be removed.
            let upgraded = try await client.send(
                "POST", "me/upgrade", #"{"userName":"anna","password":"correct horse"}"#, as: user)
            #expect(upgraded.status == 200, "\(upgraded)")
            let left = try #require(try await client.send("GET", "me/identities", as: user).string("data.0.provider"))
            #expect(
                try await client.send("DELETE", "me/identities/\(left)", "{}", as: user).isProblem(
                    .invalidBody, field: "password"))
            let password = #"{"password":"correct horse"}"#
            #expect(try await client.send("DELETE", "me/identities/\(left)", password, as: user).status == 204)
            #expect(try await client.send("GET", "me", as: user)["isAnonymous"] == "false")
            #expect(try await client.logIn().status == 200)
        }
    }

    /// An address is a way to sign in only if it is verified and mail can be sent.
    @Test(arguments: [(true, true, 204), (true, false, 409), (false, true, 409), (false, false, 409)])
    func `The last identity can be removed if the user can sign in by mail`(
        isVerified: Bool, canSendMail: Bool, status: Int
    ) async throws {
        try await FakeProvider.run { client, provider in
            try await client.register(provider)
            let user = try Tokens(try await client.signIn(idToken: try provider.token()))
            let change = #"{"email":"ada@example.org","emailVerified":\#(isVerified)}"#
            #expect(try await client.master("PATCH", "users/\(user.userID)", change).status == 200)
            if canSendMail {
                #expect(
                    try await client.master("PUT", "mail", #"{"address":"shop@example.org","host":"mail.example.org"}"#)
                        .status == 200)
            }
            #expect(try await client.send("DELETE", "me/identities/acme", as: user).status == status)
            #expect(try await client.count("SELECT count(*) FROM auth.identities") == (status == 204 ? 0 : 1))
        }
    }

    /// The passkey is then the last way to sign in, so it cannot be removed.
    @Test func `The last identity can be removed if there is a passkey, which then cannot`() async throws {
        try await FakeProvider.run { client, provider in
            try await client.register(provider)
            try await client.allowPasskeys()
            let user = try Tokens(try await client.signIn(idToken: try provider.token()))
            var device = SoftPasskey()
            let id = try #require(try await client.addPasskey(&device, as: user, "{}").string("id"))
            #expect(try await client.send("DELETE", "me/identities/acme", as: user).status == 204)
            #expect(try await client.send("DELETE", "me/passkeys/\(id)", as: user).isProblem(.conflict))
            #expect(try await client.signIn(by: &device).status == 200)
        }
    }

    @Test func `A user without a password can add a second factor after a fresh sign-in`() async throws {
        try await FakeProvider.run { client, provider in
            try await client.register(provider)
            let old = try Tokens(try await client.signIn(idToken: try provider.token()))
            try await makeOld(client)
            #expect(try await client.send("POST", "me/totp", "{}", as: old).isProblem(.recentSignInRequired))
            #expect(try await client.count("SELECT count(*) FROM auth.second_factors") == 0)
            let user = try Tokens(try await client.signIn(idToken: try provider.token()))
            let begun = try await client.send("POST", "me/totp", "{}", as: user)
            let secret = SecondFactorTests.decodeBase32(try #require(begun.string("secret"), "\(begun)"))
            let confirmed = try await client.send(
                "POST", "me/totp/confirm", #"{"code":"\#(SecondFactorTests.code(secret, 0))"}"#, as: user)
            let code = try #require(confirmed.string("recoveryCodes.0"), "\(confirmed)")
            let token = try provider.token()
            #expect(try await client.signIn(idToken: token).isProblem(.secondFactorRequired))
            #expect(try await client.signIn(idToken: token, more: #","secondFactorCode":"\#(code)""#).status == 200)
            let other = try #require(confirmed.string("recoveryCodes.1"))
            #expect(try await client.send("DELETE", "me/totp", #"{"code":"\#(other)"}"#, as: user).status == 204)
        }
    }

    /// A user with a password confirms such calls with it; a user without one must have signed in recently.
    @Test(arguments: [
        ("DELETE", "me", "{}"), ("PATCH", "me", #"{"userName":"anna"}"#),
        ("POST", "me/upgrade", #"{"userName":"anna","password":"correct horse"}"#),
        ("DELETE", "me/identities/acme", "{}"), ("POST", "me/identities", #"{"provider":"acme","idToken":"a.b.c"}"#),
    ])
    func `A stolen access token can do no more to a user without a password than to a user with one`(
        method: String, path: String, body: String
    ) async throws {
        try await FakeProvider.run { client, provider in
            try await client.register(provider)
            let user = try Tokens(try await client.signIn(idToken: try provider.token()))
            try await makeOld(client)
            let old = try await client.send(method, path, body, as: user)
            #expect(old.isProblem(.recentSignInRequired), "\(old)")
            #expect(try await client.send("GET", "me", as: user)["userName"] == "null")
            let fresh = try Tokens(try await client.signIn(idToken: try provider.token()))
            let answer = try await client.send(method, path, body, as: fresh)
            #expect(!answer.isProblem(.recentSignInRequired), "\(answer)")
            if path == "me" || path == "me/upgrade" { #expect(answer.status < 300, "\(answer)") }
        }
    }

    // MARK: Apple

    private func register(_ client: UserClient, _ provider: FakeProvider, _ key: P256.Signing.PrivateKey) async throws {
        try await client.register(
            provider, "apple", kind: "apple",
            more:
                #","teamID":"TEAM123456","keyID":"KEY1234567","privateKey":\#(JSONValue.quote(key.pemRepresentation))"#)
    }

    /// Checks a client secret as Apple does.
    private func check(_ text: String?, _ key: P256.Signing.PrivateKey, _ provider: FakeProvider, clientID: String)
        throws
    {
        let parts = try #require(text).split(separator: ".")
        let (first, second) = (try #require(Base64URL.decode(parts[0])), try #require(Base64URL.decode(parts[1])))
        let (header, claims) = (try JSONValue(parsing: first), try JSONValue(parsing: second))
        #expect(header.string("alg") == "ES256" && header.string("kid") == "KEY1234567")
        #expect(
            claims.string("iss") == "TEAM123456" && claims.string("sub") == clientID
                && claims.string("aud") == provider.url)
        guard case .number(let issued) = claims["iat"], case .number(let expires) = claims["exp"],
            let issued = Int(issued), let expires = Int(expires)
        else { throw Trouble() }
        #expect(expires - issued == 300)
        let signature = try P256.Signing.ECDSASignature(rawRepresentation: try #require(Base64URL.decode(parts[2])))
        #expect(key.publicKey.isValidSignature(signature, for: Data("\(parts[0]).\(parts[1])".utf8)))
    }

    private struct Trouble: Error {}

    @Test func `Sign in with Apple works by form post, and Apple is notified when the account is deleted`() async throws
    {
        try await FakeProvider.run { client, provider in
            let key = P256.Signing.PrivateKey()
            try await register(client, provider, key)
            let (url, state) = try await client.begin("apple")
            #expect(url.contains("response_mode=form_post") && url.contains("scope=name%20email"))
            let code = try provider.approve(
                url,
                [
                    "email": #""x1@privaterelay.appleid.com""#, "email_verified": #""true""#,
                    "is_private_email": #""true""#,
                ])
            let user = #"{"name":{"firstName":"Ada","lastName":"Lovelace"},"email":"eve@example.org"}"#
            let call = try await client.callBack([("state", state), ("code", code), ("user", user)], posting: true)
                .appRedirect()
            let signedIn = try await client.finish(call["code"])
            #expect(signedIn.status == 201 && signedIn["user.private.name"] == #""Ada Lovelace""#, "\(signedIn)")
            #expect(signedIn["user.email"] == #""x1@privaterelay.appleid.com""#)
            try check(provider.look(\.tokenRequests).first?["client_secret"], key, provider, clientID: "ios.app")
            // The token is sealed in the database.
            let sealed: Data = try await client.auth.postgres.query("SELECT sealed_token FROM auth.identities")[0]
                .decode(0)
            #expect(sealed.range(of: Data("rt-1".utf8)) == nil)

            // Apple fails the first time; the account is deleted anyway.
            provider.change { $0.refusedRevocations = 1 }
            #expect(try await client.send("DELETE", "me", "{}", as: try Tokens(signedIn)).status == 202)
            #expect(try await client.count("SELECT count(*) FROM auth.users WHERE NOT deleting") == 0)
            #expect(try await client.count("SELECT count(*) FROM auth.jobs WHERE parameters::text LIKE '%rt-1%'") == 0)
            let form = try await eventually("the provider was called") {
                try await client.auth.postgres.execute(
                    "UPDATE auth.jobs SET due = now() WHERE finished IS NULL AND state = 'waiting'")
                return provider.look(\.revocations).first
            }
            #expect(
                form["token"] == "rt-1" && form["token_type_hint"] == "refresh_token" && form["client_id"] == "ios.app")
            try check(form["client_secret"], key, provider, clientID: "ios.app")
        }
    }

    @Test func `The app's own authorization code obtains the token for the client id of the ID token`()
        async throws
    {
        try await FakeProvider.run { client, provider in
            let key = P256.Signing.PrivateKey()
            try await register(client, provider, key)
            provider.change { $0.grants["c-1"] = FakeProvider.Grant(query: ["client_id": "web.app"], claims: [:]) }
            let token = try provider.token(["aud": #""web.app""#])
            let signedIn = try await client.signIn(
                idToken: token, "apple", more: #","authorizationCode":"c-1","name":"Ada""#)
            #expect(signedIn.status == 201 && signedIn["user.private.name"] == #""Ada""#, "\(signedIn)")
            try check(provider.look(\.tokenRequests).first?["client_secret"], key, provider, clientID: "web.app")
            #expect(try await client.count("SELECT count(*) FROM auth.identities WHERE sealed_token IS NOT NULL") == 1)
            // An invalid code, or another user's, does not fail the sign-in.
            provider.change {
                $0.grants["c-2"] = FakeProvider.Grant(query: ["client_id": "ios.app"], claims: ["sub": #""s-9""#])
            }
            for code in ["c-2", "c-3"] {
                let other = try await client.signIn(
                    idToken: try provider.token(["sub": #""s-2""#]), "apple", more: #","authorizationCode":"\#(code)""#)
                #expect(other.status < 300, "\(other)")
            }
            #expect(try await client.count("SELECT count(*) FROM auth.identities WHERE sealed_token IS NOT NULL") == 1)
            // The same when the app's server deletes the user.
            #expect(try await client.master("DELETE", "users/\(try Tokens(signedIn).userID)").status == 202)
            #expect(try await client.count("SELECT count(*) FROM auth.jobs WHERE kind = 'identity.revoke'") == 1)
            try await eventually { provider.look(\.revocations).first?["client_id"] == "web.app" }
            try await client.register(provider)
            let odd = try await client.signIn(idToken: try provider.token(), more: #","authorizationCode":"c""#)
            #expect(odd.isProblem(.invalidBody, field: "authorizationCode"), "\(odd)")
        }
    }

    @Test func `Unlinking notifies Apple, and a refused deletion notifies no one`() async throws {
        try await FakeProvider.run { client, provider in
            try await register(client, provider, P256.Signing.PrivateKey())
            let user = try await client.signUp()
            provider.change { $0.grants["c-1"] = FakeProvider.Grant(query: [:], claims: [:]) }
            let linked = try await link(
                client, try provider.token(), as: user, more: #","authorizationCode":"c-1","password":"correct horse""#,
                "apple")
            #expect(linked.status == 200, "\(linked)")
            #expect(
                try await client.send("DELETE", "me", #"{"password":"wrong horse"}"#, as: user).isProblem(.signInFailed)
            )
            #expect(try await client.count("SELECT count(*) FROM auth.jobs") == 0)
            #expect(
                try await client.send("DELETE", "me/identities/apple", #"{"password":"correct horse"}"#, as: user)
                    .status == 204)
            try await eventually { provider.look(\.revocations).count == 1 }
            #expect(try await client.send("DELETE", "me", #"{"password":"correct horse"}"#, as: user).status == 202)
            #expect(try await client.count("SELECT count(*) FROM auth.jobs WHERE kind = 'identity.revoke'") == 1)
        }
    }
}

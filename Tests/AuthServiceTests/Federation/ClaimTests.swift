import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import Testing

@testable import AuthService

/// Who gets an account if a provider's identity and the account have only the address in common.
@Suite struct ClaimTests {
    private static let verified = ["email": #""anna@example.org""#, "email_verified": "true"]

    @Test func `An account created with someone else's address gives no access once the owner signs in`()
        async throws
    {
        try await FakeProvider.run { client, provider in
            try await client.register(provider)
            try await client.register(provider, "spare", more: "")
            // The attacker came first: password, second factor, two sessions, and traces in the data.
            let attacker = try await client.signUp(
                "mallory", more: #","email":"anna@example.org","profile":{"score":7}"#)
            let phone = try Tokens(try await client.logIn("mallory"))
            let codes = try await client.addSecondFactor(of: attacker)

            let owner = try await client.signIn(idToken: try provider.token(Self.verified))
            #expect(owner.status == 200 && owner.string("user.id") == attacker.userID, "\(owner)")
            #expect(
                owner["user.emailVerified"] == "true" && owner["user.secondFactor"] == "false"
                    && owner["user.isAnonymous"] == "false")
            #expect(owner["user.profile.score"] == "7" && owner["user.userName"] == #""mallory""#)
            // No credential of the attacker's works any more.
            for name in [#""userName":"mallory""#, #""email":"anna@example.org""#] {
                let answer = try await client.send(
                    "POST", "login", #"{\#(name),"password":"correct horse","code":"\#(codes[0])"}"#)
                #expect(answer.isProblem(.signInFailed), "\(answer)")
            }
            for tokens in [attacker, phone] {
                #expect(try await client.refresh(tokens.refresh).isProblem(.invalidToken))
            }
            #expect(try await client.count("SELECT count(*) FROM auth.sessions WHERE revoked IS NULL") == 1)
            #expect(try await client.count("SELECT count(*) FROM auth.recovery_codes") == 0)
            // Gateways are notified of both sessions at once.
            #expect(try await client.count("SELECT count(DISTINCT session_id) FROM auth.revocations") == 2)
            #expect(try await client.signIn(idToken: try provider.token(Self.verified)).status == 200)
        }
    }

    @Test func `An identity linked earlier gives no access either`() async throws {
        try await FakeProvider.run { client, provider in
            try await client.register(provider)
            // Trojan: the attacker's own identity is linked to the account with the victim's address.
            let attacker = try await client.signUp("mallory", more: #","email":"anna@example.org""#)
            let body =
                #"{"provider":"acme","idToken":"\#(try provider.token(["sub": #""mallory""#]))","password":"correct horse"}"#
            #expect(try await client.send("POST", "me/identities", body, as: attacker).status == 200)
            let owner = try await client.signIn(idToken: try provider.token(Self.verified))
            #expect(owner.status == 200 && owner.string("user.id") == attacker.userID, "\(owner)")
            let trojan = try await client.signIn(idToken: try provider.token(["sub": #""mallory""#]))
            #expect(trojan.status == 201 && trojan["user.id"] != owner["user.id"], "\(trojan)")
        }
    }

    @Test func `An address verified on both sides leads to the same account, and keeps password and sessions`()
        async throws
    {
        try await FakeProvider.run { client, provider in
            try await client.register(provider)
            let anna = try await client.signUp(more: #","email":"anna@example.org""#)
            #expect(try await client.master("PATCH", "users/\(anna.userID)", #"{"emailVerified":true}"#).status == 200)
            let signedIn = try await client.signIn(
                idToken: try provider.token(["email": #""Anna@Example.org""#, "email_verified": #""true""#]))
            #expect(signedIn.status == 200 && signedIn.string("user.id") == anna.userID, "\(signedIn)")
            #expect(try await client.logIn().status == 200)
            #expect(try await client.refresh(anna.refresh).status == 200)
        }
    }

    @Test func `An address verified on both sides still requires the second factor`() async throws {
        try await FakeProvider.run { client, provider in
            try await client.register(provider)
            let anna = try await client.signUp(more: #","email":"anna@example.org""#)
            #expect(try await client.master("PATCH", "users/\(anna.userID)", #"{"emailVerified":true}"#).status == 200)
            let codes = try await client.addSecondFactor(of: anna)
            let token = try provider.token(Self.verified)
            #expect(try await client.signIn(idToken: token).isProblem(.secondFactorRequired))
            #expect(try await client.count("SELECT count(*) FROM auth.identities") == 0)
            #expect(try await client.signIn(idToken: token, more: #","secondFactorCode":"\#(codes[0])""#).status == 200)
            #expect(try await client.count("SELECT count(*) FROM auth.identities") == 1)
        }
    }

    @Test(arguments: [
        ["email": #""anna@example.org""#], ["email": #""anna@example.org""#, "email_verified": "false"],
        ["email": #""anna@example.org""#, "email_verified": #""false""#],
    ])
    func `An address that the provider has not verified leads to no account`(claims: [String: String]) async throws {
        try await FakeProvider.run { client, provider in
            try await client.register(provider)
            for isVerified in [false, true] {
                let anna = try await client.signUp(
                    isVerified ? "anna" : "anton", more: #","email":"\#(isVerified ? "anna" : "anton")@example.org""#)
                #expect(
                    try await client.master("PATCH", "users/\(anna.userID)", #"{"emailVerified":\#(isVerified)}"#)
                        .status == 200)
                var claims = claims
                if !isVerified { claims["email"] = #""anton@example.org""# }
                claims["sub"] = "\"\(isVerified)\""
                let other = try await client.signIn(idToken: try provider.token(claims))
                #expect(
                    other.status == 201 && other["user.email"] == "null" && other.string("user.id") != anna.userID,
                    "\(other)")
                #expect(try await client.logIn(isVerified ? "anna" : "anton").status == 200)
            }
        }
    }

    @Test func `A provider not trusted for addresses leads to no account`() async throws {
        try await FakeProvider.run { client, provider in
            try await client.register(provider, more: #","trustsEmail":false"#)
            let anna = try await client.signUp(more: #","email":"anna@example.org""#)
            let other = try await client.signIn(idToken: try provider.token(Self.verified))
            #expect(
                other.status == 201 && other["user.email"] == "null" && other.string("user.id") != anna.userID,
                "\(other)")
            #expect(try await client.logIn().status == 200)
        }
    }

    @Test func `A disabled user cannot sign in by any address or identity`() async throws {
        try await FakeProvider.run { client, provider in
            try await client.register(provider)
            let anna = try await client.signUp(more: #","email":"anna@example.org""#)
            for isVerified in [true, false] {
                let changed = try await client.master(
                    "PATCH", "users/\(anna.userID)", #"{"disabled":true,"emailVerified":\#(isVerified)}"#)
                #expect(changed.status == 200)
                let refused = try await client.signIn(idToken: try provider.token(Self.verified))
                #expect(refused.isProblem(.signInFailed), "\(refused)")
            }
            #expect(try await client.count("SELECT count(*) FROM auth.identities") == 0)
            #expect(try await client.count("SELECT count(*) FROM auth.users WHERE password IS NOT NULL") == 1)
            #expect(try await client.master("PATCH", "users/\(anna.userID)", #"{"disabled":false}"#).status == 200)
            #expect(try await client.signIn(idToken: try provider.token(Self.verified)).status == 200)
            #expect(try await client.master("PATCH", "users/\(anna.userID)", #"{"disabled":true}"#).status == 200)
            #expect(try await client.signIn(idToken: try provider.token(Self.verified)).isProblem(.signInFailed))
        }
    }

    @Test func `The same subject of another issuer is a different user`() async throws {
        try await FakeProvider.run { client, provider in
            try await client.register(provider)
            let first = try await client.signIn(idToken: try provider.token())
            // The app configures another issuer under the old name.
            #expect(try await client.master("DELETE", "providers/acme").status == 204)
            #expect(try await client.signIn(idToken: try provider.token()).isProblem(.invalidBody, field: "provider"))
            try await client.register(provider, kind: "facebook", more: "")
            let issuer = "https://issuer.example.org"
            let body =
                #"{"kind":"facebook","nonceRequired":false,"clientIDs":["ios.app"],"issuer":"\#(issuer)","endpoints":{"keys":"\#(provider.url)/keys"}}"#
            #expect(try await client.master("PUT", "providers/acme", body).status == 200)
            let other = try await client.signIn(idToken: try provider.token(["iss": "\"\(issuer)\""]))
            #expect(other.status == 201 && other["user.id"] != first["user.id"], "\(other)")
        }
    }
}

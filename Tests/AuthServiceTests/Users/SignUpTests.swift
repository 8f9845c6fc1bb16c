import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import Testing

@testable import AuthService

@Suite struct SignUpTests {
    @Test func `A new user is signed in and can read their profile`() async throws {
        try await UserClient.run { client in
            let body =
                #"{"userName":"Anna","email":"Anna@Example.org","password":"correct horse","profile":{"a":1.10},"private":{"b":[]},"device":"phone"}"#
            let answer = try await client.send("POST", "signup", body)
            #expect(answer.status == 201, "\(answer)")
            #expect(answer.header("cache-control") == "no-store")
            #expect(answer["expiresIn"] == "900")
            #expect(answer["user.userName"] == #""anna""# && answer["user.email"] == #""anna@example.org""#)
            #expect(answer["user.emailVerified"] == "false" && answer["user.isAnonymous"] == "false")
            #expect(answer["user.profile"] == #"{"a":1.10}"# && answer["user.private"] == #"{"b":[]}"#)
            #expect(!answer.text.contains("correct horse") && !answer.text.contains("argon2"))
            let tokens = try Tokens(answer)
            let me = try await client.send("GET", "me", as: tokens)
            #expect(me.status == 200 && me["userName"] == #""anna""#)
            let sessions = try await client.send("GET", "sessions", as: tokens)
            #expect(
                sessions["data.0.device"] == #""phone""# && sessions["data.0.current"] == "true"
                    && sessions["count"] == "1")
            let stored = try await client.count(
                "SELECT count(*) FROM auth.users WHERE password LIKE '$argon2id$v=19$m=19456,t=2,p=1$%'")
            #expect(stored == 1)
        }
    }

    @Test(
        arguments: [
            (#"{"password":"correct horse"}"#, ErrorCode.invalidBody, "userName"),
            (#"{"userName":"anna"}"#, .invalidBody, "password"),
            (#"{"userName":"anna","password":"short"}"#, .invalidBody, "password"),
            (#"{"userName":"anna","password":"Password123"}"#, .invalidBody, "password"),
            (#"{"userName":"anna-anna","password":"Anna-Anna"}"#, .invalidBody, "password"),
            (#"{"userName":"anna","password":"aaaaaaaaaaaa"}"#, .invalidBody, "password"),
            (#"{"userName":"a","password":"correct horse"}"#, .invalidBody, "userName"),
            (#"{"userName":".anna","password":"correct horse"}"#, .invalidBody, "userName"),
            (#"{"userName":"аnna","password":"correct horse"}"#, .invalidBody, "userName"),
            (#"{"userName":"role:x","password":"correct horse"}"#, .invalidBody, "userName"),
            (#"{"email":"anna","password":"correct horse"}"#, .invalidBody, "email"),
            (#"{"email":"a@b","password":"correct horse"}"#, .invalidBody, "email"),
            (#"{"email":"a@b.org\r\nBcc: c@d.org","password":"correct horse"}"#, .invalidBody, "email"),
            (#"{"email":"a..b@c.org","password":"correct horse"}"#, .invalidBody, "email"),
            // This address contains the Kelvin sign instead of a K.
            (#"{"email":"mi\u212ae@example.org","password":"correct horse"}"#, .invalidBody, "email"),
            (#"{"userName":7,"password":"correct horse"}"#, .invalidBody, "userName"),
            (#"{"userName":"anna","password":"correct horse","profile":[]}"#, .invalidBody, "profile"),
            (#"{"userName":"anna","password":"correct horse","private":{"a":"\u0000"}}"#, .invalidBody, nil),
            // Members that only the app's server may set, and some that nobody may.
            (#"{"userName":"anna","password":"correct horse","emailVerified":true}"#, .invalidBody, "emailVerified"),
            (#"{"userName":"anna","password":"correct horse","roles":["admin"]}"#, .invalidBody, "roles"),
            (
                #"{"userName":"anna","password":"correct horse","id":"0190163d-8694-739b-aea5-966c26f8ad91"}"#,
                .invalidBody, "id"
            ),
            (#"{"userName":"anna","password":"correct horse","isAnonymous":true}"#, .invalidBody, "isAnonymous"),
            (#"["userName"]"#, .invalidBody, nil),
            (#"{"userName":"#, .invalidJSON, nil),
        ] as [(String, ErrorCode, String?)])
    func `Refused requests write nothing`(body: String, code: ErrorCode, field: String?) async throws {
        try await UserClient.run { client in
            let answer = try await client.send("POST", "signup", body)
            #expect(answer.isProblem(code, field: field), "\(answer)")
            #expect(try await client.count("SELECT count(*) FROM auth.users") == 0)
        }
    }

    @Test func `A name and an address belong to one user, however they are written`() async throws {
        try await UserClient.run { client in
            _ = try await client.signUp("anna", more: #","email":"anna@example.org""#)
            let name = try await client.send("POST", "signup", #"{"userName":"ANNA","password":"correct horse"}"#)
            #expect(name.isProblem(.conflict, field: "userName"), "\(name)")
            let address = try await client.send(
                "POST", "signup", #"{"email":"ANNA@EXAMPLE.ORG","password":"correct horse"}"#)
            #expect(address.isProblem(.conflict, field: "email"), "\(address)")
            #expect(try await client.count("SELECT count(*) FROM auth.users") == 1)
            #expect(try await client.count("SELECT count(*) FROM auth.sessions") == 1)
            // Environments and apps are separate.
            var other = client
            other.environment = .test
            _ = try await other.signUp("anna")
            _ = try await UserClient(auth: client.auth, app: client.auth.apps.create(name: "Other")).signUp("anna")
        }
    }

    @Test func `Only one of many concurrent sign-ups gets a name`() async throws {
        try await UserClient.run { client in
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<12 {
                    group.addTask {
                        try await client.send("POST", "signup", #"{"userName":"anna","password":"correct horse"}"#)
                            .status
                    }
                }
                return try await group.reduce(into: [Int]()) { $0.append($1) }
            }
            #expect(statuses.sorted() == [201] + Array(repeating: 409, count: 11))
        }
    }

    @Test func `An anonymous user who chooses a name keeps everything`() async throws {
        try await UserClient.run { client in
            let made = try await client.send("POST", "anonymous", #"{"profile":{"score":3}}"#)
            #expect(
                made.status == 201 && made["user.isAnonymous"] == "true" && made["user.userName"] == "null", "\(made)")
            let tokens = try Tokens(made)
            let body = #"{"userName":"anna","password":"correct horse"}"#
            let upgraded = try await client.send("POST", "me/upgrade", body, as: tokens)
            #expect(
                upgraded.status == 200 && upgraded["isAnonymous"] == "false" && upgraded["profile.score"] == "3",
                "\(upgraded)")
            #expect(upgraded.string("id") == tokens.userID)
            #expect(try await client.logIn().string("user.id") == tokens.userID)
            let again = try await client.send(
                "POST", "me/upgrade", #"{"userName":"berta","password":"another horse"}"#, as: tokens)
            #expect(again.isProblem(.conflict), "\(again)")
            #expect(try await client.logIn().status == 200)
            let nobody = try await client.send("POST", "me/upgrade", body)
            #expect(nobody.isProblem(.invalidToken), "\(nobody)")
        }
    }

    @Test func `New accounts from one address are slowed down`() async throws {
        try await UserClient.run { client in
            var statuses: [Int] = []
            // The pauses grow beyond what a slow machine takes for a request.
            while !statuses.contains(429), statuses.count < 150 {
                statuses.append(try await client.send("POST", "anonymous").status)
            }
            #expect(statuses.prefix(100).allSatisfy { $0 == 201 })
            #expect(statuses.contains(429))
            var other = client
            other.address = "0:2"
            #expect(try await other.send("POST", "anonymous").status == 201)
        }
    }
}

import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import Testing

@testable import AuthService

@Suite struct ImportUsersTests {
    /// Hashes of `correct horse` unless stated otherwise, made by PyPI's bcrypt and argon2-cffi; the first three are
    /// from crypt_blowfish's own tests.
    static let hashes: [(hash: String, password: String)] = [
        ("$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW", "U*U"),
        ("$2a$05$CCCCCCCCCCCCCCCCCCCCC.VGOzA784oUp/Z0DY336zx7pLYAy0lwK", "U*U*"),
        ("$2a$05$XXXXXXXXXXXXXXXXXXXXXOAcXxm9kjPGEMsLznoKqmqw7tc8WCx4a", "U*U*U"),
        ("$2b$04$LNUh/ZQqW4gp.BuXkZ.8h.1H1SBxu5Ra8Dtct6mWzM7XiVeg6ZRD.", "correct horse"),
        ("$2y$04$LNUh/ZQqW4gp.BuXkZ.8h.1H1SBxu5Ra8Dtct6mWzM7XiVeg6ZRD.", "correct horse"),
        ("$2a$06$8hV.0xbDJFf996C0re/XEO8xeI1ms3OvNs0i4vwKwlsf.53sUqxyC", "correct horse"),
        ("$2b$10$HdHr4X3u4C37quIlIulM3u4mrIcjsUeY.Co5YGk0EBbXGluf8BoJ2", "correct horse"),
        ("$2b$05$YURRv6ZSffifM5Ex4blP8u9Lb1XdNfrycx7cqz.uaMz2etN61F3me", "correct hörse ☃"),
        (
            "$argon2id$v=19$m=8192,t=1,p=1$MDEyMzQ1Njc4OWFiY2RlZg$64zw4y6hGNSGW1HTKDajc74EIkJpCJ+AUBXDspyrFEU",
            "correct horse"
        ),
        (
            "$argon2i$v=19$m=8192,t=2,p=2$MDEyMzQ1Njc4OWFiY2RlZg$n4YSndXz/jNkBZuHPR4vBsjRraT0zjfLSqKkq+/hmYg",
            "correct horse"
        ),
        ("$argon2id$v=19$m=32,t=2,p=1$MDEyMzQ1Njc$CZTHZ0/WBmHWPQfZUxbjjQ", "correct horse"),
    ]

    private func importUser(_ client: UserClient, _ hash: String) async throws {
        let answer = try await client.master(
            "POST", "users/import", #"{"users":[{"userName":"anna","passwordHash":"\#(hash)"}]}"#)
        try #require(answer.status == 200 && answer["created"] == "1", "\(answer)")
    }

    private func storedHash(_ client: UserClient) async throws -> String {
        try await client.auth.postgres.query("SELECT password FROM auth.users WHERE user_name = 'anna'")[0].decode(0)
    }

    @Test(arguments: hashes)
    func `A user imported with another server's hash can sign in, which replaces the hash`(
        hash: String, password: String
    )
        async throws
    {
        try await UserClient.run { client in
            try await importUser(client, hash)
            for wrong in ["wrong horse", password + "x", String(password.dropLast()), password + "\\u0001"] {
                #expect(try await client.logIn(password: wrong).isProblem(.signInFailed), "\(wrong)")
                _ = try await client.auth.postgres.execute("DELETE FROM auth.attempts")
            }
            #expect(try await storedHash(client) == hash)
            #expect(try await client.logIn(password: password).status == 200)
            #expect(try await storedHash(client).hasPrefix("$argon2id$v=19$m=19456,t=2,p=1$"))
            #expect(try await client.logIn(password: password).status == 200)
            #expect(try await client.logIn(password: "wrong horse").isProblem(.signInFailed))
        }
    }

    @Test(arguments: [
        "$argon2id$v=19$m=19456,t=2,p=1$MDEyMzQ1Njc4OWFiY2RlZg$rk2Mi3E4dgRMg0fHaYaptWVZRKqs//6b6k3/nntqGJk",
        "$argon2id$v=19$m=65536,t=3,p=4$MDEyMzQ1Njc4OWFiY2RlZg$L1b1NjppUoj/KIEORq1pof4waLxklM0mqKZzt9nCsKI",
        "$argon2id$v=19$m=102400,t=2,p=8$MDEyMzQ1Njc4OWFiY2RlZg$RQ5IIheGLtCcnNoamqZ7XPR3fO/tSONcc+NXlOKB2wQ",
    ])
    func `A hash that is as strong as new ones, or stronger, is kept`(hash: String) async throws {
        try await UserClient.run { client in
            try await importUser(client, hash)
            #expect(try await client.logIn().status == 200)
            #expect(try await storedHash(client) == hash)
        }
    }

    @Test func `Concurrent first sign-ins all succeed, and leave one hash`() async throws {
        try await UserClient.run { client in
            try await importUser(client, Self.hashes[3].hash)
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<4 { group.addTask { try await client.logIn().status } }
                return try await group.reduce(into: [Int]()) { $0.append($1) }
            }
            #expect(statuses == [200, 200, 200, 200])
            #expect(try await storedHash(client).hasPrefix("$argon2id$"))
        }
    }

    @Test func `A password changed meanwhile stays changed`() async throws {
        try await UserClient.run { client in
            try await importUser(client, Self.hashes[3].hash)
            let user: UUID = try await client.auth.postgres.query("SELECT id FROM auth.users")[0].decode(0)
            let store = UserStore(postgres: client.auth.postgres)
            #expect(try await client.master("PATCH", "users/\(user)", #"{"password":"another horse"}"#).status == 200)
            let new = try await storedHash(client)
            // The concurrent sign-in still uses the old hash.
            try await store.renewPassword("$argon2id$late", insteadOf: Self.hashes[3].hash, of: user)
            #expect(try await storedHash(client) == new)
            #expect(try await client.logIn().isProblem(.signInFailed))
        }
    }

    @Test func `bcrypt uses 72 bytes, and a zero byte does not end the password`() async throws {
        let hash = "$2b$04$G1Z78jF/l1b/jdMfMk16tuQRm6NOtzeGwz/mTVmt5ZaaUHBTOyc56"
        func verify(_ password: String) -> Bool { PasswordHash.verify(Secret(password), against: hash) }
        let x = String(repeating: "x", count: 72)
        #expect(verify(x) && verify(x + "y") && verify(String(repeating: "x", count: 1_000)))
        #expect(!verify(String(x.dropLast())) && !verify(""))
        let short = Self.hashes[3].hash
        #expect(PasswordHash.verify(Secret("correct horse"), against: short))
        #expect(!PasswordHash.verify(Secret("correct horse\u{0}x"), against: short))
        for broken in ["$2b$", "$2", "$2b$04$", "$2b$99$LNUh/ZQqW4gp.BuXkZ.8h.", "*0", ""] {
            #expect(!PasswordHash.verify(Secret("correct horse"), against: broken), "\(broken)")
        }
    }

    @Test(arguments: [
        // Hashes with too few or too many rounds.
        "$2b$03$LNUh/ZQqW4gp.BuXkZ.8h.1H1SBxu5Ra8Dtct6mWzM7XiVeg6ZRD.",
        "$2b$15$LNUh/ZQqW4gp.BuXkZ.8h.1H1SBxu5Ra8Dtct6mWzM7XiVeg6ZRD.",
        "$2b$31$LNUh/ZQqW4gp.BuXkZ.8h.1H1SBxu5Ra8Dtct6mWzM7XiVeg6ZRD.",
        "$2b$+9$LNUh/ZQqW4gp.BuXkZ.8h.1H1SBxu5Ra8Dtct6mWzM7XiVeg6ZRD.",
        "$argon2id$v=19$m=1048576,t=1,p=1$MDEyMzQ1Njc4OWFiY2RlZg$64zw4y6hGNSGW1HTKDajc74EIkJpCJ+AUBXDspyrFEU",
        "$argon2id$v=19$m=4294967296,t=1,p=1$MDEyMzQ1Njc4OWFiY2RlZg$64zw4y6hGNSGW1HTKDajc74EIkJpCJ+AUBXDspyrFEU",
        "$argon2id$v=19$m=8,t=4294967295,p=1$MDEyMzQ1Njc4OWFiY2RlZg$64zw4y6hGNSGW1HTKDajc74EIkJpCJ+AUBXDspyrFEU",
        "$argon2id$v=19$m=131072,t=3,p=1$MDEyMzQ1Njc4OWFiY2RlZg$64zw4y6hGNSGW1HTKDajc74EIkJpCJ+AUBXDspyrFEU",
        "$argon2id$v=19$m=8192,t=1,p=64$MDEyMzQ1Njc4OWFiY2RlZg$64zw4y6hGNSGW1HTKDajc74EIkJpCJ+AUBXDspyrFEU",
        "$argon2id$v=19$m=8,t=1,p=4$MDEyMzQ1Njc4OWFiY2RlZg$64zw4y6hGNSGW1HTKDajc74EIkJpCJ+AUBXDspyrFEU",
        // Hashes of other algorithms.
        "$2x$04$LNUh/ZQqW4gp.BuXkZ.8h.1H1SBxu5Ra8Dtct6mWzM7XiVeg6ZRD.",
        "$2$04$LNUh/ZQqW4gp.BuXkZ.8h.1H1SBxu5Ra8Dtct6mWzM7XiVeg6ZRD.",
        "$argon2d$v=19$m=1024,t=2,p=1$MDEyMzQ1Njc4OWFiY2RlZg$t41J9wWj5/k6gPq7BMymRs7JSKlngfi6ZuX51eRVZU8",
        "$argon2id$v=16$m=8192,t=1,p=1$MDEyMzQ1Njc4OWFiY2RlZg$64zw4y6hGNSGW1HTKDajc74EIkJpCJ+AUBXDspyrFEU",
        "$argon2id$m=8192,t=1,p=1$MDEyMzQ1Njc4OWFiY2RlZg$64zw4y6hGNSGW1HTKDajc74EIkJpCJ+AUBXDspyrFEU",
        "$6$salt$IxDD3jeSOb5eB1CX5LBsqZFVkJdido3OUILO5Ifz5iwMuTS4XMS130MTSuDDl3aCI6WouIL9AjRbLCelDCy.g.",
        "$1$salt$qJH7.N4xYta3aEG/dfqo/0",
        "5f4dcc3b5aa765d61d8327deb882cf99", "correct horse", "",
        // Incomplete or malformed hashes.
        "$2b$04$LNUh/ZQqW4gp.BuXkZ.8h.1H1SBxu5Ra8Dtct6mWzM7XiVeg6ZRD",
        "$2b$04$LNUh/ZQqW4gp.BuXkZ.8h.1H1SBxu5Ra8Dtct6mWzM7XiVeg6ZRD. ",
        "$2b$04$LNUh/ZQqW4gp.BuXkZ.8h:1H1SBxu5Ra8Dtct6mWzM7XiVeg6ZRD.",
        "$argon2id$v=19$m=8192,t=1,p=1$MDEyMzQ1Njc4OWFiY2RlZg$",
        "$argon2id$v=19$m=8192,t=1,p=1$AAAA$64zw4y6hGNSGW1HTKDajc74EIkJpCJ+AUBXDspyrFEU",
        "$argon2id$v=19$m=8192,t=1,p=1,x=1$MDEyMzQ1Njc4OWFiY2RlZg$64zw4y6hGNSGW1HTKDajc74EIkJpCJ+AUBXDspyrFEU",
        "$argon2id$v=19$m=08192,t=1,p=1$MDEyMzQ1Njc4OWFiY2RlZg$64zw4y6hGNSGW1HTKDajc74EIkJpCJ+AUBXDspyrFEU",
        "$argon2id$v=19$m=8192,t=-1,p=1$MDEyMzQ1Njc4OWFiY2RlZg$64zw4y6hGNSGW1HTKDajc74EIkJpCJ+AUBXDspyrFEU",
    ])
    func `Hashes that are too expensive, or of other kinds, are refused`(hash: String) async throws {
        try await UserClient.run { client in
            let answer = try await client.master(
                "POST", "users/import", #"{"users":[{"userName":"anna","passwordHash":"\#(hash)"}]}"#)
            #expect(answer.isProblem(.invalidBody, field: "users.0.passwordHash"), "\(answer)")
            #expect(hash.isEmpty || !answer.text.contains(hash))
            #expect(try await client.count("SELECT count(*) FROM auth.users") == 0)
        }
    }

    @Test func `Users are imported with all their data`() async throws {
        try await UserClient.run { client in
            let id = "0a000000-0000-4000-8000-00000000000a"
            let answer = try await client.master(
                "POST", "users/import",
                #"""
                {"users":[
                    {"id":"\#(id.uppercased())","userName":"Anna","email":"Anna@Example.org","emailVerified":true,"passwordHash":"\#(Self.hashes[3].hash)",
                     "profile":{"a":1.10},"private":{"b":2},"created":"2020-02-29T12:00:00.250Z"},
                    {"email":"berta@example.org"}
                ]}
                """#)
            #expect(
                answer.status == 200 && answer["count"] == "2" && answer["created"] == "2" && answer["refused"] == "0",
                "\(answer)")
            #expect(
                answer.string("data.0.id") == id && answer.string("data.0.state") == "created"
                    && answer["data.1.row"] == "1")
            let user = try await client.master("GET", "users/\(id)")
            #expect(
                user.string("userName") == "anna" && user.string("email") == "anna@example.org"
                    && user["emailVerified"] == "true", "\(user)")
            #expect(
                user["profile"] == #"{"a":1.10}"# && user["private.b"] == "2"
                    && user.string("created") == "2020-02-29T12:00:00.250Z" && user["lastSignIn"] == "null")
            #expect(!user.text.contains("$2b$"))
            #expect(try await client.logIn().string("user.id") == id)
            // A user imported without a hash has no password that could be guessed.
            #expect(
                try await client.send("POST", "login", #"{"email":"berta@example.org","password":"correct horse"}"#)
                    .isProblem(.signInFailed))
        }
    }

    @Test func `Imports are atomic unless partial imports are allowed`() async throws {
        try await UserClient.run { client in
            _ = try await client.signUp("taken", more: #","email":"taken@example.org""#)
            let users = #"""
                [{"userName":"anna"},{"userName":"anna"},{"email":"no address"},{"userName":"otto","email":"TAKEN@example.org"},{"userName":"Taken"},
                 {"userName":"berta"},{"userName":"x","roles":["admin"]},{"passwordHash":"x"},7,{"userName":"carl","created":"2999-01-01T00:00:00Z"},
                 {"userName":"dora","id":"1"},{"userName":"emil","emailVerified":true},{"userName":"frida","profile":{"n":[1e300]}}]
                """#
            let refused = try await client.master("POST", "users/import", #"{"users":\#(users)}"#)
            #expect(refused.isProblem(.invalidBody, field: "users.1.userName"), "\(refused)")
            let expected = [
                (1, "userName"), (2, "email"), (3, "email"), (4, "userName"), (6, "roles"), (7, "userName"), (8, nil),
                (9, "created"), (10, "id"),
                (11, "emailVerified"),
            ]
            for (place, (row, field)) in expected.enumerated() {
                #expect(
                    refused["rows.\(place).row"] == "\(row)" && refused.string("rows.\(place).field") == field,
                    "\(refused)")
                #expect(refused.string("rows.\(place).reason")?.isEmpty == false)
            }
            #expect(refused["rows.10"] == nil)
            #expect(try await client.count("SELECT count(*) FROM auth.users") == 1)

            let dry = try await client.master("POST", "users/import", #"{"users":\#(users),"dryRun":true}"#)
            #expect(
                dry.status == 200 && dry["created"] == "3" && dry["refused"] == "10" && dry["dryRun"] == "true",
                "\(dry)")
            #expect(
                dry.string("data.1.state") == "refused" && dry.string("data.1.field") == "userName"
                    && dry.string("data.5.state") == "created")
            #expect(try await client.count("SELECT count(*) FROM auth.users") == 1)

            let some = try await client.master("POST", "users/import", #"{"users":\#(users),"partial":true}"#)
            #expect(some.status == 200 && some["created"] == "3" && some["refused"] == "10", "\(some)")
            #expect(
                try await client.count("SELECT count(*) FROM auth.users WHERE user_name IN ('anna', 'berta', 'frida')")
                    == 3)
            #expect(try await client.count("SELECT count(*) FROM auth.users") == 4)
        }
    }

    @Test func `A profile with extreme numbers refuses only its own row`() async throws {
        try await UserClient.run { client in
            let numbers = Array(repeating: "1e399", count: 300).joined(separator: ",")
            let users = #"[{"userName":"anna"},{"userName":"berta","profile":{"n":[\#(numbers)]}},{"userName":"carl"}]"#
            let answer = try await client.master("POST", "users/import", #"{"users":\#(users),"partial":true}"#)
            #expect(answer["created"] == "2" && answer.string("data.1.field") == "profile", "\(answer)")
        }
    }

    @Test func `Existing users are unchanged and listed`() async throws {
        try await UserClient.run { client in
            let id = "0a000000-0000-4000-8000-00000000000a"
            func user(_ name: String) -> String {
                #"{"users":[{"id":"\#(id)","userName":"\#(name)","passwordHash":"\#(Self.hashes[3].hash)"}]}"#
            }
            #expect(try await client.master("POST", "users/import", user("anna")).string("data.0.state") == "created")
            #expect(try await client.logIn().status == 200)
            let hash = try await storedHash(client)
            for name in ["anna", "berta"] {
                let again = try await client.master("POST", "users/import", user(name))
                #expect(
                    again.status == 200 && again["existing"] == "1" && again["created"] == "0"
                        && again.string("data.0.state") == "existing", "\(again)")
            }
            #expect(try await storedHash(client) == hash)
            // The id cannot be used again in another space, and its owner is not revealed.
            var test = client
            test.environment = .test
            let elsewhere = try await test.master("POST", "users/import", user("anna"))
            #expect(elsewhere.isProblem(.invalidBody, field: "users.0.id"), "\(elsewhere)")
        }
    }

    @Test func `Importing the same users twice at once creates them once`() async throws {
        try await UserClient.run { client in
            let ids = (0..<30).map { _ in UUID().uuidString.lowercased() }
            func body(_ ids: [String]) -> String {
                #"{"users":[\#(ids.map { #"{"id":"\#($0)","userName":"u\#($0)"}"# }.joined(separator: ","))]}"#
            }
            let answers = try await withThrowingTaskGroup(of: Answer.self) { group in
                for order in [ids, ids.reversed(), ids] {
                    group.addTask { try await client.master("POST", "users/import", body(order)) }
                }
                return try await group.reduce(into: [Answer]()) { $0.append($1) }
            }
            for answer in answers { #expect(answer.status == 200, "\(answer)") }
            #expect(answers.compactMap { $0["created"].flatMap { Int($0) } }.reduce(0, +) == 30)
            #expect(try await client.count("SELECT count(*) FROM auth.users") == 30)
        }
    }

    @Test(arguments: [
        ("{}", "users"), (#"{"users":[]}"#, "users"), (#"{"users":{}}"#, "users"),
        (#"{"users":[{"userName":"anna"}],"dryRun":"yes"}"#, "dryRun"),
        (#"{"users":[{"userName":"anna"}],"update":true}"#, "update"),
        ("{\"users\":[" + (0...100).map { #"{"userName":"u\#($0)x"}"# }.joined(separator: ",") + "]}", "users"),
    ])
    func `Invalid imports are refused`(body: String, field: String) async throws {
        try await UserClient.run { client in
            let answer = try await client.master("POST", "users/import", body)
            #expect(answer.isProblem(.invalidBody, field: field), "\(answer)")
            #expect(try await client.count("SELECT count(*) FROM auth.users") == 0)
        }
    }

    @Test func `Only the app's server can import`() async throws {
        try await UserClient.run { client in
            let tokens = try await client.signUp()
            let answer = try await client.send("POST", "users/import", #"{"users":[{"userName":"berta"}]}"#, as: tokens)
            #expect(answer.isProblem(.forbidden), "\(answer)")
        }
    }
}

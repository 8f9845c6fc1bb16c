import Crypto
import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import Testing

@testable import AuthService

@Suite struct SecondFactorTests {
    /// RFC 4226, appendix D.
    @Test(
        arguments: ["755224", "287082", "359152", "969429", "338314", "254676", "287922", "162583", "399871", "520489"]
            .enumerated().map { ($0, $1) })
    func `The codes of RFC 4226 are reproduced`(counter: Int, expected: String) {
        #expect(OneTimePassword.code(secret: Data("12345678901234567890".utf8), counter: Int64(counter)) == expected)
    }

    /// RFC 6238, appendix B: SHA-1, SHA-256, SHA-512.
    @Test(
        arguments: [
            (59, ["94287082", "46119246", "90693936"]), (1_111_111_109, ["07081804", "68084774", "25091201"]),
            (1_111_111_111, ["14050471", "67062674", "99943326"]),
            (1_234_567_890, ["89005924", "91819424", "93441116"]),
            (2_000_000_000, ["69279037", "90698825", "38618901"]),
            (20_000_000_000, ["65353130", "77737706", "47863826"]),
        ] as [(Int64, [String])])
    func `The codes of RFC 6238 are reproduced`(time: Int64, expected: [String]) {
        func seed(_ length: Int) -> Data { Data(String(repeating: "1234567890", count: 7).utf8.prefix(length)) }
        #expect(
            OneTimePassword.code(Insecure.SHA1.self, secret: seed(20), counter: time / 30, digits: 8) == expected[0])
        #expect(OneTimePassword.code(SHA256.self, secret: seed(32), counter: time / 30, digits: 8) == expected[1])
        #expect(OneTimePassword.code(SHA512.self, secret: seed(64), counter: time / 30, digits: 8) == expected[2])
    }

    /// RFC 4648 §10.
    @Test(arguments: [
        ("", ""), ("f", "MY"), ("fo", "MZXQ"), ("foo", "MZXW6"), ("foob", "MZXW6YQ"), ("fooba", "MZXW6YTB"),
        ("foobar", "MZXW6YTBOI"),
    ])
    func `Secrets are encoded as in RFC 4648`(text: String, expected: String) {
        #expect(Base32.encode(text.utf8) == expected)
    }

    @Test func `A code is valid one time step early or late, and no more`() {
        let secret = Data("12345678901234567890".utf8), time = Date(timeIntervalSince1970: 1_800_000_010)
        let now = Int64(1_800_000_010 / 30)
        for step in now - 3...now + 3 {
            let found = OneTimePassword.step(
                of: OneTimePassword.code(secret: secret, counter: step), secret: secret, at: time)
            #expect(found == (abs(step - now) <= 1 ? step : nil))
        }
        // Each digit counts: one wrong digit cannot be offset by another.
        for seed in 0..<300 {
            let secret = Data("seed number \(seed) of many".utf8)
            let codes = Set((now - 1...now + 1).map { OneTimePassword.code(secret: secret, counter: $0) })
            let code = Array(OneTimePassword.code(secret: secret, counter: now))
            var guesses = [
                "000000", "000007", "00000?", "111111", "999999", "777777", "0", String(code.reversed()),
                String(code.dropFirst()) + "0",
            ]
            for place in code.indices {
                for digit in "0123456789" {
                    var guess = code
                    guess[place] = digit
                    guesses.append(String(guess))
                }
            }
            for guess in guesses where !codes.contains(guess) {
                #expect(OneTimePassword.step(of: guess, secret: secret, at: time) == nil, "\(guess)")
            }
            for right in codes { #expect(OneTimePassword.step(of: right, secret: secret, at: time) != nil) }
        }
        for wrong in ["", "12345", "1234567", "abcdef", "١٢٣٤٥٦", "00000?", " 12345", "+12345", "-12345"] {
            #expect(OneTimePassword.step(of: wrong, secret: secret, at: time) == nil)
        }
    }

    /// Lends a user with a second factor, and the authenticator's secret.
    private func withFactor(_ body: @Sendable (UserClient, Tokens, Data, [String]) async throws -> Void) async throws {
        try await UserClient.run { client in
            let tokens = try await client.signUp()
            let added = try await client.send("POST", "me/totp", #"{"password":"correct horse"}"#, as: tokens)
            #expect(added.status == 200 && added.header("cache-control") == "no-store", "\(added)")
            let secret = try #require(added.string("secret"))
            #expect(
                added.string("uri")
                    == "otpauth://totp/Shop:anna?secret=\(secret)&issuer=Shop&algorithm=SHA1&digits=6&period=30")
            // The second factor is not required until the user has confirmed it with a code.
            #expect(try await client.logIn().status == 200)
            let key = Self.decodeBase32(secret)
            #expect(key.count == 20)
            let wrong = try await client.send("POST", "me/totp/confirm", #"{"code":"000000"}"#, as: tokens)
            #expect(wrong.isProblem(.signInFailed, field: "code"), "\(wrong)")
            let confirmed = try await client.send(
                "POST", "me/totp/confirm", #"{"code":"\#(Self.code(key, 0))"}"#, as: tokens)
            guard case .array(let codes)? = confirmed.json?["recoveryCodes"] else { throw Trouble() }
            #expect(codes.count == 10 && Set(codes.map(\.text)).count == 10)
            try await body(client, tokens, key, codes.map { String($0.text.dropFirst().dropLast()) })
        }
    }

    private struct Trouble: Error {}

    static func decodeBase32(_ text: String) -> Data {
        let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")
        var bits = text.flatMap { character in
            (0..<5).reversed().map { (digits.firstIndex(of: character) ?? 0) >> $0 & 1 }
        }[...]
        var bytes = Data()
        while bits.count >= 8 {
            bytes.append(bits.prefix(8).reduce(0) { $0 << 1 | UInt8($1) })
            bits = bits.dropFirst(8)
        }
        return bytes
    }

    /// The code `steps` after the current one.
    static func code(_ secret: Data, _ steps: Int64) -> String {
        OneTimePassword.code(secret: secret, counter: Int64(Date().timeIntervalSince1970) / 30 + steps)
    }

    private func logIn(_ client: UserClient, _ code: String) async throws -> Answer {
        try await client.send("POST", "login", #"{"userName":"anna","password":"correct horse","code":"\#(code)"}"#)
    }

    @Test func `Signing in requires a code, and each code works once`() async throws {
        try await withFactor { client, tokens, secret, _ async throws in
            #expect(try await client.send("GET", "me", as: tokens)["secondFactor"] == "true")
            // The request for a code is part of signing in, and does not count as an attempt.
            for _ in 0..<8 { #expect(try await client.logIn().isProblem(.secondFactorRequired)) }
            // A caller without the password does not learn that a second factor is required.
            #expect(try await client.logIn(password: "wrong horse").isProblem(.signInFailed))
            #expect(try await logIn(client, "000000").isProblem(.signInFailed))
            let (older, code) = (Self.code(secret, 0), Self.code(secret, 1))
            #expect(try await logIn(client, code).status == 200)
            #expect(try await logIn(client, code).isProblem(.signInFailed))
            // Codes older than an accepted one are used up, too.
            #expect(try await logIn(client, older).isProblem(.signInFailed))
        }
    }

    @Test func `A code used twice at once works once`() async throws {
        try await withFactor { client, _, secret, recoveryCodes async throws in
            for code in [Self.code(secret, 1), recoveryCodes[0]] {
                _ = try await client.auth.postgres.execute("DELETE FROM auth.attempts")
                let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                    for _ in 0..<4 { group.addTask { try await logIn(client, code).status } }
                    return try await group.reduce(into: [Int]()) { $0.append($1) }
                }
                #expect(statuses.count { $0 == 200 } == 1, "\(statuses)")
            }
        }
    }

    @Test func `Wrong codes count for the user under every name`() async throws {
        try await withFactor { client, tokens, secret, _ async throws in
            let changed = try await client.send(
                "PUT", "me/email", #"{"email":"anna@example.org","password":"correct horse"}"#, as: tokens)
            #expect(changed.status == 200, "\(changed)")
            for number in 0..<6 {
                let name = number % 2 == 0 ? #""userName":"anna""# : #""email":"anna@example.org""#
                _ = try await client.send("POST", "login", #"{\#(name),"password":"correct horse","code":"000000"}"#)
            }
            let held = try await client.auth.postgres.execute(
                "UPDATE auth.attempts SET not_before = now() + interval '1 minute' WHERE key = \(limit(client, tokens))"
            )
            #expect(held == 1)
            #expect(
                try await client.count(
                    "SELECT count(*) FROM auth.attempts WHERE key = \(limit(client, tokens)) AND failures > 4") == 1)
            #expect(try await logIn(client, Self.code(secret, 1)).isProblem(.tooManyRequests))
        }
    }

    private func limit(_ client: UserClient, _ tokens: Tokens) -> Data {
        AttemptStore.Limit.code(
            of: UUID(uuidString: tokens.userID) ?? UUID(), in: AppSpace(appID: client.app.id, environment: .live)
        ).key
    }

    @Test func `A change of the internal secret does not bypass the second factor`() async throws {
        try await withFactor { client, tokens, secret, codes async throws in
            let user = try client.person(tokens)
            let keys = ServerKeys(internalSecret: Secret("another-secret-0123456789-0123456789"))
            let other = SecondFactorStore(client.auth.postgres, keys)
            #expect(try await other.isRequired(of: user))
            for code in [Self.code(secret, 1), codes[0]] { #expect(try await other.consume(code, of: user) == false) }
        }
    }

    @Test func `Recovery codes work once, however they are typed, until new ones are created`() async throws {
        try await withFactor { client, tokens, secret, codes async throws in
            #expect(try await logIn(client, codes[0].uppercased().replacing("-", with: " ")).status == 200)
            #expect(try await logIn(client, codes[0]).isProblem(.signInFailed))
            #expect(try await client.count("SELECT count(*) FROM auth.recovery_codes") == 9)
            let body = #"{"password":"correct horse","code":"\#(codes[1])"}"#
            let renewed = try await client.send("POST", "me/totp/recovery-codes", body, as: tokens)
            #expect(renewed.status == 200 && renewed["recoveryCodes.9"] != nil, "\(renewed)")
            #expect(try await logIn(client, codes[2]).isProblem(.signInFailed))
            #expect(try await logIn(client, try #require(renewed.string("recoveryCodes.0"))).status == 200)
        }
    }

    @Test func `The second factor is removed with password and code, or by the app's server`() async throws {
        try await withFactor { client, tokens, secret, codes async throws in
            for (body, code) in [
                (#"{"password":"correct horse"}"#, ErrorCode.invalidBody),
                (#"{"password":"wrong horse","code":"\#(codes[0])"}"#, .signInFailed),
                (#"{"password":"correct horse","code":"000000"}"#, .signInFailed),
            ] {
                let refused = try await client.send("DELETE", "me/totp", body, as: tokens)
                #expect(refused.isProblem(code), "\(refused)")
            }
            let again = try await client.send("POST", "me/totp", #"{"password":"correct horse"}"#, as: tokens)
            #expect(again.isProblem(.conflict), "\(again)")
            let removed = try await client.send(
                "DELETE", "me/totp", #"{"password":"correct horse","code":"\#(codes[0])"}"#, as: tokens)
            #expect(removed.status == 204, "\(removed)")
            #expect(try await client.logIn().status == 200)
            #expect(try await client.count("SELECT count(*) FROM auth.recovery_codes") == 0)
        }
        try await withFactor { client, tokens, _, _ async throws in
            #expect(try await client.send("DELETE", "users/\(tokens.userID)/totp", as: tokens).isProblem(.forbidden))
            #expect(try await client.master("DELETE", "users/\(tokens.userID)/totp").status == 204)
            #expect(try await client.master("DELETE", "users/\(UUID())/totp").isProblem(.userNotFound))
            #expect(try await client.logIn().status == 200)
        }
    }

    @Test func `No code or secret is stored in plain text`() async throws {
        try await withFactor { client, _, secret, codes async throws in
            let sealed: Data = try await client.auth.postgres.query("SELECT sealed_secret FROM auth.second_factors")[0]
                .decode(0)
            #expect(sealed.count == 20 + 28 && sealed.range(of: secret) == nil)
            let macs: [Data] = try await client.auth.postgres.query("SELECT mac FROM auth.recovery_codes").map {
                try $0.decode(0)
            }
            #expect(macs.count == 10)
            for code in codes { #expect(!macs.contains(Data(SHA256.hash(data: Data(code.utf8))))) }
        }
    }

    @Test func `A pending enrolment ends when the password changes`() async throws {
        try await UserClient.run { client in
            let thief = try await client.signUp()
            let begun = try await client.send("POST", "me/totp", #"{"password":"correct horse"}"#, as: thief)
            let secret = Self.decodeBase32(try #require(begun.string("secret"), "\(begun)"))
            let owner = try Tokens(try await client.logIn())
            let change = #"{"password":"correct horse","newPassword":"another horse"}"#
            #expect(try await client.send("PUT", "me/password", change, as: owner).status == 204)
            // A gateway that does not know yet still accepts the access token.
            let confirmed = try await client.send(
                "POST", "me/totp/confirm", #"{"code":"\#(Self.code(secret, 0))"}"#, as: thief)
            #expect(confirmed.isProblem(.signInFailed), "\(confirmed)")
            #expect(try await client.logIn(password: "another horse").status == 200)
        }
    }

    @Test func `An anonymous user cannot have a second factor`() async throws {
        try await UserClient.run { client in
            let tokens = try Tokens(try await client.send("POST", "anonymous"))
            let added = try await client.send("POST", "me/totp", "{}", as: tokens)
            #expect(added.isProblem(.conflict), "\(added)")
            let confirmed = try await client.send("POST", "me/totp/confirm", #"{"code":"000000"}"#, as: tokens)
            #expect(confirmed.isProblem(.signInFailed), "\(confirmed)")
        }
    }
}

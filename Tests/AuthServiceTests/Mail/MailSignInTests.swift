import Crypto
import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import MartletTesting
import ServiceTesting
import Testing

@testable import AuthService

extension UserClient {
    /// Runs with a mail server and links that lead to the app.
    static func runWithMail(
        _ settings: String = "", services: @Sendable (MigratedDatabase) async throws -> [ServiceAddress] = { _ in [] },
        _ body: @Sendable (UserClient) async throws -> Void
    ) async throws {
        try await run(mail: try await MailServer.shared.settings(), services: services) { client in
            try await client.set(
                #""linkURLs":["shop://auth?kind={kind}&token={token}"]"# + (settings.isEmpty ? "" : "," + settings))
            try await body(client)
        }
    }

    func set(_ settings: String) async throws {
        let answer = try await master("PUT", "settings", "{\(settings)}")
        try #require(answer.status == 200, "\(answer)")
    }

    /// An address that no other test uses.
    static func address(_ name: String = "ada") -> String { "\(name)-\(UInt64.random(in: 0 ... .max))@example.org" }

    /// Signs up with an address and a password. The address is not verified yet.
    func signUpByAddress(_ address: String, more: String = "") async throws -> Tokens {
        let answer = try await send("POST", "signup", #"{"email":"\#(address)","password":"correct horse"\#(more)}"#)
        try #require(answer.status == 201, "\(answer)")
        return try Tokens(answer)
    }

    /// Signs up with an address and a password, and verifies the address by the link in the mail.
    func signUpVerified(_ address: String, more: String = "") async throws -> Tokens {
        let tokens = try await signUpByAddress(address, more: more)
        let mail = try await MailServer.shared.mail(to: address)
        let answer = try await send("POST", "email/verify/confirm", #"{"token":"\#(mail.token)"}"#)
        try #require(answer.status == 204, "\(answer)")
        return tokens
    }

    func logIn(address: String, password: String = "correct horse") async throws -> Answer {
        try await send("POST", "login", #"{"email":"\#(address)","password":"\#(password)"}"#)
    }

    /// Waits until every job has ended, except notices about ended sessions.
    func waitForJobs() async throws {
        let query: PostgresQuery =
            "SELECT count(*) FROM auth.jobs WHERE finished IS NULL AND kind <> \(SignOutOfPush.kind)"
        try await eventually("all jobs are finished") { try await count(query) == 0 }
    }
}

@Suite(.enabled(if: MailServer.isAvailable)) struct MailSignInTests {
    private func confirm(_ client: UserClient, _ body: String) async throws -> Answer {
        try await client.send("POST", "login/mail/confirm", "{\(body)}")
    }

    @Test func `The code or the link in a mail signs in once`() async throws {
        try await UserClient.runWithMail { client in
            let address = UserClient.address()
            let tokens = try await client.signUpVerified(address)
            let ordered = try await client.send(
                "POST", "login/mail", #"{"email":"\#(address.uppercased())","language":"de-AT"}"#)
            #expect(ordered.status == 202 && ordered.text.isEmpty, "\(ordered)")
            let mail = try await MailServer.shared.mail(to: address, number: 2)
            let code = try mail.code
            #expect(
                mail.subject == "Shop: dein Code ist \(code)" && mail.headers["from"]?.hasPrefix("Shop") == true,
                "\(mail)")
            #expect(
                mail.text.contains("shop://auth?kind=sign-in&token=")
                    && mail.html?.contains("shop://auth?kind=sign-in&amp;token=") == true, "\(mail)")

            let answer = try await confirm(
                client, #""email":"\#(address)","mailCode":"\#(mail.code)","device":"phone""#)
            #expect(
                answer.status == 200 && answer.string("user.id") == tokens.userID
                    && answer.header("cache-control") == "no-store", "\(answer)")
            // Neither the code nor the link is valid any more.
            #expect(
                try await confirm(client, #""email":"\#(address)","mailCode":"\#(mail.code)""#).isProblem(.signInFailed)
            )
            #expect(try await confirm(client, #""token":"\#(mail.token)""#).isProblem(.signInFailed))
            // The password and the earlier session stay, because the address had been verified.
            #expect(try await client.logIn(address: address).status == 200)
        }
    }

    /// Attack: enumeration by content or by side effects.
    @Test func `The answer neither reveals nor depends on whether an address has an account`() async throws {
        try await UserClient.runWithMail { client in
            let known = UserClient.address(), unknown = UserClient.address("nobody")
            _ = try await client.signUpVerified(known)
            try await client.waitForJobs()
            for path in ["login/mail", "password/reset"] {
                let answers = try await [known, unknown].asyncMap {
                    try await client.send("POST", path, #"{"email":"\#($0)"}"#)
                }
                #expect(answers.allSatisfy { $0.status == 202 && $0.text.isEmpty })
            }
            // The same rows were written for both addresses: a job and a count.
            for address in [known, unknown] {
                let jobs = try await client.count(
                    "SELECT count(*) FROM auth.jobs WHERE parameters ->> 'email' = \(address) AND parameters ->> 'kind' IN ('sign-in', 'reset-password')"
                )
                #expect(jobs == 2)
            }
            try await client.waitForJobs()
            #expect(try await MailServer.shared.mails(to: unknown).isEmpty)
            #expect(try await MailServer.shared.mails(to: known).count == 3)
            // Wrong codes are refused in the same way.
            let answers = try await [known, unknown].asyncMap {
                try await confirm(client, #""email":"\#($0)","mailCode":"00000000""#)
            }
            #expect(answers.allSatisfy { $0.isProblem(.signInFailed) } && answers[0].text == answers[1].text)
            // No name or password was sent, so the message does not mention them.
            #expect(
                answers[0].string("detail")?.contains("request another mail") == true
                    && !answers[0].text.contains("assword"), "\(answers[0])")
            // The same holds for too many requests.
            for address in [known, unknown] {
                var statuses: [Int] = []
                for _ in 0..<14 where !statuses.contains(429) {
                    statuses.append(try await client.send("POST", "password/reset", #"{"email":"\#(address)"}"#).status)
                }
                #expect(statuses.prefix(3).allSatisfy { $0 == 202 } && statuses.contains(429), "\(statuses)")
            }
        }
    }

    /// Attack: a code used twice in parallel.
    @Test func `A proof sent many times at once signs in once`() async throws {
        try await UserClient.runWithMail { client in
            let address = UserClient.address()
            _ = try await client.signUpVerified(address)
            for number in [2, 3] {
                _ = try await client.send("POST", "login/mail", #"{"email":"\#(address)"}"#)
                let mail = try await MailServer.shared.mail(to: address, number: number)
                let (code, token) = (try mail.code, try mail.token)
                let proof = number == 2 ? #""email":"\#(address)","mailCode":"\#(code)""# : #""token":"\#(token)""#
                let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                    for _ in 0..<4 { group.addTask { try await confirm(client, proof).status } }
                    return try await group.reduce(into: [Int]()) { $0.append($1) }
                }
                #expect(statuses.count { $0 == 200 } == 1, "\(statuses)")
            }
        }
    }

    /// Attack: guessing a code.
    @Test func `After five wrong attempts a code is invalid, and so is the correct one`() async throws {
        try await UserClient.runWithMail { client in
            let address = UserClient.address()
            _ = try await client.signUpVerified(address)
            _ = try await client.send("POST", "login/mail", #"{"email":"\#(address)"}"#)
            let mail = try await MailServer.shared.mail(to: address, number: 2)
            let code = try mail.code, wrong = code == "12345678" ? "12345679" : "12345678"
            for _ in 0..<5 {
                #expect(
                    try await confirm(client, #""email":"\#(address)","mailCode":"\#(wrong)""#).isProblem(.signInFailed)
                )
            }
            #expect(try await confirm(client, #""email":"\#(address)","mailCode":"\#(code)""#).isProblem(.signInFailed))
            // A new mail has a new code, and only that is valid; guesses still count for the address.
            _ = try await client.send("POST", "login/mail", #"{"email":"\#(address)"}"#)
            let next = try await MailServer.shared.mail(to: address, number: 3)
            #expect(try await confirm(client, #""token":"\#(mail.token)""#).isProblem(.signInFailed))
            var statuses: [Int] = []
            for _ in 0..<18 where !statuses.contains(429) {
                statuses.append(try await confirm(client, #""email":"\#(address)","mailCode":"\#(wrong)""#).status)
            }
            #expect(statuses.contains(429), "\(statuses)")
            // The link cannot be guessed, so wrong codes do not block it.
            #expect(try await confirm(client, #""token":"\#(next.token)""#).status == 200)
        }
    }

    /// Attack: a live token used in test, and a token used for another purpose.
    @Test func `A proof is valid only for its app, environment and purpose`() async throws {
        try await UserClient.runWithMail { client in
            let address = UserClient.address()
            _ = try await client.signUpVerified(address)
            _ = try await client.send("POST", "login/mail", #"{"email":"\#(address)"}"#)
            let mail = try await MailServer.shared.mail(to: address, number: 2)
            var test = client
            test.environment = .test
            let other = UserClient(auth: client.auth, app: try await client.auth.apps.create(name: "Other"))
            let (code, token) = (try mail.code, try mail.token)
            for proof in [#""token":"\#(token)""#, #""email":"\#(address)","mailCode":"\#(code)""#] {
                for stranger in [test, other] { #expect(try await confirm(stranger, proof).isProblem(.signInFailed)) }
                let reset = try await client.send(
                    "POST", "password/reset/confirm", #"{\#(proof),"newPassword":"another horse"}"#)
                #expect(reset.isProblem(.signInFailed), "\(reset)")
                #expect(try await client.send("POST", "email/verify/confirm", "{\(proof)}").isProblem(.signInFailed))
            }
            // Expires the proofs now instead of waiting.
            _ = try await client.auth.postgres.execute(
                "UPDATE auth.mail_proofs SET expires = now() - interval '1 second'")
            #expect(try await confirm(client, #""token":"\#(mail.token)""#).isProblem(.signInFailed))
        }
    }

    @Test func `The second factor is required, and the proof stays valid meanwhile`() async throws {
        try await UserClient.runWithMail { client in
            let address = UserClient.address()
            let tokens = try await client.signUpVerified(address)
            let secret = try await client.addFactor(tokens)
            _ = try await client.send("POST", "login/mail", #"{"email":"\#(address)"}"#)
            let token = try await MailServer.shared.mail(to: address, number: 2).token
            let proof = #""token":"\#(token)""#
            #expect(try await confirm(client, proof).isProblem(.secondFactorRequired))
            #expect(try await confirm(client, proof + #","code":"000000""#).isProblem(.signInFailed))
            let answer = try await confirm(client, proof + #","code":"\#(UserClient.code(secret, 1))""#)
            #expect(answer.status == 200, "\(answer)")
            #expect(try await confirm(client, proof + #","code":"\#(UserClient.code(secret, 1))""#).status == 401)
        }
    }

    @Test func `New users get an account if the app allows it`() async throws {
        try await UserClient.runWithMail(#""signUpByMail":true,"refuseDisposable":true"#) { client in
            let address = UserClient.address(), disposable = "ada\(UInt32.random(in: 0 ... .max))@mailinator.com"
            for address in [address, disposable] {
                #expect(try await client.send("POST", "login/mail", #"{"email":"\#(address)"}"#).status == 202)
            }
            let mail = try await MailServer.shared.mail(to: address)
            let answer = try await confirm(client, #""token":"\#(mail.token)""#)
            #expect(
                answer.status == 201 && answer["user.emailVerified"] == "true" && answer["user.isAnonymous"] == "false",
                "\(answer)")
            try await client.waitForJobs()
            #expect(try await MailServer.shared.mails(to: disposable).isEmpty)
            // A user who has just signed in may set a password; later that needs a new sign-in or a reset.
            let old = "UPDATE auth.sessions SET created = created - interval '11 minutes'" as PostgresQuery
            try await client.auth.postgres.execute(old)
            let late = try await client.send(
                "POST", "me/upgrade", #"{"userName":"eve","password":"correct horse"}"#, as: Tokens(answer))
            #expect(late.isProblem(.recentSignInRequired), "\(late)")
            try await client.auth.postgres.execute("UPDATE auth.sessions SET created = now()")
            let upgrade = try await client.send(
                "POST", "me/upgrade", #"{"userName":"eve","password":"correct horse"}"#, as: Tokens(answer))
            #expect(upgrade.status == 200, "\(upgrade)")
            try await client.set(#""signUpByMail":false"#)
            let other = UserClient.address()
            _ = try await client.send("POST", "login/mail", #"{"email":"\#(other)"}"#)
            try await client.waitForJobs()
            #expect(try await MailServer.shared.mails(to: other).isEmpty)
        }
    }

    /// Attack: an account created in advance with someone else's address.
    @Test func `Signing in by an unverified address locks out whoever created the account`()
        async throws
    {
        try await UserClient.runWithMail(#""verifyOnSignUp":false"#) { client in
            let address = UserClient.address()
            let eve = try await client.signUpByAddress(address)
            // Her second factor would keep the owner out.
            try await client.auth.postgres.execute(
                "INSERT INTO auth.second_factors (user_id, sealed_secret, confirmed) VALUES (\(eve.userID)::uuid, \(Data([0])), now())"
            )
            _ = try await client.send("POST", "login/mail", #"{"email":"\#(address)"}"#)
            let answer = try await confirm(client, #""token":"\#(MailServer.shared.mail(to: address).token)""#)
            #expect(
                answer.status == 200 && answer["user.emailVerified"] == "true"
                    && answer.string("user.id") == eve.userID, "\(answer)")
            #expect(try await client.count("SELECT count(*) FROM auth.second_factors") == 0)
            #expect(try await client.logIn(address: address).isProblem(.signInFailed))
            #expect(try await client.refresh(eve.refresh).isProblem(.invalidToken))
            #expect(try await client.refresh(Tokens(answer).refresh).status == 200)
        }
    }

    @Test(arguments: [
        ("login/mail", #"{}"#, "email"), ("login/mail", #"{"email":"nobody"}"#, "email"),
        ("login/mail", #"{"email":"a@example.org","link":"https://evil.example/{token}"}"#, "link"),
        ("login/mail", #"{"email":"a@example.org","language":"../en"}"#, "language"),
        ("login/mail", #"{"email":"a@example.org","userName":"x"}"#, "userName"),
        ("password/reset", #"{"email":"a@example.org\r\nBcc: b@example.org"}"#, "email"),
        ("login/mail/confirm", #"{}"#, "token"),
        ("login/mail/confirm", #"{"token":"x","mailCode":"y","email":"a@example.org"}"#, "token"),
        ("login/mail/confirm", #"{"mailCode":"12345678"}"#, "email"),
        ("password/reset/confirm", #"{"token":"x"}"#, "newPassword"),
        ("password/reset/confirm", #"{"token":"x","newPassword":"short"}"#, "newPassword"),
    ])
    func `Refused requests send no mail`(path: String, body: String, field: String) async throws {
        try await UserClient.runWithMail { client in
            let answer = try await client.send("POST", path, body)
            #expect(answer.isProblem(.invalidBody, field: field), "\(answer)")
            #expect(try await client.count("SELECT count(*) FROM auth.jobs") == 0)
        }
    }
}

extension UserClient {
    /// Adds an authenticator to a user; returns its secret. The current code is used up.
    func addFactor(_ tokens: Tokens) async throws -> Data {
        let user = try person(tokens)
        let store = SecondFactorStore(
            auth.postgres, ServerKeys(internalSecret: Secret("an-internal-secret-of-the-tests-0123456789")))
        let secret = Data(try #require(try await store.begin(of: user)))
        _ = try await store.confirm(Self.code(secret, 0), of: user)
        return secret
    }

    func person(_ tokens: Tokens) throws -> Person {
        .user(try #require(UUID(uuidString: tokens.userID)), AppSpace(appID: app.id, environment: .live))
    }

    static func code(_ secret: Data, _ steps: Int64) -> String {
        OneTimePassword.code(secret: secret, counter: Int64(Date().timeIntervalSince1970) / 30 + steps)
    }
}

extension SecondFactorStore {
    init(_ postgres: PostgresClient, _ keys: ServerKeys) {
        self.init(
            postgres: postgres, attempts: AttemptStore(postgres: postgres), keys: keys, logger: .silent,
            now: { Date() })
    }
}

extension Sequence {
    fileprivate func asyncMap<Result>(_ body: (Element) async throws -> Result) async throws -> [Result] {
        var results: [Result] = []
        for element in self { results.append(try await body(element)) }
        return results
    }
}

import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import MartletTesting
import Testing

@testable import AuthService

@Suite struct LogInTests {
    @Test func `A user signs in by name or address, on several devices`() async throws {
        try await UserClient.run { client in
            let first = try await client.signUp(more: #","email":"anna@example.org""#)
            let byName = try await client.send(
                "POST", "login", #"{"userName":"Anna","password":"correct horse","device":"tablet"}"#)
            #expect(byName.status == 200 && byName.string("user.id") == first.userID, "\(byName)")
            let byAddress = try await client.send(
                "POST", "login", #"{"email":"ANNA@example.org","password":"correct horse"}"#)
            #expect(byAddress.status == 200, "\(byAddress)")
            let list = try await client.send("GET", "sessions", as: try Tokens(byName))
            #expect(list["count"] == "3")
            #expect(
                list["data.1.device"] == #""tablet""# && list["data.1.current"] == "true"
                    && list["data.0.current"] == "false")
        }
    }

    /// Every failure gets the same answer.
    @Test func `Failures reveal nothing`() async throws {
        try await UserClient.run { client in
            let tokens = try await client.signUp()
            _ = try await client.signUp("berta")
            _ = try await client.send("POST", "anonymous")
            #expect(try await client.master("PATCH", "users/\(tokens.userID)", #"{"disabled":true}"#).status == 200)
            var texts: Set<String> = []
            for body in [
                #"{"userName":"berta","password":"correct horsf"}"#,
                #"{"userName":"nobody","password":"correct horse"}"#,
                #"{"userName":"anna","password":"correct horse"}"#,
                #"{"email":"nobody@example.org","password":"correct horse"}"#,
                #"{"userName":"berta","password":""}"#,
            ] {
                let answer = try await client.send("POST", "login", body)
                #expect(answer.isProblem(.signInFailed), "\(body): \(answer)")
                texts.insert(answer.text)
            }
            #expect(texts.count == 1)
            var other = client
            other.environment = .test
            #expect(try await other.logIn("berta").isProblem(.signInFailed))
        }
    }

    @Test func `An unknown account takes as long as a known one`() async throws {
        let hasher = PasswordHasher(concurrency: 1)
        let running = Task { try await hasher.run() }
        try await eventually("the hasher runs") { hasher.isRunning }
        let hash = try PasswordHash.make(of: Secret("correct horse"))
        #expect(hasher.decoy.split(separator: "$").prefix(3) == hash.split(separator: "$").prefix(3))
        #expect(hasher.decoy.split(separator: "$").map(\.count) == hash.split(separator: "$").map(\.count))
        #expect(try await hasher.verify(Secret("wrong"), against: hash) == false)
        #expect(try await hasher.verify(Secret("wrong"), against: nil) == false)
        #expect(try await hasher.verify(Secret("correct horse"), against: hash))
        running.cancel()
        _ = await running.result
    }

    @Test func `Guessing at an account is slowed down for everyone, even when many guess at once`() async throws {
        try await UserClient.run { client in
            _ = try await client.signUp()
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<30 { group.addTask { try await client.logIn(password: "wrong horse").status } }
                return try await group.reduce(into: [Int]()) { $0.append($1) }
            }
            #expect(statuses.count { $0 == 401 } <= 12, "\(statuses)")
            #expect(statuses.allSatisfy { $0 == 401 || $0 == 429 })
            _ = try await client.auth.postgres.execute(
                "UPDATE auth.attempts SET not_before = now() + interval '1 minute' WHERE failures > 4")
            let refused = try await client.logIn()
            #expect(refused.isProblem(.tooManyRequests), "\(refused)")
            #expect(try #require(refused.header("retry-after").flatMap { Int($0) }) > 30)
            // An unknown name is treated in the same way.
            for _ in 0..<6 { _ = try await client.logIn("nobody") }
            _ = try await client.auth.postgres.execute(
                "UPDATE auth.attempts SET not_before = now() + interval '1 minute' WHERE failures > 4")
            #expect(try await client.logIn("nobody").isProblem(.tooManyRequests))
            // After the delay the correct password works, and the count is reset.
            _ = try await client.auth.postgres.execute("UPDATE auth.attempts SET not_before = now()")
            #expect(try await client.logIn().status == 200)
            for _ in 0..<5 { #expect(try await client.logIn(password: "wrong horse").status == 401) }
        }
    }

    @Test func `A known address of the user is not slowed down by guesses from elsewhere`() async throws {
        try await UserClient.run { client in
            _ = try await client.signUp()
            #expect(try await client.logIn().status == 200)
            var stranger = client
            stranger.address = "0:2"
            for _ in 0..<8 { _ = try await stranger.logIn(password: "wrong horse") }
            try await client.auth.postgres.execute(
                "UPDATE auth.attempts SET not_before = now() + interval '1 minute' WHERE failures > 4")
            #expect(try await stranger.logIn().isProblem(.tooManyRequests))
            #expect(try await client.logIn().status == 200)
            // The owner's sign-in does not reset the count of the stranger's guesses either.
            #expect(try await stranger.logIn().isProblem(.tooManyRequests))
            // Guesses from the owner's own address are also delayed.
            for _ in 0..<8 { _ = try await client.logIn(password: "wrong horse") }
            let own = AttemptStore.Limit.account(
                "anna", from: client.address, in: AppSpace(appID: client.app.id, environment: .live)
            ).key
            #expect(
                try await client.count("SELECT count(*) FROM auth.attempts WHERE key = \(own) AND failures > 4") == 1)
            try await client.auth.postgres.execute(
                "UPDATE auth.attempts SET not_before = now() + interval '1 minute' WHERE failures > 4")
            #expect(try await client.logIn().isProblem(.tooManyRequests))
        }
    }

    @Test func `Known addresses are stored per user, and their number is limited`() async throws {
        try await UserClient.run { client in
            let anna = try await client.signUp()
            _ = try await client.signUp("berta")
            #expect(try await client.logIn().status == 200)
            let addresses = SignInAddressStore(
                postgres: client.auth.postgres,
                key: ServerKeys(internalSecret: Secret("another-secret-0123456789-0123456789")).signInAddresses)
            let space = AppSpace(appID: client.app.id, environment: .live)
            let id = try #require(UUID(uuidString: anna.userID))
            let (name, other) = (
                UserIdentity.userName(try UserName("anna")), UserIdentity.userName(try UserName("berta"))
            )
            #expect(
                try await !addresses.isKnown(client.address, of: name, in: space),
                "addresses recorded under another internal secret are unknown")
            for number in 0..<30 { try await addresses.record("0:\(number)", of: id, in: space) }
            #expect(try await addresses.isKnown("0:29", of: name, in: space))
            #expect(try await !addresses.isKnown("0:29", of: other, in: space))
            #expect(
                try await !addresses.isKnown("0:29", of: name, in: AppSpace(appID: client.app.id, environment: .test)))
            #expect(
                try await client.count("SELECT count(*) FROM auth.sign_in_places")
                    <= SignInAddressStore.maximumPerUser + 1)
            try await client.auth.postgres.execute(
                "UPDATE auth.sign_in_places SET last_used = now() - interval '91 days'")
            #expect(try await !addresses.isKnown("0:29", of: name, in: space))
            try await addresses.clean()
            #expect(try await client.count("SELECT count(*) FROM auth.sign_in_places") == 0)
        }
    }

    @Test func `Requests refused before the password check do not count as attempts`() async throws {
        try await UserClient.run { client in
            _ = try await client.signUp()
            for _ in 0..<4 { #expect(try await client.logIn(password: "wrong horse").status == 401) }
            // While the address is delayed, its attempts do not count against the account.
            let address = AttemptStore.Limit.address(
                client.address, in: AppSpace(appID: client.app.id, environment: .live)
            ).key
            let held = try await client.auth.postgres.execute(
                "UPDATE auth.attempts SET failures = 150, not_before = now() + interval '1 minute' WHERE key = \(address)"
            )
            #expect(held == 1)
            for _ in 0..<10 { #expect(try await client.logIn(password: "wrong horse").isProblem(.tooManyRequests)) }
            _ = try await client.auth.postgres.execute("DELETE FROM auth.attempts WHERE failures > 100")
            #expect(try await client.logIn().status == 200)
        }
    }

    @Test func `A flood of sign-ins is refused instead of queued without limit`() async throws {
        let hasher = PasswordHasher(concurrency: 1, maximumWaiting: 2)
        let running = Task { try await hasher.run() }
        try await eventually("the hasher runs") { hasher.isRunning }
        let refused = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<20 {
                group.addTask {
                    do {
                        _ = try await hasher.verify(Secret("x"), against: nil)
                        return false
                    } catch let problem as ServiceError {
                        return problem.code == .tooManyRequests
                    } catch {
                        return false
                    }
                }
            }
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(refused >= 10)
        running.cancel()
        _ = await running.result
    }

    @Test(arguments: [
        (#"{"password":"correct horse"}"#, "userName"),
        (#"{"userName":"anna","email":"a@b.org","password":"correct horse"}"#, "userName"),
        (#"{"userName":"anna"}"#, "password"),
        (#"{"userName":"anna","password":"x","device":"\#(String(repeating: "👨‍👩‍👧‍👦", count: 40))"}"#, "device"),
        (#"{"userName":"anna","password":"x","otp":1}"#, "otp"),
    ])
    func `Malformed requests are refused with the reason`(body: String, field: String) async throws {
        try await UserClient.run { client in
            let answer = try await client.send("POST", "login", body)
            #expect(answer.isProblem(.invalidBody, field: field), "\(answer)")
        }
    }
}

import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import Testing

@testable import AuthService

@Suite struct SessionTests {
    @Test func `A refresh token works once, and is replaced by the next`() async throws {
        try await UserClient.run { client in
            var tokens = try await client.signUp()
            var seen: Set<String> = [tokens.refresh]
            for _ in 0..<5 {
                let answer = try await client.refresh(tokens.refresh)
                #expect(answer.status == 200 && answer["user.userName"] == #""anna""#, "\(answer)")
                tokens = try Tokens(answer)
                #expect(seen.insert(tokens.refresh).inserted)
            }
            #expect(try await client.send("GET", "sessions", as: tokens)["count"] == "1")
        }
    }

    @Test func `A stolen token ends the session for thief and victim, whoever comes first`() async throws {
        try await UserClient.run { client in
            for name in ["anna", "berta"] {
                let stolen = try await client.signUp(name)
                let second = try Tokens(try await client.refresh(stolen.refresh))
                let third = try Tokens(try await client.refresh(second.refresh))
                // The token has been replaced twice, so this cannot be a client that merely lost an answer.
                #expect(try await client.refresh(stolen.refresh).isProblem(.invalidToken))
                #expect(try await client.refresh(third.refresh).isProblem(.invalidToken))
                #expect(
                    try await client.count(
                        "SELECT count(*) FROM auth.revocations WHERE session_id = \(UUID(uuidString: stolen.sessionID)!)"
                    ) == 1)
            }
        }
    }

    @Test func `A lost answer is repeated for ten seconds, after which reuse counts as theft`() async throws {
        try await UserClient.run { client in
            let first = try await client.signUp()
            let second = try Tokens(try await client.refresh(first.refresh))
            let again = try Tokens(try await client.refresh(first.refresh))
            #expect(again.refresh == second.refresh)
            #expect(try await client.refresh(second.refresh).status == 200)
            let other = try await client.signUp("berta")
            _ = try await client.refresh(other.refresh)
            _ = try await client.auth.postgres.execute(
                "UPDATE auth.sessions SET rotated = rotated - interval '11 seconds'")
            #expect(try await client.refresh(other.refresh).isProblem(.invalidToken))
            #expect(try await client.send("GET", "sessions", as: other)["count"] == "0")
        }
    }

    @Test func `Concurrent refreshes with one token all get the same successor`() async throws {
        try await UserClient.run { client in
            let tokens = try await client.signUp()
            let next = try await withThrowingTaskGroup(of: String?.self) { group in
                for _ in 0..<20 { group.addTask { try await client.refresh(tokens.refresh).string("refreshToken") } }
                return try await group.reduce(into: Set<String?>()) { $0.insert($1) }
            }
            #expect(next.count == 1)
            #expect(try await client.refresh(try #require(next.first ?? nil)).status == 200)
        }
    }

    @Test func `Foreign and invented tokens are refused and harm no one`() async throws {
        try await UserClient.run { client in
            let tokens = try await client.signUp()
            let session = try #require(UUID(uuidString: tokens.sessionID))
            let own = RefreshTokens(
                key: ServerKeys(internalSecret: Secret("an-internal-secret-of-the-tests-0123456789")).refreshTokens)
            let others = RefreshTokens(
                key: ServerKeys(internalSecret: Secret("another-secret-0123456789-0123456789")).refreshTokens)
            #expect(own.content(of: tokens.refresh) == .init(session: session, number: 0))
            #expect(others.content(of: tokens.refresh) == nil)
            let foreign = others.token(.init(session: session, number: 0))
            let future = own.token(.init(session: session, number: 7))
            let nobodys = own.token(.init(session: UUID(), number: 0))
            for token in [
                foreign, future, nobodys, tokens.access, "", "mr_", "mr_" + String(repeating: "A", count: 70),
                tokens.refresh + "A",
            ] {
                let answer = try await client.refresh(token)
                #expect(answer.isProblem(.invalidToken), "\(token): \(answer)")
            }
            var test = client
            test.environment = .test
            #expect(try await test.refresh(tokens.refresh).isProblem(.invalidToken))
            let shop = UserClient(auth: client.auth, app: try await client.auth.apps.create(name: "Other"))
            #expect(try await shop.refresh(tokens.refresh).isProblem(.invalidToken))
            #expect(try await client.refresh(tokens.refresh).status == 200)
        }
    }

    @Test func `Signing out ends this session and no other`() async throws {
        try await UserClient.run { client in
            let phone = try await client.signUp()
            let tablet = try Tokens(try await client.logIn())
            #expect(try await client.send("POST", "logout", as: phone).status == 204)
            #expect(try await client.refresh(phone.refresh).isProblem(.invalidToken))
            #expect(try await client.refresh(tablet.refresh).status == 200)
            #expect(try await client.send("POST", "logout").isProblem(.invalidToken))
        }
    }

    @Test func `Sessions can be ended one by one, all others, or all`() async throws {
        try await UserClient.run { client in
            let first = try await client.signUp()
            let others = [
                try Tokens(try await client.logIn()), try Tokens(try await client.logIn()),
                try Tokens(try await client.logIn()),
            ]
            #expect(try await client.send("DELETE", "sessions/\(others[0].sessionID)", as: first).status == 204)
            #expect(
                try await client.send("DELETE", "sessions/\(others[0].sessionID)", as: first).isProblem(
                    .sessionNotFound))
            #expect(try await client.send("DELETE", "sessions/x", as: first).isProblem(.sessionNotFound))
            // Another user's session is not found.
            let berta = try await client.signUp("berta")
            #expect(
                try await client.send("DELETE", "sessions/\(others[1].sessionID)", as: berta).isProblem(
                    .sessionNotFound))
            #expect(try await client.send("DELETE", "sessions?keep=current", as: first)["count"] == "2")
            #expect(try await client.refresh(others[1].refresh).isProblem(.invalidToken))
            let refreshed = try Tokens(try await client.refresh(first.refresh))
            #expect(
                try await client.send("DELETE", "sessions?keep=all", as: refreshed).isProblem(
                    .invalidParameter, field: "keep"))
            #expect(try await client.send("DELETE", "sessions", as: refreshed)["count"] == "1")
            #expect(try await client.refresh(refreshed.refresh).isProblem(.invalidToken))
            #expect(try await client.refresh(berta.refresh).status == 200)
        }
    }

    @Test func `An idle session expires, and old sessions are deleted`() async throws {
        try await UserClient.run { client in
            let tokens = try await client.signUp()
            _ = try await client.auth.postgres.execute("UPDATE auth.sessions SET expires = now() - interval '1 second'")
            #expect(try await client.refresh(tokens.refresh).isProblem(.invalidToken))
            let store = SessionStore(postgres: client.auth.postgres)
            try await store.clean()
            #expect(try await client.count("SELECT count(*) FROM auth.sessions") == 1)
            _ = try await client.auth.postgres.execute("UPDATE auth.sessions SET expires = now() - interval '8 days'")
            try await store.clean()
            #expect(try await client.count("SELECT count(*) FROM auth.sessions") == 0)
        }
    }

    @Test func `Beyond the maximum, the longest idle session of a user ends`() async throws {
        try await UserClient.run { client in
            let first = try await client.signUp()
            let user = try #require(UUID(uuidString: first.userID))
            let account = try #require(
                try await UserStore(postgres: client.auth.postgres).account(
                    user, in: AppSpace(appID: client.app.id, environment: .live)))
            let store = SessionStore(postgres: client.auth.postgres)
            for _ in 0..<SessionStore.maximumPerUser { _ = try await store.create(NewSession(device: ""), of: account) }
            #expect(
                try await client.count("SELECT count(*) FROM auth.sessions WHERE revoked IS NULL")
                    == SessionStore.maximumPerUser)
            #expect(try await client.refresh(first.refresh).isProblem(.invalidToken))
        }
    }
}

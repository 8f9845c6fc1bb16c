import Foundation
import MartletAPI
import MartletCore
import MartletTesting
import Testing

@testable import AuthService

@Suite struct ReadRevocationsTests {
    private func news(_ auth: AuthApp, after number: Int64) async throws -> Revocations? {
        let answer = try await auth.gateway.get("/internal/revocations?after=\(number)&wait=30")
        return answer.status == 204 ? nil : try answer.decoded()
    }

    @Test func `A waiting gateway is notified of every ended session exactly once`() async throws {
        try await UserClient.run { client in
            let start = try #require(try await news(client.auth, after: -1))
            #expect(start.sessions.isEmpty)
            var last = start.last
            for name in ["anna", "berta"] {
                let tokens = try await client.signUp(name)
                let known = last
                async let waiting = news(client.auth, after: known)
                try await Task.sleep(for: .milliseconds(50))
                #expect(try await client.send("POST", "logout", as: tokens).status == 204)
                let ended = try #require(try await waiting)
                #expect(Array(ended.sessions.keys) == [tokens.sessionID])
                let rest = try #require(ended.sessions[tokens.sessionID]) - Int64(Date().timeIntervalSince1970)
                #expect((900...970).contains(rest))
                last = ended.last
            }
            // A gateway gets all entries when it starts, or if its position is from before a restore of the database.
            #expect(try await news(client.auth, after: -1)?.sessions.count == 2)
            #expect(try await news(client.auth, after: 1_000_000)?.sessions.count == 2)
        }
    }

    @Test func `Hundreds of sessions that end at once are all reported`() async throws {
        try await UserClient.run { client in
            let tokens = try await withThrowingTaskGroup(of: Tokens.self) { group in
                for number in 0..<60 {
                    group.addTask {
                        var other = client
                        other.address = "0:\(number)"
                        return try Tokens(try await other.send("POST", "anonymous"))
                    }
                }
                return try await group.reduce(into: [Tokens]()) { $0.append($1) }
            }
            var (last, ended): (Int64, Set<String>) = (try #require(try await news(client.auth, after: -1)).last, [])
            try await withThrowingTaskGroup(of: Void.self) { group in
                for token in tokens { group.addTask { _ = try await client.send("POST", "logout", as: token) } }
                while ended.count < tokens.count {
                    let more = try #require(try await news(client.auth, after: last))
                    ended.formUnion(more.sessions.keys)
                    last = more.last
                }
                try await group.waitForAll()
            }
            #expect(ended == Set(tokens.map(\.sessionID)))
        }
    }

    @Test(arguments: ["after=x", "wait=31", "wait=-1"])
    func `Malformed requests are refused`(query: String) async throws {
        try await AuthApp.run { auth in
            let answer = try await auth.gateway.get("/internal/revocations?" + query)
            #expect(answer.isProblem(.invalidParameter))
        }
    }

    @Test func `Only gateways may read ended sessions`() async throws {
        try await UserClient.run { client in
            let principal = Principal(
                kind: .master, appID: client.app.id, appNumber: 1, environment: .live, credentialID: "c")
            for (caller, code) in [(principal, ErrorCode.forbidden), (nil, .unauthorized)] {
                let answer = try await client.auth.gateway.acting(as: caller).get("/internal/revocations?after=-1")
                #expect(answer.isProblem(code))
            }
        }
    }
}

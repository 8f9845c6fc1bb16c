import Foundation
import Testing

@testable import MartletKit

struct SessionTests {
    static func signIn(_ number: Int) -> JSON {
        [
            "accessToken": .string("access\(number)"), "refreshToken": .string("refresh\(number)"), "expiresIn": 900,
            "user": ["id": "u1", "userName": "ada", "profile": ["city": "London"]],
        ]
    }

    static func session(_ number: Int, expiresIn seconds: TimeInterval = 900) throws -> Session {
        var session = try Session(signIn: signIn(number), now: Date())
        session.accessTokenExpires = Date().addingTimeInterval(seconds)
        return session
    }

    /// Answers refreshes with the next session, and all else with 200.
    static func server(_ refreshes: Locked<Int> = Locked(0)) -> ScriptedTransport {
        ScriptedTransport { request, _ in
            guard request.url.path.hasSuffix("auth/refresh") else { return HTTPResponse(200, [:]) }
            try await Task.sleep(nanoseconds: 20_000_000)
            let number = refreshes.withLock { count in
                count += 1
                return count + 1
            }
            return HTTPResponse(200, signIn(number))
        }
    }

    @Test func `one renewal serves all callers, and is stored first`() async throws {
        let store = MemorySessionStore()
        store.save(try Self.session(1, expiresIn: 5))
        let refreshes = Locked(0)
        let transport = Self.server(refreshes)
        let martlet = try Martlet.scripted(transport, sessions: store)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<50 { group.addTask { try await martlet.api.send(APIRequest("GET", "storage/A")) } }
            try await group.waitForAll()
        }
        #expect(refreshes.withLock { $0 } == 1)
        let calls = transport.sent.filter { $0.url.path.hasSuffix("storage/A") }
        #expect(calls.count == 50 && calls.allSatisfy { $0.headers["authorization"] == "Bearer access2" })
        #expect(store.load()?.refreshToken == "refresh2")
    }

    @Test func `the first caller may be cancelled`() async throws {
        let store = MemorySessionStore()
        store.save(try Self.session(1, expiresIn: 5))
        let transport = Self.server()
        let martlet = try Martlet.scripted(transport, sessions: store)
        let first = Task { try await martlet.api.send(APIRequest("GET", "storage/A")) }
        try await TestServer.wait { !transport.sent.isEmpty }
        let second = Task { try await martlet.api.send(APIRequest("GET", "storage/A")) }
        first.cancel()
        #expect(try await second.value.status == 200)
        #expect(store.load()?.refreshToken == "refresh2")
    }

    @Test func `a refused token is renewed once, and the call repeated`() async throws {
        let store = MemorySessionStore()
        store.save(try Self.session(1))
        let transport = ScriptedTransport { request, _ in
            if request.url.path.hasSuffix("auth/refresh") { return HTTPResponse(200, Self.signIn(2)) }
            return request.headers["authorization"] == "Bearer access1"
                ? .problem(401, "invalid-token") : HTTPResponse(200, ["ok": true])
        }
        let martlet = try Martlet.scripted(transport, sessions: store)
        #expect(try await martlet.api.json(APIRequest("POST", "functions/a", json: [:])) == ["ok": true])
        #expect(transport.sent.count == 3)
    }

    @Test func `a session that ended elsewhere is cleared and reported`() async throws {
        let store = MemorySessionStore()
        store.save(try Self.session(1, expiresIn: 5))
        let transport = ScriptedTransport { request, _ in
            request.url.path.hasSuffix("auth/refresh") ? .problem(401, "invalid-token") : HTTPResponse(200, [:])
        }
        let martlet = try Martlet.scripted(transport, sessions: store)
        var states = await martlet.session.states().makeAsyncIterator()
        #expect(await states.next() == .signedIn(try Self.session(1).user))
        // The user's call is not made as the app instead; later ones are.
        await #expect { try await martlet.api.send(APIRequest("GET", "storage/A")) } throws: {
            ($0 as? MartletError)?.code == .notSignedIn
        }
        #expect(await states.next() == .signedOut(.sessionEnded))
        #expect(store.load() == nil)
        #expect(transport.sent.count == 1)
        try await martlet.api.send(APIRequest("GET", "storage/A"))
        #expect(transport.sent.last?.headers["authorization"] == nil)
        var request = APIRequest("GET", "auth/me")
        request.caller = .user
        await #expect { try await martlet.api.send(request) } throws: { ($0 as? MartletError)?.code == .notSignedIn }
    }

    @Test func `a call is not repeated as another user`() async throws {
        let store = MemorySessionStore()
        store.save(try Self.session(1))
        let keeper = Locked<SessionKeeper?>(nil)
        let transport = ScriptedTransport { _, _ in
            var other = Self.signIn(2)
            other["user"] = ["id": "u2"]
            try await keeper.withLock { $0 }?.begin(Session(signIn: other, now: Date()))
            throw MartletError(.connectionLost, "")
        }
        let martlet = try Martlet.scripted(transport, sessions: store)
        keeper.withLock { $0 = martlet.session }
        await #expect { try await martlet.api.send(.write("POST", "storage/A", json: [:])) } throws: {
            ($0 as? MartletError)?.code == .notSignedIn
        }
        #expect(transport.sent.count == 1)
    }

    @Test func `a call that waits for a renewal is not made as another user`() async throws {
        let store = MemorySessionStore()
        store.save(try Self.session(1, expiresIn: 5))
        let keeper = Locked<SessionKeeper?>(nil)
        let transport = ScriptedTransport { _, _ in
            var other = Self.signIn(2)
            other["user"] = ["id": "u2"]
            try await keeper.withLock { $0 }?.begin(Session(signIn: other, now: Date()))
            return HTTPResponse(200, Self.signIn(3))
        }
        let martlet = try Martlet.scripted(transport, sessions: store)
        keeper.withLock { $0 = martlet.session }
        await #expect { try await martlet.api.send(.write("POST", "storage/A", json: [:])) } throws: {
            ($0 as? MartletError)?.code == .notSignedIn
        }
        #expect(transport.sent.map(\.url.lastPathComponent) == ["refresh"])
    }

    @Test func `without a connection the session stays`() async throws {
        let store = MemorySessionStore()
        store.save(try Self.session(1, expiresIn: 5))
        let transport = ScriptedTransport { _, _ in throw MartletError(.notConnected, "") }
        let martlet = try Martlet.scripted(transport, sessions: store)
        await #expect { try await martlet.api.send(APIRequest("GET", "storage/A")) } throws: {
            ($0 as? MartletError)?.code == .notConnected
        }
        #expect(store.load()?.refreshToken == "refresh1")
    }

    @Test func `a session renewed by another process is used`() async throws {
        let store = MemorySessionStore()
        store.save(try Self.session(1, expiresIn: 5))
        let transport = Self.server()
        let martlet = try Martlet.scripted(transport, sessions: store)
        _ = try await martlet.session.current()
        store.save(try Self.session(7))
        try await martlet.api.send(APIRequest("GET", "storage/A"))
        #expect(transport.sent.map { $0.headers["authorization"] } == ["Bearer access7"])
    }

    @Test func `the session's file is readable by its owner only, and a damaged one counts as no session`() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("martletkit-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let url = folder.appendingPathComponent("a/session.json")
        let store = FileSessionStore(url: url)
        #expect(try store.load() == nil)
        let session = try Self.session(1)
        try store.save(session)
        try store.save(session)
        #expect(try store.load()?.refreshToken == "refresh1")
        #expect(try FileManager.default.attributesOfItem(atPath: url.path)[.posixPermissions] as? Int == 0o600)
        #expect(try FileManager.default.contentsOfDirectory(atPath: url.deletingLastPathComponent().path).count == 1)
        try Data("{".utf8).write(to: url)
        #expect(try store.load() == nil)
        try store.clear()
        try store.clear()
        #expect("\(session)".contains("access1") == false)
    }
}

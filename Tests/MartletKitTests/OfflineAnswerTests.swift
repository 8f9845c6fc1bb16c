import Foundation
import Testing

@testable import MartletKit

/// Answers that a real server gives rarely.
struct OfflineAnswerTests {
    struct Note: Storable, Equatable {
        static let collection = "Notes"
        var n: Int
    }

    private static func object(_ id: String) -> JSON {
        ["_id": .string(id), "_version": 1, "updated": "2026-11-21T09:57:13.424Z", "n": 1]
    }

    private static func page(_ ids: [String], cursor: String = "a") -> HTTPResponse {
        HTTPResponse(
            200,
            ["changed": .array(ids.map(object)), "deleted": [], "cursor": .string(cursor), "more": false])
    }

    @Test func `after an expired cursor everything is read again, and deleted objects leave the device`() async throws {
        let transport = ScriptedTransport { request, number in
            if number == 0 { return Self.page(["one", "two"], cursor: "old") }
            if request.url.query?.contains("since=old") == true { return .problem(410, "cursor-expired") }
            return Self.page(["two", "three"], cursor: "new")
        }
        let device = try Martlet.scripted(transport)
        let kept = try await device.offline.collection(Note.self)
        try await kept.sync()
        #expect(try await kept.count() == 2)
        try await kept.sync()
        #expect(try await kept.find().map(\.id) == ["three", "two"])
        #expect(transport.sent.count == 3)
    }

    @Test func `everything is read again once a day`() async throws {
        let now = Locked(Date())
        let transport = ScriptedTransport { request, number in
            request.url.query?.contains("since=") == true ? Self.page([]) : Self.page(number == 0 ? ["one"] : [])
        }
        let device = try Martlet.scripted(transport, now: { now.withLock { $0 } })
        let kept = try await device.offline.collection(Note.self)
        for _ in 0..<2 { try await kept.sync() }
        #expect(try await kept.count() == 1)
        now.withLock { $0 += 25 * 3_600 }
        for _ in 0..<2 { try await kept.sync() }
        #expect(try await kept.count() == 0)
        let beginnings = transport.sent.filter { $0.url.query?.contains("since=") == false }
        #expect(beginnings.count == 2)
    }

    @Test(arguments: [
        HTTPResponse(403, "sign in to the hotel's network"), HTTPResponse(200, "<html>"),
        .problem(401, "unauthorized"), .problem(404, "not-found"), .problem(429, "too-many-requests"),
    ])
    func `a failure that is not a refusal leaves the write in the queue`(answer: HTTPResponse) async throws {
        let transport = ScriptedTransport { request, _ in request.method == "GET" ? Self.page([]) : answer }
        let device = try Martlet.scripted(transport, now: { Date() }) { $0.retries = .never }
        let kept = try await device.offline.collection(Note.self)
        try await kept.create(Note(n: 1))
        await #expect(throws: MartletError.self) { try await kept.sync() }
        #expect(try await kept.count() == 1)
        #expect(try await kept.pendingWrites().count == 1)
    }

    @Test func `an increment whose answer was lost for a day is reported, and a value is sent again`() async throws {
        let now = Locked(Date())
        let transport = ScriptedTransport { request, number in
            if number == 0 { return Self.page(["one", "two"]) }
            if request.method == "GET" { return Self.page([]) }
            let isLate = now.withLock { $0 } > Date().addingTimeInterval(3_600)
            guard isLate else { return .problem(500, "internal-error") }
            return HTTPResponse(200, Self.object(request.url.lastPathComponent))
        }
        let device = try Martlet.scripted(transport, now: { now.withLock { $0 } }) {
            $0.retries = .never
            $0.offline.fullSyncInterval = 1e9
        }
        let kept = try await device.offline.collection(Note.self, conflicts: .clientWins)
        try await kept.sync()
        let (one, two) = (try #require(try await kept.get(id: "one")), try #require(try await kept.get(id: "two")))
        try await kept.update(one, .increment(\.n))
        try await kept.update(two, .set(\.n, to: 7))
        await #expect(throws: MartletError.self) { try await kept.sync() }
        now.withLock { $0 += 24 * 3_600 }
        try await kept.sync()
        var failures = device.offline.failures().makeAsyncIterator()
        let failure = await failures.next()
        #expect(failure?.error.code == .unknownOutcome && failure?.write.objectID == "one")
        #expect(try await kept.pendingWrites().isEmpty)
    }

    @Test func `a service that keeps failing drops one write, not the queue`() async throws {
        let pages = Locked(0)
        let transport = ScriptedTransport { request, _ in
            let body = try JSON(parsing: request.body ?? Data("null".utf8))
            if body["n"] == 1 { return .problem(500, "internal-error") }
            if let id = body["_id"]?.stringValue { return HTTPResponse(200, Self.object(id)) }
            pages.withLock { $0 += 1 }
            return Self.page([])
        }
        let device = try Martlet.scripted(transport, now: { Date() }) {
            $0.retries = .never
            $0.offline.maximumFailures = 3
        }
        let kept = try await device.offline.collection(Note.self)
        let bad = try await kept.create(Note(n: 1))
        for _ in 0..<2 {
            try await kept.create(Note(n: 2))
            await #expect { try await kept.sync() } throws: { ($0 as? MartletError)?.code == .internalError }
        }
        #expect(try await kept.get(id: bad.id) != nil)
        #expect(pages.withLock { $0 } == 2, "reading continued")
        try await kept.create(Note(n: 2))
        await #expect(throws: MartletError.self) { try await kept.sync() }
        var failures = device.offline.failures().makeAsyncIterator()
        #expect(await failures.next()?.error.code == .internalError)
        #expect(try await kept.get(id: bad.id) == nil)
        #expect(try await kept.pendingWrites().isEmpty)
    }
}

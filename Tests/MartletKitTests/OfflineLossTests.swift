import Foundation
import Testing

@testable import MartletKit

/// Writes that must be neither lost nor duplicated, with answers that a real server gives rarely.
struct OfflineLossTests {
    struct Note: Storable, Equatable {
        static let collection = "Notes"
        var n: Int
        var text: String?
    }

    private static func object(_ id: String, version: Int = 1, n: Int = 1) -> JSON {
        [
            "_id": .string(id), "_version": .number(JSONNumber(version)), "n": .number(JSONNumber(n)),
            "updated": .string("2026-11-21T09:57:13.42\(version)Z"),
        ]
    }

    private static func page(_ ids: [String] = [], cursor: String = "a", more: Bool = false) -> HTTPResponse {
        HTTPResponse(
            200,
            [
                "changed": .array(ids.map { object($0) }), "deleted": [], "cursor": .string(cursor),
                "more": .bool(more),
            ])
    }

    /// A device with the object `one`, whose writes the closure answers. Everything is read once.
    private func device(
        now: Locked<Date> = Locked(Date()), folder: URL = Scratch.folder(),
        change: (inout Martlet.Configuration) -> Void = { _ in },
        _ answer: @escaping @Sendable (HTTPRequest) async throws -> HTTPResponse
    ) throws -> (Martlet, ScriptedTransport) {
        let transport = ScriptedTransport { request, number in
            if number == 0 { return Self.page(["one"]) }
            return request.method == "GET" && request.url.path.contains("/changes/")
                ? Self.page() : try await answer(request)
        }
        let device = try Martlet.scripted(transport, now: { now.withLock { $0 } }, folder: folder) {
            $0.retries = .never
            $0.offline.fullSyncInterval = 1e9
            change(&$0)
        }
        return (device, transport)
    }

    private func one(_ kept: OfflineCollection<Note>) async throws -> Stored<Note> {
        try #require(try await kept.get(id: "one"))
    }

    @Test func `an increment that never left the device waits for days, and later ones are merged into it`()
        async throws
    {
        let now = Locked(Date()), isOnline = Locked(false)
        let (device, transport) = try device(now: now, change: { $0.retries = .init() }) { _ in
            guard isOnline.withLock({ $0 }) else { throw MartletError(.notConnected, "No network.") }
            return HTTPResponse(200, Self.object("one", version: 2, n: 4))
        }
        let kept = try await device.offline.collection(Note.self, conflicts: .clientWins)
        try await kept.sync()
        for _ in 0..<3 {
            try await kept.update(one(kept), .increment(\.n))
            await #expect { try await kept.sync() } throws: { ($0 as? MartletError)?.code == .notConnected }
            now.withLock { $0 += 24 * 3_600 }
        }
        isOnline.withLock { $0 = true }
        try await kept.sync()
        #expect(try await kept.pendingWrites().isEmpty)
        let patches = transport.sent.filter { $0.method == "PATCH" }
        #expect(patches.count == 4 && Set(patches.compactMap { $0.headers["idempotency-key"] }).count == 1)
        let body = try JSON(parsing: try #require(patches.last?.body))
        #expect(body == ["n": ["__op": "Increment", "amount": 3]])
    }

    @Test func `a clock that was set back does not make a key too old`() async throws {
        let now = Locked(Date())
        let (device, transport) = try device(now: now) { _ in throw MartletError(.connectionLost, "Cut.") }
        let kept = try await device.offline.collection(Note.self, conflicts: .clientWins)
        try await kept.sync()
        try await kept.update(one(kept), .increment(\.n))
        await #expect(throws: MartletError.self) { try await kept.sync() }
        now.withLock { $0 -= 3_600 }
        try? await kept.sync()
        var failures = device.offline.failures().makeAsyncIterator()
        #expect(await failures.next()?.error.code == .unknownOutcome)
        #expect(transport.sent.filter { $0.method == "PATCH" }.count == 1)
    }

    @Test func `a change is not merged with itself after its key was forgotten`() async throws {
        let now = Locked(Date()), calls = Locked(0)
        let (device, _) = try device(now: now) { request in
            if request.method == "GET" { return HTTPResponse(200, Self.object("one", version: 2, n: 2)) }
            calls.withLock { $0 += 1 }
            if calls.withLock({ $0 }) == 1 { throw MartletError(.connectionLost, "Cut.") }
            return .problem(412, "precondition-failed")
        }
        let kept = try await device.offline.collection(
            Note.self, conflicts: .merge { Note(n: $0.server.value.n + $0.local.n - ($0.original?.n ?? 0)) })
        try await kept.sync()
        try await kept.update(one(kept), .increment(\.n))
        await #expect(throws: MartletError.self) { try await kept.sync() }
        now.withLock { $0 += 24 * 3_600 }
        try await kept.sync()
        var failures = device.offline.failures().makeAsyncIterator()
        #expect(await failures.next()?.error.code == .unknownOutcome)
        #expect(try await one(kept).n == 2)
        #expect(calls.withLock { $0 } == 2)
    }

    @Test func `a repeated write has the condition of the first attempt, whatever the policy is now`() async throws {
        let (device, transport) = try device { _ in throw MartletError(.connectionLost, "Cut.") }
        var kept = try await device.offline.collection(Note.self)
        try await kept.sync()
        try await kept.update(one(kept), .increment(\.n))
        await #expect(throws: MartletError.self) { try await kept.sync() }
        kept = try await device.offline.collection(Note.self, conflicts: .clientWins)
        await #expect(throws: MartletError.self) { try await kept.sync() }
        let patches = transport.sent.filter { $0.method == "PATCH" }
        #expect(patches.count == 2 && patches[0].headers["if-match"] != nil)
        #expect(patches[0].headers == patches[1].headers)
    }

    @Test(arguments: [
        (HTTPResponse(502, "bad gateway"), true), (.problem(504, "upstream-timeout"), true),
        (.problem(500, "hook-failed"), true), (.problem(500, "internal-error"), false),
    ])
    func `a failure that is not the write's fault does not drop it`(answer: HTTPResponse, othersSucceed: Bool)
        async throws
    {
        let (device, transport) = try device(change: { $0.offline.maximumFailures = 2 }) { request in
            let body = try JSON(parsing: request.body ?? Data())
            if body["n"] == 1 || !othersSucceed { return answer }
            return HTTPResponse(200, Self.object(body["_id"]?.stringValue ?? "", n: 2))
        }
        let kept = try await device.offline.collection(Note.self)
        try await kept.sync()
        let bad = try await kept.create(Note(n: 1))
        for _ in 0..<3 {
            for _ in 0..<20 { try await kept.create(Note(n: 2)) }
            await #expect(throws: MartletError.self) { try await kept.sync() }
        }
        #expect(try await kept.pendingWrites().map(\.objectID).contains(bad.id))
        let posts = transport.sent.filter { $0.method == "POST" }
        #expect(posts.count == (othersSucceed ? 63 : 30), "a round ends after ten failures in a row")
    }

    @Test func `an interrupted daily read continues where it stopped`() async throws {
        let now = Locked(Date()), isBroken = Locked(true)
        let transport = ScriptedTransport { request, number in
            let query = request.url.query ?? ""
            if number == 0 { return Self.page(["one", "two"]) }
            if !query.contains("since=") { return Self.page(["one"], cursor: "half", more: true) }
            return isBroken.withLock { $0 } ? .problem(503, "unavailable") : Self.page(["two"], cursor: "end")
        }
        let device = try Martlet.scripted(transport, now: { now.withLock { $0 } }) { $0.retries = .never }
        let kept = try await device.offline.collection(Note.self)
        try await kept.sync()
        now.withLock { $0 += 25 * 3_600 }
        await #expect(throws: MartletError.self) { try await kept.sync() }
        isBroken.withLock { $0 = false }
        try await kept.sync()
        #expect(transport.sent.filter { $0.url.query?.contains("since=") == false }.count == 2)
        #expect(try await kept.count() == 2)
    }

    @Test func `an expired cursor does not end a collection that is kept in sync`() async throws {
        let transport = ScriptedTransport { request, _ in
            if request.url.query?.contains("wait=") == true { return .problem(410, "cursor-expired") }
            return Self.page(["one"])
        }
        let device = try Martlet.scripted(transport, change: { $0.retries = .never })
        let kept = try await device.offline.collection(Note.self)
        try await kept.sync()
        try await OfflineSynchronizer(store: kept.store, api: kept.api, reports: kept.reports).waitForServer()
    }

    // MARK: The file

    private func journal(in folder: URL) throws -> URL {
        let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)?
            .compactMap { $0 as? URL }.filter { $0.pathExtension == "journal" }
        return try #require(files?.first)
    }

    private func size(_ file: URL) throws -> Int { try Data(contentsOf: file).count }

    @Test func `the file is rewritten when most of it is outdated`() async throws {
        let folder = Scratch.folder(), text = String(repeating: "x", count: 20_000)
        func open() throws -> Martlet {
            try device(folder: folder, change: { $0.offline.compactionSlack = 100_000 }) { _ in Self.page() }.0
        }
        let first = try open()
        var kept = try await first.offline.collection(Note.self)
        let made = try await kept.create(Note(n: 0))
        for n in 1...60 { try await kept.update(made, .set(\.n, to: n), .set(\.text, to: text)) }
        let file = try journal(in: folder)
        #expect(try size(file) < 200_000)
        await first.offline.closeAll()
        kept = try await open().offline.collection(Note.self)
        #expect(try await kept.find().map(\.value) == [Note(n: 60, text: text)])
        #expect(try await kept.pendingWrites().count == 1)
    }

    @Test func `a file that cannot be rewritten still accepts writes`() async throws {
        let folder = Scratch.folder()
        let (device, _) = try device(folder: folder, change: { $0.offline.compactionSlack = 1_000 }) { _ in
            Self.page()
        }
        let kept = try await device.offline.collection(Note.self)
        let made = try await kept.create(Note(n: 0))
        let file = try journal(in: folder)
        let draft = file.deletingLastPathComponent().appendingPathComponent("." + file.lastPathComponent + ".draft")
        try FileManager.default.createDirectory(at: draft, withIntermediateDirectories: false)
        for n in 1...30 { try await kept.update(made, .set(\.n, to: n)) }
        let large = try size(file)
        #expect(large > 5_000)
        #expect(try await kept.pendingWrites().map { $0.body?["n"] } == [30])
        try FileManager.default.removeItem(at: draft)
        for n in 31...60 { try await kept.update(made, .set(\.n, to: n)) }
        #expect(try size(file) < large)
        #expect(try await kept.get(id: made.id)?.n == 60)
    }

    @Test func `a change that the type cannot read is not stored`() async throws {
        let (device, _) = try device { _ in Self.page() }
        let kept = try await device.offline.collection(Note.self)
        let made = try await kept.create(Note(n: 0))
        await #expect { try await kept.update(made, .set(Field<String>("n"), to: "text")) } throws: {
            ($0 as? MartletError)?.code == .undecodable
        }
        #expect(try await kept.get(id: made.id)?.n == 0)
    }

    // MARK: Users

    @Test func `failures are reported only to their own user, once that user is signed in`() async throws {
        let reports = OfflineReports()
        func failure(_ userID: String?) -> OfflineFailure {
            OfflineFailure(
                collection: "Notes", userID: userID, write: PendingWrite(.delete, objectID: "a", date: Date()),
                error: MartletError(.forbidden, "No."))
        }
        reports.report(failure("ada"), isCurrent: true)
        let (stream, reader) = reports.stream()
        reports.report(failure("cleo"), isCurrent: false)
        reports.deliver(to: reader, of: "bob")
        reports.report(failure("bob"), isCurrent: true)
        reports.deliver(to: reader, of: "ada")
        reports.forget("cleo")
        reports.deliver(to: reader, of: "cleo")
        reader.finish()
        var heard: [String?] = []
        for await failure in stream { heard.append(failure.userID) }
        #expect(heard == ["bob", "ada"])
    }
}

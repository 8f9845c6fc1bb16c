import Foundation
import Testing

@testable import MartletKit

/// These tests run against a real server.
struct OfflineTests {
    struct Note: Storable, Equatable {
        static let collection = TestServer.name("KitOffline")
        var text: String
        var room: String
        var n: Int = 0
        var tags: [String]?
    }

    /// A room of its own for each test, in one collection.
    let room = UUID().uuidString
    let server: Storage

    init() async throws {
        server = try await TestServer.device().storage
        try await server.create(Note(text: "first", room: "none"))
    }

    private func notes(
        _ device: Martlet, _ conflicts: ConflictPolicy<Note> = .serverWins
    ) async throws -> OfflineCollection<Note> {
        try await device.offline.collection(Note.self, where: \.room == room, conflicts: conflicts)
    }

    @Test func `a collection that nobody wrote to yet is empty, and takes the first write`() async throws {
        struct Fresh: Storable {
            static let collection = TestServer.name("KitFresh")
            var n: Int
        }
        let device = try await TestServer.offlineDevice()
        let kept = try await device.offline.collection(Fresh.self)
        try await kept.sync()
        try await kept.create(Fresh(n: 1))
        try await kept.sync()
        try await kept.sync()
        #expect(try await kept.find().map(\.version) == [1])
    }

    private func note(_ text: String, n: Int = 0) -> Note { Note(text: text, room: room, n: n) }

    private func texts(_ notes: OfflineCollection<Note>) async throws -> [String] {
        try await notes.find(Note.query().order(by: \.text)).map(\.text)
    }

    // MARK: Reading

    @Test func `objects are read by the feed, and found without a connection and after a restart`() async throws {
        let folder = Scratch.folder(), network = CuttingTransport()
        let made = try await server.create(contentsOf: [note("b", n: 2), note("a", n: 1), note("c", n: 3)])
        try await server.create(Note(text: "elsewhere", room: "other"))
        let device = try await TestServer.offlineDevice(folder: folder, network)
        try await notes(device).sync()
        network.decide { _ in .neverLeaves }
        #expect(try await texts(notes(device)) == ["a", "b", "c"])
        await device.offline.closeAll()

        let again = try await TestServer.offlineDevice(folder: folder, network)
        let kept = try await notes(again)
        #expect(try await kept.find(Note.query().where(\.n > 1).order(by: \.n, .descending)).map(\.text) == ["c", "b"])
        #expect(try await kept.count(Note.query().where(\.n <= 2)) == 2)
        #expect(try await kept.get(id: made[0].id) == made[0])
        await #expect { try await kept.sync() } throws: { ($0 as? MartletError)?.code == .notConnected }

        network.decide { _ in .arrives }
        try await server.delete(made[0])
        try await server.update(made[1], .set(\.text, to: "z"))
        try await server.update(made[2], .set(\.room, to: "left"))
        try await kept.sync()
        #expect(try await texts(kept) == ["z"])
        let feeds = network.sent.filter { $0.url.path.contains("/changes/") }
        #expect(feeds.last?.url.query?.contains("since=") == true, "everything was read again")
    }

    @Test func `with another condition everything is read again, and objects that do not match it are dropped`()
        async throws
    {
        let device = try await TestServer.offlineDevice()
        try await server.create(contentsOf: [note("a", n: 1), note("b", n: 2)])
        try await notes(device).sync()
        let few = try await device.offline.collection(Note.self, where: \.room == room && \.n > 1)
        try await few.sync()
        #expect(try await texts(few) == ["b"])
        await #expect {
            try await device.offline.collection(Note.self, where: .hasWords(\.text, "b"))
        } throws: { ($0 as? MartletError)?.code == .unsupportedOffline }
    }

    @Test func `reading everything again drops what is gone`() async throws {
        let device = try await TestServer.offlineDevice()
        let made = try await server.create(contentsOf: [note("a"), note("b")])
        let kept = try await notes(device)
        try await kept.sync()
        // As if the feed had not mentioned the deletion: the device continues with a cursor that is not the server's.
        try await server.delete(made[0])
        let page = OfflineRecord.Page(changed: [], deleted: [], cursor: "MXx", hasMore: false, time: Date())
        try await kept.store.commit([.page(page)])
        await #expect(throws: MartletError.self) { try await kept.sync() }
        try await kept.sync(everything: true)
        #expect(try await texts(kept) == ["b"])
    }

    @Test func `a collection that the user may no longer see is removed from the device`() async throws {
        struct Closing: Storable {
            static let collection = TestServer.name("KitClosing")
            var n: Int
        }
        let device = try await TestServer.offlineDevice()
        try await device.storage.create(Closing(n: 1))
        let kept = try await device.offline.collection(Closing.self)
        try await kept.sync()
        #expect(try await kept.count() == 1)
        try await TestServer.manage(
            "PUT", "collections/\(Closing.collection)/rules", ["rules": ["find": [], "get": []]])
        // Rules reach all copies of the service within a moment.
        try await TestServer.wait {
            do {
                try await kept.sync(everything: true)
                return false
            } catch let error as MartletError {
                return error.code == .forbidden
            }
        }
        #expect(try await kept.count() == 0)
    }

    // MARK: Writing

    @Test func `writes wait, show at once, are merged, survive a restart, and are sent in their order`() async throws {
        let folder = Scratch.folder(), network = CuttingTransport()
        var device = try await TestServer.offlineDevice(folder: folder, network)
        let old = try await server.create(contentsOf: [note("old", n: 1), note("gone")])
        var kept = try await notes(device)
        try await kept.sync()
        network.decide { _ in .neverLeaves }
        var new = try await kept.create(note("new"))
        new.text = "newer"
        new = try await kept.save(new)
        try await kept.update(old[0], .increment(\.n, by: 2), .insert(["t"], into: \.tags))
        try await kept.update(old[0], .increment(\.n, by: 3))
        try await kept.delete(old[1])
        try await kept.delete(try await kept.create(note("never sent")))
        #expect(try await texts(kept) == ["newer", "old"])
        #expect(try await kept.get(id: old[0].id)?.n == 6)
        #expect(try await kept.pendingWrites().map(\.kind) == [.create, .update, .delete])
        await device.offline.closeAll()

        device = try await TestServer.offlineDevice(folder: folder, network)
        kept = try await notes(device)
        #expect(try await kept.pendingWrites().count == 3)
        network.decide { _ in .arrives }
        try await kept.sync()
        #expect(try await kept.pendingWrites().isEmpty)
        let stored = try await server.find(Note.query().where(\.room == room).order(by: \.text))
        #expect(stored.map(\.text) == ["newer", "old"] && stored.map(\.n) == [0, 6] && stored[1].tags == ["t"])
        #expect(stored.map(\.version) == [1, 2], "merged writes count as one")
        #expect(try await kept.find(Note.query().order(by: \.text)) == stored)
        let writes = network.sent.filter { ["POST", "PATCH", "DELETE"].contains($0.method) }
        #expect(writes.map(\.method) == ["POST", "PATCH", "DELETE"])
    }

    @Test func `a write whose response was lost takes effect once`() async throws {
        let network = CuttingTransport()
        let device = try await TestServer.offlineDevice(network)
        let old = try await server.create(note("old"))
        let kept = try await notes(device, .clientWins)
        try await kept.sync()
        network.decide { $0.method == "GET" ? .arrives : .answerIsLost }
        let new = try await kept.create(note("new"))
        try await kept.update(old, .increment(\.n))
        for _ in 0..<3 { await #expect(throws: MartletError.self) { try await kept.sync() } }
        // The creation was sent, so this update is not merged into it, but is a separate write.
        try await kept.update(new, .increment(\.n, by: 5))
        #expect(try await kept.pendingWrites().count == 3)
        network.decide { _ in .arrives }
        try await kept.sync()
        #expect(try await server.get(Note.self, id: old.id)?.n == 1)
        #expect(try await server.get(Note.self, id: new.id)?.n == 5)
        let posts = network.sent.filter { $0.method == "POST" && $0.url.path.contains("/storage/") }
        #expect(Set(posts.compactMap { $0.headers["idempotency-key"] }).count == 1 && posts.count == 4)
    }

    @Test func `a repeated response does not restore an object that was deleted meanwhile`() async throws {
        let network = CuttingTransport()
        let device = try await TestServer.offlineDevice(network)
        let old = try await server.create(note("old"))
        let kept = try await notes(device, .clientWins)
        try await kept.sync()
        try await kept.update(old, .increment(\.n))
        network.decide { $0.method == "PATCH" ? .answerIsLost : .arrives }
        await #expect(throws: MartletError.self) { try await kept.sync() }
        try await server.delete(old)
        network.decide { _ in .arrives }
        try await kept.sync()
        #expect(try await kept.find() == [])
        #expect(try await kept.pendingWrites().isEmpty)
    }

    @Test func `an object that was created here and deleted elsewhere before the feed was read is gone`() async throws {
        let network = CuttingTransport()
        let device = try await TestServer.offlineDevice(network)
        let kept = try await notes(device)
        try await kept.sync()
        let new = try await kept.create(note("new"))
        network.decide { $0.method == "GET" ? .neverLeaves : .arrives }
        await #expect(throws: MartletError.self) { try await kept.sync() }
        #expect(try await kept.get(id: new.id)?.version == 1)
        try await server.delete(Note.self, id: new.id)
        network.decide { _ in .arrives }
        try await kept.sync()
        #expect(try await kept.find() == [])
    }

    @Test func `a refused write is reported with its object put back, and the others are sent`() async throws {
        let network = CuttingTransport()
        let device = try await TestServer.offlineDevice(network)
        var failures = device.offline.failures().makeAsyncIterator()
        let old = try await server.create(note("old", n: 1))
        let kept = try await notes(device)
        try await kept.sync()
        // The device has a list here, and the server a number.
        try await TestServer.manage("PATCH", "storage/\(Note.collection)/\(old.id)", ["tags": 5])
        let clientWins = try await notes(device, .clientWins)
        try await clientWins.update(old, .insert(["a"], into: \.tags))
        let other = try await clientWins.create(note("other"))
        try await clientWins.sync()
        let failure = await failures.next()
        #expect(failure?.error.code == .invalidBody && failure?.write.objectID == old.id)
        #expect(failure?.collection == Note.collection)
        #expect(await clientWins.store.object(old.id)?["tags"] == 5)
        #expect(try await clientWins.pendingWrites().isEmpty)
        #expect(try await server.get(Note.self, id: other.id) != nil)
    }

    @Test func `the queue has limits, and local mistakes are errors at once`() async throws {
        let device = try await TestServer.offlineDevice(CuttingTransport { _ in .neverLeaves }) {
            $0.offline.maximumPendingWrites = 2
            $0.offline.maximumPendingBytes = 800
        }
        let kept = try await notes(device)
        let one = try await kept.create(note("1"), id: "one-\(room)")
        await #expect { try await kept.create(note("1"), id: one.id) } throws: {
            ($0 as? MartletError)?.code == .preconditionFailed
        }
        let large = String(repeating: "x", count: 2_000)
        await #expect { try await kept.create(note(large)) } throws: { ($0 as? MartletError)?.code == .outboxFull }
        try await kept.create(note("2"))
        await #expect { try await kept.create(note("3")) } throws: { ($0 as? MartletError)?.code == .outboxFull }
        #expect(try await texts(kept) == ["1", "2"])
        // A write that does not make the queue longer is allowed.
        try await kept.update(one, .set(\.text, to: "4"))
        #expect(try await texts(kept) == ["2", "4"])
        try await kept.delete(one)
        #expect(try await kept.pendingWrites().count == 1)
        let unknown = try Stored<Note>(json: ["_id": "x", "_version": 1, "text": "", "room": "", "n": 0])
        await #expect { try await kept.update(unknown, .increment(\.n)) } throws: {
            ($0 as? MartletError)?.code == .objectNotFound
        }
    }
}

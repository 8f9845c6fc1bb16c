import Foundation
import Testing

@testable import MartletKit

/// These tests run against a real server.
struct OfflineConflictTests {
    struct Note: Storable, Equatable {
        static let collection = TestServer.name("KitConflicts")
        var text: String
        var n: Int = 0
    }

    let server: Storage

    init() async throws { server = try await TestServer.device().storage }

    /// A device that changes `text` to "mine" and adds 10 to `n`, after the server changed `text` and added 1.
    private func conflict(
        _ policy: ConflictPolicy<Note>, _ device: Martlet
    ) async throws -> (OfflineCollection<Note>, id: String) {
        let old = try await server.create(Note(text: "old"))
        let kept = try await device.offline.collection(Note.self, conflicts: policy)
        try await kept.sync()
        try await server.update(old, .set(\.text, to: "theirs"), .increment(\.n))
        try await kept.update(old, .set(\.text, to: "mine"), .increment(\.n, by: 10))
        try await kept.sync()
        return (kept, old.id)
    }

    private func expect(_ note: Note, _ kept: OfflineCollection<Note>, _ id: String) async throws {
        #expect(try await server.get(Note.self, id: id)?.value == note)
        #expect(try await kept.get(id: id)?.value == note)
        #expect(try await kept.pendingWrites().isEmpty)
    }

    @Test func `the server wins, and the app is notified`() async throws {
        let device = try await TestServer.offlineDevice()
        var failures = device.offline.failures().makeAsyncIterator()
        let (kept, id) = try await conflict(.serverWins, device)
        try await expect(Note(text: "theirs", n: 1), kept, id)
        let failure = await failures.next()
        #expect(failure?.error.code == .preconditionFailed && failure?.write.body?["text"] == "mine")
    }

    @Test func `the client wins where it changed something, and operations add up`() async throws {
        let (kept, id) = try await conflict(.clientWins, try await TestServer.offlineDevice())
        try await expect(Note(text: "mine", n: 11), kept, id)
    }

    @Test func `a closure merges the three states`() async throws {
        let seen = Locked<[Conflict<Note>]>([])
        let policy = ConflictPolicy<Note>.merge { conflict in
            seen.withLock { $0.append(conflict) }
            let added = conflict.local.n - (conflict.original?.n ?? 0)
            return Note(text: conflict.local.text + "+" + conflict.server.text, n: conflict.server.n + added)
        }
        let (kept, id) = try await conflict(policy, try await TestServer.offlineDevice())
        try await expect(Note(text: "mine+theirs", n: 11), kept, id)
        let conflict = try #require(seen.withLock { $0 }.first)
        #expect(conflict.original == Note(text: "old") && conflict.server.value == Note(text: "theirs", n: 1))
        #expect(conflict.local == Note(text: "mine", n: 10))
    }

    @Test func `fields are merged one by one, and where both changed one its rule decides`() async throws {
        let adding = FieldMerge<Note>.field(\.n) { before, mine, theirs in theirs + mine - (before ?? 0) }
        let (kept, id) = try await conflict(.mergeFields(adding), try await TestServer.offlineDevice())
        try await expect(Note(text: "theirs", n: 11), kept, id)
    }

    @Test func `a field that one side changed has that side's value, whatever the rules`() async throws {
        let policy = ConflictPolicy<Note>.mergeFields(
            .field(\.text) { _, _, _ in "merged" }, .field(\.n) { _, _, _ in 99 })
        let kept = try await TestServer.offlineDevice().offline.collection(Note.self, conflicts: policy)
        for (mine, theirs, result) in [
            ("mine", "old", "mine"), ("old", "theirs", "theirs"), ("mine", "theirs", "merged"),
        ] {
            let old = try await server.create(Note(text: "old"))
            try await kept.sync()
            try await server.update(old, .set(\.text, to: theirs), .increment(\.n))
            try await kept.update(old, .set(\.text, to: mine))
            try await kept.sync()
            try await expect(Note(text: result, n: 1), kept, old.id)
        }
    }

    @Test func `if the closure returns nil or throws, the server wins`() async throws {
        for policy: ConflictPolicy<Note> in [.merge { _ in nil }, .merge { _ in throw CancellationError() }] {
            let (kept, id) = try await conflict(policy, try await TestServer.offlineDevice())
            try await expect(Note(text: "theirs", n: 1), kept, id)
        }
    }

    @Test func `a write after a merged one builds upon it`() async throws {
        let network = CuttingTransport()
        let device = try await TestServer.offlineDevice(network)
        let old = try await server.create(Note(text: "old"))
        let kept = try await device.offline.collection(Note.self, conflicts: .merge { $0.local })
        try await kept.sync()
        try await server.update(old, .set(\.text, to: "theirs"))
        try await kept.update(old, .set(\.text, to: "first"))
        // The first write is sent, so that the second one is not merged into it.
        network.decide { $0.method == "PATCH" ? .answerIsLost : .arrives }
        await #expect(throws: MartletError.self) { try await kept.sync() }
        try await kept.update(old, .set(\.text, to: "second"))
        network.decide { _ in .arrives }
        try await kept.sync()
        try await expect(Note(text: "second"), kept, old.id)
        #expect(try await server.get(Note.self, id: old.id)?.version == 4)
    }

    @Test func `a write after a merged one is merged as well, and overwrites nothing`() async throws {
        let network = CuttingTransport()
        let device = try await TestServer.offlineDevice(network)
        let old = try await server.create(Note(text: "old"))
        // The device's addition to the text is appended to the server's text.
        let policy = ConflictPolicy<Note>.merge { conflict in
            let added = conflict.local.text.dropFirst(conflict.original?.text.count ?? 0)
            return Note(text: conflict.server.value.text + added, n: conflict.server.value.n)
        }
        let kept = try await device.offline.collection(Note.self, conflicts: policy)
        try await kept.sync()
        try await server.update(old, .set(\.text, to: "old, theirs"))
        try await kept.update(old, .set(\.text, to: "old, first"))
        network.decide { $0.method == "PATCH" ? .answerIsLost : .arrives }
        await #expect(throws: MartletError.self) { try await kept.sync() }
        try await kept.update(old, .set(\.text, to: "old, first, second"))
        try await kept.update(old, .set(\.text, to: "old, first, second, third"))
        network.decide { _ in .arrives }
        try await kept.sync()
        try await expect(Note(text: "old, theirs, first, second, third"), kept, old.id)
    }

    @Test func `a deletion gives way to a change under the server's policy, and not under the client's`() async throws {
        for (policy, remains) in [(ConflictPolicy<Note>.serverWins, true), (.clientWins, false)] {
            let device = try await TestServer.offlineDevice()
            let old = try await server.create(Note(text: "old"))
            let kept = try await device.offline.collection(Note.self, conflicts: policy)
            try await kept.sync()
            try await server.update(old, .set(\.text, to: "theirs"))
            try await kept.delete(old)
            #expect(try await kept.get(id: old.id) == nil)
            try await kept.sync()
            #expect(try await (kept.get(id: old.id) != nil) == remains)
            #expect(try await (server.get(Note.self, id: old.id) != nil) == remains)
        }
    }

    @Test func `two devices that create the same id follow the policy`() async throws {
        for (policy, text) in [(ConflictPolicy<Note>.serverWins, "theirs"), (.clientWins, "mine")] {
            let id = UUID().uuidString
            let kept = try await TestServer.offlineDevice().offline.collection(Note.self, conflicts: policy)
            try await kept.create(Note(text: "mine"), id: id)
            try await server.create(Note(text: "theirs"), id: id)
            try await kept.sync()
            try await expect(Note(text: text), kept, id)
        }
    }

    @Test func `a change of what somebody deleted is reported`() async throws {
        let device = try await TestServer.offlineDevice()
        var failures = device.offline.failures().makeAsyncIterator()
        let old = try await server.create(Note(text: "old"))
        let kept = try await device.offline.collection(Note.self)
        try await kept.sync()
        try await server.delete(old)
        try await kept.update(old, .increment(\.n))
        try await kept.sync()
        #expect(await failures.next()?.error.code == .objectNotFound)
        #expect(try await kept.get(id: old.id) == nil)
    }
}

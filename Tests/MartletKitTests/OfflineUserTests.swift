import Foundation
import Testing

@testable import MartletKit

/// Tests against a real server: whose objects the device keeps, and how it shows them.
struct OfflineUserTests {
    struct Note: Storable, Equatable {
        static let collection = TestServer.name("KitOwned")
        var text: String
    }

    @Test func `each user has separate data, and objects that rules hide leave the device`() async throws {
        let network = CuttingTransport()
        let device = try await TestServer.offlineDevice(network)
        let ada = try await device.users.signInAnonymously()
        let adas = try await device.offline.collection(Note.self)
        let secret = try await adas.create(Note(text: "secret"), readers: [.user(ada)], writers: [.user(ada)])
        try await adas.sync()
        let shared = try await device.storage.create(Note(text: "shared"))
        try await adas.sync()
        #expect(try await adas.count() == 2)
        // Somebody else takes it away from her.
        try await TestServer.manage(
            "PATCH", "storage/\(Note.collection)/\(shared.id)", ["_readers": ["nobody"], "_writers": ["nobody"]])
        try await adas.sync()
        #expect(try await adas.find().map(\.id) == [secret.id])
        network.decide { _ in .neverLeaves }
        try await adas.create(Note(text: "unsent"))
        let session = try #require(try await device.session.current())

        network.decide { _ in .arrives }
        try await device.session.end(.signedOut)
        await #expect { try await adas.find() } throws: { ($0 as? MartletError)?.code == .notSignedIn }
        await #expect { try await adas.sync() } throws: { ($0 as? MartletError)?.code == .notSignedIn }
        try await device.users.signInAnonymously()
        let bobs = try await device.offline.collection(Note.self)
        #expect(try await bobs.count() == 0)
        try await bobs.sync()
        #expect(try await bobs.count() == 0)
        try await device.session.begin(session)
        #expect(try await adas.find(Note.query().order(by: \.text)).map(\.text) == ["secret", "unsent"])
        try await device.offline.removeAll()
        #expect(try await adas.count() == 0)
        #expect(try await adas.pendingWrites().isEmpty)
        await #expect(throws: MartletError.self) { try await adas.create(Note(text: "late")) }
        #expect(try await device.offline.collection(Note.self).count() == 0)
    }

    @Test func `results come from the device at once and are corrected`() async throws {
        let network = CuttingTransport()
        let device = try await TestServer.offlineDevice(network)
        let other = try await TestServer.device().storage
        struct Row: Storable, Equatable {
            static let collection = TestServer.name("KitRows")
            var n: Int
        }
        let first = try await other.create(Row(n: 1))
        let rows = try await device.offline.collection(Row.self)
        try await rows.sync()
        try await other.create(Row(n: 2))
        var results = rows.results(Row.query().order(by: \.n)).makeAsyncIterator()
        #expect(try await results.next()?.map(\.n) == [1])
        #expect(try await results.next()?.map(\.n) == [1, 2])
        network.decide { _ in .neverLeaves }
        try await rows.create(Row(n: 0))
        #expect(try await results.next()?.map(\.n) == [0, 1, 2])
        network.decide { _ in .arrives }
        // The write is sent by itself, and the changes of others arrive.
        let syncing = Task { try await rows.keepInSync() }
        try await eventually("the write is sent") { try await other.count(Row.query()) == 3 }
        try await other.update(first, .set(\.n, to: 9))
        try await eventually("the change arrives") { try await rows.find(Row.query().where(\.n == 9)).count == 1 }
        try await rows.create(Row(n: 5))
        try await eventually("the next write is sent") { try await other.count(Row.query()) == 4 }
        syncing.cancel()
        try await syncing.value
    }

    @Test func `a damaged file requires a synchronization, and loses no readable write`() async throws {
        let folder = Scratch.folder(), network = CuttingTransport()
        let device = try await TestServer.offlineDevice(folder: folder, network)
        struct Row: Storable, Equatable {
            static let collection = TestServer.name("KitDamaged")
            var n: Int
        }
        try await device.storage.create(contentsOf: (0..<50).map { Row(n: $0) })
        let rows = try await device.offline.collection(Row.self)
        try await rows.sync()
        try await rows.create(Row(n: 100))
        await device.offline.closeAll()
        let journals = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)?
            .compactMap { $0 as? URL }.filter { $0.pathExtension == "journal" }
        let journal = try #require(journals?.first)
        var data = try Data(contentsOf: journal)
        data[data.count / 3] ^= 0x20
        try data.write(to: journal)

        let again = try await TestServer.offlineDevice(folder: folder, network)
        let damaged = try await again.offline.collection(Row.self)
        #expect(try await damaged.find().map(\.n) == [100])
        try await damaged.sync()
        #expect(try await damaged.count() == 51)
        #expect(try await again.storage.count(Row.query()) == 51)
    }
}

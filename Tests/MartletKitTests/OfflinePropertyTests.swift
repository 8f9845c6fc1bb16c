import Foundation
import Testing

@testable import MartletKit

/// Tests against a real server with devices that lose their connection and their process at any moment.
struct OfflinePropertyTests {
    struct Item: Storable, Equatable {
        static let collection = TestServer.name("KitProperty")
        var run: String
        /// Adds up what all devices added.
        var sum: Int = 0
        /// One mark for each write that was acknowledged.
        var marks: [String] = []
        var text: String = ""
    }

    /// Keeps what both sides added. Operations do so by themselves where the client wins.
    private static let merging = ConflictPolicy<Item>.merge { conflict in
        var item = conflict.server.value
        item.sum += conflict.local.sum - (conflict.original?.sum ?? 0)
        item.marks += conflict.local.marks.filter { !item.marks.contains($0) }
        item.text = conflict.local.text
        return item
    }

    private static let policies = [.clientWins, merging, .serverWins]

    /// A device with its files, and the writes that the server acknowledged to it.
    final class Device {
        let folder = Scratch.folder()
        let network: CuttingTransport
        let run: String
        let policy: ConflictPolicy<Item>
        var martlet: Martlet
        var items: OfflineCollection<Item>

        init(run: String, policy: ConflictPolicy<Item>, random: SeededGenerator) async throws {
            let random = Locked(random)
            // One in four requests is lost, half of them after the server carried them out. Some are late.
            network = CuttingTransport { _ in
                let (dice, delay) = random.withLock {
                    (Int.random(in: 0..<8, using: &$0), UInt64.random(in: 0..<3, using: &$0))
                }
                try? await Task.sleep(nanoseconds: delay * 1_000_000)
                return dice == 0 ? .neverLeaves : dice == 1 ? .answerIsLost : .arrives
            }
            self.run = run
            self.policy = policy
            martlet = try await Self.martlet(folder, network)
            items = try await Self.items(martlet, run, policy)
        }

        /// A client whose files are rewritten often.
        private static func martlet(_ folder: URL, _ network: CuttingTransport) async throws -> Martlet {
            try await TestServer.offlineDevice(folder: folder, network) { $0.offline.compactionSlack = 2_000 }
        }

        private static func items(
            _ martlet: Martlet, _ run: String, _ policy: ConflictPolicy<Item>
        ) async throws -> OfflineCollection<Item> {
            try await martlet.offline.collection(Item.self, where: \.run == run, conflicts: policy)
        }

        /// The process ends, maybe in the middle of a line, and starts again.
        func crash(_ random: inout SeededGenerator) async throws {
            await martlet.offline.closeAll()
            if Bool.random(using: &random) {
                let files =
                    FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)?
                    .compactMap { $0 as? URL }.filter { $0.pathExtension == "journal" } ?? []
                for file in files {
                    let handle = try FileHandle(forWritingTo: file)
                    try handle.seekToEnd()
                    try handle.write(contentsOf: Data("0123456789abcdef [{\"object\":".utf8))
                    try handle.close()
                }
            }
            martlet = try await Self.martlet(folder, network)
            items = try await Self.items(martlet, run, policy)
        }
    }

    /// The writes that the server acknowledged to all devices together.
    struct Promised {
        var sums: [String: Int] = [:]
        var marks: [String: Set<String>] = [:]
        var texts: [String: Set<String>] = [:]
        var deleted: Set<String> = []
        var count = 0
    }

    @Test(arguments: 0..<12)
    func `devices agree with the server in the end, and no acknowledged write is lost or repeated`(
        seed: Int
    ) async throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let run = UUID().uuidString
        let policy = Self.policies[seed % 3]
        var devices: [Device] = []
        for number in 0..<3 {
            devices.append(
                try await Device(run: run, policy: policy, random: SeededGenerator(seed: UInt64(1_000 * seed + number)))
            )
        }
        var promised = Promised(), crashes = 0
        for _ in 0..<120 {
            let device = devices[Int.random(in: 0..<3, using: &random)]
            switch Int.random(in: 0..<10, using: &random) {
            case 0:
                crashes += 1
                try await device.crash(&random)
            case 1:
                // The process ends while it synchronizes.
                let syncing = Task { [items = device.items] in try await items.sync() }
                try await Task.sleep(nanoseconds: UInt64.random(in: 0..<20, using: &random) * 1_000_000)
                crashes += 1
                try await device.crash(&random)
                _ = await syncing.result
            case 2, 3: try? await device.items.sync()
            case 4:
                // The device writes while it synchronizes.
                let syncing = Task { [items = device.items] in try await items.sync() }
                for _ in 0..<3 { try await write(on: device, &promised, &random) }
                _ = await syncing.result
            default: try await write(on: device, &promised, &random)
            }
        }
        try await check(devices, promised, run, policy)
        #expect(crashes > 5 && promised.count > 40, "\(crashes) crashes, \(promised.count) writes")
    }

    private func write(on device: Device, _ promised: inout Promised, _ random: inout SeededGenerator) async throws {
        let all = try await device.items.find(Item.query().limit(1_000))
        promised.count += 1
        guard let item = all.randomElement(using: &random), Int.random(in: 0..<5, using: &random) > 0 else {
            let created = try await device.items.create(Item(run: device.run))
            promised.sums[created.id] = 0
            return
        }
        let mark = UUID().uuidString
        switch Int.random(in: 0..<12, using: &random) {
        case 0:
            try await device.items.delete(item)
            promised.deleted.insert(item.id)
        case 1, 2:
            try await device.items.update(item, .set(\.text, to: mark))
            promised.texts[item.id, default: [""]].insert(mark)
        case 3, 4, 5:
            try await device.items.update(item, .append([mark], to: \.marks))
            promised.marks[item.id, default: []].insert(mark)
        default:
            let amount = Int.random(in: 1..<100, using: &random)
            try await device.items.update(item, .increment(\.sum, by: amount))
            promised.sums[item.id, default: 0] += amount
        }
    }

    private func check(
        _ devices: [Device], _ promised: Promised, _ run: String, _ policy: ConflictPolicy<Item>
    ) async throws {
        for device in devices { device.network.decide { _ in .arrives } }
        // The first round sends; the second one receives what the others sent.
        for _ in 0..<2 { for device in devices { try await device.items.sync() } }
        let server = try await TestServer.device().storage
        let query = Item.query().where(\.run == run).limit(1_000)
        let stored = try await server.find(query)
        for device in devices {
            // While a transaction is under way, the feed holds back the writes made after its start.
            try await eventually("the device has the server's objects") {
                try await device.items.sync()
                return try await device.items.find(query) == stored
            }
            #expect(try await device.items.pendingWrites().isEmpty)
        }
        check(stored, promised, policy)
    }

    private func check(_ stored: [Stored<Item>], _ promised: Promised, _ policy: ConflictPolicy<Item>) {
        var clientWins = false, serverWins = false
        if case .clientWins = policy { clientWins = true }
        if case .serverWins = policy { serverWins = true }
        // A deletion wins over changes, so what was deleted anywhere is gone; under other policies changes may win.
        let ids = Set(stored.map(\.id)), kept = Set(promised.sums.keys).subtracting(promised.deleted)
        #expect(clientWins ? ids == kept : ids.isSuperset(of: kept) && ids.isSubset(of: promised.sums.keys))
        for item in stored where kept.contains(item.id) {
            let sum = promised.sums[item.id] ?? 0, marks = promised.marks[item.id] ?? []
            // The server may refuse writes, but none is done twice.
            #expect(serverWins ? item.sum <= sum : item.sum == sum)
            #expect(serverWins ? marks.isSuperset(of: item.marks) : Set(item.marks) == marks)
            #expect(item.marks.count == Set(item.marks).count)
            #expect((promised.texts[item.id] ?? [""]).contains(item.text))
        }
        // Where the server may refuse writes, it still carries out those without a conflict.
        #expect(stored.contains { $0.sum > 0 })
    }
}

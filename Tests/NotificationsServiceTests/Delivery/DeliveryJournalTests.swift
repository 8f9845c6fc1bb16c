import Foundation
import MartletPostgres
import MartletPushSimulator
import MartletTesting
import ServiceTesting
import Testing

@testable import NotificationsService

struct DeliveryJournalTests {
    private let directory = FileManager.default.temporaryDirectory.appending(path: "journal-\(UUID().uuidString)").path

    private static func result(_ number: Int, _ verdict: Verdict) -> DeliveryResult {
        DeliveryResult(
            message: DeliveryWorld.installation(1_000), installation: DeliveryWorld.installation(number),
            attempt: number, claim: 2 * number, verdict: verdict)
    }

    @Test func `answers are read by the next process, and deliveries that were never sent are not recorded`() throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let verdicts: [Verdict] = [
            .ended(.accepted), .ended(.accepted, receipt: "projects/a/messages/1"),
            .ended(.failed, reason: "Unregistered"),
            .ended(.unknown, reason: "answer-timeout"),
            .again(after: .milliseconds(1_500), reason: "TooManyRequests", counts: true),
        ]
        let journal = DeliveryJournal(in: directory)
        // Results recorded before the journal has begun are ignored.
        journal.record(Self.result(9, .ended(.accepted)))
        try journal.begin()
        for (number, verdict) in verdicts.enumerated() { journal.record(Self.result(number + 1, verdict)) }
        journal.record(Self.result(7, .again(after: .zero, reason: "cancelled", counts: false)))
        // A service's message may contain anything.
        journal.record(Self.result(8, .ended(.failed, reason: "a\tb\nc", receipt: "\r\n")))
        let other = DeliveryJournal(in: directory)
        try other.begin()
        #expect(other.leftoverJournals().isEmpty, "the writer is still running")
        journal.end(isWritten: false)
        let left = try #require(other.leftoverJournals().first)
        let results = try left.results()
        #expect(results.map(\.verdict) == verdicts + [.ended(.failed, reason: "abc")])
        #expect(results.map(\.attempt) == [1, 2, 3, 4, 5, 8] && results.map(\.claim) == [2, 4, 6, 8, 10, 16])
        #expect(
            results.allSatisfy { $0.message == DeliveryWorld.installation(1_000) }
                && results[4].installation == DeliveryWorld.installation(5))
        #expect(other.leftoverJournals().isEmpty, "the journal is in use")
        left.discard()
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory).count == 1)
        other.end(isWritten: true)
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory).isEmpty)
        let mode = try FileManager.default.attributesOfItem(atPath: directory)[.posixPermissions] as? Int
        #expect(mode == 0o700)
    }

    @Test func `leftover journals are found among many that are in use`() throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let living = (0..<40).map { _ in DeliveryJournal(in: directory) }
        for journal in living { try journal.begin() }
        for name in ["a", "b", "c"] { try Data().write(to: URL(filePath: "\(directory)/\(name).journal")) }
        #expect(living[0].leftoverJournals().count == 3)
        for journal in living { journal.end(isWritten: true) }
    }

    @Test(arguments: ["", "torn", "\n\n", "a\tb\tc\td\te\tf\tg\th\n", "\0\0\0\0\n"])
    func `a truncated or damaged line is skipped, and the others are read`(_ tail: String) throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let journal = DeliveryJournal(in: directory)
        try journal.begin()
        let (first, second) = (Self.result(1, .ended(.accepted)), Self.result(2, .ended(.accepted)))
        let file = try #require(first.line) + Array(tail.utf8) + (tail.hasSuffix("\n") ? try #require(second.line) : [])
        try Data(file).write(to: URL(filePath: directory + "/a.journal"))
        try Data(try #require(first.line).dropLast(40)).write(to: URL(filePath: directory + "/b.journal"))
        try Data().write(to: URL(filePath: directory + "/c.journal"))
        let counts = try journal.leftoverJournals().map { try $0.results().count }.sorted()
        #expect(counts == [0, 0, tail.hasSuffix("\n") ? 2 : 1])
    }

    @Test func `the journal is compacted when nothing unfinished is left, or when it has become large`() throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        func size() throws -> Int {
            let name = try #require(try FileManager.default.contentsOfDirectory(atPath: directory).first)
            return try FileManager.default.attributesOfItem(atPath: directory + "/" + name)[.size] as? Int ?? -1
        }
        let journal = DeliveryJournal(in: directory)
        try journal.begin()
        let waiting = Self.result(1, .ended(.failed, reason: String(repeating: "x", count: 1_000)))
        func clear(except rest: [DeliveryResult]) { journal.clear { rest.count <= $0 ? rest : nil } }
        journal.record(waiting)
        let one = try size()
        journal.record(waiting)
        clear(except: [waiting])
        #expect(try size() == 2 * one)
        clear(except: [])
        #expect(try size() == 0)
        for _ in 0...DeliveryJournal.defaultSizeInBytes / one { journal.record(waiting) }
        clear(except: [waiting, waiting])
        #expect(try size() == 2 * one)
        // The disk is not filled, however much waits.
        for _ in 0...DeliveryJournal.maximumSizeInBytes / one + 10 { journal.record(waiting) }
        #expect(try size() <= DeliveryJournal.maximumSizeInBytes)
        journal.end(isWritten: true)
    }

    @Test func `sending continues if the journal's directory cannot be created`() async throws {
        try await DeliveryWorld.run(setUp: { $0.delivery.journalDirectory = "/dev/null/journal" }) { world in
            try await world.install(3)
            let message = try await world.order(to: 1...3)
            try await world.withCopy { _ async throws in #expect(try await world.end(of: message) == ["accepted:1": 3])
            }
        }
    }

    @Test func `answers that PostgreSQL did not accept before the process died are stored by the next one`()
        async throws
    {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let directory = directory
        func lines() -> Int {
            let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
            return names.compactMap { FileManager.default.contents(atPath: directory + "/" + $0) }.joined().count {
                $0 == UInt8(ascii: "\n")
            }
        }
        try await DeliveryWorld.run(setUp: { $0.delivery.journalDirectory = directory }) { world in
            try await world.install(50)
            let message = try await world.order(to: 1...50)
            try await world.database.withSuperuser { client in
                try await client.withTransaction { transaction in
                    // Only the results of this message wait. A lock on the table would also stop statements that
                    // change no row of it, and with them whatever follows on their connection.
                    try await transaction.execute(
                        "INSERT INTO notifications.delivery_counts (message) VALUES (\(message))")
                    try await world.withCopy { _ async throws in try await world.wait { lines() == 50 } }
                    #expect(lines() == 50)
                }
            }
            #expect(try await world.deliveries(of: message) == ["sending:1": 50])
            try await world.withCopy { _ async throws in #expect(try await world.end(of: message) == ["accepted:1": 50])
            }
            #expect(world.apns.messageCountsByDeliveries == [1: 50])
        }
    }

    @Test func `after a crash, only deliveries without an answer are sent again`() async throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let directory = directory
        try await DeliveryWorld.run(
            setUp: { $0.delivery.journalDirectory = directory }
        ) { world in
            try await world.install(300)
            let message = try await world.order(to: 1...300)
            // An instance that has sent 200 of them is killed; 180 were accepted and 10 refused.
            let claims = try await DeliveryQueue(postgres: world.postgres).claim(
                [ClaimShare(message: message, service: .apns, limit: 200)], lease: .seconds(3))
            #expect(claims.count == 200)
            let journal = DeliveryJournal(in: directory)
            try journal.begin()
            for claim in claims[..<180] { journal.record(DeliveryResult(claim, .ended(.accepted))) }
            for claim in claims[180..<190] { journal.record(DeliveryResult(claim, .failed("Unregistered"))) }
            // A result of an attempt that another instance has repeated since.
            var stale = DeliveryResult(claims[195], .failed("BadTopic"))
            stale.claim -= 1
            journal.record(stale)
            journal.end(isWritten: false)
            try await world.withCopy { _ async throws in
                #expect(
                    try await world.end(of: message) == [
                        "accepted:1": 280, "accepted:2": 10, "failed:Unregistered:1": 10,
                    ])
                let counts = try await world.postgres.query(
                    "SELECT accepted, failed FROM notifications.delivery_counts WHERE message = \(message)")[0]
                #expect(try counts.decode(0, as: Int.self) == 290 && counts.decode(1, as: Int.self) == 10)
            }
            #expect(world.apns.messageCountsByDeliveries == [1: 110])
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory).isEmpty)
        }
    }
}

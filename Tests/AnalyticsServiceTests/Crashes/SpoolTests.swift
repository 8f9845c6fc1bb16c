import Foundation
import Glibc
import MartletAPI
import MartletCompression
import MartletSentry
import Synchronization
import Testing

@testable import AnalyticsCrashes
@testable import AnalyticsService

@Suite struct SpoolTests {
    private func withFolder(_ body: (String) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "martlet-spool-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try await body(folder)
    }

    private func record(_ number: Int, size: Int = 100) -> [UInt8] {
        Array("\(number):".utf8) + [UInt8](repeating: 7, count: size)
    }

    @Test func `Records written concurrently are all stored once, in some order`() async throws {
        try await withFolder { folder in
            let writer = SpoolWriter(directory: folder, sizeInBytes: 64 << 20)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<500 { group.addTask { try await writer.append(self.record(number)) } }
                try await group.waitForAll()
            }
            let written = try #require(writer.written)
            var (found, position) = ([[UInt8]](), SpoolPosition.start)
            while case let portion = try SpoolReader(folder: written.folder).read(
                from: position, upTo: written.end, count: 64, sizeInBytes: 1 << 20), !portion.records.isEmpty
            {
                #expect(portion.records.count <= 64 && portion.damaged.isEmpty)
                found += portion.records
                position = portion.end
            }
            #expect(Set(found) == Set((0..<500).map { record($0) }) && found.count == 500 && position == written.end)
        }
    }

    @Test func `Large records fill several segments, and finished segments are removed`() async throws {
        try await withFolder { folder in
            let writer = SpoolWriter(directory: folder, sizeInBytes: 256 << 20)
            for number in 0..<9 { try await writer.append(record(number, size: 4 << 20)) }
            let written = try #require(writer.written)
            #expect(written.folder.segments() == [1, 2, 3])
            let portion = try SpoolReader(folder: written.folder).read(
                from: .start, upTo: written.end, count: 100, sizeInBytes: 1 << 30)
            #expect(portion.records.count == 9 && portion.end == written.end)
            #expect(written.folder.remove(before: 3) > 32 << 20 && written.folder.segments() == [3])
        }
    }

    @Test func `A torn record at the end is skipped, and a damaged one in between is reported`() async throws {
        try await withFolder { folder in
            let writer = SpoolWriter(directory: folder, sizeInBytes: 64 << 20)
            for number in 0..<3 { try await writer.append(record(number)) }
            let (spool, end) = try #require(writer.written)
            let path = spool.path(of: 1)
            var bytes = Array(try Data(contentsOf: URL(fileURLWithPath: path)))
            try Data(bytes.dropLast(5)).write(to: URL(fileURLWithPath: path))
            let torn = try SpoolReader(folder: spool).read(from: .start, upTo: nil, count: 100, sizeInBytes: 1 << 20)
            #expect(torn.records == [record(0), record(1)] && torn.damaged.isEmpty)
            bytes[bytes.count / 2] ^= 1
            try Data(bytes).write(to: URL(fileURLWithPath: path))
            let damaged = try SpoolReader(folder: spool).read(from: .start, upTo: end, count: 100, sizeInBytes: 1 << 20)
            #expect(damaged.records == [record(0)] && damaged.damaged == [1] && damaged.end == end)
        }
    }

    @Test func `A spool belongs to one process, and to another after that process has died`() async throws {
        try await withFolder { directory in
            var folder: SpoolFolder? = try SpoolFolder.make(in: directory)
            #expect(SpoolFolder.abandoned(in: directory).isEmpty)
            let id = folder?.id
            folder = nil
            let taken = SpoolFolder.abandoned(in: directory)
            #expect(taken.map(\.id) == [id])
            #expect(SpoolFolder.abandoned(in: directory).isEmpty)
            taken.first?.discard()
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory).isEmpty)
        }
    }

    @Test func `A full spool refuses records until there is room again`() async throws {
        try await withFolder { folder in
            let writer = SpoolWriter(directory: folder, sizeInBytes: 1_000)
            for number in 0..<8 { try await writer.append(record(number)) }
            await #expect(throws: SpoolError.self) { try await writer.append(record(9)) }
            writer.release(500)
            try await writer.append(record(10))
        }
    }

    private final class Disk: Sendable {
        let isFull = Mutex(false)
    }

    @Test func `A full disk leaves no empty segments behind, and stored records stay`() async throws {
        try await withFolder { folder in
            let disk = Disk()
            let writer = SpoolWriter(directory: folder, sizeInBytes: 1 << 20) { file, bytes in
                if disk.isFull.withLock(\.self) { throw SpoolError.unavailable(cause: "write") }
                try file.append(bytes)
            }
            for number in 0..<3 {
                try await writer.append(record(number))
                disk.isFull.withLock { $0 = true }
                for _ in 0..<5 { await #expect(throws: SpoolError.self) { try await writer.append(self.record(9)) } }
                disk.isFull.withLock { $0 = false }
            }
            let (spool, end) = try #require(writer.written)
            #expect(spool.segments().count == 3)
            let portion = try SpoolReader(folder: spool).read(from: .start, upTo: end, count: 10, sizeInBytes: 1 << 20)
            #expect(
                portion.records == (0..<3).map { record($0) } && portion.end == end && portion.ends.last == end
                    && portion.damaged.isEmpty)
        }
    }

    @Test func `The folder of a process that died before naming it is removed after a while`() throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "martlet-spool-\(UUID().uuidString)")
            .path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        for name in ["new-old", "new-young"] {
            try FileManager.default.createDirectory(atPath: "\(directory)/\(name)", withIntermediateDirectories: true)
        }
        try Data().write(to: URL(filePath: directory + "/new-old/lock"))
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSinceNow: -7_200)], ofItemAtPath: directory + "/new-old")
        #expect(SpoolFolder.abandoned(in: directory).isEmpty)
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == ["new-young"])
    }

    @Test func `Records written together are stored all or none, and unreadable ones are refused`() async throws {
        try await withFolder { folder in
            let writer = SpoolWriter(directory: folder, sizeInBytes: 1_000)
            await #expect(throws: SpoolError.self) { try await writer.append((0..<10).map { self.record($0) }) }
            #expect(writer.written == nil)
            try await writer.append((0..<3).map { record($0) })
            let written = try #require(writer.written)
            let portion = try SpoolReader(folder: written.folder).read(
                from: .start, upTo: written.end, count: 10, sizeInBytes: 1 << 20)
            #expect(portion.records == (0..<3).map { record($0) })
            let large = SpoolWriter(directory: folder, sizeInBytes: 1 << 30)
            await #expect(throws: SpoolError.self) {
                try await large.append([UInt8](repeating: 0, count: SpoolRecord.maximumLength + 1))
            }
            #expect(large.written == nil)
        }
    }

    @Test func `The spools of dead processes count towards the size limit`() async throws {
        try await withFolder { folder in
            let old = SpoolWriter(directory: folder, sizeInBytes: 1_000)
            for number in 0..<6 { try await old.append(record(number)) }
            let left = try #require(old.written?.folder)
            let writer = SpoolWriter(directory: folder, sizeInBytes: 1_000)
            #expect(left.sizeInBytes > 600)
            writer.occupy(left.sizeInBytes)
            await #expect(throws: SpoolError.self) { try await writer.append((0..<4).map { self.record($0) }) }
            writer.release(left.discard())
            try await writer.append((0..<4).map { record($0) })
        }
    }

    @Test func `Envelopes are read as they were written`() throws {
        for coding in [nil, .gzip, .deflate, .brotli, .zstandard] as [ContentCoding?] {
            for id in [nil, UUID()] {
                let envelope = ReceivedEnvelope(
                    appID: "app1", environment: .test, received: Date(timeIntervalSince1970: 1_795_338_000.25),
                    eventID: id, coding: coding, body: [1, 2, 3])
                #expect(ReceivedEnvelope(record: envelope.record) == envelope)
            }
        }
        #expect(
            ReceivedEnvelope(record: []) == nil && ReceivedEnvelope(record: [UInt8](repeating: 9, count: 100)) == nil)
    }

    @Test func `A quota applies to a minute, an app and a category`() {
        let time = ManualClock()
        let quota = CrashQuota(
            CrashQuota.Limits(errors: 1, sessions: 1, attachments: 1, feedback: 1), now: { time.now })
        #expect(quota.take(.error, "a", .live) == nil)
        #expect(quota.take(.error, "a", .live)?.text == "50:error;default;security:key:quota")
        #expect(quota.take(.default, "a", .live) != nil, "counted together")
        #expect(
            quota.take(.session, "a", .live) == nil && quota.take(.error, "b", .live) == nil
                && quota.take(.error, "a", .test) == nil)
        #expect(quota.take(.transaction, "a", .live) == nil && quota.take(.transaction, "a", .live) == nil)
        time.move(by: 50)
        #expect(quota.take(.error, "a", .live) == nil)
    }
}

/// A clock that is moved by hand.
final class ManualClock: @unchecked Sendable {
    private let lock = NSLock()
    private var time = Date(timeIntervalSince1970: 1_795_338_010)

    var now: Date { lock.withLock { time } }

    func move(by seconds: Double) { lock.withLock { time += seconds } }
}

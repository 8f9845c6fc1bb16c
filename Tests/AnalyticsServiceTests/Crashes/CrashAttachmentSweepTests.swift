import Foundation
import MartletAPI
import MartletPostgres
import MartletTesting
import NIOCore
import Testing

@testable import AnalyticsCrashes
@testable import AnalyticsService
@testable import AnalyticsShared
@testable import MartletFiles

/// Inconsistencies between attachments' bytes and rows after a crash of the process.
@Suite struct CrashAttachmentSweepTests {
    private static func write(_ id: String, in space: Int32, _ files: any FileBackend) async throws {
        let content = AsyncStream<ByteBuffer> { continuation in
            continuation.yield(ByteBuffer(string: "bytes"))
            continuation.finish()
        }
        _ = try await files.write(content, to: try #require(BlobName(crash: id, in: space)), limitInBytes: 10)
    }

    private static func record(_ id: String, in space: Int32, daysAgo: Int32, _ app: AnalyticsApp) async throws {
        try await app.postgres.execute(
            """
            INSERT INTO analytics.crash_attachments (space, event_id, blob, name, content_type, kind, size, received)
            VALUES (\(space), gen_random_uuid(), \(id), 'a', 'text/plain', 'event.attachment', 5, now() - make_interval(days => \(daysAgo)))
            """)
    }

    private static func id(_ number: Int) -> String {
        String(repeating: "0", count: 28) + String(0xa000 + number, radix: 16)
    }

    @Test func `Bytes without a row are removed after a day, and so are rows without bytes`() async throws {
        try await AnalyticsApp.run { app in
            let (files, sweep) = (app.service.crashes.retention.files, app.service.crashes.sweep)
            let space = try await app.service.spaces.space(of: "app1", .live).id
            let other = try await app.service.spaces.space(of: "app2", .live).id
            func present(_ space: Int32) async throws -> [String] {
                try await files.list("crash_\(space)", after: nil, limit: 100).blobs.map(\.id)
            }
            func named() async throws -> [String] {
                try await app.postgres.query("SELECT blob FROM analytics.crash_attachments ORDER BY blob").map {
                    try $0.decode(0)
                }
            }
            // 1 and 3 are complete, 2 has only bytes, 4 and 0 have only rows, one of them recent.
            for number in 1...3 { try await Self.write(Self.id(number), in: space, files) }
            try await Self.write(Self.id(5), in: other, files)
            for (number, days) in [(1, 9), (3, 9), (4, 9), (0, 0)] {
                try await Self.record(Self.id(number), in: space, daysAgo: Int32(days), app)
            }
            // A row without bytes in a space that has no bytes at all.
            try await Self.record(Self.id(6), in: other, daysAgo: 9, app)

            try await sweep.cleanUp(at: Date())
            #expect(try await present(space) == [1, 2, 3].map(Self.id), "the blobs are too young to be deleted")
            #expect(try await named() == [0, 1, 3, 6].map(Self.id))

            try await sweep.cleanUp(at: Date() + CrashAttachmentSweep.minimumAge + 60)
            #expect(try await present(space) == [1, 3].map(Self.id))
            #expect(try await present(other) == [])
            #expect(try await named() == [1, 3, 6].map(Self.id))
        }
    }

    @Test func `Rows are compared page by page, and the number of findings is limited`() async throws {
        let ids = (0..<1_203).map(Self.id)
        let page = 500
        let backend = PagedFiles(ids: ids.filter { $0 != ids[0] && $0 != ids[700] && $0 != ids[1_202] })
        let rows: @Sendable (String, String?, Date, Int) -> [String] = { after, end, _, limit in
            Array(ids.filter { $0 > after && $0 <= end ?? "g" }.prefix(limit))
        }
        let sweep = BlobSweep(files: backend, space: "crash_1", named: { Set($0).intersection(ids) }, rows: rows)
        let findings = try #require(try await sweep.run(before: Date()))
        #expect(findings.lost == [ids[0], ids[700], ids[1_202]] && findings.kept == 1_200 && findings.isPlausible)
        let empty = BlobSweep(files: PagedFiles(ids: []), space: "crash_1", named: { _ in [] }, rows: rows)
        let all = try #require(try await empty.run(before: Date()))
        #expect(all.lost == Array(ids.prefix(page)) && !all.isPlausible)
    }

    /// Old blobs that can be listed, but neither read nor written.
    struct PagedFiles: FileBackend {
        let ids: [String]

        func list(_ space: String, after cursor: String?, limit: Int) async throws -> BlobPage {
            let rest = ids.filter { $0 > cursor ?? "" }
            let page = rest.prefix(limit).map { StoredBlob(id: $0, written: Date(timeIntervalSince1970: 0)) }
            return BlobPage(blobs: page, next: rest.count > limit ? page.last?.id : nil)
        }

        func write<Content: AsyncSequence & Sendable>(
            _ content: Content, to blob: BlobName, limitInBytes: Int
        ) async throws -> WrittenFile where Content.Element == ByteBuffer { throw FileError.missing(blob) }
        func read(_ blob: BlobName, in range: Range<Int>, _ consume: (ByteBuffer) async throws -> Void) async throws {
            throw FileError.missing(blob)
        }
        func remove(_ blob: BlobName) async throws { throw FileError.missing(blob) }
        func removeAbandoned(before date: Date, in space: String) async throws {}
    }
}

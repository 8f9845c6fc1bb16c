import Foundation
import Logging
import MartletFiles
import MartletPostgres
import ServiceLifecycle

/// Removes what nobody refers to: expired resumable uploads, and blobs older than `orphanAge` that no file, thumbnail or upload has.
///
/// A blob is written before its row, so a young one may only seem to be an orphan. Every copy of the service may do this at any time.
struct OrphanCollection: Service {
    private static let pageLength = 1_000

    let postgres: PostgresClient
    let files: FileStore
    let settings: FileSettings
    let logger: Logger

    func run() async throws {
        await cancelWhenGracefulShutdown {
            // Copies that start together do not all look at once.
            var pause = settings.collectionInterval * Double.random(in: 0.1...1)
            while !Task.isCancelled {
                try? await Task.sleep(for: pause)
                if Task.isCancelled { return }
                await collectEverywhere()
                pause = settings.collectionInterval
            }
        }
    }

    private func collectEverywhere() async {
        do {
            for row in try await postgres.query("SELECT schema FROM storage.spaces ORDER BY schema") {
                let removed = try await collect(schema: try row.decode(0), at: settings.now())
                if removed > 0 { logger.info("orphans removed", metadata: ["files.removed": "\(removed)"]) }
            }
        } catch {
            logger.warning("orphans not collected", metadata: ["error.cause": "\(error)"])
        }
    }

    /// Returns how many blobs were removed.
    func collect(schema: String, at now: Date) async throws -> Int {
        guard let role = PostgresIdentifier(schema), let transfers = PostgresIdentifier(schema: schema, name: "_transfers") else { return 0 }
        var expired: PostgresQuery = "DELETE FROM \(transfers) WHERE expires < \(now)"
        expired.role = role
        try await postgres.execute(expired)
        let border = now.addingTimeInterval(-settings.orphanAge)
        try await settings.backend.removeAbandoned(before: border, in: schema)
        var (removed, last) = (0, String?.none)
        while true {
            let page = try await settings.backend.list(schema, after: last, limit: Self.pageLength)
            let old = page.filter { $0.written < border }.map(\.id)
            for id in try await unreferenced(old, schema, role) {
                guard let blob = BlobName(space: schema, id: id) else { continue }
                try await settings.backend.remove(blob)
                removed += 1
            }
            guard page.count == Self.pageLength else { return removed }
            last = page.last?.id
        }
    }

    private func unreferenced(_ ids: [String], _ schema: String, _ role: PostgresIdentifier) async throws -> [String] {
        guard !ids.isEmpty, let files = PostgresIdentifier(schema: schema, name: "_files"),
            let thumbnails = PostgresIdentifier(schema: schema, name: "_thumbnails"),
            let parts = PostgresIdentifier(schema: schema, name: "_transfer_parts")
        else { return [] }
        var stale: PostgresQuery = """
            DELETE FROM \(thumbnails) AS t WHERE NOT EXISTS (SELECT FROM \(files) WHERE blob = t.source)
            """
        stale.role = role
        try await postgres.execute(stale)
        var query: PostgresQuery = """
            SELECT b.id FROM unnest(\(ids)) AS b (id)
            WHERE NOT EXISTS (SELECT FROM \(files) WHERE blob = b.id) AND NOT EXISTS (SELECT FROM \(thumbnails) WHERE blob = b.id)
                AND NOT EXISTS (SELECT FROM \(parts) WHERE blob = b.id)
            """
        query.role = role
        return try await postgres.query(query).map { try $0.decode(0) }
    }
}

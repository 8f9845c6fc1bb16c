import Foundation
import Logging
import MartletBackground
import MartletFiles
import MartletPostgres

/// Removes unreferenced data: expired resumable uploads, blobs without a file, thumbnail or upload for `orphanAge`, and
/// remains of interrupted thumbnail processes.
///
/// The age counts from when a blob was first seen without a row (`_orphans`), not from when it was written. The bytes
/// therefore remain available to readers of a file that was just replaced, and to a backup that copies the bytes after
/// the database. Any copy of the service may run this at any time.
struct OrphanFileSweep: PeriodicWork {
    /// The script that created `_orphans`. A space that has not been used since the script was added is skipped until
    /// its next use.
    private static let neededVersion = 6
    private static let pageLength = 1_000
    /// The minimum age of an orphan. A blob is written before its row, so the row of a younger blob may be about to be
    /// written.
    private static let minimumAge: TimeInterval = 3_600

    let postgres: PostgresClient
    let files: FileStore
    let settings: FileSettings
    let logger: Logger

    var interval: Duration { settings.orphanSweepInterval }

    func work() async throws { await sweepEverywhere(at: settings.now()) }

    /// Removes orphans in every space. An error in one space is logged and does not affect the others.
    func sweepEverywhere(at now: Date) async {
        do {
            try await settings.thumbnailer.removeAbandoned(before: now.addingTimeInterval(-3_600))
        } catch {
            logger.warning(
                "Could not remove abandoned thumbnails; retrying in the next pass.",
                metadata: ["error.cause": "\(error)"])
        }
        let schemas: [String]
        do {
            schemas = try await postgres.query(
                "SELECT schema FROM storage.spaces WHERE version >= \(Self.neededVersion) ORDER BY schema"
            )
            .map { try $0.decode(0) }
        } catch {
            logger.warning(
                "Could not list the spaces to search for orphaned blobs; retrying in the next pass.",
                metadata: ["error.cause": "\(error)"])
            return
        }
        for schema in schemas where !Task.isCancelled {
            do {
                let removed = try await collect(schema: schema, at: now)
                if removed > 0 { logger.info("Removed orphaned blobs.", metadata: ["files.removed": "\(removed)"]) }
            } catch {
                logger.warning(
                    "Could not remove a space's orphaned blobs; retrying in the next pass.",
                    metadata: ["storage.schema": "\(schema)", "error.cause": "\(error)"])
            }
        }
    }

    /// Returns how many blobs were removed.
    func collect(schema: String, at now: Date) async throws -> Int {
        guard let space = AppSchema(schema: schema) else { return 0 }
        let cutoff = now.addingTimeInterval(-settings.orphanAge)
        try await settings.backend.removeAbandoned(before: cutoff, in: schema)
        try await run("DELETE FROM \(try space.own("_transfers")) WHERE expires < \(now)", in: space)
        try await run(
            """
            DELETE FROM \(try space.own("_thumbnails")) AS t WHERE NOT EXISTS (SELECT FROM \(try space.own("_files")) WHERE blob = t.source)
            """, in: space)
        try await record(in: space, at: now)
        return try await removeOld(in: space, before: cutoff)
    }

    /// Updates `_orphans`.
    private func record(in space: AppSchema, at now: Date) async throws {
        let (orphans, isUsed) = (try space.own("_orphans"), try isUsed(in: space))
        try await run("DELETE FROM \(orphans) AS b WHERE \(isUsed)", in: space)
        var cursor: String?
        repeat {
            let page = try await settings.backend.list(space.schema, after: cursor, limit: Self.pageLength)
            let ids = page.blobs.filter { $0.written < now.addingTimeInterval(-Self.minimumAge) }.map(\.id)
            if !ids.isEmpty {
                try await run(
                    """
                    INSERT INTO \(orphans) (blob, since) SELECT b.blob, \(now) FROM unnest(\(ids)) AS b (blob) WHERE NOT \(isUsed)
                    ON CONFLICT (blob) DO NOTHING
                    """, in: space)
            }
            cursor = page.next
        } while cursor != nil
    }

    private func removeOld(in space: AppSchema, before cutoff: Date) async throws -> Int {
        let orphans = try space.own("_orphans")
        var removed = 0
        while true {
            let ids: [String] = try await run(
                "SELECT blob FROM \(orphans) WHERE since < \(cutoff) ORDER BY since LIMIT \(Self.pageLength)", in: space
            ).map { try $0.decode(0) }
            for id in ids {
                guard let blob = BlobName(space: space.schema, id: id) else { continue }
                try await settings.backend.remove(blob)
                removed += 1
            }
            // Rows are deleted only after the bytes, so that the next pass completes an interrupted one.
            try await run("DELETE FROM \(orphans) WHERE blob = ANY (\(ids))", in: space)
            if ids.count < Self.pageLength { return removed }
        }
    }

    /// Whether a row refers to the blob of row `b`.
    private func isUsed(in space: AppSchema) throws -> PostgresQuery {
        """
        (EXISTS (SELECT FROM \(try space.own("_files")) WHERE blob = b.blob)
            OR EXISTS (SELECT FROM \(try space.own("_thumbnails")) WHERE blob = b.blob)
            OR EXISTS (SELECT FROM \(try space.own("_transfer_parts")) WHERE blob = b.blob))
        """
    }

    @discardableResult
    private func run(_ statement: PostgresQuery, in space: AppSchema) async throws -> PostgresRows {
        var statement = statement
        statement.role = space.role
        return try await postgres.query(statement)
    }
}

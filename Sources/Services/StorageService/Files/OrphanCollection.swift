import Foundation
import Logging
import MartletFiles
import MartletJobs
import MartletPostgres

/// Removes what nobody refers to: expired resumable uploads, blobs that no file, thumbnail or upload has had for
/// `orphanAge`, and what thumbnails under way left behind.
///
/// The age counts from when a blob was first seen without a row (`_orphans`), not from when it was written: whoever
/// reads a file that was just replaced, or restores a backup whose bytes were copied after the database, still finds
/// the bytes. Every copy of the service may do this at any time.
struct OrphanCollection: PeriodicWork {
    /// The script that made `_orphans`. A space that nobody has used since waits until somebody does.
    private static let neededVersion = 6
    private static let pageLength = 1_000
    /// A blob is written before its row; a younger one may only seem to be an orphan.
    private static let newness: TimeInterval = 3_600

    let postgres: PostgresClient
    let files: FileStore
    let settings: FileSettings
    let logger: Logger

    var interval: Duration { settings.collectionInterval }

    func work() async throws { await collectEverywhere(at: settings.now()) }

    /// What fails in one space is logged, and keeps no other from its turn.
    func collectEverywhere(at now: Date) async {
        do {
            try await settings.thumbnailer.removeAbandoned(before: now.addingTimeInterval(-3_600))
        } catch {
            logger.warning("abandoned thumbnails not removed", metadata: ["error.cause": "\(error)"])
        }
        let schemas: [String]
        do {
            schemas = try await postgres.query(
                "SELECT schema FROM storage.spaces WHERE version >= \(Self.neededVersion) ORDER BY schema"
            )
            .map { try $0.decode(0) }
        } catch {
            logger.warning("orphans not collected", metadata: ["error.cause": "\(error)"])
            return
        }
        for schema in schemas where !Task.isCancelled {
            do {
                let removed = try await collect(schema: schema, at: now)
                if removed > 0 { logger.info("orphans removed", metadata: ["files.removed": "\(removed)"]) }
            } catch {
                logger.warning(
                    "orphans not collected", metadata: ["storage.schema": "\(schema)", "error.cause": "\(error)"])
            }
        }
    }

    /// Returns how many blobs were removed.
    func collect(schema: String, at now: Date) async throws -> Int {
        guard let space = AppSpace(schema: schema) else { return 0 }
        let border = now.addingTimeInterval(-settings.orphanAge)
        try await settings.backend.removeAbandoned(before: border, in: schema)
        try await run("DELETE FROM \(try space.own("_transfers")) WHERE expires < \(now)", in: space)
        try await run(
            """
            DELETE FROM \(try space.own("_thumbnails")) AS t WHERE NOT EXISTS (SELECT FROM \(try space.own("_files")) WHERE blob = t.source)
            """, in: space)
        try await note(in: space, at: now)
        return try await removeOld(in: space, before: border)
    }

    /// Brings `_orphans` up to date.
    private func note(in space: AppSpace, at now: Date) async throws {
        let (orphans, isUsed) = (try space.own("_orphans"), try isUsed(in: space))
        try await run("DELETE FROM \(orphans) AS b WHERE \(isUsed)", in: space)
        var cursor: String?
        repeat {
            let page = try await settings.backend.list(space.schema, after: cursor, limit: Self.pageLength)
            let ids = page.blobs.filter { $0.written < now.addingTimeInterval(-Self.newness) }.map(\.id)
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

    private func removeOld(in space: AppSpace, before border: Date) async throws -> Int {
        let orphans = try space.own("_orphans")
        var removed = 0
        while true {
            let ids: [String] = try await run(
                "SELECT blob FROM \(orphans) WHERE since < \(border) ORDER BY since LIMIT \(Self.pageLength)", in: space
            ).map { try $0.decode(0) }
            for id in ids {
                guard let blob = BlobName(space: space.schema, id: id) else { continue }
                try await settings.backend.remove(blob)
                removed += 1
            }
            // Not before the bytes are gone: what is not done now is done by the next pass.
            try await run("DELETE FROM \(orphans) WHERE blob = ANY (\(ids))", in: space)
            if ids.count < Self.pageLength { return removed }
        }
    }

    /// Whether a row refers to the blob of a row `b`.
    private func isUsed(in space: AppSpace) throws -> PostgresQuery {
        """
        (EXISTS (SELECT FROM \(try space.own("_files")) WHERE blob = b.blob)
            OR EXISTS (SELECT FROM \(try space.own("_thumbnails")) WHERE blob = b.blob)
            OR EXISTS (SELECT FROM \(try space.own("_transfer_parts")) WHERE blob = b.blob))
        """
    }

    @discardableResult
    private func run(_ statement: PostgresQuery, in space: AppSpace) async throws -> PostgresRows {
        var statement = statement
        statement.role = space.role
        return try await postgres.query(statement)
    }
}

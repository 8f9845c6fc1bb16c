import Foundation
import MartletFiles
import MartletPostgres

/// Chunks of debug files being uploaded, by the SHA-1 of their bytes.
struct SymbolChunkStore: Sendable {
    let postgres: PostgresClient

    struct Chunk: Sendable {
        var sha1: String
        var blob: BlobName
        var sizeInBytes: Int
    }

    /// The blob space of an app's chunks and files.
    static func blobSpace(of appID: String) -> String {
        "symbols_" + String(appID.lowercased().map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" }.prefix(40))
    }

    /// The chunks that exist, after extending their lifetime.
    func touch(_ sha1s: [String], of appID: String) async throws -> [String: Chunk] {
        guard !sha1s.isEmpty else { return [:] }
        let rows = try await postgres.query(
            """
            UPDATE analytics.symbol_chunks SET touched = now() WHERE app_id = \(appID) AND sha1 = ANY (\(sha1s))
            RETURNING sha1, blob, size
            """)
        var chunks: [String: Chunk] = [:]
        for row in rows {
            guard let blob = BlobName(space: Self.blobSpace(of: appID), id: try row.decode(1)) else { continue }
            let chunk = Chunk(sha1: try row.decode(0), blob: blob, sizeInBytes: try row.decode(2))
            chunks[chunk.sha1] = chunk
        }
        return chunks
    }

    /// Inserts a chunk whose bytes are stored. Returns false if it already exists, so that these bytes are not needed.
    func insert(_ chunk: Chunk, of appID: String) async throws -> Bool {
        try await postgres.execute(
            """
            INSERT INTO analytics.symbol_chunks (app_id, sha1, blob, size)
            VALUES (\(appID), \(chunk.sha1), \(chunk.blob.id), \(Int32(chunk.sizeInBytes))) ON CONFLICT DO NOTHING
            """) == 1
    }

    /// The total size of the app's chunks.
    func pendingSizeInBytes(of appID: String) async throws -> Int {
        try await postgres.query(
            "SELECT coalesce(sum(size), 0)::bigint FROM analytics.symbol_chunks WHERE app_id = \(appID)")[0].decode(0)
    }

    /// Deletes chunks that no file waits for, and returns the blobs to remove.
    func delete(_ sha1s: [String], of appID: String) async throws -> [BlobName] {
        let rows = try await postgres.query(
            """
            DELETE FROM analytics.symbol_chunks AS c WHERE app_id = \(appID) AND sha1 = ANY (\(sha1s)) AND NOT \(Self.isAwaited)
            RETURNING blob
            """)
        return try rows.compactMap { BlobName(space: Self.blobSpace(of: appID), id: try $0.decode(0)) }
    }

    /// Deletes up to 500 chunks that were not touched for `lifetime` and that no file waits for; returns the blobs to
    /// remove.
    func deleteAbandoned(after lifetime: Duration) async throws -> [BlobName] {
        let rows = try await postgres.query(
            """
            DELETE FROM analytics.symbol_chunks WHERE (app_id, sha1) IN (
                SELECT app_id, sha1 FROM analytics.symbol_chunks AS c
                WHERE touched < now() - make_interval(secs => \(Double(lifetime.components.seconds))) AND NOT \(Self.isAwaited)
                ORDER BY touched LIMIT 500 FOR UPDATE SKIP LOCKED)
            RETURNING app_id, blob
            """)
        return try rows.compactMap { BlobName(space: Self.blobSpace(of: try $0.decode(0)), id: try $0.decode(1)) }
    }

    private static let isAwaited: PostgresQuery = """
        EXISTS (
            SELECT FROM analytics.symbol_files AS f
            WHERE f.app_id = c.app_id AND f.state IN ('created', 'assembling') AND c.sha1 = ANY (f.chunks))
        """
}

import Foundation
import MartletFiles
import MartletPostgres

/// Listing and deletion of debug files.
extension SymbolFileStore {
    struct Listed: Sendable {
        var id: UUID
        var json: String
    }

    /// An app's files, newest first.
    ///
    /// - Parameter after: The id of the last file of the previous page.
    func list(of appID: String, debugID: DebugID?, after: UUID?, limit: Int) async throws -> [Listed] {
        let condition: PostgresQuery =
            debugID.map {
                "AND EXISTS (SELECT FROM analytics.debug_files AS d WHERE d.file = f.id AND d.debug_id = \($0.description))"
            } ?? ""
        let position: PostgresQuery =
            after.map {
                "AND (f.created, f.id) < (SELECT created, id FROM analytics.symbol_files WHERE id = \($0) AND app_id = \(appID))"
            } ?? ""
        let rows = try await postgres.query(
            """
            SELECT f.id, \(Self.json) FROM analytics.symbol_files AS f WHERE f.app_id = \(appID) \(condition) \(position)
            ORDER BY f.created DESC, f.id DESC LIMIT \(limit)
            """)
        return try rows.map { Listed(id: try $0.decode(0), json: try $0.decode(1)) }
    }

    func read(_ id: UUID, of appID: String) async throws -> String? {
        let rows = try await postgres.query(
            "SELECT \(Self.json) FROM analytics.symbol_files AS f WHERE f.app_id = \(appID) AND f.id = \(id)")
        return try rows.first?.decode(0)
    }

    /// Deletes a file. `found` is false if there is none; the caller must remove `blob`.
    func delete(_ id: UUID, of appID: String) async throws -> (found: Bool, blob: BlobName?) {
        let rows = try await postgres.query(
            "DELETE FROM analytics.symbol_files WHERE app_id = \(appID) AND id = \(id) RETURNING blob")
        guard let row = rows.first else { return (false, nil) }
        let blob: String? = try row.decode(0)
        return (true, blob.flatMap { BlobName(space: SymbolChunkStore.blobSpace(of: appID), id: $0) })
    }

    /// The subset of these blobs that belong to a file or a chunk.
    func used(_ ids: [String], of appID: String) async throws -> Set<String> {
        let rows = try await postgres.query(
            """
            SELECT blob FROM analytics.symbol_files WHERE app_id = \(appID) AND blob = ANY (\(ids)) UNION ALL
            SELECT blob FROM analytics.symbol_chunks WHERE app_id = \(appID) AND blob = ANY (\(ids))
            """)
        return Set(try rows.map { try $0.decode(0, as: String.self) })
    }

    /// Every app with files or chunks.
    func apps() async throws -> [String] {
        try await postgres.query(
            "SELECT app_id FROM analytics.symbol_files UNION SELECT app_id FROM analytics.symbol_chunks ORDER BY 1"
        ).map { try $0.decode(0) }
    }

    private static let json: PostgresQuery = """
        jsonb_build_object('id', f.id, 'name', f.name, 'sha1', f.sha1, 'sizeInBytes', f.size, 'state', f.state, 'detail', f.detail,
            'author', f.author, 'created', \(PostgresQuery.rfc3339("f.created")), 'parts', (
                SELECT coalesce(jsonb_agg(jsonb_build_object('debugId', d.debug_id, 'architecture', d.architecture, 'kind', d.kind,
                    'hasDebugInformation', d.has_debug_information, 'isBroken', d.failures >= \(Int16(StoredPart.maximumFailures)))
                    ORDER BY d.start), '[]')
                FROM analytics.debug_files AS d WHERE d.file = f.id))::text
        """
}

import Foundation
import MartletAPI
import MartletFiles
import MartletHTTP
import MartletPostgres

/// Resumable uploads under way. All state is here and in the back end, so that each request may reach another copy of the service.
struct TusUploadStore: Sendable {
    let files: FileStore

    struct Transfer: Sendable {
        var id: String
        var path: FilePath
        var sizeInBytes: Int
        var contentType: String?
        var grants: FileGrants
        var isFinished: Bool
        var expires: Date
        /// How much has arrived.
        var offset: Int
        /// In order, without gaps.
        var parts: [Part]
    }

    struct Part: Sendable {
        var blob: BlobName
        var sizeInBytes: Int
    }

    func create(
        _ declaration: FileIntake.Declaration, sizeInBytes: Int, expires: Date, in scope: FileScope
    ) async throws -> String {
        let id = BlobName.random(in: scope.space.schema).id
        let grants = declaration.grants
        _ = try await files.run(
            """
            INSERT INTO \(try scope.space.own("_transfers"))
                (id, path, size, content_type, sets_readers, sets_writers, readers, writers, uploader, expires)
            VALUES (\(id), \(declaration.path.text), \(sizeInBytes), \(declaration.contentType), \(grants.readers != nil),
                \(grants.writers != nil), \(grants.readers), \(grants.writers), \(scope.identity.userID), \(expires))
            """, in: scope.space)
        return id
    }

    /// Nil when there is none, it has expired, or somebody else began it.
    func find(_ id: String, at now: Date, in scope: FileScope) async throws -> Transfer? {
        let rows = try await files.run(
            """
            SELECT t.path, t.size, t.content_type, t.sets_readers, t.sets_writers, t.readers, t.writers, t.is_finished, t.expires,
                coalesce(array_agg(p.blob ORDER BY p.start) FILTER (WHERE p.blob IS NOT NULL), '{}'),
                coalesce(array_agg(p.size ORDER BY p.start) FILTER (WHERE p.blob IS NOT NULL), '{}')
            FROM \(try scope.space.own("_transfers")) AS t
            LEFT JOIN \(try scope.space.own("_transfer_parts")) AS p ON p.transfer = t.id
            WHERE t.id = \(id) AND t.expires > \(now)
                AND (\(scope.identity == .master) OR t.uploader IS NOT DISTINCT FROM \(scope.identity.userID)::text)
            GROUP BY t.id
            """, in: scope.space)
        guard let row = rows.first else { return nil }
        let (blobs, sizes) = (try row.decode(9, as: [String].self), try row.decode(10, as: [Int].self))
        let parts = try zip(blobs, sizes).map { id, size in
            guard let blob = BlobName(space: scope.space.schema, id: id) else { throw HTTPProblem(.internalError) }
            return Part(blob: blob, sizeInBytes: size)
        }
        let (size, isFinished) = (try row.decode(1, as: Int.self), try row.decode(7, as: Bool.self))
        return Transfer(
            id: id, path: try FilePath(try row.decode(0, as: String.self)), sizeInBytes: size, contentType: try row.decode(2),
            grants: FileGrants(
                readers: try row.decode(3) ? try row.decode(5, as: [String]?.self) ?? [] : nil,
                writers: try row.decode(4) ? try row.decode(6, as: [String]?.self) ?? [] : nil),
            isFinished: isFinished, expires: try row.decode(8), offset: isFinished ? size : sizes.reduce(0, +), parts: parts)
    }

    /// Notes what has arrived at `start`; false when other bytes have come there, or the upload is gone.
    func append(_ blob: BlobName, sizeInBytes: Int, at start: Int, to id: String, in scope: FileScope) async throws -> Bool {
        let (transfers, parts) = (try scope.space.own("_transfers"), try scope.space.own("_transfer_parts"))
        let rows = try await files.run(
            """
            INSERT INTO \(parts) (transfer, start, size, blob)
            SELECT id, \(start)::bigint, \(sizeInBytes)::bigint, \(blob.id) FROM (
                SELECT id FROM \(transfers) WHERE id = \(id) AND NOT is_finished FOR UPDATE) AS t
            WHERE \(start)::bigint = (SELECT coalesce(sum(size), 0) FROM \(parts) WHERE transfer = \(id))
            ON CONFLICT (transfer, start) DO NOTHING RETURNING start
            """, in: scope.space)
        return !rows.isEmpty
    }

    /// Makes the file of what arrived, unless another copy has done so; one statement.
    func finish(_ transfer: Transfer, as content: FileStore.Content, in scope: FileScope) async throws -> Bool {
        let (transfers, parts) = (try scope.space.own("_transfers"), try scope.space.own("_transfer_parts"))
        let with: PostgresQuery = """
            finished AS (
                UPDATE \(transfers) SET is_finished = TRUE WHERE id = \(transfer.id) AND NOT is_finished RETURNING id),
            used AS (DELETE FROM \(parts) AS p USING finished WHERE p.transfer = finished.id)
            """
        let rows = try await files.run(
            try files.put(
                content, at: transfer.path, transfer.grants, .none, scope, extra: (with, "EXISTS (SELECT FROM finished)")),
            in: scope.space)
        return !rows.isEmpty
    }

    /// False when there was none to be seen.
    func remove(_ id: String, in scope: FileScope) async throws -> Bool {
        let rows = try await files.run(
            """
            DELETE FROM \(try scope.space.own("_transfers"))
            WHERE id = \(id) AND (\(scope.identity == .master) OR uploader IS NOT DISTINCT FROM \(scope.identity.userID)::text) RETURNING id
            """, in: scope.space)
        return !rows.isEmpty
    }
}

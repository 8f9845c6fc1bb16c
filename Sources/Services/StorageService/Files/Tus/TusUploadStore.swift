import Crypto
import Foundation
import MartletAPI
import MartletCore
import MartletFiles
import MartletPostgres

/// Unfinished resumable uploads. All state is in the database and the back end, so each request may reach a different
/// copy of the service.
struct TusUploadStore: Sendable {
    /// The number of requests that may contribute bytes to one upload.
    static let maximumParts = 1_000
    /// The maximum number of unfinished uploads of one user, or of the callers without a user at one address.
    static let maximumOfUser = 100
    /// The maximum number of unfinished uploads of all callers without a user.
    static let maximumWithoutUser = 500
    /// The maximum number of unfinished uploads in a space.
    static let maximumInSpace = 1_000

    let files: FileStore

    struct Transfer: Sendable {
        var id: String
        var path: FilePath
        var sizeInBytes: Int
        var contentType: String?
        var grants: FileGrants
        /// The user who began it; nil for no particular user.
        var uploader: String?
        /// Whether the app's own server began it for no particular user.
        var isMaster: Bool
        var isFinished: Bool
        var expires: Date
        /// The number of bytes that have arrived.
        var offset: Int
        /// In order, without gaps.
        var parts: [Part]
    }

    struct Part: Sendable {
        var blob: BlobName
        var sizeInBytes: Int
    }

    /// - Parameter address: The caller's address from the gateway. Only its digest is stored, and only for callers
    ///   without a user.
    /// - Throws: `limit-exceeded`, `file-quota-exceeded`.
    func create(
        _ declaration: FileReceiver.Declaration, sizeInBytes: Int, expires: Date, from address: String,
        in scope: FileScope
    ) async throws -> String {
        let id = BlobName.random(in: scope.space.schema).id
        let (grants, transfers) = (declaration.grants, try scope.space.own("_transfers"))
        let uploader = scope.identity.userID
        let origin = scope.identity == .anonymous ? Self.digest(of: address, in: scope.space) : nil
        // Concurrent calls may exceed the limits slightly; they are not exact quotas.
        let unfinished: PostgresQuery = "(SELECT coalesce(sum(size), 0) FROM \(transfers) WHERE NOT is_finished)"
        let rows = try await files.run(
            """
            WITH \(try files.room(at: declaration.path, in: scope.space, isLocked: false))
            INSERT INTO \(transfers)
                (id, path, size, content_type, sets_readers, sets_writers, readers, writers, uploader, is_master, origin, expires)
            SELECT \(id), \(declaration.path.text), \(sizeInBytes)::bigint, \(declaration.contentType)::text, \(grants.readers != nil),
                \(grants.writers != nil), \(grants.readers)::text[], \(grants.writers)::text[], \(uploader)::text,
                \(scope.identity == .master), \(origin)::text, \(expires)
            FROM room WHERE \(files.fits(sizeInBytes: sizeInBytes, waiting: unfinished))
                AND (SELECT count(*) FROM \(transfers) WHERE NOT is_finished) < \(Self.maximumInSpace)
                AND (SELECT count(*) FROM \(transfers) WHERE NOT is_finished AND uploader = \(uploader)::text) < \(Self.maximumOfUser)
                AND (SELECT count(*) FROM \(transfers) WHERE NOT is_finished AND origin = \(origin)::text) < \(Self.maximumOfUser)
                AND (\(origin)::text IS NULL
                    OR (SELECT count(*) FROM \(transfers) WHERE NOT is_finished AND uploader IS NULL AND NOT is_master)
                        < \(Self.maximumWithoutUser))
            RETURNING id
            """, in: scope.space)
        guard !rows.isEmpty else {
            throw ServiceError(
                .limitExceeded,
                """
                Too many uploads are unfinished: at most \(Self.maximumOfUser) of one user or address, \
                \(Self.maximumWithoutUser) of callers without a user, and \(Self.maximumInSpace) in all.
                """)
        }
        return id
    }

    private static func digest(of address: String, in space: AppSchema) -> String {
        Base64URL.encode(SHA256.hash(data: Data("\(space.schema) \(address)".utf8)).prefix(12))
    }

    /// Nil if there is no such upload, it has expired, or someone else began it.
    func find(_ id: String, at now: Date, in scope: FileScope) async throws -> Transfer? {
        let rows = try await files.run(
            """
            SELECT t.path, t.size, t.content_type, t.sets_readers, t.sets_writers, t.readers, t.writers, t.is_finished, t.expires,
                t.uploader, t.is_master,
                coalesce(array_agg(p.blob ORDER BY p.start) FILTER (WHERE p.blob IS NOT NULL), '{}'),
                coalesce(array_agg(p.size ORDER BY p.start) FILTER (WHERE p.blob IS NOT NULL), '{}')
            FROM \(try scope.space.own("_transfers")) AS t
            LEFT JOIN \(try scope.space.own("_transfer_parts")) AS p ON p.transfer = t.id
            WHERE t.id = \(id) AND t.expires > \(now) AND \(Self.isOwn(scope))
            GROUP BY t.id
            """, in: scope.space)
        guard let row = rows.first else { return nil }
        let (blobs, sizes) = (try row.decode(11, as: [String].self), try row.decode(12, as: [Int].self))
        let parts = try zip(blobs, sizes).map { id, size in
            guard let blob = BlobName(space: scope.space.schema, id: id) else { throw ServiceError(.internalError) }
            return Part(blob: blob, sizeInBytes: size)
        }
        let (size, isFinished) = (try row.decode(1, as: Int.self), try row.decode(7, as: Bool.self))
        return Transfer(
            id: id, path: try FilePath(try row.decode(0, as: String.self)), sizeInBytes: size,
            contentType: try row.decode(2),
            grants: FileGrants(
                readers: try row.decode(3) ? try row.decode(5, as: [String]?.self) ?? [] : nil,
                writers: try row.decode(4) ? try row.decode(6, as: [String]?.self) ?? [] : nil),
            uploader: try row.decode(9), isMaster: try row.decode(10), isFinished: isFinished,
            expires: try row.decode(8),
            offset: isFinished ? size : sizes.reduce(0, +), parts: parts)
    }

    /// Records the bytes that have arrived at `start`; returns false if other bytes have arrived there, or the upload
    /// is gone.
    func append(_ blob: BlobName, sizeInBytes: Int, at start: Int, to id: String, in scope: FileScope) async throws
        -> Bool
    {
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

    /// Creates the file from the parts in a single statement. Returns false if another copy of the service has already
    /// done so, or if the caller may not write the file.
    func finish(_ transfer: Transfer, as content: FileStore.Content, in scope: FileScope) async throws -> Bool {
        let (transfers, parts) = (try scope.space.own("_transfers"), try scope.space.own("_transfer_parts"))
        let with: PostgresQuery = """
            finished AS (
                UPDATE \(transfers) SET is_finished = TRUE WHERE id = \(transfer.id) AND NOT is_finished RETURNING id),
            used AS (DELETE FROM \(parts) AS p USING finished WHERE p.transfer = finished.id)
            """
        let rows = try await files.write(
            try files.put(
                content, at: transfer.path, transfer.grants, .none, scope,
                extra: (with, "EXISTS (SELECT FROM finished)")),
            in: scope.space)
        return !rows.isEmpty
    }

    /// Returns false if there was no visible upload.
    func remove(_ id: String, in scope: FileScope) async throws -> Bool {
        let rows = try await files.run(
            """
            DELETE FROM \(try scope.space.own("_transfers"))
            WHERE id = \(id) AND \(Self.isOwn(scope)) RETURNING id
            """, in: scope.space)
        return !rows.isEmpty
    }

    /// The condition under which a row is visible: the caller began the upload. The master key sees everything.
    private static func isOwn(_ scope: FileScope) -> PostgresQuery {
        guard scope.identity != .master else { return "TRUE" }
        return "(NOT is_master AND uploader IS NOT DISTINCT FROM \(scope.identity.userID)::text)"
    }
}

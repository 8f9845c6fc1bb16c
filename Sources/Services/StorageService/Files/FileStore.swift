import Foundation
import MartletAPI
import MartletCore
import MartletFiles
import MartletPostgres

/// The database's records of an app's files. Every statement runs under the app's own role. Each change is one
/// statement; if it changes nothing, a second one finds the reason.
///
/// Triggers maintain the space's usage (`FileQuota`) and keep the readers in a file's history equal to those of the
/// file.
struct FileStore: Sendable {
    static let maximumPage = 1_000

    let postgres: PostgresClient
    let spaces: Spaces
    /// The server's quota, for spaces without their own limits.
    var quota = FileQuota.none
    /// Wakes the deliveries to scanners.
    var signal: ChangeSignal?

    /// Nil if the file does not exist or may not be read.
    ///
    /// - Throws: `file-scanning`, except for the app's server and staff; `file-refused`.
    func find(_ path: FilePath, in scope: FileScope) async throws -> File? {
        let file = try await findInAnyState(path, in: scope)
        try file?.requireReadable(evenWhileScanning: scope.identity == .master)
        return file
    }

    /// As `find`, but also returns a file that is being scanned or was refused. Call `requireReadable` before sending
    /// its bytes.
    func findInAnyState(_ path: FilePath, in scope: FileScope) async throws -> File? {
        let rows = try await run(
            """
            SELECT \(File.columns) FROM \(try scope.space.own("_files")) AS f
            WHERE path = \(path.text) AND \(scope.readable)
            """, in: scope.space)
        return try rows.first.map { try File($0, of: scope.space) }
    }

    /// One cell: the file's record. No row if there is no visible file.
    func describe(_ path: FilePath, in scope: FileScope) async throws -> PostgresRows {
        try await run(
            """
            SELECT \(Self.record(for: scope.identity)) FROM \(try scope.space.own("_files"))
            WHERE path = \(path.text) AND \(scope.readable)
            """, in: scope.space)
    }

    /// Checks, before any bytes arrive, whether the path may be written; `put` checks again.
    ///
    /// - Throws: `forbidden` if the path has someone else's file, or if it has none and the caller may not create one.
    func checkWritable(_ path: FilePath, in scope: FileScope) async throws {
        let rows = try await run(
            "SELECT \(scope.writable) FROM \(try scope.space.own("_files")) WHERE path = \(path.text)",
            in: scope.space)
        guard let row = rows.first else {
            guard scope.mayCreate else { throw Self.anonymous }
            return
        }
        guard try row.decode(0, as: Bool.self) else { throw scope.mayCreate ? Self.forbidden : Self.anonymous }
    }

    struct Written: Sendable {
        /// One cell: the file's record.
        var rows: PostgresRows
        var isNew: Bool
    }

    /// Creates a file from a blob, or a new version of one, and records the upload.
    ///
    /// - Throws: `forbidden`, `precondition-failed`, `file-quota-exceeded`.
    func put(
        _ content: Content, at path: FilePath, _ grants: FileGrants, if condition: FileCondition, in scope: FileScope
    ) async throws
        -> Written
    {
        let rows = try await write(try put(content, at: path, grants, condition, scope), in: scope.space)
        if let row = rows.first { return Written(rows: rows, isNew: try row.decode(1)) }
        // Nothing was written, because the caller may not write it or the precondition failed.
        try await checkWritable(path, in: scope)
        throw ServiceError(.preconditionFailed)
    }

    /// The properties of a new version of a file.
    struct Content: Sendable {
        var blob: BlobName
        var sizeInBytes: Int
        var sha256: String
        var contentType: String

        init(_ written: WrittenFile, _ blob: BlobName, declaredType: String?) {
            self.blob = blob
            sizeInBytes = written.sizeInBytes
            sha256 = written.sha256
            contentType = ContentType.decide(declared: declaredType, prefix: written.prefix)
        }
    }

    /// Runs the statement of `put`.
    func write(_ statement: PostgresQuery, in space: AppSchema) async throws -> PostgresRows {
        let rows = try await run(statement, in: space)
        if try rows.first?.decode(2, as: Bool.self) == true { signal?.written(in: space) }
        return rows
    }

    /// The statement of `put`. Its cells are the record, whether the file is new, and whether it has to be scanned.
    ///
    /// While there is a `scanFile` hook, the file is not readable before the hook's verdict.
    ///
    /// - Parameter extra: An additional `WITH` part, and a condition; if it is false, nothing is written.
    func put(
        _ content: Content, at path: FilePath, _ grants: FileGrants, _ condition: FileCondition, _ scope: FileScope,
        extra: (with: PostgresQuery, condition: PostgresQuery)? = nil
    ) throws -> PostgresQuery {
        let (files, uploads) = (try scope.space.own("_files"), try scope.space.own("_uploads"))
        let owner = scope.identity.userID
        let source: PostgresQuery = """
            SELECT \(path.text), \(UUID().uuidString.lowercased()), \(content.blob.id), \(content.sizeInBytes)::bigint, \(content.sha256), \
            \(content.contentType), \(owner)::text, \(grants.readers ?? scope.defaultList)::text[], \
            \(grants.writers ?? scope.defaultList)::text[],
            (SELECT 'scanning' FROM \(try scope.space.own("_hooks")) WHERE event = 'scanFile' AND enabled LIMIT 1)
            """
        var filters: [PostgresQuery] = [fits(sizeInBytes: content.sizeInBytes)]
        if !scope.mayCreate { filters.append("(SELECT files FROM held) > 0") }
        if let extra { filters.append(extra.condition) }
        var replaced: [PostgresQuery] = [scope.writable(of: "f")]
        switch condition {
        case .none: break
        case .mustBeNew: replaced.append("FALSE")
        case .mustBe(let tags):
            filters.append("(SELECT files FROM held) > 0")
            if let tags { replaced.append("f.sha256 = ANY (\(tags))") }
        }
        return """
            WITH \(extra.map { $0.with + ", " } ?? "")\(try room(at: path, in: scope.space)),
            stored AS (
                INSERT INTO \(files) AS f (path, id, blob, size, sha256, content_type, owner, readers, writers, state)
                \(source) FROM room WHERE \(filters.joined(separator: " AND "))
                ON CONFLICT (path) DO UPDATE SET
                    blob = excluded.blob, size = excluded.size, sha256 = excluded.sha256, content_type = excluded.content_type,
                    readers = CASE WHEN \(grants.readers != nil) THEN excluded.readers ELSE f.readers END,
                    writers = CASE WHEN \(grants.writers != nil) THEN excluded.writers ELSE f.writers END,
                    state = excluded.state, reason = NULL, updated = now(), version = f.version + 1
                WHERE \(replaced.joined(separator: " AND "))
                RETURNING f.*, f.xmax = 0 AS is_new),
            recorded AS (
                INSERT INTO \(uploads) (path, file, version, size, sha256, content_type, uploader, credential, readers)
                SELECT path, id, version, size, sha256, content_type, \(owner)::text, \(scope.credentialID), readers FROM stored)
            SELECT \(Self.record(for: scope.identity)), is_new, state IS NOT NULL FROM stored
            """
    }

    /// Changes the readers and writers of a file, and with them the readers of its history. No row if there is no
    /// visible file.
    ///
    /// - Parameter binding: Nil keeps the current one. If a file that everyone may read is bound, the caller becomes
    ///   its only reader.
    /// - Throws: `forbidden`.
    func change(_ path: FilePath, _ grants: FileGrants, _ binding: FileBinding? = nil, in scope: FileScope)
        async throws -> PostgresRows
    {
        let own = scope.identity.userID.map { [$0] } ?? []
        let kept: PostgresQuery = binding?.object == nil ? "readers" : "coalesce(readers, \(own)::text[])"
        let rows = try await run(
            """
            WITH changed AS (
                UPDATE \(try scope.space.own("_files")) SET
                    readers = CASE WHEN \(grants.readers != nil) THEN \(grants.readers)::text[] ELSE \(kept) END,
                    writers = CASE WHEN \(grants.writers != nil) THEN \(grants.writers)::text[] ELSE writers END,
                    \(binding?.assignments ?? "")updated = now()
                WHERE path = \(path.text) AND \(scope.writable) RETURNING *)
            SELECT \(Self.record(for: scope.identity)) FROM changed
            """, in: scope.space)
        if rows.isEmpty, try await findInAnyState(path, in: scope) != nil { throw Self.forbidden }
        return rows
    }

    /// Deletes a file; returns false if there is no visible file. The blob is left to `OrphanFileSweep`, because
    /// someone may still be reading it.
    ///
    /// - Throws: `forbidden`, `precondition-failed`.
    func remove(_ path: FilePath, if condition: FileCondition, in scope: FileScope) async throws -> Bool {
        let files = try scope.space.own("_files")
        var tags: PostgresQuery = "TRUE"
        if case .mustBe(let list?) = condition { tags = "f.sha256 = ANY (\(list))" }
        let rows = try await run(
            """
            WITH \(try room(at: path, in: scope.space)),
            found AS (
                SELECT path, \(scope.writable) AS writable FROM \(files)
                WHERE EXISTS (SELECT FROM room) AND path = \(path.text) AND \(scope.readable) FOR UPDATE),
            gone AS (
                DELETE FROM \(files) AS f USING found WHERE f.path = found.path AND found.writable AND \(tags) RETURNING f.*)
            SELECT writable, EXISTS (SELECT FROM gone) FROM found
            """, in: scope.space)
        guard let row = rows.first else { return false }
        guard try row.decode(0, as: Bool.self) else { throw Self.forbidden }
        guard try row.decode(1, as: Bool.self) else { throw ServiceError(.preconditionFailed) }
        return true
    }

    /// A page of the entries directly in a directory, by name: one cell with the record of each.
    ///
    /// Skips from entry to entry in the primary key's index, so the cost depends on the size of the page, not of the
    /// subtree.
    ///
    /// - Parameter cursor: The name of the previous page's last entry, followed by a slash if it was a directory.
    func list(_ directory: DirectoryPath, after cursor: String?, limit: Int, in scope: FileScope) async throws
        -> PostgresRows
    {
        let files = try scope.space.own("_files")
        let prefix = directory.text
        // "0" follows "/", so it sorts after everything in a directory. \u{1} is the smallest character that can follow
        // a name.
        let start = cursor.map { prefix + ($0.hasSuffix("/") ? $0.dropLast() + "0" : $0 + "\u{1}") } ?? prefix
        let end = prefix.isEmpty ? nil : String(prefix.dropLast()) + "0"
        let next: PostgresQuery = """
            SELECT path FROM \(files) WHERE path >= \(start) AND (\(end)::text IS NULL OR path < \(end)::text COLLATE "C") \
            AND \(scope.readable) ORDER BY path LIMIT 1
            """
        return try await run(
            """
            WITH RECURSIVE entries (path, number) AS (
                (SELECT path, 1 FROM (\(next)) AS first)
                UNION ALL
                SELECT (
                    SELECT f.path FROM \(files) AS f
                    WHERE f.path >= (CASE
                            WHEN strpos(substr(e.path, length(\(prefix)) + 1), '/') > 0
                            THEN \(prefix) || split_part(substr(e.path, length(\(prefix)) + 1), '/', 1) || '0'
                            ELSE e.path || chr(1) END) COLLATE "C"
                        AND (\(end)::text IS NULL OR f.path < \(end)::text COLLATE "C") AND \(scope.readable)
                    ORDER BY f.path LIMIT 1), e.number + 1
                FROM entries AS e WHERE e.path IS NOT NULL AND e.number < \(limit)),
            named AS (
                SELECT path, number, substr(path, length(\(prefix)) + 1) AS rest FROM entries WHERE path IS NOT NULL)
            SELECT CASE WHEN strpos(n.rest, '/') > 0
                THEN json_build_object(
                    'name', split_part(n.rest, '/', 1), 'path', \(prefix) || split_part(n.rest, '/', 1) || '/', 'isDirectory', TRUE)::text
                ELSE (SELECT \(Self.record(for: scope.identity)) FROM \(files) AS f WHERE f.path = n.path) END
            FROM named AS n ORDER BY number
            """, in: scope.space)
    }

    /// A page of the upload history, newest first: one cell with the record of each. Excludes paths whose current file
    /// may not be read.
    func history(of target: FileTarget, before id: Int?, limit: Int, in scope: FileScope) async throws -> PostgresRows {
        let condition: PostgresQuery
        switch target {
        case .file(let path): condition = "path = \(path.text)"
        case .directory(let directory) where directory.text.isEmpty: condition = "TRUE"
        case .directory(let directory):
            condition = "path >= \(directory.text) AND path < \(String(directory.text.dropLast()) + "0")"
        }
        return try await run(
            """
            SELECT json_strip_nulls(json_build_object(
                'id', id, 'at', to_char(at, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'path', path, '_version', version, 'size', size,
                'sha256', sha256, 'contentType', content_type, 'uploader', uploader))::text
            FROM \(try scope.space.own("_uploads")) AS u
            WHERE \(condition) AND \(scope.readable) AND id < \(id ?? Int.max) AND NOT EXISTS (
                SELECT FROM \(try scope.space.own("_files")) AS f WHERE f.path = u.path AND NOT \(scope.readable(of: "f")))
            ORDER BY id DESC LIMIT \(limit)
            """, in: scope.space)
    }

    /// A file's record as JSON text. Only the file's owner, the app's server and staff see why a file was refused,
    /// and to what it is bound.
    static func record(for identity: Identity) -> PostgresQuery {
        let isOwner: PostgresQuery = identity == .master ? "TRUE" : "owner = \(identity.userID)::text"
        return """
            json_strip_nulls(json_build_object(
                'name', regexp_replace(path, '^.*/', ''), 'path', path, 'size', size, 'contentType', content_type, 'sha256', sha256,
                'owner', owner, 'created', to_char(created, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
                'updated', to_char(updated, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), '_readers', readers, '_writers', writers,
                '_version', version, 'state', state, 'reason', CASE WHEN \(isOwner) THEN reason END,
                '_object', CASE WHEN \(isOwner) AND object_id IS NOT NULL THEN json_build_object(
                    'className', object_collection, 'objectId', object_id, 'key', object_key) END))::text
            """
    }

    static let forbidden = ServiceError(.forbidden, "You are not among the file's writers.")
    /// The message does not depend on the path, because there may be a file that the caller may not see.
    static let anonymous = ServiceError(
        .forbidden, "In this environment, only signed-in users can store new files.")

    static func blob(_ row: PostgresRow, _ column: Int, of space: AppSchema) throws -> BlobName {
        guard let blob = BlobName(space: space.schema, id: try row.decode(column)) else {
            throw ServiceError(.internalError)
        }
        return blob
    }

    func run(_ statement: PostgresQuery, in space: AppSchema) async throws -> PostgresRows {
        try await spaces.query(statement, in: space, on: postgres)
    }
}

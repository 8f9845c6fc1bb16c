import MartletAPI
import MartletCore
import MartletPostgres

/// The maximum number and total size of the files in an app's environment; nil for no limit.
///
/// Every file counts with its current size. Earlier versions, thumbnails and unfinished uploads do not count, but a
/// resumable upload requires room for its declared size when it begins.
struct FileQuota: Sendable, Equatable {
    var maximumFiles: Int?
    var maximumBytes: Int?

    static let none = FileQuota()

    static let exceeded = ServiceError(.fileQuotaExceeded)
}

/// The usage of an environment's files, with their limits: the environment's own, otherwise the server's.
struct FileUsage: Encodable, Sendable, Equatable {
    var files: Int
    var bytes: Int
    /// The size of unfinished resumable uploads.
    var unfinishedBytes: Int
    /// Nil for no limit.
    var maximumFiles: Int?
    var maximumBytes: Int?
    /// Whether the limits are the server's.
    var isDefault: Bool
}

extension FileStore {
    func usage(of space: AppSchema) async throws -> FileUsage {
        let rows = try await run(
            """
            SELECT files, bytes, maximum_files, maximum_bytes, (
                SELECT coalesce(sum(size), 0)::bigint FROM \(try space.own("_transfers")) WHERE NOT is_finished)
            FROM \(try space.own("_file_usage"))
            """, in: space)
        guard let row = rows.first else { throw ServiceError(.internalError, cause: "the space has no usage row") }
        let own = FileQuota(maximumFiles: try row.decode(2), maximumBytes: try row.decode(3))
        return FileUsage(
            files: try row.decode(0), bytes: try row.decode(1), unfinishedBytes: try row.decode(4),
            maximumFiles: own.maximumFiles ?? quota.maximumFiles, maximumBytes: own.maximumBytes ?? quota.maximumBytes,
            isDefault: own == .none)
    }

    /// Sets the space's own limits; nil restores the server's. Files beyond a new limit are kept, but none can be
    /// added.
    func limit(_ space: AppSchema, to own: FileQuota) async throws {
        _ = try await run(
            """
            UPDATE \(try space.own("_file_usage")) SET maximum_files = \(own.maximumFiles), maximum_bytes = \(own.maximumBytes)
            """, in: space)
    }

    /// Checks, before any bytes arrive and without waiting for locks, whether there is room; `put` checks again.
    ///
    /// - Throws: `file-quota-exceeded` if there is not even room for one byte.
    func checkRoom(at path: FilePath, in space: AppSchema) async throws {
        _ = try await run(
            "WITH \(try room(at: path, in: space, isLocked: false)) SELECT FROM room WHERE \(fits(sizeInBytes: 1))",
            in: space)
    }

    /// The parts `room` and `held` of a statement: the space's usage, and the usage of the file at the path.
    ///
    /// - Parameter isLocked: Whether to read the current values instead of those at the start of the statement, and to
    ///   lock them until the transaction ends. To avoid deadlocks, `room` must be locked before rows of `_files`.
    func room(at path: FilePath, in space: AppSchema, isLocked: Bool = true) throws -> PostgresQuery {
        let lock: PostgresQuery = isLocked ? " FOR UPDATE" : ""
        return """
            room AS MATERIALIZED (
                SELECT files, bytes, coalesce(maximum_files, \(quota.maximumFiles)::bigint) AS maximum_files,
                    coalesce(maximum_bytes, \(quota.maximumBytes)::bigint) AS maximum_bytes
                FROM \(try space.own("_file_usage"))\(lock)),
            earlier AS (SELECT size FROM \(try space.own("_files")) WHERE EXISTS (SELECT FROM room) AND path = \(path.text)\(lock)),
            held AS (SELECT count(*) AS files, coalesce(sum(size), 0) AS bytes FROM earlier)
            """
    }

    /// Whether a file fits, as a condition for a statement with `room`; the statement fails if it does not. A file that
    /// does not grow always fits.
    ///
    /// - Parameter waiting: Additional bytes for which there must be room.
    func fits(sizeInBytes: Int, waiting: PostgresQuery = "0") -> PostgresQuery {
        """
        ((((SELECT files FROM held) > 0 OR room.maximum_files IS NULL OR room.files < room.maximum_files)
            AND (\(sizeInBytes)::bigint <= (SELECT bytes FROM held) OR room.maximum_bytes IS NULL
                OR room.bytes + \(sizeInBytes)::bigint - (SELECT bytes FROM held) + \(waiting) <= room.maximum_bytes))
            OR storage.fail('MT413', 'quota'))
        """
    }
}

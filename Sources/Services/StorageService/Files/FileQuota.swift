import MartletAPI
import MartletHTTP
import MartletPostgres

/// How many files an environment of an app may have, and how large they may be in all; nil: no limit.
///
/// What counts is every file as it is now, not its earlier bytes, thumbnails, or what is on its way; a resumable upload
/// needs room for all of it when it begins.
struct FileQuota: Sendable, Equatable {
    var maximumFiles: Int?
    var maximumBytes: Int?

    static let none = FileQuota()

    static let exceeded = HTTPProblem(.fileQuotaExceeded)
}

/// What an environment's files come to, and their limits: its own, else the server's.
struct FileUsage: Encodable, Sendable, Equatable {
    var files: Int
    var bytes: Int
    /// Of resumable uploads that are not finished.
    var unfinishedBytes: Int
    /// Nil: there is none.
    var maximumFiles: Int?
    var maximumBytes: Int?
    /// Whether these are the server's.
    var isDefault: Bool
}

extension FileStore {
    func usage(of space: AppSpace) async throws -> FileUsage {
        let rows = try await run(
            """
            SELECT files, bytes, maximum_files, maximum_bytes, (
                SELECT coalesce(sum(size), 0)::bigint FROM \(try space.own("_transfers")) WHERE NOT is_finished)
            FROM \(try space.own("_file_usage"))
            """, in: space)
        guard let row = rows.first else { throw HTTPProblem(.internalError, cause: "the space's usage is not there") }
        let own = FileQuota(maximumFiles: try row.decode(2), maximumBytes: try row.decode(3))
        return FileUsage(
            files: try row.decode(0), bytes: try row.decode(1), unfinishedBytes: try row.decode(4),
            maximumFiles: own.maximumFiles ?? quota.maximumFiles, maximumBytes: own.maximumBytes ?? quota.maximumBytes,
            isDefault: own == .none)
    }

    /// Gives the space limits of its own; what is nil is the server's again. Files beyond a new limit stay, and no more
    /// come.
    func limit(_ space: AppSpace, to own: FileQuota) async throws {
        _ = try await run(
            """
            UPDATE \(try space.own("_file_usage")) SET maximum_files = \(own.maximumFiles), maximum_bytes = \(own.maximumBytes)
            """, in: space)
    }

    /// For asking before the bytes come, waiting for nobody; `put` asks again.
    ///
    /// - Throws: `file-quota-exceeded` when not even one byte would have room.
    func checkRoom(at path: FilePath, in space: AppSpace) async throws {
        _ = try await run(
            "WITH \(try room(at: path, in: space, isLocked: false)) SELECT FROM room WHERE \(fits(sizeInBytes: 1))",
            in: space)
    }

    /// The parts `room` and `held` of a statement: the space's usage, and what the path has.
    ///
    /// - Parameter isLocked: both are as they are now, not as they were when the statement began, and nobody else
    ///   changes them until the transaction ends. Whoever locks rows of `_files` takes `room` first, so that two never
    ///   wait for each other.
    func room(at path: FilePath, in space: AppSpace, isLocked: Bool = true) throws -> PostgresQuery {
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

    /// Whether a file fits, as a condition where `room` is read; the statement fails when it does not. One that does
    /// not grow always fits.
    ///
    /// - Parameter waiting: further bytes that are to have room.
    func fits(sizeInBytes: Int, waiting: PostgresQuery = "0") -> PostgresQuery {
        """
        ((((SELECT files FROM held) > 0 OR room.maximum_files IS NULL OR room.files < room.maximum_files)
            AND (\(sizeInBytes)::bigint <= (SELECT bytes FROM held) OR room.maximum_bytes IS NULL
                OR room.bytes + \(sizeInBytes)::bigint - (SELECT bytes FROM held) + \(waiting) <= room.maximum_bytes))
            OR storage.fail('MT413', 'quota'))
        """
    }
}

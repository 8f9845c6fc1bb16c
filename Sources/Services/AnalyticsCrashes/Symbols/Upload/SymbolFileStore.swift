import Foundation
import MartletFiles
import MartletJobs
import MartletPostgres

/// Debug files: being assembled, complete or refused.
struct SymbolFileStore: Sendable {
    let postgres: PostgresClient
    let queue: JobQueue

    /// Named as in `sentry-cli`.
    enum State: String, Sendable {
        case created, assembling, ok, error
    }

    struct Status: Sendable {
        var state: State
        var detail: String?
        /// Sentry's "dif" object, if the state is ok.
        var json: String?
    }

    /// The states of files by their SHA-1. Errors older than a minute are ignored, so that the upload can be retried.
    func status(_ sha1s: [String], of appID: String) async throws -> [String: Status] {
        let rows = try await postgres.query(
            """
            SELECT sha1, state, detail, CASE state WHEN 'ok' THEN (
                SELECT jsonb_build_object('id', d.id, 'uuid', d.debug_id, 'debugId', d.debug_id, 'cpuName', d.architecture,
                    'objectName', f.name, 'symbolType', CASE d.kind WHEN 'elf' THEN 'elf' WHEN 'sources' THEN 'sourcebundle' ELSE 'macho' END, 'size', f.size, 'sha1', f.sha1,
                    'headers', '{}'::jsonb, 'dateCreated', \(PostgresQuery.rfc3339("f.created")), 'data', jsonb_build_object(
                        'type', CASE d.kind WHEN 'dsym' THEN 'dbg' WHEN 'sources' THEN 'src' ELSE 'exe' END,
                        'features', CASE WHEN d.kind = 'sources' THEN '["sources"]'::jsonb WHEN d.has_debug_information THEN '["symtab","debug"]'::jsonb ELSE '["symtab"]'::jsonb END))::text
                FROM analytics.debug_files AS d WHERE d.file = f.id ORDER BY d.debug_id = f.expected DESC NULLS LAST, d.start LIMIT 1) END
            FROM analytics.symbol_files AS f WHERE app_id = \(appID) AND sha1 = ANY (\(sha1s))
                AND (state <> 'error' OR changed > now() - interval '1 minute')
            """)
        return try Dictionary(
            uniqueKeysWithValues: rows.map { row in
                (
                    try row.decode(0, as: String.self),
                    Status(
                        state: State(rawValue: try row.decode(1)) ?? .error, detail: try row.decode(2),
                        json: try row.decode(3))
                )
            })
    }

    /// A file whose chunks are complete.
    struct Declaration: Sendable {
        var sha1: String
        var name: String
        var expected: DebugID?
        var chunks: [String]
        var sizeInBytes: Int
    }

    /// Inserts a file and enqueues its assembly. Returns false if the app has no room for it, or if another caller has
    /// just begun.
    func begin(_ file: Declaration, of appID: String, by author: String, maximumAppSizeInBytes: Int) async throws
        -> Bool
    {
        try await postgres.withTransaction { transaction in
            try await transaction.execute(
                "DELETE FROM analytics.symbol_files WHERE app_id = \(appID) AND sha1 = \(file.sha1) AND state = 'error'"
            )
            let rows = try await transaction.query(
                """
                INSERT INTO analytics.symbol_files (app_id, sha1, name, size, chunks, expected, author)
                SELECT \(appID), \(file.sha1), \(file.name), \(file.sizeInBytes), \(file.chunks), \(file.expected?.description), \(author)
                WHERE \(file.sizeInBytes) + (
                    SELECT coalesce(sum(size), 0) FROM analytics.symbol_files WHERE app_id = \(appID) AND state <> 'error')
                    <= \(maximumAppSizeInBytes)
                ON CONFLICT (app_id, sha1) DO NOTHING RETURNING id
                """)
            guard let id = try rows.first?.decode(0, as: UUID.self) else { return false }
            // Two lanes per app, because assembling is heavy on the disk.
            let options = JobOptions(scope: appID, lane: "symbols.\(id.uuid.15 % 2)", priority: -1)
            try await queue.enqueue(
                AssembleSymbolFile.self, AssembleSymbolFile.Parameters(file: id), options, in: transaction)
            return true
        }
    }

    struct Pending: Sendable {
        var id: UUID
        var appID: String
        var sha1: String
        var chunks: [String]
        var expected: DebugID?
        var sizeInBytes: Int
    }

    /// Nil if the file is already complete, refused or deleted.
    func startAssembling(_ id: UUID) async throws -> Pending? {
        let rows = try await postgres.query(
            """
            UPDATE analytics.symbol_files SET state = 'assembling', changed = now() WHERE id = \(id) AND state IN ('created', 'assembling')
            RETURNING app_id, sha1, chunks, expected, size
            """)
        return try rows.first.map { row in
            Pending(
                id: id, appID: try row.decode(0), sha1: try row.decode(1), chunks: try row.decode(2),
                expected: (try row.decode(3, as: String?.self)).flatMap { DebugID($0) }, sizeInBytes: try row.decode(4))
        }
    }

    /// Puts an assembled file into use. Enqueues jobs for the reports that wait for the file, and for those whose
    /// sources the file contains. Returns false if the file was deleted meanwhile.
    func finish(_ file: Pending, as blob: BlobName, _ parts: [ObjectFile.Part]) async throws -> Bool {
        try await postgres.withTransaction { transaction in
            let exists =
                try await transaction.execute(
                    """
                    UPDATE analytics.symbol_files SET state = 'ok', blob = \(blob.id), chunks = '{}', detail = NULL, changed = now()
                    WHERE id = \(file.id) AND state = 'assembling'
                    """) == 1
            guard exists else { return false }
            for part in parts {
                try await transaction.execute(
                    """
                    INSERT INTO analytics.debug_files (
                        app_id, file, debug_id, architecture, kind, has_debug_information, address, start, length)
                    VALUES (\(file.appID), \(file.id), \(part.debugID.description), \(part.architecture), \(part.kind.rawValue),
                        \(part.hasDebugInformation), \(Int64(bitPattern: part.address)), \(part.range.lowerBound), \(part.range.count))
                    """)
            }
            // Reports do not wait for sources.
            for debugID in Set(parts.filter { $0.kind != .sources }.map(\.debugID)) {
                try await SymbolicateAgain.enqueue(debugID, of: file.appID, queue, transaction)
            }
            for part in parts where part.kind == .sources {
                try await AddSources.enqueue(part.debugID, of: file.appID, queue, transaction)
            }
            return true
        }
    }

    /// Marks a file as refused, even if the current task is cancelled.
    ///
    /// - Parameter detail: The reason, worded for the sender.
    func refuse(_ id: UUID, _ detail: String) async throws {
        // In a new task, because that of the job is cancelled at the time limit.
        _ = try await Task {
            try await postgres.execute(
                """
                UPDATE analytics.symbol_files SET state = 'error', detail = \(detail), chunks = '{}', changed = now()
                WHERE id = \(id) AND state IN ('created', 'assembling')
                """)
        }.value
    }

    /// Marks files that no job works on any more as failed, and deletes errors older than a day.
    func tidy() async throws {
        try await postgres.execute(
            """
            UPDATE analytics.symbol_files SET state = 'error',
                detail = 'The file was not assembled in time. Upload it again.', chunks = '{}', changed = now()
            WHERE state IN ('created', 'assembling') AND changed < now() - interval '1 day'
            """)
        try await postgres.execute(
            "DELETE FROM analytics.symbol_files WHERE state = 'error' AND changed < now() - interval '1 day'")
    }
}

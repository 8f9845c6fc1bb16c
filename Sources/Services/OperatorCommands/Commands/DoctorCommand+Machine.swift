import AuthService
import Foundation
import MartletHTTP
import MartletPostgres

/// Findings about the machine, and about what will stop the database unless an operator acts.
extension DoctorCommand {
    // MARK: The database

    /// A transaction that is open for longer keeps vacuum from removing rows.
    private static let longTransactionInSeconds = 3_600.0
    private static let lateJobInSeconds = 3_600.0
    private static let largeSlotInBytes = 10 << 30
    /// Autovacuum freezes rows from 200 million transactions on. PostgreSQL stops writing at about 2.1 billion.
    private static let highTransactionAge = 500_000_000

    struct DatabaseFigures {
        var connections: Int
        var maximumConnections: Int
        var transactionAge: Int
        var archiveFails: Bool
        var slotSizeInBytes: Int
        var oldestTransactionInSeconds: Double
        /// Services whose jobs have been due for too long.
        var servicesWithLateJobs: [String]
        var invalidIndexes: [String]
    }

    /// Nil if the functions that it needs have not been created yet; then the findings about schemas say so.
    static func databaseFigures(_ client: PostgresClient) async throws -> DatabaseFigures? {
        do {
            let row = try await client.query(
                """
                SELECT r.connections, r.maximum_connections, r.transaction_age, r.archive_fails, r.slot_bytes, f.oldest,
                    ARRAY (
                        SELECT j.key FROM jsonb_each_text(r.job_seconds) AS j
                        WHERE j.value::float8 > \(Self.lateJobInSeconds) ORDER BY 1),
                    ARRAY (
                        SELECT format('%I.%I', n.nspname, c.relname) FROM pg_index AS i
                        JOIN pg_class AS c ON c.oid = i.indexrelid JOIN pg_namespace AS n ON n.oid = c.relnamespace
                        -- An index that is being built is not valid either.
                        WHERE NOT i.indisvalid AND NOT EXISTS (
                            SELECT FROM pg_stat_progress_create_index AS p WHERE p.index_relid = i.indexrelid)
                        ORDER BY 1 LIMIT 5)
                FROM auth.database_risks() AS r, auth.database_figures() AS f
                """)[0]
            return DatabaseFigures(
                connections: try row.decode(0), maximumConnections: try row.decode(1),
                transactionAge: try row.decode(2), archiveFails: try row.decode(3), slotSizeInBytes: try row.decode(4),
                oldestTransactionInSeconds: try row.decode(5), servicesWithLateJobs: try row.decode(6),
                invalidIndexes: try row.decode(7))
        } catch let error as PostgresError where ["42883", "42P01", "3F000"].contains(error.sqlState) {
            return nil
        }
    }

    static func findings(_ figures: DatabaseFigures) -> [Finding] {
        let limit = figures.maximumConnections
        let late = figures.servicesWithLateJobs.joined(separator: ", ")
        let invalid = figures.invalidIndexes.joined(separator: ", ")
        return [
            Finding(
                "less than 90 % of the \(limit) connections to PostgreSQL are in use",
                isGood: figures.connections * 10 < limit * 9,
                otherwise: "raise max_connections, or lower database.connections or the number of copies"),
            Finding(
                "no transaction has been open for more than an hour",
                isGood: figures.oldestTransactionInSeconds < longTransactionInSeconds,
                otherwise: "vacuum cannot clean up; find it with GET /admin/database or in pg_stat_activity"),
            Finding(
                "old rows are frozen early enough", isGood: figures.transactionAge < highTransactionAge,
                otherwise: """
                    \(figures.transactionAge / 1_000_000) million transactions since the oldest one; PostgreSQL stops \
                    writing at about 2,100 million. End old transactions and slots, then vacuumdb --all --freeze
                    """),
            Finding(
                "WAL can be archived", isGood: !figures.archiveFails,
                otherwise: """
                    the last attempt failed, so WAL fills the disk and backups stop; see last_failed_wal in \
                    pg_stat_archiver and the log of PostgreSQL
                    """),
            Finding(
                "no replication slot keeps more than 10 GiB of WAL", isGood: figures.slotSizeInBytes < largeSlotInBytes,
                otherwise: "start the standby that uses it, or pg_drop_replication_slot (pg_replication_slots)"),
            Finding(
                "no job has been due for more than an hour", isGood: late.isEmpty,
                otherwise: "jobs of \(late) have been; look for errors in the log of the service"),
            Finding(
                "no index is left over from a failed build", isGood: invalid.isEmpty,
                otherwise: "\(invalid); drop it with DROP INDEX CONCURRENTLY and create it again", isOnlyNote: true),
        ]
    }

    // MARK: Backups

    /// What the package's `martlet backup` has recorded (deploy/debian/libexec/backup).
    struct BackupState {
        var lastBackup: Date?
        var lastProof: Date?
        /// Whether the last trial restore of a backup succeeded.
        var isProofGood = true
        /// A command whose last run failed: `now failed at 2026-11-28T03:00:04Z`.
        var failure: String?
        /// From this age on, the last backup is late: a day longer than the longest pause of the schedule.
        var limitInSeconds = 2 * 86_400.0
    }

    /// The folder with the records of `martlet backup`.
    static var backupFolder: String {
        ProcessInfo.processInfo.environment["MARTLET_BACKUP_DIRECTORY"] ?? AuthOptions().backupDirectory
    }

    /// Nil if no backup was made on this machine.
    static func backupState(in folder: URL) -> BackupState? {
        struct Backup: Decodable { var time: Date }
        struct Proof: Decodable {
            var time: Date
            var result: String
        }
        struct Run: Decodable {
            var command: String
            var time: String
            var result: String
        }
        func read<Value: Decodable>(_ name: String, as type: Value.Type) -> Value? {
            guard let content = try? Data(contentsOf: folder.appending(path: name)) else { return nil }
            let decoder = JSONDecoder()
            decoder.dateDecodingStrategy = .iso8601
            return try? decoder.decode(type, from: content)
        }
        let backups = read("backups.json", as: [Backup].self)
        let runs = read("runs.json", as: [Run].self)
        guard backups != nil || runs != nil else { return nil }
        let proof = read("proof.json", as: Proof.self)
        // Other commands may have run since then.
        let last = Dictionary((runs ?? []).map { ($0.command, $0) }) { _, later in later }.values
        let failed = last.filter { $0.result == "failed" }.min { $0.time < $1.time }
        let failure = failed.map { "\($0.command) failed at \($0.time)" }
        var state = BackupState(
            lastBackup: backups?.map(\.time).max(), lastProof: proof?.time, isProofGood: proof?.result != "bad",
            failure: failure)
        let limit = try? String(contentsOf: folder.appending(path: "limit"), encoding: .utf8)
        if let limit, let seconds = Double(limit.trimmingCharacters(in: .whitespacesAndNewlines)) {
            state.limitInSeconds = seconds
        }
        return state
    }

    static func findings(_ state: BackupState?, now: Date) -> [Finding] {
        guard let state else {
            return [
                Finding(
                    "backups are made", isGood: false,
                    otherwise: "martlet backup has made none on this machine (martlet backup now)", isOnlyNote: true)
            ]
        }
        func isYounger(_ time: Date?, seconds: Double) -> Bool {
            time.map { now.timeIntervalSince($0) < seconds } ?? false
        }
        return [
            Finding(
                "the last backup is not late", isGood: isYounger(state.lastBackup, seconds: state.limitInSeconds),
                otherwise: "journalctl -u 'martlet-backup@*', then martlet backup now"),
            Finding(
                "the last run of each martlet backup command did not fail", isGood: state.failure == nil,
                otherwise: "\(state.failure ?? ""); martlet backup history"),
            Finding(
                "the last trial restore of a backup succeeded", isGood: state.isProofGood,
                otherwise: "it did not; martlet backup verify says what differs"),
            Finding(
                "the last trial restore of a backup is less than 15 days old",
                isGood: isYounger(state.lastProof, seconds: 15 * 86_400),
                otherwise: (state.lastProof == nil ? "there was none; " : "") + "martlet backup verify",
                isOnlyNote: true),
        ]
    }

    // MARK: The machine

    /// One finding for each file system that has one of the folders. Folders that do not exist are ignored.
    static func diskFindings(_ folders: [String]) -> [Finding] {
        var known: Set<Int> = []
        return folders.compactMap { folder in
            guard let attributes = try? FileManager.default.attributesOfFileSystem(forPath: folder),
                let size = (attributes[.systemSize] as? NSNumber)?.doubleValue,
                let free = (attributes[.systemFreeSize] as? NSNumber)?.doubleValue, size > 0,
                known.insert((attributes[.systemNumber] as? NSNumber)?.intValue ?? 0).inserted
            else { return nil }
            return diskFinding(folder, size: size, free: free)
        }
    }

    static func diskFinding(_ folder: String, size: Double, free: Double) -> Finding {
        let gibibyte = Double(1 << 30)
        let isGood = free >= gibibyte && (free >= size / 20 || free >= 20 * gibibyte)
        return Finding(
            "enough of the disk with \(folder) is free (5 %, but at least 1 GiB and at most 20 GiB)", isGood: isGood,
            otherwise: "only \(Int(free / 1_048_576)) MiB; delete files or enlarge it before PostgreSQL stops")
    }

    /// Nil if `text`, the content of `/proc/meminfo`, does not state the size of the memory.
    static func memoryFinding(_ text: String) -> Finding? {
        let memory = MemoryReading(text)
        guard memory.sizeInBytes > 0 else { return nil }
        return Finding(
            "5 % of the memory is available", isGood: memory.availableInBytes >= memory.sizeInBytes / 20,
            otherwise: "the kernel may soon kill a process; see which use most with: ps aux --sort=-rss | head",
            isOnlyNote: true)
    }
}

import Foundation
import MartletAPI
import MartletCore
import MartletFiles
import MartletJobs
import MartletPostgres

/// The job that copies an app's live data to its test environment.
///
/// Fills new tables, next to the old ones, from a single snapshot of live, and replaces the old tables at the end. All
/// of it is one transaction, so a copy that fails or is cancelled leaves the test data unchanged. Live data is only
/// read, by the role `app_<id>_copy`.
///
/// The bytes of files are copied as well. Those of a failed copy, and those that test had before, become orphans, which
/// `OrphanFileSweep` removes.
struct CopyEnvironment: JobHandler {
    static let kind = "copy"
    static let retries = JobRetries(maximumAttempts: 3)
    static let timeLimit: Duration = .seconds(4 * 3_600)
    private static let batch = 10_000
    private static let filePage = 200
    private static let timeout: Duration = .seconds(3_600)

    struct Options: Codable, Sendable {
        var appID: String
    }

    struct Report: Codable, Sendable, Equatable {
        var collections: Int
        var objects: Int
        var files = 0
    }

    let transfers: TransferStores

    func run(_ options: Options, _ job: RunningJob) async throws -> Report {
        var name = SpaceName(appID: options.appID, environment: .live)
        let live = try name.space
        name.environment = .test
        let test = try name.space
        try await transfers.spaces.prepare(live)
        try await transfers.spaces.prepare(test)
        try await transfers.postgres.execute("SELECT storage.provision_copy(\(options.appID))")
        let report = try await transfers.postgres.withTransaction(isolation: .repeatableRead) { transaction in
            let copy = EnvironmentCopy(live: live, test: test, transaction: transaction, timeout: Self.timeout)
            var report = Report(collections: 0, objects: 0)
            let tables = try await copy.tables()
            let total = tables.reduce(0) { $0 + $1.estimate }
            for table in tables {
                report.collections += 1
                var last: String? = ""
                try await copy.begin(table)
                while let position = last {
                    let (count, next) = try await copy.fill(table, after: position, limit: Self.batch)
                    report.objects += count
                    last = next
                    try await job.report(
                        JobProgress(done: report.objects, total: max(total, report.objects), message: table.name))
                }
                try await copy.index(table)
            }
            try await copy.beginFiles()
            var path: String? = ""
            while let position = path {
                let page = try await copy.files(after: position, limit: Self.filePage)
                for file in page {
                    try await transfers.files.copy(file.source, to: file.target, sizeInBytes: file.sizeInBytes)
                    report.files += 1
                    try await job.report(
                        JobProgress(done: report.objects, total: report.objects, message: "\(report.files) files"))
                }
                try await copy.insertRows(of: page)
                path = page.count < Self.filePage ? nil : page.last?.path
            }
            // Unfinished builds would hold locks on the tables to be replaced.
            try await transfers.builds.stop(of: test)
            try await copy.replaceTables(tables)
            try await copy.copyOwnTables()
            try await copy.copyFileRows()
            try await copy.close()
            // The transaction cannot end the job with `job.finish`, because the job's row has changed since the
            // transaction's snapshot. So the job may run twice, but repeating a copy does no harm.
            try await job.report(
                JobProgress(done: report.objects, total: report.objects, message: "replacing the test data"),
                isImportant: true)
            return report
        }
        transfers.rights.forgetAll()
        transfers.signal.written(in: test)
        return report
    }
}

/// The steps of a copy, each under the role with the necessary rights.
struct EnvironmentCopy {
    struct Table {
        var name: String
        var estimate: Int
        /// The name of the new table until it replaces the old one.
        var interim: String
    }

    let live: AppSchema
    let test: AppSchema
    let transaction: PostgresTransaction
    let timeout: Duration

    private static let columns: PostgresQuery = "id, created, updated, deleted, version, readers, writers, doc"

    func tables() async throws -> [Table] {
        let rows = try await transaction.query(
            """
            SELECT relname::text, greatest(reltuples, 0)::bigint FROM pg_class
            WHERE relnamespace = to_regnamespace(quote_ident(\(live.schema))) AND relkind = 'r' AND relname !~ '^_' ORDER BY relname
            """)
        return try rows.enumerated().map { number, row in
            Table(name: try row.decode(0), estimate: try row.decode(1), interim: "_copy_\(number)")
        }
    }

    func begin(_ table: Table) async throws {
        let interim = try identifier(test, table.interim)
        try await setRole(test.role)
        try await CollectionStore.makeTable(interim, in: transaction)
        try await transaction.executeScript("GRANT SELECT, INSERT ON \(interim.quoted) TO \(try copier.quoted)")
        try await setRole(try copier)
    }

    /// Copies the objects after an id; returns their number, and the last id.
    func fill(_ table: Table, after id: String, limit: Int) async throws -> (count: Int, last: String?) {
        var query: PostgresQuery = """
            WITH copied AS (
                INSERT INTO \(try identifier(test, table.interim)) (\(Self.columns))
                SELECT \(Self.columns) FROM \(try identifier(live, table.name)) WHERE id > \(id) ORDER BY id LIMIT \(limit) RETURNING id)
            SELECT count(*), max(id) FROM copied
            """
        query.isPrepared = false
        let row = try await transaction.query(query, timeout: timeout)[0]
        let count: Int = try row.decode(0)
        return (count, count < limit ? nil : try row.decode(1))
    }

    /// Creates the equality index, and the indexes requested by the app.
    func index(_ table: Table) async throws {
        let interim = try identifier(test, table.interim)
        let rows = try await transaction.query(
            """
            SELECT pg_get_indexdef(i.oid), obj_description(i.oid, 'pg_class')
            FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_class t ON t.oid = x.indrelid
            WHERE t.relname = \(table.name) AND t.relnamespace = to_regnamespace(quote_ident(\(live.schema)))
                AND obj_description(i.oid, 'pg_class') IS NOT NULL ORDER BY i.oid
            """)
        try await setRole(test.role)
        try await transaction.executeScript(
            "REVOKE ALL ON \(interim.quoted) FROM \(try copier.quoted)", timeout: timeout)
        try await CollectionStore.makeIndexes(interim, in: transaction, timeout: timeout)
        for row in rows {
            let (definition, comment) = (try row.decode(0, as: String.self), try row.decode(1, as: String.self))
            // The definition as printed by PostgreSQL: `CREATE [UNIQUE] INDEX name ON schema.table USING …`.
            guard let using = definition.range(of: " USING "), let text = PostgresLiteral(comment) else { continue }
            let name = IndexName.make()
            let unique = definition.hasPrefix("CREATE UNIQUE") ? "UNIQUE " : ""
            let sql =
                "CREATE \(unique)INDEX \(try name.identifier.quoted) ON \(interim.quoted)\(definition[using.lowerBound...])"
            try await transaction.executeScript(sql, timeout: timeout)
            try await transaction.execute("COMMENT ON INDEX \(try identifier(test, name.text)) IS \(text)")
        }
    }

    /// Drops test's old tables, and gives the new ones their names.
    func replaceTables(_ tables: [Table]) async throws {
        try await setRole(test.role)
        try await Self.dropCollections(of: test, in: transaction)
        try await Self.raiseFloor(of: tables.map(\.name), in: test, transaction)
        for table in tables {
            guard let name = PostgresIdentifier(table.name) else { throw ServiceError(.internalError) }
            // A table created since this transaction's snapshot is not in the list.
            try await transaction.executeScript("DROP TABLE IF EXISTS \(try identifier(test, table.name).quoted)")
            try await transaction.executeScript(
                "ALTER TABLE \(try identifier(test, table.interim).quoted) RENAME TO \(name.quoted)")
        }
    }

    /// Copies rules, schemas, roles and relations. Schemas hold from now on; the objects are copied as they are.
    func copyOwnTables() async throws {
        for name in ["_collections", "_roles", "_role_members", "_role_managers", "_relations"] {
            try await setRole(live.role)
            // The cursor keeps the privileges of the role that declared it.
            try await transaction.execute(
                "DECLARE kept NO SCROLL CURSOR FOR SELECT to_jsonb(t)::text FROM \(try identifier(live, name)) AS t",
                timeout: timeout)
            try await setRole(test.role)
            let table = try identifier(test, name)
            while true {
                let rows = try await transaction.query("FETCH 5000 FROM kept", timeout: timeout).map {
                    try $0.decode(0, as: String.self)
                }
                guard !rows.isEmpty else { break }
                let portion = PostgresJSON("[\(rows.joined(separator: ","))]")
                try await transaction.execute(
                    "INSERT INTO \(table) SELECT * FROM jsonb_populate_recordset(NULL::\(table), \(portion))",
                    timeout: timeout)
            }
            try await transaction.execute("CLOSE kept", timeout: timeout)
        }
        let rows = try await transaction.query(
            "SELECT name, schema_revision FROM \(try identifier(test, "_collections")) WHERE schema IS NOT NULL")
        for row in rows {
            let table = try identifier(test, row.decode(0))
            try await SchemaStore.guardTable(table, row.decode(1), transaction)
        }
    }

    /// Closes the test environment to clients in the same transaction, because other users may sign up in test than in
    /// live. An operation that no rule allows in a closed live environment is also closed in the copy, even after the
    /// copy is opened.
    func close() async throws {
        try await transaction.executeScript("RESET ROLE")
        let rows = try await transaction.query("SELECT access FROM storage.spaces WHERE schema = \(live.schema)")
        if SpaceAccess(stored: try rows.first?.decode(0, as: String?.self), in: .live) == .closed {
            try await SpaceAccess.closed.set(in: test, transaction)
        }
        try await setRole(test.role)
        try await transaction.execute("INSERT INTO \(try identifier(test, "_closed")) DEFAULT VALUES")
        try await transaction.execute("SELECT pg_notify(\(RightsStore.channel), \(test.schema))")
    }

    // MARK: Files

    struct File {
        var path: String
        var source: BlobName
        var target: BlobName
        var sizeInBytes: Int
        /// The row for test, as JSON.
        var row: String
    }

    private static let interimFiles = "_copy_files"

    func beginFiles() async throws {
        try await setRole(test.role)
        let (interim, own) = (try identifier(test, Self.interimFiles), try identifier(test, "_files"))
        try await transaction.executeScript("CREATE TABLE \(interim.quoted) (LIKE \(own.quoted))")
    }

    /// Live's readable files after a path, each with a blob name for its bytes in test.
    func files(after path: String, limit: Int) async throws -> [File] {
        try await setRole(live.role)
        var query: PostgresQuery = """
            SELECT path, blob, size, to_jsonb(f)::text FROM \(try identifier(live, "_files")) AS f
            WHERE path > \(path) AND state IS NULL ORDER BY path LIMIT \(limit)
            """
        query.isPrepared = false
        return try await transaction.query(query, timeout: timeout).map { row in
            guard let source = BlobName(space: live.schema, id: try row.decode(1)),
                case .object(let members) = try JSONValue(parsing: try row.decode(3, as: String.self).utf8)
            else { throw ServiceError(.internalError, cause: "a file's row lacks expected members") }
            let target = BlobName.random(in: test.schema)
            return File(
                path: try row.decode(0), source: source, target: target, sizeInBytes: try row.decode(2),
                row: JSONValue.object(members.map { $0.name == "blob" ? .init("blob", .string(target.id)) : $0 }).text)
        }
    }

    func insertRows(of files: [File]) async throws {
        guard !files.isEmpty else { return }
        try await setRole(test.role)
        let interim = try identifier(test, Self.interimFiles)
        let rows = PostgresJSON("[" + files.map(\.row).joined(separator: ",") + "]")
        try await transaction.execute(
            "INSERT INTO \(interim) SELECT * FROM jsonb_populate_recordset(NULL::\(interim), \(rows))", timeout: timeout
        )
    }

    /// Called after the transaction has dropped test's old files.
    func copyFileRows() async throws {
        try await setRole(test.role)
        let (interim, own) = (try identifier(test, Self.interimFiles), try identifier(test, "_files"))
        try await transaction.execute("INSERT INTO \(own) SELECT * FROM \(interim)", timeout: timeout)
        try await transaction.executeScript("DROP TABLE \(interim.quoted)")
    }

    /// Drops every collection of the space with everything that belongs to it, and its files, whose bytes become
    /// orphans. The transaction must have the space's role.
    static func dropCollections(of space: AppSchema, in transaction: PostgresTransaction) async throws {
        guard space.environment == .test else { throw ServiceError(.internalError, cause: "only test may be wiped") }
        let rows = try await transaction.query(
            """
            SELECT relname::text FROM pg_class
            WHERE relnamespace = to_regnamespace(quote_ident(\(space.schema))) AND relkind = 'r' AND relname !~ '^_' ORDER BY relname
            """)
        let names = try rows.map { try $0.decode(0, as: String.self) }
        for name in names {
            guard let table = PostgresIdentifier(schema: space.schema, name: name) else { continue }
            try await transaction.executeScript("DROP TABLE \(table.quoted)")
        }
        let usage = try space.own("_file_usage")
        let limits = try await transaction.query("SELECT max(maximum_files), max(maximum_bytes) FROM \(usage)")[0]
        // The usage before the files, in the same order as other writers lock them. The table is emptied and its row
        // created again, because a copy cannot update what others have changed since its snapshot.
        let own = [
            "_blocks", "_file_usage", "_changes", "_idempotency", "_relations", "_reports", "_role_invitations",
            "_role_managers",
            "_role_members", "_role_guesses", "_roles", "_collections",
            "_files", "_thumbnails", "_uploads", "_transfer_parts", "_transfers", "_closed",
            "_rule_versions",
        ]
        let tables = own.compactMap { PostgresIdentifier(schema: space.schema, name: $0)?.quoted }.joined(
            separator: ", ")
        // Not DELETE, which would leave rows that others insert concurrently.
        try await transaction.executeScript("TRUNCATE \(tables)")
        try await transaction.execute(
            """
            INSERT INTO \(usage) (files, bytes, maximum_files, maximum_bytes)
            VALUES (0, 0, \(limits.decode(0, as: Int?.self)), \(limits.decode(1, as: Int?.self)))
            """)
        try await raiseFloor(of: names, in: space, transaction)
    }

    /// Invalidates the cursors of the collections' followers, if the space records a floor.
    private static func raiseFloor(of names: [String], in space: AppSchema, _ transaction: PostgresTransaction)
        async throws
    {
        guard let floor = PostgresIdentifier(schema: space.schema, name: "_changes_floor"),
            try await !transaction.query(
                "SELECT FROM pg_tables WHERE schemaname = \(space.schema) AND tablename = '_changes_floor'"
            ).isEmpty
        else { return }
        try await transaction.execute(
            """
            INSERT INTO \(floor) (collection, txid) SELECT name, pg_current_xact_id() FROM unnest(\(names)) AS name
            ON CONFLICT (collection) DO UPDATE SET txid = excluded.txid
            """)
    }

    private var copier: PostgresIdentifier {
        get throws {
            guard let role = PostgresIdentifier(live.schema + "_copy") else { throw ServiceError(.internalError) }
            return role
        }
    }

    private func identifier(_ space: AppSchema, _ name: String) throws -> PostgresIdentifier {
        guard let identifier = PostgresIdentifier(schema: space.schema, name: name) else {
            throw ServiceError(.internalError)
        }
        return identifier
    }

    private func setRole(_ role: PostgresIdentifier) async throws {
        try await transaction.executeScript("SET LOCAL ROLE \(role.quoted)")
    }
}

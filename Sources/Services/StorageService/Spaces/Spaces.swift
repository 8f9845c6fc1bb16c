import MartletAPI
import MartletCore
import MartletPostgres
import Synchronization

/// Ensures that an app's schema, role and tables exist, querying the database once per process and space.
final class Spaces: Sendable {
    private let postgres: PostgresClient
    private let known = Mutex<Set<AppSchema>>([])

    init(postgres: PostgresClient) {
        self.postgres = postgres
    }

    /// The scripts that create a space's own tables, in order. They must not be edited once released.
    static let scripts: [(number: Int, sql: String)] = [
        (1, String(decoding: PackageResources.space_001_core_sql, as: UTF8.self)),
        (2, String(decoding: PackageResources.space_002_files_sql, as: UTF8.self)),
        (4, String(decoding: PackageResources.space_004_follow_sql, as: UTF8.self)),
        (6, String(decoding: PackageResources.space_006_orphans_sql, as: UTF8.self)),
        (7, String(decoding: PackageResources.space_007_hooks_sql, as: UTF8.self)),
        (8, String(decoding: PackageResources.space_008_actor_sql, as: UTF8.self)),
        (9, String(decoding: PackageResources.space_009_order_sql, as: UTF8.self)),
        (10, String(decoding: PackageResources.space_010_hook_failures_sql, as: UTF8.self)),
        (11, String(decoding: PackageResources.space_011_file_usage_sql, as: UTF8.self)),
        (12, String(decoding: PackageResources.space_012_pass_readers_sql, as: UTF8.self)),
        (13, String(decoding: PackageResources.space_013_closed_sql, as: UTF8.self)),
        (14, String(decoding: PackageResources.space_014_upload_origin_sql, as: UTF8.self)),
        (16, String(decoding: PackageResources.space_016_schema_sql, as: UTF8.self)),
        (19, String(decoding: PackageResources.space_019_rule_versions_sql, as: UTF8.self)),
        (22, String(decoding: PackageResources.space_022_users_sql, as: UTF8.self)),
        (23, String(decoding: PackageResources.space_023_groups_sql, as: UTF8.self)),
        (24, String(decoding: PackageResources.space_024_reports_sql, as: UTF8.self)),
        (26, String(decoding: PackageResources.space_026_audit_sql, as: UTF8.self)),
        (28, String(decoding: PackageResources.space_028_blocks_sql, as: UTF8.self)),
        (29, String(decoding: PackageResources.space_029_mailed_invitations_sql, as: UTF8.self)),
        (30, String(decoding: PackageResources.space_030_scan_sql, as: UTF8.self)),
        (32, String(decoding: PackageResources.space_032_hidden_sql, as: UTF8.self)),
        (33, String(decoding: PackageResources.space_033_report_copy_sql, as: UTF8.self)),
        (34, String(decoding: PackageResources.space_034_bound_files_sql, as: UTF8.self)),
        (35, String(decoding: PackageResources.space_035_forget_hidden_sql, as: UTF8.self)),
    ]

    /// Whether `prepare` has nothing to do.
    func isPrepared(_ space: AppSchema) -> Bool { known.withLock { $0.contains(space) } }

    func prepare(_ space: AppSchema) async throws {
        if isPrepared(space) { return }
        try await provision(space)
        let rows = try await postgres.query("SELECT version FROM storage.spaces WHERE schema = \(space.schema)")
        let version = try rows.first?.decode(0, as: Int.self) ?? 0
        if version < Self.scripts.last?.number ?? 0 { try await runMissingScripts(space) }
        _ = known.withLock { $0.insert(space) }
    }

    /// Roles belong to the whole PostgreSQL server, so another database may be creating the same one concurrently; the
    /// conflict means that the role exists.
    private func provision(_ space: AppSchema) async throws {
        for isLast in [false, false, true] {
            do {
                try await postgres.execute("SELECT storage.provision(\(space.appID), \(space.environment.rawValue))")
                return
            } catch let error as PostgresError where !isLast && ["42710", "23505", "XX000"].contains(error.sqlState) {}
        }
    }

    /// Prepares the space, and runs a statement under its role.
    ///
    /// - Throws: The client's error if PostgreSQL's answer reveals one, otherwise the `PostgresError`.
    func query(_ statement: PostgresQuery, in space: AppSchema, on postgres: PostgresClient) async throws
        -> PostgresRows
    {
        try await prepare(space)
        var statement = statement
        statement.role = space.role
        do {
            return try await postgres.query(statement)
        } catch let error as PostgresError {
            throw problem(error, of: statement, in: space)
        }
    }

    /// The size of a collection in bytes, including out-of-line storage, without indexes; nil if it does not exist.
    func size(of collection: CollectionName, in space: AppSchema, on postgres: PostgresClient) async throws -> Int? {
        let rows = try await query(
            """
            SELECT pg_table_size(oid) FROM pg_class
            WHERE relnamespace = to_regnamespace(quote_ident(\(space.schema))) AND relname = \(collection.text) AND relkind = 'r'
            """, in: space, on: postgres)
        // NULL if the collection is being dropped.
        return try rows.first.map { try $0.decode(0, as: Int?.self) ?? 0 }
    }

    /// The client's error if PostgreSQL's answer reveals one, otherwise `error`. If the space is missing, the next
    /// `prepare` creates it.
    func problem(_ error: PostgresError, of statement: PostgresQuery? = nil, in space: AppSchema) -> any Error {
        if error.isMissingSpace { forget(space) }
        if error.sqlState == "57014", statement?.timeLimit != nil {
            return ServiceError(
                .limitExceeded,
                """
                The rules read other objects for each object that the filter finds, and that takes too long. Filter \
                by a field that narrows the list and has an index.
                """, field: "where", cause: error.description)
        }
        return error.clientProblem ?? error
    }

    /// Makes the next `prepare` query the database again.
    func forget(_ space: AppSchema) {
        _ = known.withLock { $0.remove(space) }
    }

    /// Runs the missing scripts, all or none. Concurrent callers in different copies wait for each other.
    private func runMissingScripts(_ space: AppSchema) async throws {
        try await postgres.withTransaction { transaction in
            try await transaction.execute("SELECT pg_advisory_xact_lock(hashtextextended(\(space.schema), 0))")
            let rows = try await transaction.query("SELECT version FROM storage.spaces WHERE schema = \(space.schema)")
            let version = try rows.first?.decode(0, as: Int.self) ?? 0
            for script in Self.scripts where script.number > version {
                try await transaction.executeScript(
                    "SET LOCAL ROLE \(space.role.quoted); SET LOCAL search_path = \(space.role.quoted); \(script.sql); RESET ROLE"
                )
            }
            try await transaction.executeScript("SET LOCAL search_path TO DEFAULT")
            try await transaction.execute(
                """
                -- A copy of a newer version may have been first.
                INSERT INTO storage.spaces AS s (schema, version) VALUES (\(space.schema), \(Self.scripts.last?.number ?? 0))
                ON CONFLICT (schema) DO UPDATE SET version = greatest(s.version, excluded.version)
                """)
        }
    }
}

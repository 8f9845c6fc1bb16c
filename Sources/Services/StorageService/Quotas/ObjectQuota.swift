import Logging
import MartletAPI
import MartletBackground
import MartletCore
import MartletPostgres
import Synchronization

/// Limits the number of objects, and their size on disk, in each environment of an app.
///
/// Usage is measured rather than counted, so that writes cost nothing extra: every 15 seconds, each copy of the service
/// finds out which environments are full. Writes in between can therefore exceed a limit.
final class ObjectQuota: PeriodicWork {
    struct Limits: Sendable, Equatable {
        /// Nil for no limit.
        var maximumObjects: Int?
        var maximumBytes: Int?
    }

    struct Usage: Encodable, Sendable, Equatable {
        /// An estimate. Removed objects count until they are deleted for good.
        var objects: Int
        /// The size of tables and indexes on disk.
        var bytes: Int
        /// Nil for no limit.
        var maximumObjects: Int?
        var maximumBytes: Int?
    }

    let interval: Duration = .seconds(15)
    let logger: Logger
    private let postgres: PostgresClient
    /// The schemas of the environments that have reached a limit.
    private let full = Mutex<Set<String>>([])

    init(postgres: PostgresClient, logger: Logger) {
        self.postgres = postgres
        self.logger = logger
    }

    /// - Throws: `object-quota-exceeded`.
    func requireRoom(in space: AppSchema) throws {
        guard !full.withLock({ $0.contains(space.schema) }) else { throw ServiceError(.objectQuotaExceeded) }
    }

    func work() async throws { try await measure() }

    /// Finds the environments that have reached a limit.
    func measure() async throws {
        let rows = try await postgres.query(
            """
            SELECT n.nspname::text FROM storage.object_limits AS l
            CROSS JOIN LATERAL (VALUES ('app_' || l.app), ('app_' || l.app || '_test')) AS space (schema)
            JOIN pg_namespace AS n ON n.nspname = space.schema
            JOIN pg_class AS c ON c.relnamespace = n.oid
            WHERE \(Self.isCollection)
            GROUP BY n.nspname, l.maximum_objects, l.maximum_bytes
            HAVING \(Self.objects) >= l.maximum_objects OR \(Self.bytes) >= l.maximum_bytes
            """)
        let schemas = Set(try rows.map { try $0.decode(0, as: String.self) })
        full.withLock { $0 = schemas }
    }

    func usage(of space: AppSchema) async throws -> Usage {
        let row = try await postgres.query(
            """
            SELECT used.objects, used.bytes, l.maximum_objects, l.maximum_bytes
            FROM (
                SELECT \(Self.objects) AS objects, \(Self.bytes) AS bytes
                FROM pg_namespace AS n JOIN pg_class AS c ON c.relnamespace = n.oid
                WHERE n.nspname = \(space.schema) AND \(Self.isCollection)) AS used
            LEFT JOIN storage.object_limits AS l ON l.app = \(space.appID)
            """)[0]
        return Usage(
            objects: try row.decode(0), bytes: try row.decode(1), maximumObjects: try row.decode(2),
            maximumBytes: try row.decode(3))
    }

    /// Sets the limits of both environments of an app. Existing objects beyond a new limit are kept.
    func limit(_ app: String, to limits: Limits) async throws {
        if limits == Limits() {
            try await postgres.execute("DELETE FROM storage.object_limits WHERE app = \(app)")
        } else {
            try await postgres.execute(
                """
                INSERT INTO storage.object_limits (app, maximum_objects, maximum_bytes)
                VALUES (\(app), \(limits.maximumObjects), \(limits.maximumBytes))
                ON CONFLICT (app) DO UPDATE
                SET maximum_objects = excluded.maximum_objects, maximum_bytes = excluded.maximum_bytes
                """)
        }
        // This fails if a table is locked; the next round then measures again.
        try? await measure()
    }

    private static let isCollection: PostgresQuery = "c.relkind = 'r' AND c.relname !~ '^_'"

    /// PostgreSQL's statistics are lost in a crash. The count of the last ANALYZE is used until as many rows have been
    /// inserted again.
    private static let objects: PostgresQuery = """
        coalesce(sum(CASE WHEN pg_stat_get_tuples_inserted(c.oid) >= c.reltuples
            THEN pg_stat_get_live_tuples(c.oid) ELSE c.reltuples END), 0)::bigint
        """

    private static let bytes: PostgresQuery = "coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint"
}

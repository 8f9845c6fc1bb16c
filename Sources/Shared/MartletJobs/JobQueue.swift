public import Foundation
import MartletCore
public import MartletPostgres

/// The job queue of one service: work that is slow or may fail after the response, in a table of the service's schema.
///
/// `enqueue` stores a job, preferably in the transaction that requires it. A `JobWorker` of any instance runs it.
public struct JobQueue: Sendable {
    let postgres: PostgresClient
    let table: PostgresIdentifier
    /// The channel that notifies workers of new jobs (an empty payload) and of cancelled ones (the id).
    let channel: String

    /// - Parameter schema: The schema of the service, which must contain `migration(number:schema:)`.
    public init(postgres: PostgresClient, schema: String) {
        guard let table = PostgresIdentifier(schema: schema, name: "jobs") else {
            preconditionFailure("not a schema: \(schema)")
        }
        self.postgres = postgres
        self.table = table
        self.channel = schema + "_jobs"
    }

    /// Creates the table `jobs` in the schema and grants the service's role `martlet_<schema>` access to it.
    public static func migration(number: Int, schema: String) -> Migration {
        let sql = String(decoding: PackageResources._01_jobs_sql, as: UTF8.self)
            .replacing("{schema}", with: schema).replacing("{role}", with: "martlet_" + schema)
        return Migration(number: number, name: "jobs", sql: Array(sql.utf8))
    }

    /// Stores a job. Returns nil when an unfinished job with the same unique key exists.
    @discardableResult
    public func enqueue<Handler: JobHandler>(
        _ handler: Handler.Type, _ parameters: Handler.Parameters, _ options: JobOptions = JobOptions()
    ) async throws -> UUID? {
        try Self.id(try await postgres.query(try insertion(handler, parameters, options)))
    }

    /// Stores a job in a transaction: it exists if, and only if, the transaction commits. The transaction must
    /// currently use the service's own role.
    @discardableResult
    public func enqueue<Handler: JobHandler>(
        _ handler: Handler.Type, _ parameters: Handler.Parameters, _ options: JobOptions = JobOptions(),
        in transaction: PostgresTransaction
    ) async throws -> UUID? {
        try Self.id(try await transaction.query(try insertion(handler, parameters, options)))
    }

    /// A job of the scope. Nil when it does not exist or was pruned.
    public func job(_ id: UUID, scope: String) async throws -> Job? {
        let rows = try await postgres.query("SELECT \(Job.columns) FROM \(table) WHERE id = \(id) AND scope = \(scope)")
        return try rows.first.map(Job.init)
    }

    /// The jobs of a scope, newest first.
    ///
    /// - Parameter before: Continues after this job.
    public func jobs(scope: String, kinds: [String]? = nil, before: UUID? = nil, limit: Int) async throws -> [Job] {
        let kind: PostgresQuery = kinds.map { "AND kind = ANY (\($0))" } ?? ""
        let position: PostgresQuery = before.map { "AND id < \($0)" } ?? ""
        let rows = try await postgres.query(
            "SELECT \(Job.columns) FROM \(table) WHERE scope = \(scope) \(kind) \(position) ORDER BY id DESC LIMIT \(limit)"
        )
        return try rows.map(Job.init)
    }

    /// The number of jobs in the scope that are waiting or running.
    public func unfinished(scope: String, kinds: [String]) async throws -> Int {
        try await postgres.query(
            "SELECT count(*) FROM \(table) WHERE scope = \(scope) AND kind = ANY (\(kinds)) AND finished IS NULL")[0]
            .decode(0)
    }

    /// Cancels a job. A waiting job is cancelled at once; a finished one does not change.
    ///
    /// Returns the job, or nil when the scope has none. A running job becomes `cancelled` only when its handler has
    /// ended.
    public func cancel(_ id: UUID, scope: String) async throws -> Job? {
        let rows = try await postgres.query(
            """
            UPDATE \(table) SET cancel_requested = TRUE,
                state = CASE state WHEN 'waiting' THEN 'cancelled' ELSE state END,
                finished = CASE state WHEN 'waiting' THEN now() END
            WHERE id = \(id) AND scope = \(scope) AND finished IS NULL
            RETURNING \(Job.columns), pg_notify(\(channel), \(id.uuidString))
            """)
        if let row = rows.first { return try Job(row) }
        return try await job(id, scope: scope)
    }

    private func insertion<Handler: JobHandler>(
        _: Handler.Type, _ parameters: Handler.Parameters, _ options: JobOptions
    ) throws -> PostgresQuery {
        let parameters = PostgresJSON(Array(try JSONEncoder().encode(parameters)))
        return """
            WITH job AS (
                INSERT INTO \(table) (id, kind, scope, lane, unique_key, parameters, priority, due, maximum_attempts)
                VALUES (\(UUID.timeOrdered()), \(Handler.kind), \(options.scope), \(options.lane), \(options.uniqueKey), \(parameters),
                    \(options.priority), now() + make_interval(secs => \(options.delay.inSeconds)), \(Int32(Handler.retries.maximumAttempts)))
                ON CONFLICT (kind, unique_key) WHERE finished IS NULL AND unique_key IS NOT NULL DO NOTHING
                RETURNING id)
            SELECT id, pg_notify(\(channel), '') FROM job
            """
    }

    private static func id(_ rows: PostgresRows) throws -> UUID? {
        try rows.first?.decode(0)
    }
}

extension UUID {
    /// A UUID of version 7, so newer jobs have greater ids.
    fileprivate static func timeOrdered() -> UUID {
        UUID(uuidString: UUIDv7.make()) ?? UUID()
    }
}

extension Duration {
    var inSeconds: Double {
        Double(components.seconds) + Double(components.attoseconds) / 1e18
    }
}

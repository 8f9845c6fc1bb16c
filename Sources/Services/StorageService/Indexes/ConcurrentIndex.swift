import MartletAPI
import MartletCore
import MartletJobs
import MartletPostgres

/// An index built by a job with `CREATE INDEX CONCURRENTLY`. No statement waits for the build, but the build waits for
/// older transactions.
///
/// PostgreSQL continues a build after the process that requested it has died. The job's next attempt then waits for
/// that build; a half-built index (`INVALID`) is dropped and built again.
struct ConcurrentIndex: Sendable {
    private static let dropTimeout: Duration = .seconds(600)
    private static let pause: Duration = .seconds(1)
    /// SQLSTATEs that mean another build is running: the index exists, or two builds on one collection deadlocked.
    private static let concurrentBuildStates: Set = ["42P07", "40P01"]

    let space: AppSchema
    let collection: CollectionName
    /// The name in PostgreSQL, the same for every attempt.
    let relation: IndexName
    /// The part of the statement after `ON table`.
    let keys: PostgresQuery
    var isUnique = false

    /// Returns once there is a valid index.
    ///
    /// - Parameter builder: A client whose connections are only used for builds.
    func make(_ job: RunningJob, on builder: PostgresClient, watching postgres: PostgresClient, within limit: Duration)
        async throws
    {
        while true {
            switch try await state(postgres) {
            case .ready: return
            case .underWay:
                try await reportProgress(job, postgres)
                try await Task.sleep(for: Self.pause)
            case .abandoned: try await Self.drop(relation, of: space, on: builder)
            case .absent:
                do {
                    try await create(job, on: builder, watching: postgres, within: limit)
                } catch let error as PostgresError where Self.concurrentBuildStates.contains(error.sqlState ?? "") {
                    // The connection of an earlier attempt was still waiting to begin.
                }
            }
        }
    }

    /// The state of the index in PostgreSQL.
    private enum State {
        case absent, ready
        /// A connection is building it.
        case underWay
        /// Half-built, and no connection is building it.
        case abandoned
    }

    private func state(_ postgres: PostgresClient) async throws -> State {
        let rows = try await postgres.query(
            """
            SELECT x.indisvalid, EXISTS (
                SELECT FROM pg_stat_progress_create_index AS p
                WHERE p.index_relid = x.indexrelid AND p.datname = current_database())
            FROM pg_index AS x JOIN pg_class AS i ON i.oid = x.indexrelid
            WHERE i.relname = \(relation.text) AND i.relnamespace = to_regnamespace(quote_ident(\(space.schema)))
            """)
        guard let row = rows.first else { return .absent }
        if try row.decode(0, as: Bool.self) { return .ready }
        return try row.decode(1, as: Bool.self) ? .underWay : .abandoned
    }

    private func create(
        _ job: RunningJob, on builder: PostgresClient, watching postgres: PostgresClient, within limit: Duration
    ) async throws {
        let start: PostgresQuery = isUnique ? "CREATE UNIQUE INDEX" : "CREATE INDEX"
        let statement: PostgresQuery =
            "\(start) CONCURRENTLY \(try relation.identifier) ON \(try space.table(collection)) \(keys)"
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await builder.executeScript(statement.sql, role: space.role, timeout: limit) }
            group.addTask {
                while true {
                    try await Task.sleep(for: Self.pause)
                    try await reportProgress(job, postgres)
                }
            }
            try await group.next()
            group.cancelAll()
        }
    }

    /// Reports the progress in blocks of the collection, with PostgreSQL's name of the current phase. Failed queries
    /// are ignored.
    ///
    /// - Throws: `JobInterruption`.
    private func reportProgress(_ job: RunningJob, _ postgres: PostgresClient) async throws {
        do {
            let rows = try await postgres.query(
                "SELECT p.blocks_done, p.blocks_total, p.phase \(Self.progress(of: relation, in: space))")
            guard let row = rows.first else { return }
            let (done, total): (Int, Int) = (try row.decode(0), try row.decode(1))
            try await job.report(JobProgress(done: done, total: total > 0 ? total : nil, message: try row.decode(2)))
        } catch is PostgresError {
            try job.check()
        }
    }

    /// The FROM and WHERE clauses that select `p`, the progress of an index's build. They match no row if no connection
    /// is building the index.
    private static func progress(of relation: IndexName, in space: AppSchema) -> PostgresQuery {
        """
        FROM pg_stat_progress_create_index AS p JOIN pg_class AS i ON i.oid = p.index_relid
        WHERE p.datname = current_database() AND i.relname = \(relation.text)
            AND i.relnamespace = to_regnamespace(quote_ident(\(space.schema)))
        """
    }

    /// Drops an index. Waits for transactions that use the collection, but blocks no others.
    ///
    /// Ends the index's build first. Otherwise each would wait for the other, and PostgreSQL would fail one of them.
    static func drop(_ relation: IndexName, of space: AppSchema, on builder: PostgresClient) async throws {
        guard let index = PostgresIdentifier(schema: space.schema, name: relation.text) else {
            throw ServiceError(.internalError)
        }
        _ = try await builder.query("SELECT pg_cancel_backend(p.pid) \(progress(of: relation, in: space))")
        try await builder.executeScript(
            "DROP INDEX CONCURRENTLY IF EXISTS \(index.quoted)", role: space.role, timeout: dropTimeout)
    }
}

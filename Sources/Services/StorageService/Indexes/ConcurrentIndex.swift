import MartletAPI
import MartletHTTP
import MartletJobs
import MartletPostgres

/// An index that a job makes with `CREATE INDEX CONCURRENTLY`: nothing waits for it, and it waits for transactions that
/// are older.
///
/// PostgreSQL goes on with a build when the process that asked for it dies. Whoever has the job then waits for that
/// one; what is left half-built (`INVALID`) is dropped and begun anew.
struct ConcurrentIndex: Sendable {
    private static let dropTimeout: Duration = .seconds(600)
    private static let pause: Duration = .seconds(1)
    /// There is such an index; and two builds on one collection waited for each other.
    private static let isAnothers: Set = ["42P07", "40P01"]

    let space: AppSpace
    let collection: CollectionName
    /// Its name in PostgreSQL, the same for every attempt.
    let relation: IndexName
    /// What stands behind `ON table`.
    let keys: PostgresQuery
    var isUnique = false

    /// Until there is a valid index.
    ///
    /// - Parameter builder: with connections that builds alone have.
    func make(_ job: RunningJob, on builder: PostgresClient, watching postgres: PostgresClient, within limit: Duration)
        async throws
    {
        while true {
            switch try await state(postgres) {
            case .ready: return
            case .underWay:
                try await tell(job, postgres)
                try await Task.sleep(for: Self.pause)
            case .abandoned: try await Self.drop(relation, of: space, on: builder)
            case .absent:
                do {
                    try await create(job, on: builder, watching: postgres, within: limit)
                } catch let error as PostgresError where Self.isAnothers.contains(error.sqlState ?? "") {
                    // An earlier attempt's connection was waiting to begin.
                }
            }
        }
    }

    /// What PostgreSQL knows of the index.
    private enum State {
        case absent, ready
        /// Some connection builds it.
        case underWay
        /// Nobody does.
        case abandoned
    }

    private func state(_ postgres: PostgresClient) async throws -> State {
        let rows = try await postgres.query(
            """
            SELECT x.indisvalid, EXISTS (SELECT FROM pg_stat_progress_create_index AS p WHERE p.index_relid = x.indexrelid)
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
                    try await tell(job, postgres)
                }
            }
            try await group.next()
            group.cancelAll()
        }
    }

    /// How far PostgreSQL is, in blocks of the collection; in its own words what it is at.
    ///
    /// - Throws: `JobInterruption`. What it cannot find out it does not tell.
    private func tell(_ job: RunningJob, _ postgres: PostgresClient) async throws {
        do {
            let rows = try await postgres.query(
                """
                SELECT p.blocks_done, p.blocks_total, p.phase FROM pg_stat_progress_create_index AS p JOIN pg_class AS i ON i.oid = p.index_relid
                WHERE i.relname = \(relation.text) AND i.relnamespace = to_regnamespace(quote_ident(\(space.schema)))
                """)
            guard let row = rows.first else { return }
            let (done, total): (Int, Int) = (try row.decode(0), try row.decode(1))
            try await job.report(JobProgress(done: done, total: total > 0 ? total : nil, message: try row.decode(2)))
        } catch is PostgresError {
            try job.check()
        }
    }

    /// Waits for those who use the collection, and lets nobody wait.
    static func drop(_ relation: IndexName, of space: AppSpace, on builder: PostgresClient) async throws {
        guard let index = PostgresIdentifier(schema: space.schema, name: relation.text) else {
            throw HTTPProblem(.internalError)
        }
        try await builder.executeScript(
            "DROP INDEX CONCURRENTLY IF EXISTS \(index.quoted)", role: space.role, timeout: dropTimeout)
    }
}

import Foundation
import MartletAPI
import MartletHTTP
import MartletJobs
import MartletPostgres

/// The job that builds an index with `CREATE INDEX CONCURRENTLY`: nothing waits for it, and it waits for transactions that are older.
///
/// PostgreSQL goes on with a build when the process that asked for it dies. Whoever has the job then waits for that one; what is left
/// half-built (`INVALID`) is dropped and begun anew.
struct BuildIndex: JobHandler {
    static let kind = "index"
    static let retries = JobRetries(maximumAttempts: 3)
    static let timeLimit: Duration = .seconds(12 * 3_600)
    /// One build at a time, whosever it is: each takes a processor and a disk for itself, and would wait for the others.
    static let lane = "indexes"
    private static let dropTimeout: Duration = .seconds(600)
    private static let pause: Duration = .seconds(1)

    struct Options: Codable, Sendable {
        var space: SpaceName
        var collection: String
        var name: String
    }

    struct Report: Codable, Sendable, Equatable {
        var collection: String
        var name: String
    }

    let builds: IndexBuilds
    /// With connections that builds alone have.
    let builder: PostgresClient
    let transfers: TransferStores

    func run(_ options: Options, _ job: RunningJob) async throws -> Report {
        let report = Report(collection: options.collection, name: options.name)
        guard let build = try await builds.build(of: job.id) else { return report }
        do {
            try await make(build, job)
            try await finish(build, report, job)
            return report
        } catch {
            // Another worker goes on where this one was.
            if let reason = job.interruption, reason != .cancelled { throw error }
            await Task { try? await drop(build) }.value
            throw (error as? PostgresError).flatMap(Self.failure) ?? error
        }
    }

    /// Until there is a valid index.
    private func make(_ build: IndexBuilds.Build, _ job: RunningJob) async throws {
        while true {
            switch try await state(of: build) {
            case .ready: return
            case .underWay:
                try await tell(build, job)
                try await Task.sleep(for: Self.pause)
            case .abandoned: try await drop(build)
            case .absent: try await create(build, job)
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

    private func state(of build: IndexBuilds.Build) async throws -> State {
        let rows = try await transfers.postgres.query(
            """
            SELECT x.indisvalid, EXISTS (SELECT FROM pg_stat_progress_create_index AS p WHERE p.index_relid = x.indexrelid)
            FROM pg_index AS x JOIN pg_class AS i ON i.oid = x.indexrelid
            WHERE i.relname = \(build.relation.text) AND i.relnamespace = to_regnamespace(quote_ident(\(build.space.schema)))
            """)
        guard let row = rows.first else { return .absent }
        if try row.decode(0, as: Bool.self) { return .ready }
        return try row.decode(1, as: Bool.self) ? .underWay : .abandoned
    }

    private func create(_ build: IndexBuilds.Build, _ job: RunningJob) async throws {
        let (table, index) = (try build.space.table(build.collection), build.definition)
        let start: PostgresQuery = index.unique ? "CREATE UNIQUE INDEX" : "CREATE INDEX"
        let statement: PostgresQuery =
            "\(start) CONCURRENTLY \(try build.relation.identifier) ON \(table) \(try index.keys())\(index.condition)"
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await builder.executeScript(statement.sql, role: build.space.role, timeout: Self.timeLimit) }
            group.addTask {
                while true {
                    try await Task.sleep(for: Self.pause)
                    try await tell(build, job)
                }
            }
            try await group.next()
            group.cancelAll()
        }
    }

    /// How far PostgreSQL is, in blocks of the collection; in its own words what it is at.
    ///
    /// - Throws: `JobInterruption`. What it cannot find out it does not tell.
    private func tell(_ build: IndexBuilds.Build, _ job: RunningJob) async throws {
        do {
            let rows = try await transfers.postgres.query(
                """
                SELECT p.blocks_done, p.blocks_total, p.phase FROM pg_stat_progress_create_index AS p JOIN pg_class AS i ON i.oid = p.index_relid
                WHERE i.relname = \(build.relation.text) AND i.relnamespace = to_regnamespace(quote_ident(\(build.space.schema)))
                """)
            guard let row = rows.first else { return }
            let (done, total): (Int, Int) = (try row.decode(0), try row.decode(1))
            try await job.report(JobProgress(done: done, total: total > 0 ? total : nil, message: try row.decode(2)))
        } catch is PostgresError {
            try job.check()
        }
    }

    /// From now on it is listed as `ready`.
    private func finish(_ build: IndexBuilds.Build, _ report: Report, _ job: RunningJob) async throws {
        let (table, comment) = (try build.space.table(build.collection), try IndexStore.comment(build.definition))
        guard let index = PostgresIdentifier(schema: build.space.schema, name: build.relation.text) else { throw HTTPProblem(.internalError) }
        try await transfers.postgres.withTransaction { transaction in
            guard try await transaction.execute("DELETE FROM storage.index_builds WHERE job = \(job.id)") == 1 else {
                throw JobFailure(code: ErrorCode.indexNotFound.rawValue, detail: "The index was dropped meanwhile.")
            }
            try await transaction.executeScript("SET LOCAL ROLE \(build.space.role.quoted)")
            try await transaction.execute("COMMENT ON INDEX \(index) IS \(comment)")
            // Else PostgreSQL knows nothing of the values in it until the collection has changed by a tenth.
            try await transaction.execute("ANALYZE \(table)", timeout: IndexStore.buildTimeout)
            try await transaction.executeScript("RESET ROLE")
            try await job.finish(report, in: transaction)
        }
    }

    /// Not one that is ready: the commit that said so may have been answered by an error.
    private func drop(_ build: IndexBuilds.Build) async throws {
        let ready = try await transfers.postgres.query(
            """
            SELECT FROM pg_class WHERE relname = \(build.relation.text) AND relnamespace = to_regnamespace(quote_ident(\(build.space.schema)))
                AND obj_description(oid, 'pg_class') IS NOT NULL
            """)
        guard ready.isEmpty else { return }
        try await Self.drop(build.relation, of: build.space, on: builder)
    }

    /// Waits for those who use the collection, and lets nobody wait.
    static func drop(_ relation: IndexName, of space: AppSpace, on builder: PostgresClient) async throws {
        guard let index = PostgresIdentifier(schema: space.schema, name: relation.text) else { throw HTTPProblem(.internalError) }
        try await builder.executeScript("DROP INDEX CONCURRENTLY IF EXISTS \(index.quoted)", role: space.role, timeout: dropTimeout)
    }

    /// What the app can do something about; nil: it is tried again.
    private static func failure(_ error: PostgresError) -> JobFailure? {
        if error.isUndefinedTable {
            return JobFailure(code: ErrorCode.collectionNotFound.rawValue, detail: "The collection was dropped.", cause: error.description)
        }
        if error.sqlState == "23505" {
            return JobFailure(
                code: ErrorCode.conflict.rawValue, detail: "Objects of the collection have the same values: the index cannot be unique.",
                cause: error.description)
        }
        guard let problem = error.clientProblem as? HTTPProblem, problem.code.status < 500 else { return nil }
        return JobFailure(code: problem.code.rawValue, detail: problem.detail ?? "The index cannot be built.", cause: error.description)
    }
}

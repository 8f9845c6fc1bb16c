import Foundation
import MartletAPI
import MartletHTTP
import MartletJobs
import MartletPostgres

/// The job that builds an index which an app asked for (`ConcurrentIndex`).
struct BuildIndex: JobHandler {
    static let kind = "index"
    static let retries = JobRetries(maximumAttempts: 3)
    static let timeLimit: Duration = .seconds(12 * 3_600)
    /// One build at a time, whosever it is: each takes a processor and a disk for itself, and would wait for the
    /// others.
    static let lane = "indexes"

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
            let index = ConcurrentIndex(
                space: build.space, collection: build.collection, relation: build.relation,
                keys: "\(try build.definition.keys())\(build.definition.condition)", isUnique: build.definition.unique)
            try await index.make(job, on: builder, watching: transfers.postgres, within: Self.timeLimit)
            try await finish(build, report, job)
            return report
        } catch {
            // Another worker goes on where this one was.
            if let reason = job.interruption, reason != .cancelled { throw error }
            await Task { try? await drop(build) }.value
            throw (error as? PostgresError).flatMap(Self.failure) ?? error
        }
    }

    /// From now on it is listed as `ready`.
    private func finish(_ build: IndexBuilds.Build, _ report: Report, _ job: RunningJob) async throws {
        let (table, comment) = (try build.space.table(build.collection), try IndexStore.comment(build.definition))
        guard let index = PostgresIdentifier(schema: build.space.schema, name: build.relation.text) else {
            throw HTTPProblem(.internalError)
        }
        try await transfers.postgres.withTransaction { transaction in
            guard try await transaction.execute("DELETE FROM storage.index_builds WHERE job = \(job.id)") == 1 else {
                throw JobFailure(code: ErrorCode.indexNotFound.rawValue, detail: "The index was dropped meanwhile.")
            }
            try await transaction.executeScript("SET LOCAL ROLE \(build.space.role.quoted)")
            try await transaction.execute("COMMENT ON INDEX \(index) IS \(comment)")
            // Else PostgreSQL knows nothing of the values in it until the collection has changed by a tenth.
            try await transaction.execute("ANALYZE \(table)", timeout: IndexStore.buildTimeout)
            try await transaction.execute("SELECT pg_notify(\(RightsStore.channel), \(build.space.schema))")
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
        try await ConcurrentIndex.drop(build.relation, of: build.space, on: builder)
    }

    /// What the app can do something about; nil: it is tried again.
    private static func failure(_ error: PostgresError) -> JobFailure? {
        if error.isUndefinedTable {
            return JobFailure(
                code: ErrorCode.collectionNotFound.rawValue, detail: "The collection was dropped.",
                cause: error.description)
        }
        if error.sqlState == "23505" {
            return JobFailure(
                code: ErrorCode.conflict.rawValue,
                detail: "Objects of the collection have the same values: the index cannot be unique.",
                cause: error.description)
        }
        guard let problem = error.clientProblem as? HTTPProblem, problem.code.status < 500 else { return nil }
        return JobFailure(
            code: problem.code.rawValue, detail: problem.detail ?? "The index cannot be built.",
            cause: error.description)
    }
}

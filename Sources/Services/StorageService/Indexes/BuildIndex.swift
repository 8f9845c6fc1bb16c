import Foundation
import MartletAPI
import MartletCore
import MartletJobs
import MartletPostgres

/// The job that builds an index requested by an app (`ConcurrentIndex`).
struct BuildIndex: JobHandler {
    static let kind = "index"
    static let retries = JobRetries(maximumAttempts: 3)
    static let timeLimit: Duration = .seconds(12 * 3_600)
    /// All apps share one lane, so one build runs at a time: each saturates a processor and a disk, and parallel builds
    /// would wait for each other.
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
    /// A client whose connections are only used for builds.
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
            // The job's next attempt continues an interrupted build.
            guard job.interruption == nil || job.isOver(after: error) else { throw error }
            await Task { try? await drop(build) }.value
            throw (error as? PostgresError).flatMap(Self.failure) ?? error
        }
    }

    /// Marks the index as ready and ends the job, in one transaction.
    private func finish(_ build: IndexBuilds.Build, _ report: Report, _ job: RunningJob) async throws {
        let (table, comment) = (try build.space.table(build.collection), try IndexStore.comment(build.definition))
        guard let index = PostgresIdentifier(schema: build.space.schema, name: build.relation.text) else {
            throw ServiceError(.internalError)
        }
        try await transfers.postgres.withTransaction { transaction in
            guard try await transaction.execute("DELETE FROM storage.index_builds WHERE job = \(job.id)") == 1 else {
                throw JobFailure(
                    code: ErrorCode.indexNotFound.rawValue, detail: "The index was dropped while it was being built.")
            }
            try await transaction.executeScript("SET LOCAL ROLE \(build.space.role.quoted)")
            try await transaction.execute("COMMENT ON INDEX \(index) IS \(comment)")
            // Otherwise PostgreSQL has no statistics on the indexed values until a tenth of the collection has changed.
            try await transaction.execute("ANALYZE \(table)", timeout: IndexStore.buildTimeout)
            try await transaction.execute("SELECT pg_notify(\(RightsStore.channel), \(build.space.schema))")
            try await transaction.executeScript("RESET ROLE")
            try await job.finish(report, in: transaction)
        }
    }

    /// Drops the index unless it is ready. It may be ready although the commit that made it so was reported as failed.
    private func drop(_ build: IndexBuilds.Build) async throws {
        let ready = try await transfers.postgres.query(
            """
            SELECT FROM pg_class WHERE relname = \(build.relation.text) AND relnamespace = to_regnamespace(quote_ident(\(build.space.schema)))
                AND obj_description(oid, 'pg_class') IS NOT NULL
            """)
        guard ready.isEmpty else { return }
        try await ConcurrentIndex.drop(build.relation, of: build.space, on: builder)
    }

    /// The failure if the app can do something about it; nil if the build should be retried.
    private static func failure(_ error: PostgresError) -> JobFailure? {
        if error.isUndefinedTable {
            return JobFailure(
                code: ErrorCode.collectionNotFound.rawValue, detail: "The collection was dropped.",
                cause: error.description)
        }
        if error.sqlState == "23505" {
            return JobFailure(
                code: ErrorCode.conflict.rawValue,
                detail: "Several objects have the same values, so the index cannot be unique.",
                cause: error.description)
        }
        guard let problem = error.clientProblem as? ServiceError, problem.isCallersFault else { return nil }
        return JobFailure(
            code: problem.code.rawValue, detail: problem.detail ?? "The index cannot be built.",
            cause: error.description)
    }
}

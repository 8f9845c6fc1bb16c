import Foundation
import Logging
import MartletBackground
import MartletJobs
import MartletPostgres

/// The job that adds the index on readers and writers to a collection older than that index. Not visible to apps.
struct BuildListedIndex: JobHandler {
    static let kind = "index.listed"
    static let retries = JobRetries(maximumAttempts: 3)
    static let timeLimit: Duration = .seconds(12 * 3_600)

    struct Options: Codable, Sendable {
        var space: SpaceName
        var collection: String
    }

    /// A client whose connections are only used for builds.
    let builder: PostgresClient
    let postgres: PostgresClient

    func run(_ options: Options, _ job: RunningJob) async throws -> JobNoResult {
        let index = ConcurrentIndex(
            space: try options.space.space, collection: try CollectionName(options.collection),
            relation: .listed(job.id),
            keys: CollectionStore.listedKeys)
        do {
            try await index.make(job, on: builder, watching: postgres, within: Self.timeLimit)
        } catch let error as PostgresError where error.isUndefinedTable {
            // The collection was dropped in the meantime.
        }
        return JobNoResult()
    }
}

/// Finds collections without the index on readers and writers, and enqueues a job for each. A collection whose job
/// failed is skipped for a day, so that permanent failures do not fill every round.
struct ListedIndexes: PeriodicWork {
    let interval: Duration = .seconds(600)
    /// The maximum number of waiting jobs, because every claim of a job must skip them.
    static let perRound = 10

    let postgres: PostgresClient
    let jobs: JobQueue
    let logger: Logger

    func work() async throws {
        let rows = try await postgres.query(
            """
            SELECT n.nspname::text, t.relname::text
            FROM pg_class AS t JOIN pg_namespace AS n ON n.oid = t.relnamespace JOIN storage.spaces AS s ON s.schema = n.nspname
            WHERE t.relkind = 'r' AND t.relname !~ '^_' AND NOT EXISTS (
                SELECT FROM pg_index AS x
                WHERE x.indrelid = t.oid AND x.indisvalid AND pg_get_indexdef(x.indexrelid) LIKE \(CollectionStore.listedPattern))
                AND NOT EXISTS (
                    SELECT FROM storage.jobs AS j WHERE j.kind = \(BuildListedIndex.kind) AND j.unique_key = n.nspname || '.' || t.relname
                        AND j.finished > now() - interval '1 day')
            ORDER BY t.oid LIMIT \(Self.perRound)
            """)
        for row in rows {
            guard let space = AppSchema(schema: try row.decode(0)) else { continue }
            let collection: String = try row.decode(1)
            let options = JobOptions(lane: BuildIndex.lane, uniqueKey: "\(space.schema).\(collection)", priority: -1)
            try await jobs.enqueue(
                BuildListedIndex.self, .init(space: SpaceName(space), collection: collection), options)
        }
    }
}

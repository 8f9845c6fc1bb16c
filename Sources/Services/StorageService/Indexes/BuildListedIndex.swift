import Foundation
import Logging
import MartletJobs
import MartletPostgres

/// The job that gives a collection from before it the index on readers and writers; no app's own.
struct BuildListedIndex: JobHandler {
    static let kind = "index.listed"
    static let retries = JobRetries(maximumAttempts: 3)
    static let timeLimit: Duration = .seconds(12 * 3_600)

    struct Options: Codable, Sendable {
        var space: SpaceName
        var collection: String
    }

    /// With connections that builds alone have.
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
            // Dropped meanwhile.
        }
        return JobNoResult()
    }
}

/// Looks for collections without the index on readers and writers, and stores the job for each. One whose job failed is
/// asked for again a day later: some that always fail are not to be all there is in each round.
struct ListedIndexes: PeriodicWork {
    let interval: Duration = .seconds(600)
    /// Waiting at a time: each claim of a job looks past them.
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
            guard let space = AppSpace(schema: try row.decode(0)) else { continue }
            let collection: String = try row.decode(1)
            let options = JobOptions(lane: BuildIndex.lane, uniqueKey: "\(space.schema).\(collection)", priority: -1)
            try await jobs.enqueue(
                BuildListedIndex.self, .init(space: SpaceName(space), collection: collection), options)
        }
    }
}

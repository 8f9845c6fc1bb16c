import Foundation
import MartletAPI
import MartletCore
import MartletJobs
import MartletPostgres

/// Indexes being built by jobs while writes continue, and those whose job failed: `storage.index_builds`.
struct IndexBuilds: Sendable {
    /// The maximum number of unfinished builds of an app.
    static let maximumUnfinished = 20

    let postgres: PostgresClient
    let jobs: JobQueue

    /// A build, as needed by its job.
    struct Build: Sendable {
        var space: AppSchema
        var collection: CollectionName
        var definition: IndexDefinition
        /// The index's name in PostgreSQL.
        var relation: IndexName
    }

    /// Builds in the order of their requests. A failed one is listed for as long as its job is kept.
    func list(on collection: CollectionName, of space: AppSchema) async throws -> [IndexEntry] {
        let rows = try await postgres.query(
            """
            SELECT b.definition, b.job, j.state, j.error_code, j.error_detail, j.finished IS NULL
            FROM storage.index_builds AS b JOIN storage.jobs AS j ON j.id = b.job
            WHERE b.schema = \(space.schema) AND b.collection = \(collection.text) ORDER BY b.job
            """)
        return try rows.map { row in
            let definition = try JSONDecoder().decode(
                IndexDefinition.self, from: Data(row.decode(0, as: PostgresJSON.self).bytes))
            let job: UUID = try row.decode(1)
            guard try !row.decode(5, as: Bool.self) else { return IndexEntry(definition, .building, job: job) }
            var failure = IndexEntry.Failure(
                code: try row.decode(3, as: String?.self) ?? "job-failed",
                detail: try row.decode(4, as: String?.self) ?? "The build did not finish.")
            if try row.decode(2, as: String.self) == Job.State.cancelled.rawValue {
                failure = IndexEntry.Failure(code: "job-cancelled", detail: "The build was cancelled.")
            }
            return IndexEntry(definition, .failed, failure: failure, job: job)
        }
    }

    /// Enqueues the build, under the service's own role and in a transaction that has checked whether there is room for
    /// the index. Replaces a failed build with the same name.
    ///
    /// - Throws: `limit-exceeded`.
    func start(
        _ index: IndexDefinition, on collection: CollectionName, of space: AppSchema,
        in transaction: PostgresTransaction
    ) async throws -> UUID {
        guard try await jobs.unfinished(scope: space.jobScope, kinds: [BuildIndex.kind]) < Self.maximumUnfinished else {
            throw ServiceError(
                .limitExceeded, "An app may have at most \(Self.maximumUnfinished) indexes waiting to be built.")
        }
        let options = JobOptions(scope: space.jobScope, lane: BuildIndex.lane)
        let parameters = BuildIndex.Options(space: SpaceName(space), collection: collection.text, name: index.name)
        guard let job = try await jobs.enqueue(BuildIndex.self, parameters, options, in: transaction) else {
            throw ServiceError(.conflict)
        }
        try await forget(index.name, on: collection, of: space, in: transaction)
        try await transaction.execute(
            """
            INSERT INTO storage.index_builds (schema, collection, name, definition, relation, job)
            VALUES (\(space.schema), \(collection.text), \(index.name), \(PostgresJSON(Array(try JSONEncoder().encode(index)))),
                \(IndexName.makeForJob().text), \(job))
            """)
        // Unique indexes determine whether a write could reveal a hidden field, so cached rights must be reloaded.
        if index.unique { try await transaction.execute("SELECT pg_notify(\(RightsStore.channel), \(space.schema))") }
        return job
    }

    /// Removes a failed build from the list.
    func forget(_ name: String, on collection: CollectionName, of space: AppSchema, in transaction: PostgresTransaction)
        async throws
    {
        try await transaction.execute(
            """
            DELETE FROM storage.index_builds WHERE schema = \(space.schema) AND collection = \(collection.text) AND name = \(name)
                AND job IN (SELECT id FROM storage.jobs WHERE finished IS NOT NULL)
            """)
    }

    /// The index that a job is to build; nil if the build was cancelled.
    func build(of job: UUID) async throws -> Build? {
        let rows = try await postgres.query(
            "SELECT schema, collection, definition, relation FROM storage.index_builds WHERE job = \(job)")
        guard let row = rows.first, let space = AppSchema(schema: try row.decode(0)) else { return nil }
        return Build(
            space: space, collection: try CollectionName(row.decode(1, as: String.self)),
            definition: try JSONDecoder().decode(
                IndexDefinition.self, from: Data(row.decode(2, as: PostgresJSON.self).bytes)),
            relation: IndexName(text: try row.decode(3)))
    }

    /// How long to wait for the builds of a collection that is dropped.
    private static let timeout: Duration = .seconds(5)

    /// Cancels the builds of a space, of one collection or of one name; returns their number. The jobs themselves drop
    /// what they have built. Unless a name is given, this waits for them to end, because they would deadlock with a
    /// transaction that drops the collection.
    @discardableResult
    func stop(_ name: String? = nil, on collection: CollectionName? = nil, of space: AppSchema) async throws -> Int {
        let rows = try await postgres.query(
            """
            DELETE FROM storage.index_builds WHERE schema = \(space.schema)
                AND (\(collection?.text)::text IS NULL OR collection = \(collection?.text)) AND (\(name)::text IS NULL OR name = \(name))
            RETURNING job
            """)
        for row in rows { _ = try await jobs.cancel(try row.decode(0), scope: space.jobScope) }
        if name == nil, !rows.isEmpty { try await waitForEnd(of: try rows.map { try $0.decode(0) }) }
        return rows.count
    }

    private func waitForEnd(of ids: [UUID]) async throws {
        let end = ContinuousClock.now + Self.timeout
        while ContinuousClock.now < end {
            let running = try await postgres.query(
                "SELECT FROM storage.jobs WHERE id = ANY (\(ids)) AND finished IS NULL LIMIT 1")
            if running.isEmpty { return }
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    /// - Throws: `conflict` while an index is being built, during which the collection must not be renamed.
    func requireNone(on collection: CollectionName, of space: AppSchema) async throws {
        guard try await !list(on: collection, of: space).contains(where: { $0.state == .building }) else {
            throw ServiceError(.conflict, "An index of the collection is being built. Wait for it, or drop it.")
        }
    }

    /// Moves failed builds along with their collection.
    func rename(_ collection: CollectionName, to name: CollectionName, of space: AppSchema) async throws {
        try await postgres.execute(
            "UPDATE storage.index_builds SET collection = \(name.text) WHERE schema = \(space.schema) AND collection = \(collection.text)"
        )
    }
}

import Foundation
import MartletAPI
import MartletCore
import MartletPostgres

/// Indexes requested by apps, in addition to the equality index that every collection has.
///
/// The index's comment contains its definition as JSON.
struct IndexStore: Sendable {
    static let maximumIndexes = 20
    static let maximumFields = 4
    /// The time limit for building an index immediately, and for analyzing the collection afterwards.
    static let buildTimeout: Duration = .seconds(600)

    let postgres: PostgresClient
    /// A client whose connections are only used for builds, so that other statements do not wait for them.
    let builder: PostgresClient
    let buildSemaphore = IndexStore.makeBuildSemaphore()
    let spaces: Spaces
    let builds: IndexBuilds
    /// The largest collection whose indexes are built immediately, which briefly blocks writes. Indexes of larger
    /// collections are built by a job.
    var immediateBuildLimitInBytes = 16 << 20

    static let maximumWaitingBuilds = 20

    /// Allows one build at a time in this copy of the service, in the order of the requests. Each build saturates a
    /// processor and a disk.
    static func makeBuildSemaphore() -> AsyncSemaphore {
        AsyncSemaphore(
            limit: 1, maximumWaiting: maximumWaitingBuilds,
            refusal: ServiceError(
                .unavailable, "\(maximumWaitingBuilds) indexes are waiting to be built. Try again later."))
    }

    typealias Definition = IndexDefinition

    /// Builds the index immediately if the collection is small; otherwise enqueues a job that builds it.
    ///
    /// - Throws: `collection-not-found`, `conflict` if the name is taken or, for a small collection, values are not
    ///   unique; `limit-exceeded`, `unavailable`. After an error there is no index.
    func create(_ index: Definition, on collection: CollectionName, of space: AppSchema) async throws -> IndexEntry {
        let (keys, condition) = (try index.keys(), index.condition)
        guard let size = try await spaces.size(of: collection, in: space, on: postgres) else {
            throw ServiceError(.collectionNotFound)
        }
        if size > immediateBuildLimitInBytes {
            let job = try await postgres.withTransaction { transaction in
                try await check(index, on: collection, of: space, transaction)
                return try await builds.start(index, on: collection, of: space, in: transaction)
            }
            return IndexEntry(index, .building, job: job)
        }
        do {
            try await buildSemaphore.withPermit {
                try await createNow(index, "\(keys)\(condition)", on: collection, of: space)
            }
        } catch let error as PostgresError where error.isUndefinedTable {
            throw ServiceError(.collectionNotFound)
        } catch let error as PostgresError {
            throw error.clientProblem ?? error
        }
        return IndexEntry(index, .ready)
    }

    /// Builds the index in one transaction: writes to the collection wait, reads continue, and a failed build leaves
    /// nothing behind.
    private func createNow(
        _ index: Definition, _ keys: PostgresQuery, on collection: CollectionName, of space: AppSchema
    ) async throws {
        let (table, name) = (try space.table(collection), IndexName.make())
        let (identifier, comment) = (try name.identifier, try Self.comment(index))
        guard let qualified = PostgresIdentifier(schema: space.schema, name: name.text) else {
            throw ServiceError(.invalidName)
        }
        let start: PostgresQuery = index.unique ? "CREATE UNIQUE INDEX" : "CREATE INDEX"
        try await builder.withTransaction { transaction in
            let seconds = Self.buildTimeout.components.seconds
            try await transaction.executeScript("SET LOCAL statement_timeout = '\(seconds)s'")
            try await check(index, on: collection, of: space, transaction)
            try await builds.forget(index.name, on: collection, of: space, in: transaction)
            try await Self.record("create-index", index.name, collection, space, transaction)
            try await transaction.executeScript("SET LOCAL ROLE \(space.role.quoted)")
            try await transaction.execute("LOCK TABLE \(table) IN SHARE MODE")
            try await transaction.execute("\(start) \(identifier) ON \(table) \(keys)", timeout: Self.buildTimeout)
            try await transaction.execute("COMMENT ON INDEX \(qualified) IS \(comment)")
            // Otherwise PostgreSQL has no statistics on the indexed values until a tenth of the collection has changed.
            try await transaction.execute("ANALYZE \(table)", timeout: Self.buildTimeout)
            // A conflict in a unique index could reveal a hidden field, so access checks depend on unique indexes.
            // Other copies of the service must reload what they have cached.
            try await transaction.execute("SELECT pg_notify(\(RightsStore.channel), \(space.schema))")
        }
    }

    /// Checks whether the index can be created, and locks out other checks for this collection until the transaction
    /// ends. Must run under the service's own role.
    private func check(
        _ index: Definition, on collection: CollectionName, of space: AppSchema, _ transaction: PostgresTransaction
    ) async throws {
        let key = "\(space.schema) indexes \(collection.text)"
        try await transaction.execute("SELECT pg_advisory_xact_lock(hashtextextended(\(key), 0))")
        try await Self.requireTable(collection, of: space, transaction)
        let ready = try await Self.list(on: collection, of: space, transaction).map {
            IndexEntry($0.definition, .ready)
        }
        let existing = ready + (try await builds.list(on: collection, of: space)).filter { $0.state == .building }
        guard !existing.contains(where: { $0.definition.name == index.name }) else {
            throw ServiceError(.conflict, "An index \"\(index.name)\" exists.", field: "name")
        }
        guard existing.count < Self.maximumIndexes else {
            throw ServiceError(.limitExceeded, "A collection may have at most \(Self.maximumIndexes) indexes.")
        }
    }

    /// The indexes, starting with those that are ready.
    ///
    /// - Throws: `collection-not-found`.
    func list(on collection: CollectionName, of space: AppSchema) async throws -> [IndexEntry] {
        try await spaces.prepare(space)
        // Builds first, so that one that becomes ready in between is not missed.
        let builds = try await builds.list(on: collection, of: space)
        let ready = try await postgres.withTransaction(role: space.role) { transaction in
            try await Self.requireTable(collection, of: space, transaction)
            return try await Self.list(on: collection, of: space, transaction).map { IndexEntry($0.definition, .ready) }
        }
        return ready + builds.filter { build in !ready.contains { $0.definition.name == build.definition.name } }
    }

    /// Drops an index, or cancels its build.
    ///
    /// - Throws: `collection-not-found`, `index-not-found`.
    func drop(_ name: String, on collection: CollectionName, of space: AppSchema) async throws {
        try await spaces.prepare(space)
        if try await builds.stop(name, on: collection, of: space) > 0 { return }
        try await postgres.withTransaction(role: space.role) { transaction in
            try await Self.requireTable(collection, of: space, transaction)
            let existing = try await Self.list(on: collection, of: space, transaction)
            guard let index = existing.first(where: { $0.definition.name == name }),
                let identifier = PostgresIdentifier(schema: space.schema, name: index.internalName)
            else { throw ServiceError(.indexNotFound) }
            try await transaction.execute("DROP INDEX \(identifier)")
            try await Self.record("delete-index", name, collection, space, transaction)
            try await transaction.execute("SELECT pg_notify(\(RightsStore.channel), \(space.schema))")
        }
    }

    /// Records what staff do in the audit log. Triggers cannot do this, because an index is not a row in a table.
    private static func record(
        _ action: String, _ index: String, _ collection: CollectionName, _ space: AppSchema,
        _ transaction: PostgresTransaction
    ) async throws {
        try await transaction.execute(
            "SELECT storage.record_index(\(action), \(space.schema), \(collection.text), \(index))")
    }

    private static func requireTable(
        _ collection: CollectionName, of space: AppSchema, _ transaction: PostgresTransaction
    ) async throws {
        let rows = try await transaction.query(
            "SELECT FROM pg_tables WHERE schemaname = \(space.schema) AND tablename = \(collection.text)")
        guard !rows.isEmpty else { throw ServiceError(.collectionNotFound) }
    }

    private static func list(
        on collection: CollectionName, of space: AppSchema, _ transaction: PostgresTransaction
    ) async throws -> [(internalName: String, definition: Definition)] {
        let rows = try await transaction.query(
            """
            SELECT i.relname::text, obj_description(i.oid, 'pg_class')
            FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_class t ON t.oid = x.indrelid
            WHERE t.relname = \(collection.text) AND t.relnamespace = to_regnamespace(quote_ident(\(space.schema)))
                AND obj_description(i.oid, 'pg_class') IS NOT NULL
            ORDER BY i.oid
            """)
        return try rows.map { row in
            let comment = try row.decode(1, as: String.self)
            return (try row.decode(0), try JSONDecoder().decode(Definition.self, from: Data(comment.utf8)))
        }
    }

    static func comment(_ index: Definition) throws -> PostgresLiteral {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let comment = PostgresLiteral(String(decoding: try encoder.encode(index), as: UTF8.self)) else {
            throw ServiceError(.invalidName)
        }
        return comment
    }
}

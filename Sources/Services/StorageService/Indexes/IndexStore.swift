import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// Indexes that an app asked for, beside the one on every equality that each collection has.
///
/// The index's comment holds what was asked, as JSON.
struct IndexStore: Sendable {
    static let maximumIndexes = 20
    static let maximumFields = 4
    /// Of what is built at once, and of looking at the values afterwards.
    static let buildTimeout: Duration = .seconds(600)

    let postgres: PostgresClient
    /// Connections for builds alone, so that nothing else waits for one.
    let builder: PostgresClient
    let turn = IndexStore.makeTurn()
    let spaces: Spaces
    let builds: IndexBuilds
    /// Collections up to this size get their index at once, while writes wait for a moment. Of larger ones it is built
    /// by a job.
    var atOnceSizeInBytes = 16 << 20

    static let maximumWaitingBuilds = 20

    /// One build at a time in this copy of the service, in the order of asking: each takes a processor and a disk for
    /// itself.
    static func makeTurn() -> AsyncSemaphore {
        AsyncSemaphore(
            limit: 1, maximumWaiting: maximumWaitingBuilds,
            refusal: HTTPProblem(.unavailable, "\(maximumWaitingBuilds) indexes wait to be built. Try again later."))
    }

    typealias Definition = IndexDefinition

    /// Makes the index of a small collection; of a large one stores the job that builds it.
    ///
    /// - Throws: `collection-not-found`, `conflict` when the name is taken or, of a small one, the data are not unique;
    ///   `limit-exceeded`, `unavailable`. Nothing is left behind then.
    func create(_ index: Definition, on collection: CollectionName, of space: AppSpace) async throws -> IndexEntry {
        let (keys, condition) = (try index.keys(), index.condition)
        try await spaces.prepare(space)
        if try await size(of: collection, in: space) > atOnceSizeInBytes {
            let job = try await postgres.withTransaction { transaction in
                try await check(index, on: collection, of: space, transaction)
                return try await builds.start(index, on: collection, of: space, in: transaction)
            }
            return IndexEntry(index, .building, job: job)
        }
        do {
            try await turn.withPermit { try await createNow(index, "\(keys)\(condition)", on: collection, of: space) }
        } catch let error as PostgresError where error.isUndefinedTable {
            throw HTTPProblem(.collectionNotFound)
        } catch let error as PostgresError {
            throw error.clientProblem ?? error
        }
        return IndexEntry(index, .ready)
    }

    /// With what is stored outside of rows, without indexes.
    ///
    /// - Throws: `collection-not-found`.
    private func size(of collection: CollectionName, in space: AppSpace) async throws -> Int {
        let rows = try await postgres.query(
            """
            SELECT pg_table_size(oid) FROM pg_class
            WHERE relnamespace = to_regnamespace(quote_ident(\(space.schema))) AND relname = \(collection.text) AND relkind = 'r'
            """)
        guard let row = rows.first else { throw HTTPProblem(.collectionNotFound) }
        // Gone at this moment.
        return try row.decode(0, as: Int?.self) ?? 0
    }

    /// In one transaction: writes to the collection wait, reads go on, and a failed build leaves nothing behind.
    private func createNow(
        _ index: Definition, _ keys: PostgresQuery, on collection: CollectionName, of space: AppSpace
    ) async throws {
        let (table, name) = (try space.table(collection), IndexName.make())
        let (identifier, comment) = (try name.identifier, try Self.comment(index))
        guard let qualified = PostgresIdentifier(schema: space.schema, name: name.text) else {
            throw HTTPProblem(.invalidName)
        }
        let start: PostgresQuery = index.unique ? "CREATE UNIQUE INDEX" : "CREATE INDEX"
        try await builder.withTransaction { transaction in
            let seconds = Self.buildTimeout.components.seconds
            try await transaction.executeScript("SET LOCAL statement_timeout = '\(seconds)s'")
            try await check(index, on: collection, of: space, transaction)
            try await builds.forget(index.name, on: collection, of: space, in: transaction)
            try await transaction.executeScript("SET LOCAL ROLE \(space.role.quoted)")
            try await transaction.execute("LOCK TABLE \(table) IN SHARE MODE")
            try await transaction.execute("\(start) \(identifier) ON \(table) \(keys)", timeout: Self.buildTimeout)
            try await transaction.execute("COMMENT ON INDEX \(qualified) IS \(comment)")
            // Else PostgreSQL knows nothing of the values in it until the collection has changed by a tenth.
            try await transaction.execute("ANALYZE \(table)", timeout: Self.buildTimeout)
            // Whether a write could tell of a hidden field depends on unique indexes, so other copies read the rights
            // anew.
            try await transaction.execute("SELECT pg_notify(\(RightsStore.channel), \(space.schema))")
        }
    }

    /// Whether the index can be made; until the transaction ends nobody else asks that of this collection. Under the
    /// service's own role.
    private func check(
        _ index: Definition, on collection: CollectionName, of space: AppSpace, _ transaction: PostgresTransaction
    ) async throws {
        let key = "\(space.schema) indexes \(collection.text)"
        try await transaction.execute("SELECT pg_advisory_xact_lock(hashtextextended(\(key), 0))")
        try await Self.requireTable(collection, of: space, transaction)
        let ready = try await Self.list(on: collection, of: space, transaction).map {
            IndexEntry($0.definition, .ready)
        }
        let existing = ready + (try await builds.list(on: collection, of: space)).filter { $0.state == .building }
        guard !existing.contains(where: { $0.definition.name == index.name }) else {
            throw HTTPProblem(.conflict, "An index \"\(index.name)\" exists.", field: "name")
        }
        guard existing.count < Self.maximumIndexes else {
            throw HTTPProblem(.limitExceeded, "A collection may have \(Self.maximumIndexes) indexes.")
        }
    }

    /// Those that are ready first.
    ///
    /// - Throws: `collection-not-found`.
    func list(on collection: CollectionName, of space: AppSpace) async throws -> [IndexEntry] {
        try await spaces.prepare(space)
        // In this order, so that one that becomes ready meanwhile is not missing.
        let builds = try await builds.list(on: collection, of: space)
        let ready = try await postgres.withTransaction(role: space.role) { transaction in
            try await Self.requireTable(collection, of: space, transaction)
            return try await Self.list(on: collection, of: space, transaction).map { IndexEntry($0.definition, .ready) }
        }
        return ready + builds.filter { build in !ready.contains { $0.definition.name == build.definition.name } }
    }

    /// Also gives up one that is being built.
    ///
    /// - Throws: `collection-not-found`, `index-not-found`.
    func drop(_ name: String, on collection: CollectionName, of space: AppSpace) async throws {
        try await spaces.prepare(space)
        if try await builds.stop(name, on: collection, of: space) > 0 { return }
        try await postgres.withTransaction(role: space.role) { transaction in
            try await Self.requireTable(collection, of: space, transaction)
            let existing = try await Self.list(on: collection, of: space, transaction)
            guard let index = existing.first(where: { $0.definition.name == name }),
                let identifier = PostgresIdentifier(schema: space.schema, name: index.internalName)
            else { throw HTTPProblem(.indexNotFound) }
            try await transaction.execute("DROP INDEX \(identifier)")
            try await transaction.execute("SELECT pg_notify(\(RightsStore.channel), \(space.schema))")
        }
    }

    private static func requireTable(
        _ collection: CollectionName, of space: AppSpace, _ transaction: PostgresTransaction
    ) async throws {
        let rows = try await transaction.query(
            "SELECT FROM pg_tables WHERE schemaname = \(space.schema) AND tablename = \(collection.text)")
        guard !rows.isEmpty else { throw HTTPProblem(.collectionNotFound) }
    }

    private static func list(
        on collection: CollectionName, of space: AppSpace, _ transaction: PostgresTransaction
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
            throw HTTPProblem(.invalidName)
        }
        return comment
    }
}

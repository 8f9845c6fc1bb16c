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
    /// Building one on a large table takes its time.
    static let buildTimeout: Duration = .seconds(600)

    let postgres: PostgresClient
    /// Connections for builds alone, so that nothing else waits for one.
    let builder: PostgresClient
    let turn = IndexStore.makeTurn()
    let spaces: Spaces

    static let maximumWaitingBuilds = 20

    /// One build at a time in this copy of the service, in the order of asking: each takes a processor and a disk for itself.
    static func makeTurn() -> Gate {
        Gate(
            limit: 1, maximumWaiting: maximumWaitingBuilds,
            refusal: HTTPProblem(.unavailable, "\(maximumWaitingBuilds) indexes wait to be built. Try again later."))
    }

    typealias Definition = IndexDefinition

    /// Builds it in one transaction: writes to the collection wait, reads go on, and a failed build leaves nothing behind.
    ///
    /// - Throws: `collection-not-found`, `conflict` when the name is taken or the data are not unique, `limit-exceeded`, `unavailable`.
    func create(_ index: Definition, on collection: CollectionName, of space: AppSpace) async throws {
        let (table, keys, name) = (try space.table(collection), try index.keys(), IndexName.make())
        let (identifier, comment) = (try name.identifier, try Self.comment(index))
        guard let qualified = PostgresIdentifier(schema: space.schema, name: name.text) else { throw HTTPProblem(.invalidName) }
        let start: PostgresQuery = index.unique ? "CREATE UNIQUE INDEX" : "CREATE INDEX"
        try await spaces.prepare(space)
        do {
            try await turn.withPlace {
                try await builder.withTransaction(role: space.role) { transaction in
                    try await transaction.execute("LOCK TABLE \(table) IN SHARE MODE")
                    try await Self.check(index, on: collection, of: space, transaction)
                    try await transaction.executeScript("SET LOCAL statement_timeout = '\(Self.buildTimeout.components.seconds)s'")
                    try await transaction.execute("\(start) \(identifier) ON \(table) \(keys)\(index.condition)", timeout: Self.buildTimeout)
                    try await transaction.execute("COMMENT ON INDEX \(qualified) IS \(comment)")
                    // Else PostgreSQL knows nothing of the values in it until the collection has changed by a tenth.
                    try await transaction.execute("ANALYZE \(table)", timeout: Self.buildTimeout)
                }
            }
        } catch let error as PostgresError where error.isUndefinedTable {
            throw HTTPProblem(.collectionNotFound)
        } catch let error as PostgresError {
            throw error.clientProblem ?? error
        }
    }

    /// Whether the index can be made.
    private static func check(
        _ index: Definition, on collection: CollectionName, of space: AppSpace, _ transaction: PostgresTransaction
    ) async throws {
        try await requireTable(collection, of: space, transaction)
        let existing = try await list(on: collection, of: space, transaction)
        guard !existing.contains(where: { $0.definition.name == index.name }) else {
            throw HTTPProblem(.conflict, "An index \"\(index.name)\" exists.", field: "name")
        }
        guard existing.count < maximumIndexes else {
            throw HTTPProblem(.limitExceeded, "A collection may have \(maximumIndexes) indexes.")
        }
    }

    /// - Throws: `collection-not-found`.
    func list(on collection: CollectionName, of space: AppSpace) async throws -> [Definition] {
        try await spaces.prepare(space)
        return try await postgres.withTransaction(role: space.role) { transaction in
            try await Self.requireTable(collection, of: space, transaction)
            return try await Self.list(on: collection, of: space, transaction).map(\.definition)
        }
    }

    /// - Throws: `collection-not-found`, `index-not-found`.
    func drop(_ name: String, on collection: CollectionName, of space: AppSpace) async throws {
        try await spaces.prepare(space)
        try await postgres.withTransaction(role: space.role) { transaction in
            try await Self.requireTable(collection, of: space, transaction)
            let existing = try await Self.list(on: collection, of: space, transaction)
            guard let index = existing.first(where: { $0.definition.name == name }),
                let identifier = PostgresIdentifier(schema: space.schema, name: index.internalName)
            else { throw HTTPProblem(.indexNotFound) }
            try await transaction.execute("DROP INDEX \(identifier)")
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

    private static func comment(_ index: Definition) throws -> PostgresLiteral {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let comment = PostgresLiteral(String(decoding: try encoder.encode(index), as: UTF8.self)) else { throw HTTPProblem(.invalidName) }
        return comment
    }
}

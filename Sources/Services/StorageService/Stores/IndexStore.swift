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
    let spaces: Spaces

    typealias Definition = IndexDefinition

    /// Builds it while reads and writes go on. A failed build leaves nothing behind; one that was cut off is cleared away by the next.
    ///
    /// Waits for transactions that have changed the collection, at most as long as for a lock.
    ///
    /// - Throws: `collection-not-found`, `conflict` when the name is taken or the data are not unique, `limit-exceeded`.
    func create(_ index: Definition, on collection: CollectionName, of space: AppSpace) async throws {
        let (table, keys) = (try space.table(collection), try index.keys())
        let unique: PostgresQuery = index.unique ? "UNIQUE " : ""
        try await spaces.prepare(space)
        do {
            // Holds a lock and nothing else that the build, on another connection, would wait for.
            try await postgres.withTransaction(role: space.role) { transaction in
                try await transaction.execute(
                    "SELECT pg_advisory_xact_lock(hashtextextended(\(space.schema + "." + collection.text), 1))", timeout: Self.buildTimeout)
                try await check(index, on: collection, of: space)
                let name = IndexName.make()
                let (building, finished) = (try Self.qualified("_b" + name.text.dropFirst(), space), try Self.qualified(name.text, space))
                guard let plain = PostgresIdentifier("_b" + name.text.dropFirst()), let comment = PostgresLiteral(try Self.comment(index)) else {
                    throw HTTPProblem(.invalidName)
                }
                do {
                    try await run("CREATE \(unique)INDEX CONCURRENTLY \(plain) ON \(table) \(keys)\(index.condition)", in: space)
                    try await transaction.execute("ALTER INDEX \(building) RENAME TO \(try name.identifier)")
                    try await transaction.execute("COMMENT ON INDEX \(finished) IS \(comment)")
                } catch {
                    // Also when the client has gone: the task's cancellation must not keep the remains.
                    await Task { _ = try? await run("DROP INDEX CONCURRENTLY IF EXISTS \(building)", in: space) }.value
                    throw error
                }
            }
        } catch let error as PostgresError where error.isUndefinedTable {
            throw HTTPProblem(.collectionNotFound)
        } catch let error as PostgresError {
            throw error.clientProblem ?? error
        }
    }

    /// Whether the index can be made; clears away what builds that were cut off have left.
    private func check(_ index: Definition, on collection: CollectionName, of space: AppSpace) async throws {
        let (existing, remains) = try await postgres.withTransaction(role: space.role) { transaction in
            try await Self.requireTable(collection, of: space, transaction)
            let rows = try await transaction.query(
                """
                SELECT i.relname::text FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_class t ON t.oid = x.indrelid
                WHERE t.relname = \(collection.text) AND t.relnamespace = to_regnamespace(quote_ident(\(space.schema)))
                    AND i.relname ~ '^_b[0-9a-f]{32}$'
                """)
            return (try await Self.list(on: collection, of: space, transaction), try rows.map { try $0.decode(0, as: String.self) })
        }
        for name in remains { try await run("DROP INDEX CONCURRENTLY IF EXISTS \(try Self.qualified(name, space))", in: space) }
        guard !existing.contains(where: { $0.definition.name == index.name }) else {
            throw HTTPProblem(.conflict, "An index \"\(index.name)\" exists.", field: "name")
        }
        guard existing.count < Self.maximumIndexes else {
            throw HTTPProblem(.limitExceeded, "A collection may have \(Self.maximumIndexes) indexes.")
        }
    }

    /// Alone in its transaction, as what is done concurrently must be.
    private func run(_ statement: PostgresQuery, in space: AppSpace) async throws {
        var statement = statement
        statement.role = space.role
        statement.isPrepared = false
        try await postgres.execute(statement, timeout: Self.buildTimeout)
    }

    private static func qualified(_ name: String, _ space: AppSpace) throws -> PostgresIdentifier {
        guard let identifier = PostgresIdentifier(schema: space.schema, name: name) else { throw HTTPProblem(.invalidName) }
        return identifier
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

    private static func comment(_ index: Definition) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(index), as: UTF8.self)
    }
}

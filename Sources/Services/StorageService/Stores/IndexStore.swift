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
    /// Key of the advisory lock that a build holds: `index` in ASCII.
    private static let buildLock: Int64 = 0x69_6e64_6578

    let postgres: PostgresClient
    /// Connections for builds alone, so that nothing else waits for one; three.
    let builder: PostgresClient
    let turn = BuildTurn()
    /// A collection of up to this size is indexed in one transaction, which is quicker and waits for nobody else's.
    var smallSizeInBytes = 16 << 20
    let spaces: Spaces

    typealias Definition = IndexDefinition

    /// Builds it while reads and writes go on; on a small collection, writes wait for that moment.
    ///
    /// A failed build leaves nothing behind; one that was cut off is cleared away by the next. Waits for transactions that have changed
    /// the collection, at most as long as for a lock.
    ///
    /// - Throws: `collection-not-found`, `conflict` when the name is taken or the data are not unique, `limit-exceeded`, `unavailable`.
    func create(_ index: Definition, on collection: CollectionName, of space: AppSpace) async throws {
        try await spaces.prepare(space)
        let build = Build(
            name: IndexName.make(), table: try space.table(collection),
            start: index.unique ? "CREATE UNIQUE INDEX" : "CREATE INDEX", end: "\(try index.keys())\(index.condition)",
            comment: try Self.comment(index))
        do {
            if try await isSmall(collection, of: space) {
                try await postgres.withTransaction(role: space.role) { transaction in
                    try await transaction.execute("LOCK TABLE \(build.table) IN SHARE MODE")
                    try await Self.check(index, on: collection, of: space, transaction)
                    try await transaction.execute("\(build.start) \(build.name.identifier) ON \(build.table) \(build.end)")
                    try await transaction.execute("COMMENT ON INDEX \(Self.qualified(build.name.text, space)) IS \(build.comment)")
                }
            } else {
                try await turn.run { try await createConcurrently(index, build, on: collection, of: space) }
            }
        } catch let error as PostgresError where error.isUndefinedTable {
            throw HTTPProblem(.collectionNotFound)
        } catch let error as PostgresError {
            throw error.clientProblem ?? error
        }
    }

    private struct Build {
        let name: IndexName
        let table: PostgresIdentifier
        let start: PostgresQuery
        let end: PostgresQuery
        let comment: PostgresLiteral
    }

    private func isSmall(_ collection: CollectionName, of space: AppSpace) async throws -> Bool {
        let rows = try await postgres.query(
            """
            SELECT pg_table_size(c.oid) FROM pg_class c
            WHERE c.relname = \(collection.text) AND c.relnamespace = to_regnamespace(quote_ident(\(space.schema)))
            """)
        guard let row = rows.first else { throw HTTPProblem(.collectionNotFound) }
        return try row.decode(0, as: Int.self) <= smallSizeInBytes
    }

    private func createConcurrently(
        _ index: Definition, _ build: Build, on collection: CollectionName, of space: AppSpace
    ) async throws {
        let unfinished = "_b" + build.name.text.dropFirst()
        // Holds a lock and nothing else that the build, on another connection, would wait for. Other copies of the service take it too.
        try await builder.withTransaction(role: space.role) { transaction in
            try await transaction.execute("SELECT pg_advisory_xact_lock(\(Self.buildLock))")
            try await clear(collection, of: space)
            try await builder.withTransaction(role: space.role) { try await Self.check(index, on: collection, of: space, $0) }
            guard let plain = PostgresIdentifier(unfinished) else { throw HTTPProblem(.invalidName) }
            do {
                var start = build.start
                start.append(" CONCURRENTLY")
                try await run("\(start) \(plain) ON \(build.table) \(build.end)", in: space)
                try await transaction.execute("ALTER INDEX \(Self.qualified(unfinished, space)) RENAME TO \(build.name.identifier)")
                try await transaction.execute("COMMENT ON INDEX \(Self.qualified(build.name.text, space)) IS \(build.comment)")
            } catch {
                // Also when the client has gone: the task's cancellation must not keep the remains.
                await Task { _ = try? await run("DROP INDEX CONCURRENTLY IF EXISTS \(Self.qualified(unfinished, space))", in: space) }.value
                throw error
            }
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

    /// Clears away what builds that were cut off have left.
    private func clear(_ collection: CollectionName, of space: AppSpace) async throws {
        let remains = try await builder.query(
            """
            SELECT i.relname::text FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_class t ON t.oid = x.indrelid
            WHERE t.relname = \(collection.text) AND t.relnamespace = to_regnamespace(quote_ident(\(space.schema)))
                AND i.relname ~ '^_b[0-9a-f]{32}$'
            """)
        for row in remains {
            try await run("DROP INDEX CONCURRENTLY IF EXISTS \(Self.qualified(try row.decode(0, as: String.self), space))", in: space)
        }
    }

    /// Alone in its transaction, as what is done concurrently must be.
    private func run(_ statement: PostgresQuery, in space: AppSpace) async throws {
        var statement = statement
        statement.role = space.role
        statement.isPrepared = false
        try await builder.execute(statement, timeout: Self.buildTimeout)
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

    private static func comment(_ index: Definition) throws -> PostgresLiteral {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let comment = PostgresLiteral(String(decoding: try encoder.encode(index), as: UTF8.self)) else { throw HTTPProblem(.invalidName) }
        return comment
    }
}

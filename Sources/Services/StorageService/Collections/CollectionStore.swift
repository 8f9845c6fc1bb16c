import MartletAPI
import MartletCore
import MartletPostgres

/// An app's collections: tables in its schema.
struct CollectionStore: Sendable {
    static let maximumCollections = 500

    let postgres: PostgresClient
    let spaces: Spaces

    /// A collection as returned by management calls.
    struct Summary: Codable, Sendable, Equatable {
        var name: String
        /// PostgreSQL's estimate, which may be minutes old.
        var estimatedCount: Int
        /// Including indexes.
        var sizeInBytes: Int
    }

    /// Creates a collection. Idempotent, also when called concurrently.
    ///
    /// - Throws: `limit-exceeded` beyond `maximumCollections`.
    func create(_ collection: CollectionName, of space: AppSchema) async throws {
        try await spaces.prepare(space)
        try await postgres.withTransaction(role: space.role) { try await Self.create(collection, of: space, $0) }
    }

    /// As above, in a transaction that has the space's role.
    static func create(_ collection: CollectionName, of space: AppSchema, _ transaction: PostgresTransaction)
        async throws
    {
        let table = try space.table(collection)
        try await transaction.execute("SELECT pg_advisory_xact_lock(hashtextextended(\(space.schema), 0))")
        // By name and schema, for which there is an index: a server with many apps has very many tables.
        let rows = try await transaction.query(
            """
            SELECT count(*) FILTER (WHERE name !~ '^_'), count(*) FILTER (WHERE name = \(collection.text))
            FROM (SELECT \(collection.text)::text AS name UNION SELECT name FROM \(try space.own("_collections"))) AS named
            WHERE EXISTS (
                SELECT FROM pg_class
                WHERE relname = name::name AND relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = \(space.schema))
                    AND relkind = 'r')
            """)
        guard try rows[0].decode(1, as: Int.self) == 0 else { return }
        guard try rows[0].decode(0, as: Int.self) < maximumCollections else {
            throw ServiceError(
                .limitExceeded, "An app may have at most \(maximumCollections) collections.", field: "collection")
        }
        try await makeTable(table, in: transaction)
        try await transaction.execute(
            "INSERT INTO \(try space.own("_collections")) (name) VALUES (\(collection.text)) ON CONFLICT DO NOTHING")
        try await makeIndexes(table, in: transaction)
    }

    /// The table of a collection, without indexes.
    static func makeTable(_ table: PostgresIdentifier, in transaction: PostgresTransaction) async throws {
        try await transaction.execute(
            """
            CREATE TABLE \(table) (
                id text NOT NULL,
                created timestamptz(3) NOT NULL DEFAULT now(),
                updated timestamptz(3) NOT NULL DEFAULT now(),
                deleted timestamptz(3),
                version bigint NOT NULL DEFAULT 1,
                readers text[],
                writers text[],
                doc jsonb NOT NULL CHECK (jsonb_typeof(doc) = 'object'))
            """)
    }

    /// Creates the primary key and the indexes for equality on any field, for the order of creation, and for readers
    /// and writers.
    static func makeIndexes(_ table: PostgresIdentifier, in transaction: PostgresTransaction, timeout: Duration? = nil)
        async throws
    {
        let (key, search, newest) = (
            try IndexName.make().identifier, try IndexName.make().identifier, try IndexName.make().identifier
        )
        try await transaction.execute("ALTER TABLE \(table) ADD CONSTRAINT \(key) PRIMARY KEY (id)", timeout: timeout)
        // `fastupdate` is off, because every search must scan the list of pending entries. After a bulk write, that
        // made PostgreSQL prefer a sequential scan.
        try await transaction.execute(
            "CREATE INDEX \(search) ON \(table) USING gin (doc jsonb_path_ops) WITH (fastupdate = off)",
            timeout: timeout)
        // For listing the newest objects first under any rules: rows are read in order until enough of them are
        // readable.
        try await transaction.execute("CREATE INDEX \(newest) ON \(table) (created DESC, id)", timeout: timeout)
        try await transaction.execute(
            "CREATE INDEX \(try IndexName.make().identifier) ON \(table) \(listedKeys)", timeout: timeout)
    }

    /// The keys of the index by which a user's data is found (`StoredUserData`). It excludes objects that everyone may
    /// read and write.
    static let listedKeys: PostgresQuery =
        "USING gin (readers, writers) WITH (fastupdate = off) WHERE readers IS NOT NULL OR writers IS NOT NULL"

    /// A pattern that matches the index's definition as PostgreSQL prints it.
    static let listedPattern = "%USING gin (readers, writers)%"

    /// Drops a collection if it is empty: one that was created for objects which could not be stored.
    func dropIfEmpty(_ collection: CollectionName, of space: AppSchema) async throws {
        let table = try space.table(collection)
        try await postgres.withTransaction(role: space.role) { transaction in
            try await transaction.execute("LOCK TABLE \(table) IN ACCESS EXCLUSIVE MODE")
            guard try await transaction.query("SELECT FROM \(table) LIMIT 1").isEmpty else { return }
            try await transaction.execute("DROP TABLE \(table)")
            try await transaction.execute(
                "DELETE FROM \(try space.own("_collections")) WHERE name = \(collection.text)")
        }
    }

    func list(of space: AppSchema) async throws -> [Summary] {
        try await spaces.prepare(space)
        let rows = try await run(
            """
            SELECT relname::text, greatest(reltuples, 0)::bigint, pg_total_relation_size(oid)
            FROM pg_class WHERE relnamespace = to_regnamespace(quote_ident(\(space.schema))) AND relkind = 'r'
                AND (relname !~ '^_' OR relname = \(CollectionName.users.text))
            ORDER BY relname
            """, in: space)
        return try rows.map {
            Summary(name: try $0.decode(0), estimatedCount: try $0.decode(1), sizeInBytes: try $0.decode(2))
        }
    }

    /// - Throws: `collection-not-found`, `conflict` when the new name is taken or a rule reads the collection.
    func rename(_ collection: CollectionName, to name: CollectionName, of space: AppSchema) async throws {
        guard let newName = PostgresIdentifier(name.text) else { throw ServiceError(.invalidName) }
        try await spaces.prepare(space)
        do {
            let table = try space.table(collection)
            let (own, relations, hooks) = (
                try space.own("_collections"), try space.own("_relations"), try space.own("_hooks")
            )
            let versions = try space.own("_rule_versions")
            try await changing(space) { transaction in
                try await Self.requireNotReadByRules(collection, own, transaction)
                try await transaction.execute(Self.unprepared("ALTER TABLE \(table) RENAME TO \(newName)"))
                try await transaction.execute("DELETE FROM \(own) WHERE name = \(name.text)")
                try await transaction.execute("UPDATE \(own) SET name = \(name.text) WHERE name = \(collection.text)")
                try await transaction.execute("DELETE FROM \(versions) WHERE collection = \(name.text)")
                try await transaction.execute(
                    "UPDATE \(versions) SET collection = \(name.text) WHERE collection = \(collection.text)")
                try await transaction.execute(
                    "UPDATE \(relations) SET collection = \(name.text) WHERE collection = \(collection.text)")
                try await transaction.execute(
                    "UPDATE \(relations) SET related_collection = \(name.text) WHERE related_collection = \(collection.text)"
                )
                try await transaction.execute(
                    "UPDATE \(try space.own("_reports")) SET collection = \(name.text) WHERE collection = \(collection.text)"
                )
                try await transaction.execute(
                    """
                    UPDATE \(try space.own("_files")) SET object_collection = \(name.text)
                    WHERE object_collection = \(collection.text)
                    """)
                try await transaction.execute(
                    "UPDATE \(hooks) SET collection = \(name.text) WHERE collection = \(collection.text)")
                try await Self.forgetChanges(of: collection, space, transaction)
            }
        } catch let error as PostgresError where error.sqlState == "42P07" {
            throw ServiceError(.conflict, "A collection \"\(name.text)\" already exists.", field: "name")
        }
    }

    /// Drops a collection with all its data.
    ///
    /// - Throws: `collection-not-found`, `conflict` when a rule of another collection reads it.
    func drop(_ collection: CollectionName, of space: AppSchema) async throws {
        try await spaces.prepare(space)
        let table = try space.table(collection)
        let (own, relations) = (try space.own("_collections"), try space.own("_relations"))
        try await changing(space) { transaction in
            try await Self.requireNotReadByRules(collection, own, transaction)
            try await transaction.execute(Self.unprepared("DROP TABLE \(table)"))
            try await transaction.execute("DELETE FROM \(own) WHERE name = \(collection.text)")
            try await transaction.execute(
                "DELETE FROM \(try space.own("_reports")) WHERE collection = \(collection.text)")
            try await transaction.execute(
                "DELETE FROM \(try space.own("_rule_versions")) WHERE collection = \(collection.text)")
            try await transaction.execute(
                "DELETE FROM \(relations) WHERE collection = \(collection.text) OR related_collection = \(collection.text)"
            )
            try await Self.forgetChanges(of: collection, space, transaction)
        }
    }

    /// Refuses to rename or drop a collection that a rule reads. Otherwise any client could create one with its name
    /// and so decide whom the rule admits.
    ///
    /// - Throws: `conflict` naming a collection whose rules read this one.
    private static func requireNotReadByRules(
        _ collection: CollectionName, _ own: PostgresIdentifier, _ transaction: PostgresTransaction
    ) async throws {
        let rows = try await transaction.query(
            """
            SELECT name, rules::text FROM \(own) WHERE name <> \(collection.text) AND strpos(rules::text, \(collection.text)) > 0
            ORDER BY name
            """)
        for row in rows {
            let (name, text): (String, String) = (try row.decode(0), try row.decode(1))
            guard let value = try? JSONValue(parsing: text.utf8), let rules = try? CollectionRules(value),
                rules.collections.contains(collection)
            else { continue }
            throw ServiceError(
                .conflict, "The rules of \"\(name)\" read this collection. Set other rules there first.")
        }
    }

    private static func forgetChanges(
        of collection: CollectionName, _ space: AppSchema, _ transaction: PostgresTransaction
    ) async throws {
        try await transaction.execute("DELETE FROM \(try space.own("_changes")) WHERE collection = \(collection.text)")
        try await transaction.execute(
            """
            INSERT INTO \(try space.own("_changes_floor")) (collection, txid) VALUES (\(collection.text), pg_current_xact_id())
            ON CONFLICT (collection) DO UPDATE SET txid = excluded.txid
            """)
        try await transaction.execute("SELECT pg_notify(\(RightsStore.channel), \(space.schema))")
    }

    private func changing(_ space: AppSchema, _ body: (PostgresTransaction) async throws -> Void) async throws {
        do {
            try await postgres.withTransaction(role: space.role) { try await body($0) }
        } catch let error as PostgresError where error.isUndefinedTable {
            throw ServiceError(.collectionNotFound)
        }
    }

    private static func unprepared(_ statement: PostgresQuery) -> PostgresQuery {
        var statement = statement
        statement.isPrepared = false
        return statement
    }

    /// - Throws: `collection-not-found`, `PostgresError`.
    func run(_ statement: PostgresQuery, in space: AppSchema) async throws -> PostgresRows {
        var statement = statement
        statement.role = space.role
        statement.isPrepared = false
        do {
            return try await postgres.query(statement)
        } catch let error as PostgresError where error.isUndefinedTable {
            throw ServiceError(.collectionNotFound)
        }
    }
}

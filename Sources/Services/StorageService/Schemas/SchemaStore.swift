import MartletAPI
import MartletCore
import MartletPostgres
import MartletSchema

/// Reads, sets and removes the schemas of collections.
struct SchemaStore: Sendable {
    /// How long writers may wait while the last objects are checked.
    private static let lockedTime: Duration = .seconds(10)
    /// The largest collection whose objects are checked immediately. Those of larger ones are checked by a job.
    private static let immediateCheckLimitInBytes = 16 << 20

    /// Uses the connections of long transactions.
    let postgres: PostgresClient
    let spaces: Spaces
    let collections: CollectionStore
    let rights: RightsStore

    /// Whether the collection is small enough for its objects to be checked during the request.
    func canCheckImmediately(_ collection: CollectionName, in space: AppSchema) async throws -> Bool {
        try await spaces.size(of: collection, in: space, on: postgres) ?? 0 <= Self.immediateCheckLimitInBytes
    }

    /// The schema as it was set; nil if the collection has none.
    ///
    /// - Throws: `collection-not-found`.
    func read(_ collection: CollectionName, of space: AppSchema) async throws -> String? {
        let rows = try await spaces.query(
            "SELECT schema FROM \(try space.own("_collections")) WHERE name = \(collection.text)", in: space,
            on: postgres)
        guard let row = rows.first else { throw ServiceError(.collectionNotFound) }
        return try row.decode(0)
    }

    /// Checks all objects, and sets the schema if they fit or if `allowingExisting`. Creates the collection if it is
    /// missing.
    ///
    /// The objects are read in one snapshot while writes continue. A transaction then checks what changed since the
    /// snapshot, and sets a trigger that refuses every document not checked against this schema. So every object is
    /// checked by the walk, by this transaction, or by its writer.
    ///
    /// - Parameters:
    ///   - report: Called after each portion, with the number of objects so far; may throw to stop.
    ///   - finish: Called at the end of the transaction, under the service's own role.
    /// - Throws: `SchemaReport.Refusal` if objects do not fit; `unavailable` if a writer holds the collection for too
    ///   long; `conflict` if the collection was replaced meanwhile.
    func set(
        _ schema: JSONSchema, on collection: CollectionName, of space: AppSchema, allowingExisting: Bool,
        report: (Int) async throws -> Void = { _ in },
        finish: (PostgresTransaction, SchemaReport) async throws -> Void = { _, _ in }
    ) async throws -> SchemaReport {
        try await collections.create(collection, of: space)
        let checked = CollectionSchema(revision: .random(in: 1...(1 << 53)), schema: schema)
        var walk = SchemaWalk(schema: checked, table: try space.table(collection), collection: collection)
        let (snapshot, oid) = try await postgres.withTransaction(
            isolation: .repeatableRead, readOnly: true, role: space.role
        ) { transaction in
            let start = try await walk.start(transaction)
            try await walk.checkAll(transaction, report)
            return start
        }
        if !allowingExisting, walk.report.misfits > 0 { throw SchemaReport.Refusal(report: walk.report) }
        do {
            try await postgres.withTransaction { transaction in
                try await transaction.executeScript("SET LOCAL ROLE \(space.role.quoted)")
                try await Self.guardTable(walk.table, checked.revision, transaction)
                guard try await walk.start(transaction).oid == oid,
                    try await walk.hasChanges(since: snapshot, floor: try space.own("_changes_floor"), transaction)
                else {
                    throw ServiceError(.conflict, "The collection was replaced while its objects were checked.")
                }
                try await walk.checkChanges(
                    since: snapshot, in: try space.own("_changes"), within: Self.lockedTime, transaction)
                if !allowingExisting, walk.report.misfits > 0 { throw SchemaReport.Refusal(report: walk.report) }
                try await Self.store(checked, on: collection, of: space, transaction)
                try await transaction.executeScript("RESET ROLE")
                try await finish(transaction, walk.report)
            }
        } catch let error as PostgresError {
            throw Self.problem(error)
        }
        rights.forget(space)
        return walk.report
    }

    /// - Throws: `collection-not-found`.
    func remove(from collection: CollectionName, of space: AppSchema) async throws {
        guard try await read(collection, of: space) != nil else { return }
        do {
            try await postgres.withTransaction(role: space.role) { transaction in
                try await transaction.executeScript(
                    "DROP TRIGGER IF EXISTS checked ON \(try space.table(collection).quoted)")
                try await Self.store(nil, on: collection, of: space, transaction)
            }
        } catch let error as PostgresError {
            throw Self.problem(error)
        }
        rights.forget(space)
    }

    /// Makes the table refuse documents that were not checked against this revision. Waits for running writers.
    static func guardTable(_ table: PostgresIdentifier, _ revision: Int, _ transaction: PostgresTransaction)
        async throws
    {
        try await transaction.executeScript(
            """
            CREATE OR REPLACE TRIGGER checked BEFORE INSERT OR UPDATE OF doc ON \(table.quoted)
            FOR EACH ROW EXECUTE FUNCTION storage.require_checked('\(revision)')
            """)
    }

    private static func store(
        _ schema: CollectionSchema?, on collection: CollectionName, of space: AppSchema,
        _ transaction: PostgresTransaction
    ) async throws {
        try await transaction.execute(
            """
            INSERT INTO \(try space.own("_collections")) (name, schema, schema_revision)
            VALUES (\(collection.text), \(schema?.schema.text), \(schema?.revision))
            ON CONFLICT (name) DO UPDATE SET schema = excluded.schema, schema_revision = excluded.schema_revision
            """)
        try await transaction.execute("SELECT pg_notify(\(RightsStore.channel), \(space.schema))")
    }

    /// SQLSTATE 55P03: the lock was not available in time.
    private static func problem(_ error: PostgresError) -> any Error {
        guard error.sqlState == "55P03" else { return error.clientProblem ?? error }
        return ServiceError(
            .unavailable,
            "The collection is being written to by a long transaction, such as an import. Try again later.",
            cause: error.description)
    }
}

import Foundation
import MartletCore
import MartletPostgres

/// A staging table in the app's schema that holds an import's records until all of them are known to be valid.
struct ImportStage: Sendable {
    /// The time limit for statements that process a whole file.
    static let timeout: Duration = .seconds(1_800)
    static let prefix = "_import_"

    let postgres: PostgresClient
    let space: AppSchema
    let collection: CollectionName
    let table: PostgresIdentifier
    let target: PostgresIdentifier

    init?(postgres: PostgresClient, space: AppSchema, collection: CollectionName, job: UUID) {
        let name = Self.prefix + job.uuidString.lowercased().filter { $0 != "-" }
        guard let table = PostgresIdentifier(schema: space.schema, name: name),
            let target = try? space.table(collection)
        else { return nil }
        self.postgres = postgres
        self.space = space
        self.collection = collection
        self.table = table
        self.target = target
    }

    /// Creates the table, replacing that of an earlier attempt.
    func create() async throws {
        try await drop()
        try await run(
            """
            CREATE UNLOGGED TABLE \(table) (
                n bigint PRIMARY KEY, line bigint NOT NULL, id text NOT NULL, given boolean NOT NULL, created timestamptz(3) NOT NULL,
                updated timestamptz(3) NOT NULL, version bigint NOT NULL, readers text[], writers text[], doc jsonb NOT NULL)
            """)
    }

    /// Drops the stages of imports whose process died. No other import of the app can be running, because they share a
    /// lane.
    func dropAbandoned() async throws {
        let rows = try await run(
            "SELECT tablename::text FROM pg_tables WHERE schemaname = \(space.schema) AND tablename LIKE '\\_import\\_%'"
        )
        for row in rows {
            guard let table = PostgresIdentifier(schema: space.schema, name: try row.decode(0)), table != self.table
            else { continue }
            try await run("DROP TABLE IF EXISTS \(table)")
        }
    }

    func drop() async throws {
        try await run("DROP TABLE IF EXISTS \(table)")
    }

    /// Inserts records; returns those that PostgreSQL cannot store.
    func add(_ records: ArraySlice<ImportRecord>, after n: Int) async throws -> [ImportRecord] {
        guard let first = records.first else { return [] }
        do {
            try await insert(records, after: n)
            return []
        } catch let error as PostgresError where ["22", "54", "21"].contains(error.sqlState?.prefix(2)) {
            guard records.count > 1 else { return [first] }
            let half = records.startIndex + records.count / 2
            return try await add(records[..<half], after: n) + add(records[half...], after: n + records.count / 2)
        }
    }

    private func insert(_ records: ArraySlice<ImportRecord>, after n: Int) async throws {
        let texts = records.map { String(decoding: $0.document, as: UTF8.self) }
        try await run(
            """
            INSERT INTO \(table) (n, line, id, given, created, updated, version, readers, writers, doc)
            SELECT \(n) + position, line, id, given = 'y', coalesce(nullif(created, '')::timestamptz, now()),
                coalesce(nullif(updated, '')::timestamptz, now()), version,
                CASE WHEN readers <> '' THEN ARRAY(SELECT jsonb_array_elements_text(readers::jsonb)) END,
                CASE WHEN writers <> '' THEN ARRAY(SELECT jsonb_array_elements_text(writers::jsonb)) END,
                doc::jsonb - \(SystemField.names)
            FROM unnest(\(records.map(\.line)), \(records.map(\.id)), \(records.map { $0.hasOwnID ? "y" : "n" }), \(records.map(\.created)),
                \(records.map(\.updated)), \(records.map(\.version)), \(records.map(\.readers)), \(records.map(\.writers)), \(texts))
                WITH ORDINALITY AS record (line, id, given, created, updated, version, readers, writers, doc, position)
            """)
    }

    /// Removes records whose id occurs earlier in the file and, if requested, those whose id exists in the collection.
    func removeDuplicates(refusingExisting: Bool) async throws -> (count: Int, first: [ImportReport.BadRecord]) {
        try await run("ANALYZE \(table)")
        var (count, first) = try await remove(
            """
            SELECT n, line, 'The _id also occurs in line ' || first || '.' AS reason
            FROM (SELECT n, line, first_value(line) OVER same AS first, row_number() OVER same AS number
                FROM \(table) WHERE given WINDOW same AS (PARTITION BY id ORDER BY n)) AS record
            WHERE number > 1
            """)
        guard refusingExisting, try await hasTarget() else { return (count, first) }
        let existing = try await remove(
            """
            SELECT n, line, 'The collection has an object with this _id.' AS reason FROM \(table) AS stage
            WHERE given AND EXISTS (SELECT FROM \(target) AS stored WHERE stored.id = stage.id AND stored.deleted IS NULL)
            """)
        count += existing.count
        first += existing.first
        return (count, first)
    }

    private func remove(_ records: PostgresQuery) async throws -> (count: Int, first: [ImportReport.BadRecord]) {
        let rows = try await run(
            """
            WITH bad AS MATERIALIZED (\(records)), gone AS (DELETE FROM \(table) WHERE n IN (SELECT n FROM bad))
            SELECT line, reason, count(*) OVER () FROM bad ORDER BY line LIMIT \(ImportReport.maximumBadRecords)
            """)
        let first = try rows.map {
            ImportReport.BadRecord(line: try $0.decode(0), reason: try $0.decode(1), field: "_id")
        }
        return (try rows.first?.decode(2) ?? 0, first)
    }

    func hasTarget() async throws -> Bool {
        try await run(
            "SELECT FROM pg_tables WHERE schemaname = \(space.schema) AND tablename = \(collection.text)"
        ).count > 0
    }

    struct Applied: Sendable {
        var created = 0
        var replaced = 0
        var skipped = 0
    }

    /// Stores the records with numbers in `range`, and appends them to the change log. The transaction must have the
    /// space's role.
    func apply(
        _ range: ClosedRange<Int>, replacing: Bool, schema: CollectionSchema?, scope: QueryScope,
        in transaction: PostgresTransaction
    ) async throws -> Applied {
        let condition: PostgresQuery = replacing ? "" : "WHERE stored.deleted IS NOT NULL"
        var query: PostgresQuery = """
            WITH item AS MATERIALIZED (SELECT * FROM \(table) WHERE n BETWEEN \(range.lowerBound) AND \(range.upperBound)),
            -- Sorted, so that concurrent writers of the same ids cannot deadlock.
            old AS MATERIALIZED (
                SELECT id, deleted, updated AS before_updated, version AS before_version, readers AS before_readers, doc AS before_doc
                FROM \(target) WHERE id IN (SELECT id FROM item WHERE given) ORDER BY id FOR UPDATE),
            upserted AS (
                INSERT INTO \(target) AS stored (id, created, updated, version, readers, writers, doc)
                SELECT id, created, updated, version, readers, writers, \(schema?.checked("doc") ?? "doc") FROM item
                -- Forces `old` to read and lock its rows before they are written here.
                WHERE (SELECT count(*) FROM old) IS NOT NULL ORDER BY id
                ON CONFLICT (id) DO UPDATE SET doc = excluded.doc, updated = now(), deleted = NULL, version = stored.version + 1,
                    readers = excluded.readers, writers = excluded.writers \(condition)
                RETURNING stored.*, stored.xmax = 0 AS is_new),
            written AS (
                SELECT u.*, CASE WHEN u.is_new OR old.deleted IS NOT NULL THEN 'c' ELSE 'u' END AS kind,
                    old.before_updated, old.before_version, old.before_readers, old.before_doc
                FROM upserted AS u LEFT JOIN old USING (id)
                WHERE u.is_new OR old.id IS NOT NULL OR storage.fail('40001', 'id')),
            \(try ChangeLog.append(in: scope))
            SELECT (SELECT count(*) FROM item), count(*) FILTER (WHERE kind = 'c'), count(*) FILTER (WHERE kind = 'u') FROM written
            """
        query.isPrepared = false
        let row = try await transaction.query(query, timeout: Self.timeout)[0]
        let (all, created, replaced) = (
            try row.decode(0, as: Int.self), try row.decode(1, as: Int.self), try row.decode(2, as: Int.self)
        )
        return Applied(created: created, replaced: replaced, skipped: all - created - replaced)
    }

    @discardableResult
    private func run(_ query: PostgresQuery) async throws -> PostgresRows {
        var query = query
        query.role = space.role
        query.isPrepared = false
        return try await postgres.query(query, timeout: Self.timeout)
    }
}

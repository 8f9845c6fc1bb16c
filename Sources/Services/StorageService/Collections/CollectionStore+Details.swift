import MartletAPI
import MartletCore
import MartletPostgres

/// Details of a collection for displaying stored data.
extension CollectionStore {
    struct Details: Sendable {
        /// Either exact, without removed objects, or PostgreSQL's estimate, which includes them.
        var count: Int
        var isCountExact: Bool
        var sizeInBytes: Int
        /// Included in `sizeInBytes`.
        var indexSizeInBytes: Int
    }

    struct Field: Codable, Sendable, Equatable {
        var name: String
        /// `String`, `Number`, `Boolean`, `Array`, `Object`, `Date`, `Pointer<…>` …; sorted.
        var types: [String]
        /// The number of sampled objects with this field.
        var sampled: Int
    }

    /// The number of objects sampled for fields: the oldest and the newest.
    private static let sample = 500
    /// Collections up to this size are counted exactly.
    private static let countedSizeInBytes = 64 << 20

    /// - Throws: `collection-not-found`.
    func details(of collection: CollectionName, of space: AppSchema) async throws -> Details {
        let table = try space.table(collection)
        let rows = try await prepareAndRun(
            """
            SELECT pg_total_relation_size(c.oid), pg_indexes_size(c.oid), greatest(reltuples, 0)::bigint,
                CASE WHEN pg_relation_size(c.oid) <= \(Self.countedSizeInBytes) THEN (SELECT count(*) FROM \(table) WHERE deleted IS NULL) END
            FROM pg_class AS c
            WHERE relnamespace = to_regnamespace(quote_ident(\(space.schema))) AND relname = \(collection.text) AND relkind = 'r'
            """, in: space)
        guard let row = rows.first else { throw ServiceError(.collectionNotFound) }
        let (estimate, exact) = (try row.decode(2, as: Int.self), try row.decode(3, as: Int?.self))
        return Details(
            count: exact ?? estimate, isCountExact: exact != nil, sizeInBytes: try row.decode(0),
            indexSizeInBytes: try row.decode(1))
    }

    /// The known fields, and those of a sample of objects.
    func fields(of collection: CollectionName, of space: AppSchema, known: [FieldName: [String]]) async throws
        -> [Field]
    {
        let table = try space.table(collection)
        let rows = try await prepareAndRun(
            """
            SELECT key, type, count(*) FROM (
                SELECT member.key, CASE jsonb_typeof(member.value) WHEN 'object' THEN
                        CASE WHEN member.value->>'__type' IN ('Pointer', 'Relation')
                            THEN (member.value->>'__type') || '<' || coalesce(member.value->>'className', '') || '>'
                            ELSE coalesce(member.value->>'__type', 'Object') END
                    ELSE initcap(jsonb_typeof(member.value)) END AS type
                FROM (
                    (SELECT id, doc FROM \(table) WHERE deleted IS NULL ORDER BY id LIMIT \(Self.sample))
                    UNION
                    (SELECT id, doc FROM \(table) WHERE deleted IS NULL ORDER BY id DESC LIMIT \(Self.sample))) AS sample,
                    jsonb_each(doc) AS member) AS seen
            GROUP BY key, type ORDER BY key, type LIMIT 5000
            """, in: space)
        var fields = known.mapValues { Field(name: "", types: $0, sampled: 0) }
        for row in rows {
            let (name, type) = (FieldName(try row.decode(0)), try row.decode(1, as: String.self))
            var field = fields[name] ?? Field(name: "", types: [], sampled: 0)
            field.sampled += try row.decode(2, as: Int.self)
            if type != "Null", !field.types.contains(type) { field.types.append(type) }
            fields[name] = field
        }
        return fields.sorted { $0.key < $1.key }
            .map { Field(name: $0.key.text, types: $0.value.types.sorted(), sampled: $0.value.sampled) }
    }

    private func prepareAndRun(_ statement: PostgresQuery, in space: AppSchema) async throws -> PostgresRows {
        try await spaces.prepare(space)
        return try await run(statement, in: space)
    }
}

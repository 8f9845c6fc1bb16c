import MartletCore
import MartletPostgres

/// Finds the objects of a collection that name a user, by the indexes on readers and writers and on equality.
struct NamedObjects: Sendable {
    let table: PostgresIdentifier
    let space: AppSchema
    let collection: CollectionName
    let userID: String
    /// The fields that identify an object's owner.
    let fields: [FieldPath]

    /// The first `limit` ids after `id`, in order; nil if the indexes cannot be used and the collection must be
    /// scanned.
    func ids(after id: String, limit: Int, on postgres: PostgresClient) async throws -> [String]? {
        guard let condition = condition() else { return nil }
        return try await postgres.withTransaction(readOnly: true, role: space.role) { transaction in
            guard try await isIndexed(transaction) else { return nil }
            // PostgreSQL cannot know how many objects name the user, and would wrongly estimate a sequential scan to be
            // cheaper.
            try await transaction.executeScript("SET LOCAL enable_seqscan = off")
            return try await transaction.query(statement(condition, after: id, limit: limit)).map { try $0.decode(0) }
        }
    }

    /// First selects all objects that name the user, then the requested ones. If PostgreSQL could use the order of ids,
    /// it would scan the objects of all users.
    func statement(_ condition: PostgresQuery, after id: String, limit: Int) -> PostgresQuery {
        var statement: PostgresQuery = """
            WITH named AS MATERIALIZED (SELECT id FROM \(table) WHERE \(condition))
            SELECT id FROM named WHERE id > \(id) ORDER BY id LIMIT \(limit)
            """
        statement.isPrepared = false
        return statement
    }

    /// A condition whose parts are all supported by indexes; nil if that is not possible.
    func condition() -> PostgresQuery? {
        var parts: [PostgresQuery] = ["readers @> ARRAY[\(userID)]", "writers @> ARRAY[\(userID)]"]
        // The pointer's `__type` is omitted, because the index has it for every pointer. The caller filters out other
        // values with an equal `objectId`.
        let pointer = JSONValue.object([.init("objectId", .string(userID))])
        for field in fields {
            // In a path to an array, a number would be an index.
            guard field.parts.allSatisfy({ Int($0) == nil }) else { return nil }
            for value in [.string(userID), pointer, .array([.string(userID)]), .array([pointer])] as [JSONValue] {
                let document = field.parts.reversed().reduce(value) { .object([.init($1, $0)]) }
                parts.append("doc @> \(PostgresJSON(document.text))")
            }
        }
        return "(" + parts.joined(separator: " OR ") + ")"
    }

    /// Older collections get this index from `ListedIndexes`.
    private func isIndexed(_ transaction: PostgresTransaction) async throws -> Bool {
        try await !transaction.query(
            """
            SELECT FROM pg_index AS x JOIN pg_class AS t ON t.oid = x.indrelid
            WHERE t.relname = \(collection.text) AND t.relnamespace = to_regnamespace(quote_ident(\(space.schema))) AND x.indisvalid
                AND pg_get_indexdef(x.indexrelid) LIKE \(CollectionStore.listedPattern)
            """
        ).isEmpty
    }
}

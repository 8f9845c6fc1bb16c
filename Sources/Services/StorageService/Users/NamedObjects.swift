import MartletCore
import MartletPostgres

/// Finds the objects of a collection that name a user by its indexes: those on readers and writers, and on every
/// equality.
struct NamedObjects: Sendable {
    let table: PostgresIdentifier
    let space: AppSpace
    let collection: CollectionName
    let userID: String
    /// The fields that say whose an object is.
    let fields: [FieldPath]

    /// The first `limit` ids behind one, in order; nil: the collection has no such index, and has to be looked through.
    func ids(behind id: String, limit: Int, on postgres: PostgresClient) async throws -> [String]? {
        guard let condition = condition() else { return nil }
        return try await postgres.withTransaction(readOnly: true, role: space.role) { transaction in
            guard try await isIndexed(transaction) else { return nil }
            // How many objects name the user PostgreSQL cannot know; to read them all it takes for cheap where it is
            // not.
            try await transaction.executeScript("SET LOCAL enable_seqscan = off")
            return try await transaction.query(statement(condition, behind: id, limit: limit)).map { try $0.decode(0) }
        }
    }

    /// All that name the user, then those of them that are wanted: in the order of ids PostgreSQL would walk through
    /// everybody's.
    func statement(_ condition: PostgresQuery, behind id: String, limit: Int) -> PostgresQuery {
        var statement: PostgresQuery = """
            WITH named AS MATERIALIZED (SELECT id FROM \(table) WHERE \(condition))
            SELECT id FROM named WHERE id > \(id) ORDER BY id LIMIT \(limit)
            """
        statement.isPrepared = false
        return statement
    }

    /// Each part served by an index; nil: not all can be.
    func condition() -> PostgresQuery? {
        var parts: [PostgresQuery] = ["readers @> ARRAY[\(userID)]", "writers @> ARRAY[\(userID)]"]
        // Without its type, which the index has for every pointer there is; what else has such a field is told apart by
        // whoever asks.
        let pointer = JSONValue.object([.init("objectId", .string(userID))])
        for field in fields {
            // In an array it would stand for a place.
            guard field.parts.allSatisfy({ Int($0) == nil }) else { return nil }
            for value in [.string(userID), pointer, .array([.string(userID)]), .array([pointer])] as [JSONValue] {
                let document = field.parts.reversed().reduce(value) { .object([.init($1, $0)]) }
                parts.append("doc @> \(PostgresJSON(document.text))")
            }
        }
        return "(" + parts.joined(separator: " OR ") + ")"
    }

    /// Collections from before this index get it from `ListedIndexes`.
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

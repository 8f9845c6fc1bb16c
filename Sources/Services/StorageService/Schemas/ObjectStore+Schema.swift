import MartletPostgres

/// Writes to collections with a schema.
extension ObjectStore {
    /// Runs a write with the collection's schema; once more if the schema had changed, or the collection was dropped.
    func underSchema<T: Sendable>(
        _ scope: QueryScope, _ write: (CollectionSchema?) async throws -> T
    ) async throws -> T {
        let schema = try await rights.collections(of: scope.space)[scope.collection.text]?.schema
        do {
            return try await write(schema)
        } catch let error as PostgresError
            where error.isSerializationFailure || (error.isUndefinedTable && schema != nil)
        {
            rights.forget(scope.space)
            // In a transaction, whoever began it repeats all of it.
            guard !isInTransaction else { throw error }
            return try await write(try await rights.collections(of: scope.space)[scope.collection.text]?.schema)
        }
    }

    /// Runs a write whose result depends on stored objects, in a transaction, and rolls it back unless the objects that
    /// it has written fit the schema. Without a schema, just runs it.
    ///
    /// - Parameter write: Returns the ids of the objects that it has written.
    /// - Throws: `document-refused`.
    func checkingAfterwards<T: Sendable>(
        _ schema: CollectionSchema?, _ scope: QueryScope,
        _ write: (ObjectStore) async throws -> (result: T, written: [String])
    ) async throws -> T {
        guard let schema else { return try await write(self).result }
        guard let transaction else {
            return try await postgres.withTransaction(role: scope.space.role) { transaction in
                try await within(transaction).checkingAfterwards(schema, scope, write)
            }
        }
        let (result, written) = try await write(self)
        let rows = try await transaction.query(
            "SELECT doc::text FROM \(try scope.table) WHERE id = ANY (\(written)) ORDER BY id")
        for row in rows { try schema.check(stored: row.decode(0), for: scope.access) }
        return result
    }
}

import MartletPostgres
import MartletSchema
import Synchronization

/// The compiled schemas of spaces. A revision never changes, so each is read and compiled once.
final class SchemaCache: Sendable {
    private let spaces = Mutex<[AppSchema: [Int: CollectionSchema]]>([:])

    /// The schemas with these revisions, without those that were replaced after the revisions were read. The
    /// collection's trigger then makes writers load the new one.
    ///
    /// - Parameter revisions: The revisions of all schemas of the space. Others are dropped from the cache.
    func schemas(_ revisions: Set<Int>, of space: AppSchema, on postgres: PostgresClient) async throws
        -> [Int: CollectionSchema]
    {
        guard !revisions.isEmpty else { return [:] }
        var schemas = spaces.withLock { $0[space] ?? [:] }.filter { revisions.contains($0.key) }
        let missing = revisions.subtracting(schemas.keys)
        guard !missing.isEmpty else { return schemas }
        var query: PostgresQuery = """
            SELECT schema_revision, schema FROM \(try space.own("_collections"))
            WHERE schema_revision = ANY (\(Array(missing)))
            """
        query.role = space.role
        for row in try await postgres.query(query) {
            let (revision, text) = (try row.decode(0, as: Int.self), try row.decode(1, as: String.self))
            // A newer version may have stored a schema that this one does not understand. `false` refuses everything.
            let schema = try (try? JSONSchema(parsing: text.utf8)) ?? JSONSchema(parsing: "false".utf8)
            schemas[revision] = CollectionSchema(revision: revision, schema: schema)
        }
        spaces.withLock { $0[space] = schemas }
        return schemas
    }
}

import MartletAPI
import MartletCore
import MartletPostgres

/// A field at the top of an object.
struct ObjectField: Sendable {
    let id: ObjectID
    let key: String

    /// Nil if `key` is not the name of a top-level field.
    init?(_ id: ObjectID, key: String) {
        guard (try? FieldPath(key))?.parts.count == 1 else { return nil }
        (self.id, self.key) = (id, key)
    }
}

/// What a file is bound to: a field of an object, or nothing.
struct FileBinding: Sendable {
    struct Object: Sendable {
        let collection: CollectionName
        let field: ObjectField
        /// When the object was created (RFC 3339). An object that is created with the same id later is a different one.
        let created: String
    }

    let object: Object?

    /// The assignments of an `UPDATE` of `_files`, each followed by a comma.
    var assignments: PostgresQuery {
        """
        object_collection = \(object?.collection.text), object_id = \(object?.field.id.text), \
        object_key = \(object?.field.key), object_created = \(object?.created)::timestamptz,
        """
    }
}

/// The files that fields of objects name.
///
/// Whoever may read the field may read a file that is bound to it. To share a file in this way, a writer of the file
/// must bind it to the field, and a writer of the object must name it in the field. A path alone gives no access.
struct ObjectFiles: Sendable {
    let files: FileStore

    /// The binding of a file to a field of an object; nil if there is no such object that the caller may read.
    func binding(to field: ObjectField, in scope: QueryScope) async throws -> FileBinding? {
        let rows = try await reading(in: scope.space) {
            """
            SELECT \(PostgresQuery.rfc3339("created")) FROM \(try scope.table) WHERE \(scope.readable(field.id))
            """
        }
        return try rows?.first.map { row in
            FileBinding(object: .init(collection: scope.collection, field: field, created: try row.decode(0)))
        }
    }

    /// A file that a field names; nil unless the caller may read both the field and the file. The caller may read the
    /// file if it is bound to the field, or if its own list of readers allows it.
    ///
    /// - Parameter path: The file's path; nil for the first file that the field names.
    /// - Throws: `forbidden` if the caller may read no object of the collection; `file-scanning`, `file-refused`.
    func find(_ path: FilePath?, in field: ObjectField, of scope: QueryScope, _ fileScope: FileScope) async throws
        -> FileStore.File?
    {
        let access = scope.access
        if access.reach(of: .find) == .none { try access.require(.get) }
        let isRequested: PostgresQuery = path.map { "named.path = \($0.text)" } ?? "TRUE"
        let rows = try await reading(in: scope.space) {
            """
            SELECT \(FileStore.File.columns)
            FROM (
                SELECT id, created, \(access.visible())->\(field.key)::text AS value
                FROM \(try scope.table) WHERE \(scope.readable(field.id)) OFFSET 0) AS holder
            CROSS JOIN LATERAL (
                SELECT named.path
                FROM jsonb_path_query(holder.value, 'strict $.** ? (@."__type" == "File")') AS member (file)
                CROSS JOIN LATERAL (SELECT coalesce(file->>'url', file->>'name')) AS named (path)
                WHERE \(isRequested) LIMIT 1) AS named
            JOIN \(try scope.space.own("_files")) AS f ON f.path = named.path COLLATE "C"
            WHERE (f.object_id = holder.id AND f.object_collection = \(scope.collection.text) AND f.object_key = \(field.key)
                    AND f.object_created = holder.created)
                OR \(fileScope.readable(of: "f"))
            """
        }
        guard let row = rows?.first else { return nil }
        let file = try FileStore.File(row, of: scope.space)
        try file.requireReadable(evenWhileScanning: fileScope.identity == .master)
        return file
    }

    /// Nil if the collection does not exist.
    private func reading(in space: AppSchema, _ statement: () throws -> PostgresQuery) async throws -> PostgresRows? {
        do {
            return try await files.run(try statement(), in: space)
        } catch let error as PostgresError where error.isUndefinedTable {
            return nil
        }
    }
}

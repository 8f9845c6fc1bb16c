import MartletPostgres

/// The collection of a request, with the caller's rights.
struct QueryScope: Sendable {
    let space: AppSchema
    let collection: CollectionName
    var rights: Rights
    /// Collections named in a filter that do not exist; they count as empty.
    var missing: Set<CollectionName> = []
    /// The limit for a list or summary, whose statement returns NULL beyond it.
    var pageSizeInBytes = ObjectStore.maximumPageSizeInBytes

    /// The change of an object that rules have to allow.
    var change: Document?

    var access: Access {
        var access = rights.access(to: collection)
        access.change = change
        return access
    }

    /// The same scope for a change of an object. A rule may allow only some changes.
    func checking(_ change: Document) -> QueryScope {
        var scope = self
        scope.change = change
        return scope
    }

    var table: PostgresIdentifier {
        get throws { try space.table(collection) }
    }

    /// The same caller's scope for another collection, for subqueries and includes.
    func scope(of other: CollectionName) -> QueryScope {
        QueryScope(space: space, collection: other, rights: rights, missing: missing)
    }

    /// The time limit for a statement that reads objects of this collection and of others; nil for the PostgreSQL
    /// client's own limit.
    func timeLimit(reading others: Set<CollectionName> = []) -> Duration? {
        access.timeLimit ?? others.lazy.compactMap { scope(of: $0).access.timeLimit }.first
    }

    /// The condition on the object with this id if the caller may read it, by `get` or by `find`.
    func readable(_ id: ObjectID) -> PostgresQuery {
        ["id = \(id.text)", "deleted IS NULL", access.seen].compactMap(\.self).joined(separator: " AND ")
    }

    /// The condition on objects that a rule can find: not removed and, in `_User`, not disabled. Other than that, rules
    /// ignore the objects' lists of readers.
    var isKnownToRules: PostgresQuery {
        collection == .users ? "deleted IS NULL AND readers IS NULL" : "deleted IS NULL"
    }

    /// The table to select from, or an empty one of the same shape if it does not exist.
    var source: PostgresQuery {
        get throws { missing.contains(collection) ? Self.nothing : "\(try table)" }
    }

    private static let nothing: PostgresQuery = """
        (SELECT NULL::text AS id, NULL::timestamptz AS created, NULL::timestamptz AS updated, NULL::timestamptz AS deleted, \
        NULL::bigint AS version, NULL::text[] AS readers, NULL::text[] AS writers, NULL::jsonb AS doc WHERE FALSE) AS nothing
        """
}

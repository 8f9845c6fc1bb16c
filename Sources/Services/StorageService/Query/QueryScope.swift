import MartletHTTP
import MartletPostgres

/// The collection a request is about, and with whose rights.
struct QueryScope: Sendable {
    let space: AppSpace
    let collection: CollectionName
    var rights: Rights
    /// Collections that a filter may name and that are not there: they are empty.
    var missing: Set<CollectionName> = []
    /// Of a list or a summary, whose statement answers NULL beyond it.
    var pageSizeInBytes = ObjectStore.maximumPageSizeInBytes

    var access: Access { rights.access(to: collection) }

    var table: PostgresIdentifier {
        get throws { try space.table(collection) }
    }

    /// The same asker, at another collection: for subqueries and includes.
    func scope(of other: CollectionName) -> QueryScope {
        QueryScope(space: space, collection: other, rights: rights, missing: missing)
    }

    /// What to select from: the table, or nothing in its shape.
    var source: PostgresQuery {
        get throws { missing.contains(collection) ? Self.nothing : "\(try table)" }
    }

    private static let nothing: PostgresQuery = """
        (SELECT NULL::text AS id, NULL::timestamptz AS created, NULL::timestamptz AS updated, NULL::timestamptz AS deleted, \
        NULL::bigint AS version, NULL::text[] AS readers, NULL::text[] AS writers, NULL::jsonb AS doc WHERE FALSE) AS nothing
        """
}

import MartletHTTP
import MartletPostgres

/// The collection a request is about, and with whose rights.
struct QueryScope: Sendable {
    let space: AppSpace
    let collection: CollectionName
    let rights: Rights

    var access: Access { rights.access(to: collection) }

    var table: PostgresIdentifier {
        get throws { try space.table(collection) }
    }

    /// The same asker, at another collection: for subqueries and includes.
    func scope(of other: CollectionName) -> QueryScope {
        QueryScope(space: space, collection: other, rights: rights)
    }
}

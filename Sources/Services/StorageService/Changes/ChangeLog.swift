import MartletPostgres

/// SQL that appends to a space's change log, as part of the statement that writes the objects.
///
/// The statement must have a CTE `written` with the object's columns after the write, `kind` (`c`, `u`, `d`), and
/// `before_updated`, `before_version`, `before_readers`, `before_doc` (NULL for `c`).
enum ChangeLog {
    static func append(in scope: QueryScope) throws -> PostgresQuery {
        """
        logged AS (
            INSERT INTO \(try scope.space.own("_changes")) (collection, id, kind, created, updated, version, readers, writers, doc,
                before_updated, before_version, before_readers, before_doc, actor)
            SELECT \(scope.collection.text), id, kind::"char", created, updated, version, readers, writers,
                CASE WHEN kind <> 'd' THEN doc END, before_updated, before_version, before_readers, before_doc, \(scope.rights.identity.userID)
            FROM written)
        """
    }
}

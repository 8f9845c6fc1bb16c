import MartletAPI
import MartletCore
import MartletPostgres

/// Writes the collection `_User`.
///
/// A deleted user leaves an empty removed object, whose version keeps delayed messages about earlier states from
/// bringing the profile back. `Housekeeping` deletes it after a day. The object of a disabled user has no readers, so
/// that only the app's server and staff see it.
struct UserDocumentStore: Sendable {
    static let retentionInHours: Int32 = 24

    let postgres: PostgresClient
    let spaces: Spaces
    let objects: ObjectStore

    func store(_ users: [UserDocuments.User], in space: AppSchema) async throws {
        let scope = QueryScope(space: space, collection: .users, rights: .master)
        let documents = users.map { user in
            user.stored.map { UserDocument(profile: $0.profile, userName: $0.userName) }
        }
        let items = zip(users, documents).map { Self.item($0, $1?.json) }
        let statement = try Self.statement(PostgresJSON(JSONValue.array(items).text), users.map(\.id), scope)
        do {
            _ = try await spaces.query(statement, in: space, on: postgres)
        } catch let error as PostgresError where error.isSerializationFailure {
            _ = try await spaces.query(statement, in: space, on: postgres)
        }
        let fields = documents.compactMap(\.?.fields).reduce(into: [FieldName: Set<String>]()) { all, fields in
            for (name, type) in fields { all[name, default: []].insert(type) }
        }
        try await objects.registerFields(fields, scope)
    }

    private static func item(_ user: UserDocuments.User, _ document: JSONValue?) -> JSONValue {
        var members: [JSONValue.Member] = [
            .init("id", .string(user.id)), .init("new_version", .number(String(user.version))),
        ]
        if let document, let shown = user.stored {
            members += [
                .init("new_doc", document), .init("new_created", .string(shown.created)),
                .init("new_updated", .string(shown.updated)), .init("verified", .bool(shown.isEmailVerified)),
                .init("is_hidden", .bool(user.shown == nil)),
            ]
        }
        return .object(members)
    }

    /// Appends no change to the log if the document stays as it is, for example when only the address was verified.
    private static func statement(_ items: PostgresJSON, _ ids: [String], _ scope: QueryScope) throws -> PostgresQuery {
        let table = try scope.table
        return """
            WITH item AS (
                SELECT * FROM jsonb_to_recordset(\(items)) AS item (
                    id text, new_version bigint, new_doc jsonb, new_created timestamptz, new_updated timestamptz,
                        verified boolean, is_hidden boolean)),
            old AS MATERIALIZED (
                SELECT id, deleted, updated AS before_updated, version AS before_version, readers AS before_readers, doc AS before_doc
                FROM \(table) WHERE id = ANY (\(ids)) ORDER BY id FOR UPDATE),
            upserted AS (
                INSERT INTO \(table) AS stored (id, created, updated, deleted, version, doc, email_verified, readers)
                SELECT id, coalesce(new_created, now()), coalesce(new_updated, now()), CASE WHEN new_doc IS NULL THEN now() END,
                    new_version, coalesce(new_doc, '{}'), coalesce(verified, FALSE), CASE WHEN is_hidden THEN '{}'::text[] END
                FROM item
                -- Forces `old` to read and lock its rows before they are written here.
                WHERE (SELECT count(*) FROM old) IS NOT NULL ORDER BY id
                ON CONFLICT (id) DO UPDATE SET created = excluded.created, updated = excluded.updated, deleted = excluded.deleted,
                    version = excluded.version, doc = excluded.doc, email_verified = excluded.email_verified, readers = excluded.readers
                WHERE stored.version < excluded.version
                RETURNING stored.*, stored.xmax = 0 AS is_new),
            state AS (
                SELECT u.*, old.id AS old_id, old.deleted IS NULL AND old.id IS NOT NULL AS was_shown, before_updated, before_version,
                    before_readers, before_doc
                FROM upserted AS u LEFT JOIN old ON old.id = u.id
                -- Another transaction has just stored it. This statement does not see it and must be repeated.
                WHERE u.is_new OR old.id IS NOT NULL OR storage.fail('40001', 'id')),
            written AS (
                SELECT id, created, updated, version, readers, writers, doc,
                    CASE WHEN deleted IS NOT NULL THEN 'd' WHEN was_shown THEN 'u' ELSE 'c' END AS kind,
                    CASE WHEN was_shown THEN before_updated END AS before_updated,
                    CASE WHEN was_shown THEN before_version END AS before_version,
                    CASE WHEN was_shown THEN before_readers END AS before_readers,
                    CASE WHEN was_shown THEN before_doc END AS before_doc
                FROM state
                WHERE CASE WHEN deleted IS NOT NULL THEN was_shown
                    ELSE NOT was_shown OR before_doc <> doc OR before_readers IS DISTINCT FROM readers END),
            \(try ChangeLog.append(in: scope))
            SELECT count(*) FROM written
            """
    }
}

extension StoredUserData {
    /// Empties and removes the user's document at once, without waiting until auth reports the deletion.
    func eraseDocument(of owner: Owner) async throws {
        let scope = QueryScope(space: owner.space, collection: .users, rights: .master)
        let rows = try await run(
            """
            WITH old AS MATERIALIZED (
                SELECT id, updated AS before_updated, version AS before_version, readers AS before_readers, doc AS before_doc
                FROM \(try scope.table) WHERE id = \(owner.id) AND deleted IS NULL FOR UPDATE),
            written AS (
                UPDATE \(try scope.table) AS stored SET doc = '{}', email_verified = FALSE, deleted = now(), updated = now()
                FROM old WHERE stored.id = old.id
                RETURNING stored.*, 'd' AS kind, before_updated, before_version, before_readers, before_doc),
            \(try ChangeLog.append(in: scope))
            SELECT FROM written
            """, owner)
        if !rows.isEmpty { signal.written(in: owner.space) }
    }
}

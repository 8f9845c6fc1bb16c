import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import NIOCore

extension StoredUserData {
    /// A range of objects in a collection, with the rules that determine their owners.
    private struct ObjectRange {
        var scope: QueryScope
        var rules: CollectionRules
        var after: String
        /// The last id in the range.
        var end: String
        /// The objects that name the user, if an index finds them; nil for the whole range.
        var ids: [String]?

        var range: PostgresQuery {
            ids.map { "id = ANY (\($0))" } ?? "id > \(after) AND id <= \(end)"
        }

        /// The condition that an object names the user: as a reader or writer, or in a field that identifies its owner.
        func names(_ owner: Owner) -> PostgresQuery {
            let listed: PostgresQuery = "readers @> ARRAY[\(owner.id)] OR writers @> ARRAY[\(owner.id)]"
            guard let rest = rest(owner) else { return "(\(listed))" }
            return "(\(listed) OR (\(rest)) IS DISTINCT FROM doc)"
        }

        /// The condition that an object is the user's own.
        func isOwn(_ owner: Owner) -> PostgresQuery {
            let listed: PostgresQuery = """
                (cardinality(readers) > 0 AND readers <@ ARRAY[\(owner.id)]) OR (cardinality(writers) > 0 AND writers <@ ARRAY[\(owner.id)])
                """
            let (owners, sharers) = (Self.paths(rules.ownerFields), Self.paths(rules.sharerFields))
            return """
                (coalesce(\(listed), FALSE) OR (storage.without_user(doc, \(owners), \(owner.id)) IS NULL \
                AND storage.without_user(doc, \(sharers), \(owner.id)) IS NULL))
                """
        }

        /// The document without the user; nil if no field can name them.
        func rest(_ owner: Owner) -> PostgresQuery? {
            let fields = rules.sharerFields
            guard !fields.isEmpty else { return nil }
            // The member `other` counts as another user, so that the result is never NULL.
            let paths = Self.paths(fields, in: "doc", and: "other")
            return """
                (storage.without_user(jsonb_build_object('doc', doc, 'other', TRUE), \(paths), \(owner.id))->'doc')
                """
        }

        private static func paths(
            _ fields: [FieldPath], in member: String? = nil, and other: String? = nil
        ) -> PostgresJSON {
            let paths = fields.map { (member.map { [$0] } ?? []) + $0.parts } + (other.map { [[$0]] } ?? [])
            return PostgresJSON(JSONValue.array(paths.map { .array($0.map { .string($0) }) }).text)
        }
    }

    func eraseObjects(
        of owner: Owner, in collection: String, after id: String
    ) async throws -> ([String: Int], UserDataPosition) {
        if id.isEmpty { try await eraseCopies(of: owner, in: collection) }
        guard let objects = try await objectRange(of: collection, after: id, in: owner) else {
            return ([:], .collections(after: collection))
        }
        do {
            return try await erase(objects, of: owner)
        } catch let problem as ServiceError where problem.code == .conflict {
            // A unique index prevents removing the user from a field. It is better to leave the id there than to keep
            // everything else.
            return try await erase(objects, of: owner, keepingFields: true)
        }
    }

    /// Removes the copies of objects that reports keep if they name the user. The objects may be gone or changed.
    private func eraseCopies(of owner: Owner, in collection: String) async throws {
        let (reports, collections) = (try owner.space.own("_reports"), try owner.space.own("_collections"))
        let name = try CollectionName(collection)
        let rows = try await run("SELECT rules::text FROM \(collections) WHERE name = \(collection)", owner)
        guard let text = try rows.first?.decode(0, as: String.self) else { return }
        let objects = ObjectRange(
            scope: QueryScope(space: owner.space, collection: name, rights: .master),
            rules: try CollectionRules(JSONValue(parsing: text.utf8)), after: "", end: "")
        _ = try await run(
            """
            UPDATE \(reports) AS report SET copy = NULL
            FROM (
                SELECT id AS report_id, copy AS doc, \(Self.names("copy->'_readers'")) AS readers,
                    \(Self.names("copy->'_writers'")) AS writers
                FROM \(reports) WHERE collection = \(collection) AND copy IS NOT NULL) AS kept
            WHERE report.id = report_id
                AND (\(objects.names(owner)) OR report.collection = \(CollectionName.users.text) AND report.object = \(owner.id))
            """, owner)
    }

    /// A list of readers or writers that a report keeps as JSON.
    private static func names(_ list: PostgresQuery) -> PostgresQuery {
        "CASE jsonb_typeof(\(list)) WHEN 'array' THEN ARRAY(SELECT jsonb_array_elements_text(\(list))) END"
    }

    private func erase(_ objects: ObjectRange, of owner: Owner, keepingFields: Bool = false) async throws -> (
        [String: Int], UserDataPosition
    ) {
        let (table, relations) = (try objects.scope.table, try owner.space.own("_relations"))
        let collection = objects.scope.collection.text
        let rest = keepingFields ? nil : objects.rest(owner)
        let row = try await run(
            """
            WITH old AS MATERIALIZED (
                SELECT id, \(objects.isOwn(owner)) AS is_own, updated AS before_updated, version AS before_version, readers AS before_readers,
                    doc AS before_doc, \(rest ?? "doc") AS rest
                FROM \(table) WHERE \(objects.range) AND \(objects.names(owner))
                ORDER BY id LIMIT \(Self.rowsPerSlice) FOR UPDATE),
            gone AS (
                DELETE FROM \(table) AS stored USING old WHERE stored.id = old.id AND old.is_own
                RETURNING stored.*, old.before_updated, old.before_version, old.before_readers, old.before_doc),
            changed AS (
                -- Regardless of what the collection's schema requires.
                UPDATE \(table) AS stored SET doc = storage.checked(old.rest, '*'), updated = now(), version = stored.version + 1,
                    readers = array_remove(stored.readers, \(owner.id)), writers = array_remove(stored.writers, \(owner.id))
                FROM old WHERE stored.id = old.id AND NOT old.is_own
                RETURNING stored.*, old.before_updated, old.before_version, old.before_readers, old.before_doc),
            -- Followers were already notified when the object was removed.
            written AS (
                SELECT *, 'd' AS kind FROM gone WHERE deleted IS NULL UNION ALL SELECT *, 'u' FROM changed WHERE deleted IS NULL),
            unrelated AS (
                DELETE FROM \(relations) AS r USING gone
                WHERE (r.collection = \(collection) AND r.owner = gone.id) OR (r.related_collection = \(collection) AND r.related = gone.id)),
            \(try ChangeLog.append(in: objects.scope))
            SELECT (SELECT count(*) FROM gone), (SELECT count(*) FROM changed), count(*), max(id) FROM old
            """, owner)[0]
        let (erased, changed, count): (Int, Int, Int) = (try row.decode(0), try row.decode(1), try row.decode(2))
        if count > 0 { signal.written(in: owner.space) }
        let last = count < Self.rowsPerSlice ? objects.end : try row.decode(3)
        return (["objects": erased, "sharedObjects": changed], .objects(collection: collection, after: last))
    }

    /// Exports the user's own objects as the user may see them. Objects that a moderator has hidden are exported as if
    /// they were not hidden.
    func exportObjects(
        of owner: Owner, in collection: String, after id: String, into lines: inout ByteBuffer
    ) async throws -> UserDataPosition {
        guard let objects = try await objectRange(of: collection, after: id, in: owner, includingHidden: true) else {
            return .collections(after: collection)
        }
        var principal = Principal(
            kind: .client, appID: owner.space.appID, appNumber: 0, environment: owner.space.environment,
            credentialID: "")
        principal.userID = owner.id
        let rights = try await rights.rights(
            of: principal, in: owner.space, to: [objects.scope.collection], evenIfClosed: true)
        let access = rights.access(to: objects.scope.collection)
        let shown = objects.rules.hasConditions ? access.seen ?? "TRUE" : "TRUE"
        let (readers, writers) = (Self.names("hidden->'_readers'"), Self.names("hidden->'_writers'"))
        let rows = try await run(
            """
            SELECT line, id, total FROM (
                SELECT id, line, count(*) OVER () AS total,
                    sum(octet_length(line)) OVER (ORDER BY id ROWS UNBOUNDED PRECEDING) - octet_length(line) AS before
                FROM (
                    SELECT id, '{"service":"storage","kind":"object","collection":' || to_json(\(collection)::text)::text || ',"data":'
                        || \(Rendering.object(access)) || '}' AS line
                    FROM (
                        SELECT id, created, updated, deleted, version, doc,
                            CASE WHEN hidden IS NULL THEN readers ELSE \(readers) END AS readers,
                            CASE WHEN hidden IS NULL THEN writers ELSE \(writers) END AS writers
                        FROM \(try objects.scope.table) AS stored
                        LEFT JOIN LATERAL (
                            SELECT hidden FROM \(try owner.space.own("_reports"))
                            WHERE stored.readers = '{}' AND stored.writers = '{}' AND collection = \(collection)
                                AND object = stored.id AND hidden IS NOT NULL LIMIT 1) AS report ON TRUE
                        WHERE \(objects.range) AND deleted IS NULL) AS object
                    WHERE \(objects.names(owner)) AND \(objects.isOwn(owner)) AND \(shown)
                    ORDER BY id LIMIT \(Self.rowsPerSlice)) AS page) AS sized
            WHERE before < \(Self.exportedBytesPerCall) ORDER BY id
            """, owner)
        for row in rows { lines.writeString(try row.decode(0, as: String.self) + "\n") }
        guard let last = rows.last, try rows.count < last.decode(2, as: Int.self) || rows.count == Self.rowsPerSlice
        else {
            return .objects(collection: collection, after: objects.end)
        }
        return .objects(collection: collection, after: try last.decode(1))
    }

    /// Nil if there are no more objects.
    ///
    /// - Parameter includingHidden: Whether to look at every hidden object, because the indexes do not have the lists
    ///   that it had before.
    private func objectRange(
        of collection: String, after id: String, in owner: Owner, includingHidden: Bool = false
    ) async throws -> ObjectRange? {
        let name = try CollectionName(collection)
        let scope = QueryScope(space: owner.space, collection: name, rights: .master)
        do {
            let row = try await run(
                """
                SELECT (SELECT rules::text FROM \(try owner.space.own("_collections")) WHERE name = \(collection)), max(id)
                FROM (SELECT id FROM \(try scope.table) WHERE id > \(id) ORDER BY id LIMIT \(Self.rowsPerScan)) AS looked
                """, owner)[0]
            guard let text: String = try row.decode(0), let end: String = try row.decode(1) else { return nil }
            let rules = try CollectionRules(JSONValue(parsing: text.utf8))
            let named = NamedObjects(
                table: try scope.table, space: owner.space, collection: name, userID: owner.id,
                fields: rules.sharerFields)
            guard var ids = try await named.ids(after: id, limit: Self.rowsPerSlice, on: postgres) else {
                return ObjectRange(scope: scope, rules: rules, after: id, end: end)
            }
            if includingHidden { ids = try await withHidden(ids, in: collection, after: id, owner) }
            return ids.last.map { ObjectRange(scope: scope, rules: rules, after: id, end: $0, ids: ids) }
        } catch let error as PostgresError where error.isUndefinedTable {
            // The collection was just dropped.
            return nil
        }
    }

    /// The first ids, in order, of the given ones and of hidden objects.
    private func withHidden(_ ids: [String], in collection: String, after id: String, _ owner: Owner) async throws
        -> [String]
    {
        try await run(
            """
            SELECT id FROM (
                SELECT unnest(\(ids)::text[]) AS id
                UNION SELECT object FROM \(try owner.space.own("_reports"))
                WHERE collection = \(collection) AND object > \(id) AND hidden IS NOT NULL) AS found
            ORDER BY id LIMIT \(Self.rowsPerSlice)
            """, owner
        ).map { try $0.decode(0) }
    }
}

import MartletCore
import MartletHTTP
import MartletPostgres
import NIOCore

extension StoredUserData {
    /// Erases memberships, recorded answers to repeated requests, and unfinished uploads, of which there are few.
    func eraseRolesAndUploads(of owner: Owner) async throws -> [String: Int] {
        let (members, transfers) = (try owner.space.own("_role_members"), try owner.space.own("_transfers"))
        let (managers, invitations) = (try owner.space.own("_role_managers"), try owner.space.own("_role_invitations"))
        let reports = try owner.space.own("_reports")
        try await restoreWritersOfHiddenObjects(of: owner)
        let row = try await run(
            """
            WITH roles AS (DELETE FROM \(members) WHERE member = \(owner.id) RETURNING 1),
            answers AS (DELETE FROM \(try owner.space.own("_idempotency")) WHERE asker = \("user:" + owner.id)),
            managed AS (DELETE FROM \(managers) WHERE manager = \(owner.id)),
            invited AS (DELETE FROM \(invitations) WHERE inviter = \(owner.id)),
            reported AS (DELETE FROM \(reports) WHERE reporter = \(owner.id)),
            listed AS (
                UPDATE \(reports) SET hidden = jsonb_build_object(
                    '_readers', \(Self.list("_readers", without: owner)), '_writers', \(Self.list("_writers", without: owner)))
                WHERE reporter <> \(owner.id)
                    AND (hidden->'_readers' ? \(owner.id) OR hidden->'_writers' ? \(owner.id))),
            blocks AS (
                DELETE FROM \(try owner.space.own("_blocks")) WHERE member = \(owner.id) OR blocked = \(owner.id)),
            guessed AS (DELETE FROM \(try owner.space.own("_role_guesses")) WHERE member = \(owner.id)),
            uploads AS (DELETE FROM \(transfers) WHERE uploader = \(owner.id) RETURNING 1)
            SELECT (SELECT count(*) FROM roles), (SELECT count(*) FROM uploads), pg_notify(\(RightsStore.channel), \(owner.space.schema))
            """, owner)[0]
        rights.forget(owner.space)
        return ["roles": try row.decode(0), "uploads": try row.decode(1)]
    }

    /// The SQL of a list of a hidden object that its reports keep, without the user.
    private static func list(_ name: String, without owner: Owner) -> PostgresQuery {
        """
        CASE jsonb_typeof(hidden->\(name)) WHEN 'array' THEN (hidden->\(name)) - \(owner.id)::text ELSE hidden->\(name) END
        """
    }

    /// Hidden objects that no other user could read or write get the user as their only writer again. The erasure of
    /// objects then finds them.
    private func restoreWritersOfHiddenObjects(of owner: Owner) async throws {
        let reports = try owner.space.own("_reports")
        let alone = PostgresJSON(JSONValue.array([.string(owner.id)]).text)
        let rows = try await run(
            """
            SELECT DISTINCT collection, object FROM \(reports)
            WHERE hidden->'_readers' = \(alone) OR hidden->'_writers' = \(alone) LIMIT 10000
            """, owner)
        for row in rows {
            let table = try owner.space.table(CollectionName(row.decode(0, as: String.self)))
            let object: String = try row.decode(1)
            do {
                _ = try await run(
                    "UPDATE \(table) SET writers = ARRAY[\(owner.id)] WHERE id = \(object) AND writers = '{}'", owner)
            } catch let error as PostgresError where error.isUndefinedTable {
                continue
            }
        }
    }

    func exportRoles(of owner: Owner, into lines: inout ByteBuffer) async throws {
        let rows = try await run(
            """
            SELECT json_build_object('name', role)::text FROM \(try owner.space.own("_role_members")) WHERE member = \(owner.id) ORDER BY role LIMIT \(RightsStore.maximumRolesOfUser)
            """, owner)
        for row in rows { lines.writeUserData("role", of: .storage, try row.decode(0)) }
        let managed = try await run(
            """
            SELECT json_build_object('name', role)::text FROM \(try owner.space.own("_role_managers"))
            WHERE manager = \(owner.id) ORDER BY role LIMIT \(RightsStore.maximumRolesOfUser)
            """, owner)
        for row in managed { lines.writeUserData("managedRole", of: .storage, try row.decode(0)) }
        let blocked = try await run(
            """
            SELECT json_build_object('user', blocked, 'created', \(PostgresQuery.rfc3339("created")))::text
            FROM \(try owner.space.own("_blocks")) WHERE member = \(owner.id) ORDER BY blocked LIMIT \(BlockStore.maximumOfUser)
            """, owner)
        for row in blocked { lines.writeUserData("block", of: .storage, try row.decode(0)) }
    }

    /// The files that are the user's own, with the same meaning as for objects. The first uploader owns a file unless
    /// others may write it.
    private func isOwn(_ owner: Owner) -> PostgresQuery {
        """
        coalesce((owner = \(owner.id) AND (writers IS NULL OR writers <@ ARRAY[\(owner.id)]))
            OR (cardinality(readers) > 0 AND readers <@ ARRAY[\(owner.id)])
            OR (cardinality(writers) > 0 AND writers <@ ARRAY[\(owner.id)]), FALSE)
        """
    }

    private func names(_ owner: Owner) -> PostgresQuery {
        "(owner = \(owner.id) OR readers @> ARRAY[\(owner.id)] OR writers @> ARRAY[\(owner.id)])"
    }

    /// Erases the user's files. Their bytes are left to `OrphanFileSweep`.
    func eraseFiles(of owner: Owner, after path: String) async throws -> ([String: Int], UserDataPosition) {
        let (files, history) = (try owner.space.own("_files"), try owner.space.own("_uploads"))
        guard let end = try await lastFile(after: path, of: owner) else { return ([:], .history(after: 0)) }
        let row = try await run(
            """
            WITH room AS MATERIALIZED (SELECT FROM \(try owner.space.own("_file_usage")) FOR UPDATE),
            old AS MATERIALIZED (
                SELECT path, \(isOwn(owner)) AS is_own FROM \(files) WHERE EXISTS (SELECT FROM room) AND path > \(path) AND path <= \(end) AND \(names(owner))
                ORDER BY path LIMIT \(Self.rowsPerSlice) FOR UPDATE),
            gone AS (DELETE FROM \(files) AS f USING old WHERE f.path = old.path AND old.is_own RETURNING f.*),
            changed AS (
                UPDATE \(files) AS f SET owner = nullif(f.owner, \(owner.id)), readers = array_remove(f.readers, \(owner.id)),
                    writers = array_remove(f.writers, \(owner.id)), updated = now()
                FROM old WHERE f.path = old.path AND NOT old.is_own RETURNING 1),
            unnoted AS (DELETE FROM \(history) AS u USING gone WHERE u.path = gone.path AND u.file = gone.id)
            SELECT (SELECT count(*) FROM gone), (SELECT count(*) FROM changed), count(*), max(path) FROM old
            """, owner)[0]
        let (erased, changed, count): (Int, Int, Int) = (try row.decode(0), try row.decode(1), try row.decode(2))
        let last = count < Self.rowsPerSlice ? end : try row.decode(3)
        return (["files": erased, "sharedFiles": changed], .files(after: last))
    }

    /// Exports names and sizes but not the bytes, which the user can fetch by the files' addresses.
    func exportFiles(
        of owner: Owner, after path: String, into lines: inout ByteBuffer
    ) async throws -> UserDataPosition? {
        guard let end = try await lastFile(after: path, of: owner) else { return nil }
        let rows = try await run(
            """
            SELECT \(FileStore.record(for: .user(owner.id, roles: []))), path FROM \(try owner.space.own("_files"))
            WHERE path > \(path) AND path <= \(end) AND \(names(owner)) AND \(isOwn(owner)) ORDER BY path LIMIT \(Self.rowsPerSlice)
            """, owner)
        for row in rows { lines.writeUserData("file", of: .storage, try row.decode(0)) }
        guard rows.count == Self.rowsPerSlice, let last = rows.last else { return .files(after: end) }
        return .files(after: try last.decode(1))
    }

    /// Erases the history of uploads: the entries of deleted files, and otherwise only the user's name in them.
    func eraseHistory(of owner: Owner, after id: Int64) async throws -> ([String: Int], UserDataPosition?) {
        let (files, history) = (try owner.space.own("_files"), try owner.space.own("_uploads"))
        let row = try await run(
            """
            WITH looked AS MATERIALIZED (
                SELECT id, path, file, uploader, readers FROM \(history) WHERE id > \(id) ORDER BY id LIMIT \(Self.rowsPerScan)),
            old AS MATERIALIZED (
                SELECT id, coalesce(uploader = \(owner.id), FALSE)
                    AND NOT EXISTS (SELECT FROM \(files) AS f WHERE f.path = l.path AND f.id = l.file) AS is_own
                FROM looked AS l WHERE uploader = \(owner.id) OR readers @> ARRAY[\(owner.id)] ORDER BY id LIMIT \(Self.rowsPerSlice)),
            gone AS (DELETE FROM \(history) AS u USING old WHERE u.id = old.id AND old.is_own RETURNING 1),
            changed AS (
                UPDATE \(history) AS u SET uploader = nullif(u.uploader, \(owner.id)), readers = array_remove(u.readers, \(owner.id))
                FROM old WHERE u.id = old.id AND NOT old.is_own RETURNING 1)
            SELECT (SELECT count(*) FROM gone) + (SELECT count(*) FROM changed), count(*), max(id), (SELECT max(id) FROM looked) FROM old
            """, owner)[0]
        let end: Int64? = try row.decode(3)
        guard let end else { return ([:], nil) }
        let last: Int64 = try row.decode(1, as: Int.self) < Self.rowsPerSlice ? end : try row.decode(2)
        return (["fileHistory": try row.decode(0)], .history(after: last))
    }

    /// The last path that one statement looks at; nil if there are no more files.
    private func lastFile(after path: String, of owner: Owner) async throws -> String? {
        try await run(
            """
            SELECT max(path) FROM (
                SELECT path FROM \(try owner.space.own("_files")) WHERE path > \(path) ORDER BY path LIMIT \(Self.rowsPerScan)) AS looked
            """, owner)[0].decode(0)
    }
}

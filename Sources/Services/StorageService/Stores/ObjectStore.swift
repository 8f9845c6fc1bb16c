import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import NIOCore

/// The objects of a collection. Every method is one SQL statement under the app's own role.
struct ObjectStore: Sendable {
    /// A page's text beyond this is refused: it would have to be held whole, here and in PostgreSQL.
    ///
    /// The running size keeps rows beyond it out of the aggregate, so that PostgreSQL holds no more either.
    static let maximumPageSizeInBytes = 16 << 20

    let postgres: PostgresClient
    let spaces: Spaces
    let collections: CollectionStore

    struct Page: Sendable {
        /// Number of objects in `rows`, or of all matches when the query wanted the total.
        var count: Int
        /// One row, whose cell 1 is the objects' JSON texts joined by commas; nil: none.
        var rows: PostgresRows?
    }

    struct Written: Sendable {
        /// One cell: the object's JSON text.
        var rows: PostgresRows
        var isNew: Bool
    }

    /// Stores an object. With an id that exists, that object is replaced, and brought back if it was removed.
    func create(_ document: Document, in collection: CollectionName, of space: AppSpace) async throws -> Written {
        let table = try space.table(collection)
        let text = document.hasSystemFields ? "\(document.json) - \(SystemField.names)" : "\(document.json)" as PostgresQuery
        let rows = try await writing(to: collection, of: space) {
            guard let id = document.id else {
                return """
                    INSERT INTO \(table) (id, doc) VALUES (\(ObjectID.make().text), \(text))
                    RETURNING \(Rendering.object()), TRUE
                    """
            }
            return """
                INSERT INTO \(table) AS stored (id, doc) VALUES (\(id.text), \(text))
                ON CONFLICT (id) DO UPDATE SET
                    doc = excluded.doc, updated = now(), deleted = NULL, version = stored.version + 1
                RETURNING \(Rendering.object()), stored.xmax = 0
                """
        }
        return Written(rows: rows, isNew: try rows[0].decode(1, as: Bool.self))
    }

    /// Stores every object of a JSON array or, on any error, none. Ids as in `create`.
    func createAll(
        _ array: PostgresJSON, ids: [ObjectID?], in collection: CollectionName, of space: AppSpace
    ) async throws -> Page {
        let table = try space.table(collection)
        let ids = ids.map { ($0 ?? ObjectID.make()).text }
        guard Set(ids).count == ids.count else {
            throw HTTPProblem(.invalidBody, "One id stands on two objects.", field: "_id")
        }
        let rows = try await writing(to: collection, of: space) {
            """
            WITH written AS (
                INSERT INTO \(table) AS stored (id, doc)
                SELECT (\(ids))[position], value - \(SystemField.names)
                FROM jsonb_array_elements(\(array)) WITH ORDINALITY AS element (value, position)
                -- In one order, so that two posts of the same ids wait for each other and never in a circle.
                ORDER BY (\(ids))[position]
                ON CONFLICT (id) DO UPDATE SET
                    doc = excluded.doc, updated = now(), deleted = NULL, version = stored.version + 1
                RETURNING stored.*)
            SELECT count(*), string_agg(\(Rendering.object()), ',' ORDER BY array_position(\(ids), id)) FROM written
            """
        }
        return Page(count: try rows[0].decode(0, as: Int.self), rows: rows)
    }

    /// A page of objects. A collection that does not exist is empty.
    func list(_ query: ListQuery, in collection: CollectionName, of space: AppSpace) async throws -> Page {
        let table = try space.table(collection)
        let condition = Self.condition(query)
        let total: PostgresQuery =
            query.wantsTotal ? "(SELECT count(*) FROM \(table) WHERE \(condition))" : "count(*)"
        let rows = try await reading(of: space) {
            """
            SELECT \(total),
                CASE WHEN max(size) > \(Self.maximumPageSizeInBytes) THEN NULL
                ELSE coalesce(string_agg(object, ',') FILTER (WHERE size <= \(Self.maximumPageSizeInBytes)), '') END
            FROM (
                SELECT object, sum(octet_length(object)) OVER (ROWS UNBOUNDED PRECEDING) AS size
                FROM (
                    SELECT \(Rendering.object(keys: query.keys)) AS object FROM \(table)
                    WHERE \(condition) ORDER BY \(query.order) LIMIT \(query.limit) OFFSET \(query.skip)) AS page) AS sized
            """
        }
        guard let rows, let row = rows.first else { return Page(count: 0, rows: nil) }
        guard try row.decode(1, as: String?.self) != nil else {
            throw HTTPProblem(
                .limitExceeded, "The page would have more than \(Self.maximumPageSizeInBytes) bytes: lower limit, or set keys.",
                field: "limit")
        }
        return Page(count: try row.decode(0, as: Int.self), rows: rows)
    }

    /// One cell, the object's JSON text; no row when there is no such object.
    func find(
        _ id: ObjectID, keys: [String]?, includingDeleted: Bool, in collection: CollectionName, of space: AppSpace
    ) async throws -> PostgresRows? {
        let table = try space.table(collection)
        return try await reading(of: space) {
            """
            SELECT \(Rendering.object(keys: keys)) FROM \(table)
            WHERE id = \(id.text)\(includingDeleted ? "" : " AND deleted IS NULL" as PostgresQuery)
            """
        }
    }

    /// Puts a new document in place of a stored object's; no row when there is no such object.
    func replace(_ id: ObjectID, with document: Document, in collection: CollectionName, of space: AppSpace) async throws
        -> PostgresRows?
    {
        let table = try space.table(collection)
        return try await reading(of: space) {
            """
            UPDATE \(table) SET doc = \(document.json) - \(SystemField.names), updated = now(), version = version + 1
            WHERE id = \(id.text) AND deleted IS NULL RETURNING \(Rendering.object())
            """
        }
    }

    /// Sets the fields that `document` has and leaves the others; no row when there is no such object.
    func change(_ id: ObjectID, by document: Document, in collection: CollectionName, of space: AppSpace) async throws
        -> PostgresRows?
    {
        let table = try space.table(collection)
        return try await reading(of: space) {
            """
            UPDATE \(table) SET doc = doc || (\(document.json) - \(SystemField.names)), updated = now(), version = version + 1
            WHERE id = \(id.text) AND deleted IS NULL RETURNING \(Rendering.object())
            """
        }
    }

    /// Marks an object removed; it can still be read with `deleted=true`. No row when there is no such object.
    func remove(_ id: ObjectID, in collection: CollectionName, of space: AppSpace) async throws -> PostgresRows? {
        let table = try space.table(collection)
        return try await reading(of: space) {
            """
            UPDATE \(table) SET deleted = now(), updated = now(), version = version + 1
            WHERE id = \(id.text) AND deleted IS NULL RETURNING \(Rendering.object())
            """
        }
    }

    /// Deletes an object for good, removed or not; false when there was none.
    func delete(_ id: ObjectID, in collection: CollectionName, of space: AppSpace) async throws -> Bool {
        let table = try space.table(collection)
        let rows = try await reading(of: space) { "DELETE FROM \(table) WHERE id = \(id.text)" }
        return (rows?.affectedRows ?? 0) > 0
    }

    private static func condition(_ query: ListQuery) -> PostgresQuery {
        let parts = [query.includesDeleted ? nil : "deleted IS NULL" as PostgresQuery, query.condition].compactMap(\.self)
        return parts.isEmpty ? "TRUE" : parts.joined(separator: " AND ")
    }

    /// Runs a statement on a table that may not exist: nil then.
    private func reading(of space: AppSpace, _ statement: () -> PostgresQuery) async throws -> PostgresRows? {
        try await spaces.prepare(space)
        do {
            return try await run(statement(), in: space)
        } catch let error as PostgresError where error.isUndefinedTable {
            return nil
        }
    }

    /// Runs a statement on a table, which is made when it is missing.
    private func writing(
        to collection: CollectionName, of space: AppSpace, _ statement: () -> PostgresQuery
    ) async throws -> PostgresRows {
        try await spaces.prepare(space)
        do {
            return try await run(statement(), in: space)
        } catch let error as PostgresError where error.isUndefinedTable {
            try await collections.create(collection, of: space)
            return try await run(statement(), in: space)
        }
    }

    private func run(_ statement: PostgresQuery, in space: AppSpace) async throws -> PostgresRows {
        var statement = statement
        statement.role = space.role
        do {
            return try await postgres.query(statement)
        } catch let error as PostgresError {
            if error.isMissingSpace { spaces.forget(space) }
            throw error.clientProblem ?? error
        }
    }
}

extension PostgresError {
    /// SQLSTATE 42P01: the collection was never written to, or was dropped.
    var isUndefinedTable: Bool { sqlState == "42P01" }

    /// SQLSTATE 22023 or 3F000: the role or schema is gone, as after a restore from an older backup. A further try makes it.
    var isMissingSpace: Bool { sqlState == "22023" || sqlState == "3F000" }

    /// What the client did that only PostgreSQL could notice.
    var clientProblem: (any Error)? {
        switch sqlState {
        case "23505": HTTPProblem(.conflict, "An object with these values of a unique index exists.", cause: description)
        case "54000", "54001": HTTPProblem(.limitExceeded, "The request is too large for the database.", cause: description)
        case "22P02", "22P05", "22003", "2200G": HTTPProblem(.invalidBody, "A value cannot be stored.", cause: description)
        case "22023", "3F000": HTTPProblem(.unavailable, cause: description)
        default: nil
        }
    }
}

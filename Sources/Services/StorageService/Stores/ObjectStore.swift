import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// The objects of a collection. Every method is one SQL statement under the app's own role, which writes the change log
/// too.
struct ObjectStore: Sendable {
    /// A page's text beyond this is refused: it would have to be held whole, here and in PostgreSQL.
    ///
    /// The running size keeps rows beyond it out of the aggregate, so that PostgreSQL holds no more either.
    static let maximumPageSizeInBytes = 16 << 20
    /// A larger page is read once there is room for it in the process's budget of answers.
    static let smallPageSizeInBytes = 512 << 10

    let postgres: PostgresClient
    let spaces: Spaces
    let collections: CollectionStore
    let rights: RightsStore
    let signal: ChangeSignal
    let advice = AdviceStore()
    private let largePages = LargePages()
    /// Where statements run instead of on their own, for a batch that is all or nothing.
    private var transaction: PostgresTransaction?

    init(
        postgres: PostgresClient, spaces: Spaces, collections: CollectionStore, rights: RightsStore,
        signal: ChangeSignal
    ) {
        self.postgres = postgres
        self.spaces = spaces
        self.collections = collections
        self.rights = rights
        self.signal = signal
    }

    /// The same store in a transaction, whose role must be the space's. Collections are not made in it: make them
    /// before.
    func within(_ transaction: PostgresTransaction) -> ObjectStore {
        var store = self
        store.transaction = transaction
        return store
    }

    var isInTransaction: Bool { transaction != nil }

    struct Page: Sendable {
        /// Number of objects in `rows`, or of all matches when the query wanted the total.
        var count: Int
        /// One row, whose cell 1 is the objects' JSON texts joined by commas; nil: none.
        var rows: PostgresRows?
        /// Where the next page begins, of a list read by cursors; `.some(nil)`: there is none.
        var cursor: String??
    }

    /// What became of one object.
    struct Written: Sendable {
        /// Cell 0 is the object's JSON text, cell 1 its entity tag.
        var rows: PostgresRows
        var isNew = false

        var entityTag: EntityTag { get throws { EntityTag(text: try rows[0].decode(1)) } }
    }

    // MARK: Reading

    /// A page of objects. A collection that does not exist is empty.
    ///
    /// - Throws: `forbidden`.
    func list(_ query: ListQuery, in scope: QueryScope) async throws -> Page {
        try scope.access.require(.find)
        if query.wantsTotal { try scope.access.require(.count) }
        let known = query.include.isEmpty ? [:] : try await rights.collections(of: scope.space)
        let rows = try await readingPage(limit: query.limit, of: scope) { scope in
            let start = ContinuousClock.now
            defer { advice.note(query, in: scope, took: ContinuousClock.now - start) }
            return try await reading(of: scope) { try ListStatement(query, in: $0, known: known) }
        }
        let end: String?? = query.cursor == nil ? nil : .some(nil)
        guard let rows, let row = rows.first else { return Page(count: 0, rows: nil, cursor: end) }
        guard rows.pageSizeInBytes != nil else {
            throw HTTPProblem(
                .limitExceeded,
                "The page would have more than \(Self.maximumPageSizeInBytes) bytes: lower limit, or set keys.",
                field: "limit")
        }
        var page = Page(count: try row.decode(0, as: Int.self), rows: rows, cursor: end)
        if query.cursor != nil, let position = try row.decode(2, as: String?.self) {
            let text = Cursor.text(position, order: query.completeOrder)
            guard text.utf8.count <= Cursor.maximumSizeInBytes else {
                throw HTTPProblem(.limitExceeded, "The values ordered by are too long for a cursor.", field: "order")
            }
            page.cursor = .some(text)
        }
        return page
    }

    /// Nil when there is no such object. Of the query only what says how an object is shown counts.
    ///
    /// - Throws: `forbidden`.
    func find(_ id: ObjectID, _ query: ListQuery, in scope: QueryScope) async throws -> Written? {
        try scope.access.require(.get)
        let known = query.include.isEmpty ? [:] : try await rights.collections(of: scope.space)
        let rows = try await reading(of: scope) { scope in
            let access = scope.access
            let conditions = [query.includesDeleted ? nil : "deleted IS NULL", access.readable(for: .get)].compactMap(
                \.self)
            let shown = try Shown(query, in: scope, known: known)
            return Statement(
                """
                SELECT \(shown.object), \(Rendering.entityTag) FROM \(try scope.table)
                WHERE \((["id = \(id.text)"] + conditions).joined(separator: " AND "))
                """, others: shown.collections)
        }
        return rows.flatMap { $0.isEmpty ? nil : Written(rows: $0) }
    }

    /// The answer of an aggregation or of a search for distinct values: cell 0 the number of rows, cell 1 their JSON
    /// texts joined by commas.
    ///
    /// - Throws: `forbidden`.
    func summarize(_ query: some SummaryQuery, in scope: QueryScope) async throws -> Page {
        try scope.access.require(.find)
        try scope.access.require(.count)
        let rows = try await readingPage(limit: nil, of: scope) { scope in
            let start = ContinuousClock.now
            defer { advice.note(query, in: scope, took: ContinuousClock.now - start) }
            return try await reading(of: scope) { try query.statement(in: $0) }
        }
        guard let rows, let row = rows.first else { return Page(count: 0, rows: nil) }
        guard rows.pageSizeInBytes != nil else {
            throw HTTPProblem(
                .limitExceeded, "The answer would have more than \(Self.maximumPageSizeInBytes) bytes: lower limit.",
                field: "limit")
        }
        return Page(count: try row.decode(0, as: Int.self), rows: rows)
    }

    // MARK: Writing

    /// Stores an object. With an id that exists, that object is replaced, and brought back if it was removed.
    ///
    /// - Throws: `forbidden`, `conflict` when the id belongs to an object that is not the asker's to change,
    ///   `precondition-failed` when it exists and `mustBeNew`.
    func create(_ document: Document, at id: ObjectID? = nil, mustBeNew: Bool = false, in scope: QueryScope)
        async throws -> Written
    {
        let access = scope.access
        try access.require(.create)
        try await checkFields(document.touched.added, scope)
        let written =
            if let id = id ?? document.id {
                try await put(id, document, mustBeNew: mustBeNew, in: scope)
            } else {
                try await insert(document, in: scope)
            }
        try await learn(document.fields.mapValues { [$0] }, scope)
        return written
    }

    /// Stores every object of a JSON array or, on any error, none. Ids as in `create`.
    func createAll(_ documents: Documents, in scope: QueryScope) async throws -> Page {
        let access = scope.access
        try access.require(.create)
        try await checkFields(documents.touched.added, scope)
        let veil = try await veil(ofNew: documents.touched, scope)
        let table = try scope.table
        let ids = documents.ids.map { ($0 ?? ObjectID.make()).text }
        guard Set(ids).count == ids.count else {
            throw HTTPProblem(.invalidBody, "One id stands on two objects.", field: "_id")
        }
        let given = documents.ids.compactMap { $0?.text }
        let (readers, writers) = (access.defaultReaders, access.defaultWriters)
        let kept =
            access.kept(of: "coalesce(CASE WHEN old.deleted IS NULL THEN old.before_doc END, '{}')")
            .map { "\($0) || " as PostgresQuery } ?? ""
        let rows = try await writing(to: scope) {
            """
            WITH item AS (
                SELECT (\(ids))[position] AS id, value FROM jsonb_array_elements(\(documents.json)) WITH ORDINALITY AS element (value, position)),
            -- In one order, so that two posts of the same ids wait for each other and never in a circle.
            old AS MATERIALIZED (
                SELECT id, deleted, \(Self.before), \(access.columns(for: .update))
                FROM \(table) WHERE id = ANY (\(given)) ORDER BY id FOR UPDATE),
            upserted AS (
                INSERT INTO \(table) AS stored (id, doc, readers, writers)
                SELECT id, doc, readers, writers FROM (
                    SELECT item.id, \(kept)(value - \(SystemField.names)) AS doc,
                        \(Self.listing("_readers", kept: "before_readers", default: readers)) AS readers,
                        \(Self.listing("_writers", kept: "before_writers", default: writers)) AS writers
                    FROM item LEFT JOIN old ON old.id = item.id) AS new\(Self.unveiled(veil)) ORDER BY id
                ON CONFLICT (id) DO UPDATE SET doc = excluded.doc, updated = now(), deleted = NULL, version = stored.version + 1,
                    readers = excluded.readers, writers = excluded.writers
                RETURNING stored.*, stored.xmax = 0 AS is_new),
            written AS (
                SELECT u.*, \(Self.kind), \(Self.upsertedBefore) FROM upserted AS u LEFT JOIN old USING (id)
                WHERE (coalesce(may, TRUE) OR storage.fail(CASE WHEN seen THEN 'MT403' ELSE 'MT409' END, 'id'))
                    AND (u.is_new OR old.id IS NOT NULL OR storage.fail('40001', 'id'))\(Self.creatable(access))),
            \(try ChangeLog.append(in: scope))
            SELECT count(*), string_agg(\(Rendering.object(access)), ',' ORDER BY array_position(\(ids), id)) FROM written
            """
        }
        try await learn(documents.fields, scope)
        return Page(count: try rows[0].decode(0, as: Int.self), rows: rows)
    }

    /// Puts a new document in place of a stored object's; nil when there is no such object. Fields hidden from the
    /// asker stay.
    ///
    /// - Throws: `forbidden`, `precondition-failed`.
    func replace(_ id: ObjectID, with document: Document, if precondition: Precondition?, in scope: QueryScope)
        async throws -> Written?
    {
        let document = document
        let access = scope.access
        try access.require(.update)
        try await checkFields(document.touched.added, scope)
        let kept = access.kept(of: "old.doc").map { kept -> PostgresQuery in "\(kept) || \(document.stored)" }
        let written = try await update(id, doc: kept ?? document.stored, document, if: precondition, in: scope)
        if written != nil { try await learn(document.fields.mapValues { [$0] }, scope) }
        return written
    }

    /// Sets the fields that `document` has, carries out its operations, and leaves the other fields; nil when there is
    /// no such object.
    ///
    /// - Throws: `forbidden`, `precondition-failed`, `invalid-body` when a stored value does not allow an operation.
    func change(_ id: ObjectID, by document: Document, if precondition: Precondition?, in scope: QueryScope)
        async throws -> Written?
    {
        let access = scope.access
        try access.require(.update)
        try await checkFields(document.touched.added, scope)
        let doc: PostgresQuery =
            document.operations == nil
            ? "old.doc || \(document.stored)" : "storage.apply(old.doc, \(document.stored), FALSE)"
        let written = try await update(id, doc: doc, document, if: precondition, in: scope)
        if written != nil { try await learn(document.fields.mapValues { [$0] }, scope) }
        return written
    }

    /// Marks an object removed; it can still be read with `deleted=true`. Nil when there is no such object.
    ///
    /// - Throws: `forbidden`, `precondition-failed`.
    func remove(_ id: ObjectID, if precondition: Precondition?, in scope: QueryScope) async throws -> Written? {
        let access = scope.access
        try access.require(.delete)
        let table = try scope.table
        let rows = try await reading(of: scope) {
            """
            WITH \(try Self.old(id, scope, .delete)),
            changed AS (
                UPDATE \(table) AS stored SET deleted = now(), updated = now(), version = stored.version + 1
                FROM old WHERE stored.id = old.id AND old.may\(Self.precondition(precondition))
                RETURNING stored.*, \(Self.beforeNames)),
            written AS (SELECT *, 'd' AS kind FROM changed),
            \(try ChangeLog.append(in: scope))
            SELECT \(Rendering.object(access)), \(Rendering.entityTag), written.id IS NOT NULL, target.may, TRUE
            FROM (SELECT id AS old_id, may FROM old) AS target LEFT JOIN written ON TRUE
            """
        }
        return try changed(rows, by: .delete)
    }

    /// Deletes an object for good, removed or not, and its relations; false when there was none.
    ///
    /// - Throws: `forbidden`, `precondition-failed`.
    func delete(_ id: ObjectID, if precondition: Precondition?, in scope: QueryScope) async throws -> Bool {
        let access = scope.access
        try access.require(.delete)
        let (table, relations) = (try scope.table, try scope.space.own("_relations"))
        let rows = try await reading(of: scope) {
            """
            WITH \(try Self.old(id, scope, .delete, includingRemoved: true)),
            gone AS (
                DELETE FROM \(table) AS stored USING old WHERE stored.id = old.id AND old.may\(Self.precondition(precondition))
                RETURNING stored.*, \(Self.beforeNames)),
            -- Those who follow saw a removed one go when it was removed.
            written AS (SELECT *, 'd' AS kind FROM gone WHERE deleted IS NULL),
            unrelated AS (
                DELETE FROM \(relations) AS r USING gone
                WHERE (r.collection = \(scope.collection.text) AND r.owner = gone.id)
                    OR (r.related_collection = \(scope.collection.text) AND r.related = gone.id)),
            \(try ChangeLog.append(in: scope))
            SELECT NULL::text, NULL::text, gone.id IS NOT NULL, old.may, TRUE FROM old LEFT JOIN gone ON TRUE
            """
        }
        return try changed(rows, by: .delete) != nil
    }

    // MARK: Statements

    private func insert(_ document: Document, in scope: QueryScope) async throws -> Written {
        let access = scope.access
        let table = try scope.table
        let readers = document.readers == .absent ? access.defaultReaders : document.readers.names
        let writers = document.writers == .absent ? access.defaultWriters : document.writers.names
        let veil = try await veil(ofNew: document.touched, scope)
        let rows = try await writing(to: scope) {
            """
            WITH inserted AS (
                INSERT INTO \(table) (id, doc, readers, writers)
                SELECT id, doc, readers, writers FROM (
                    SELECT \(ObjectID.make().text)::text AS id, (\(Self.initial(document)))::jsonb AS doc, \(readers)::text[] AS readers,
                        \(writers)::text[] AS writers) AS new\(Self.unveiled(veil))
                RETURNING *),
            written AS (SELECT *, 'c' AS kind, \(Self.noBefore) FROM inserted WHERE TRUE\(Self.creatable(access))),
            \(try Self.relations(document, scope))\(try ChangeLog.append(in: scope))
            SELECT \(Rendering.object(access)), \(Rendering.entityTag) FROM written
            """
        }
        return Written(rows: rows, isNew: true)
    }

    private func put(_ id: ObjectID, _ document: Document, mustBeNew: Bool, in scope: QueryScope) async throws
        -> Written
    {
        let access = scope.access
        let table = try scope.table
        let readers = Self.listing(document.readers, kept: "before_readers", default: access.defaultReaders)
        let writers = Self.listing(document.writers, kept: "before_writers", default: access.defaultWriters)
        let kept = access.kept(of: "coalesce((SELECT before_doc FROM old WHERE deleted IS NULL), '{}')").map {
            "\($0) || " as PostgresQuery
        }
        let veil = try await veil(ofNew: document.touched, scope)
        let rows = try await writing(to: scope) {
            """
            WITH old AS MATERIALIZED (
                SELECT id, deleted, \(Self.before), \(access.columns(for: .update)) FROM \(table) WHERE id = \(id.text) FOR UPDATE),
            upserted AS (
                INSERT INTO \(table) AS stored (id, doc, readers, writers)
                SELECT id, doc, readers, writers FROM (
                    SELECT \(id.text)::text AS id, (\(kept ?? "")\(Self.initial(document)))::jsonb AS doc, (\(readers))::text[] AS readers,
                        (\(writers))::text[] AS writers
                    WHERE NOT EXISTS (SELECT FROM old WHERE NOT may\(mustBeNew ? " OR deleted IS NULL" as PostgresQuery : ""))
                    OFFSET 0) AS new\(Self.unveiled(veil))
                ON CONFLICT (id) DO UPDATE SET doc = excluded.doc, updated = now(), deleted = NULL, version = stored.version + 1,
                    readers = excluded.readers, writers = excluded.writers
                RETURNING stored.*, stored.xmax = 0 AS is_new),
            written AS (
                SELECT u.*, \(Self.kind), \(Self.upsertedBefore) FROM upserted AS u LEFT JOIN old ON TRUE
                -- Another has just made it: this statement saw nothing of that and has to begin again.
                WHERE (u.is_new OR old.id IS NOT NULL OR storage.fail('40001', 'id'))\(Self.creatable(access))),
            \(try Self.relations(document, scope))\(try ChangeLog.append(in: scope))
            SELECT \(Rendering.object(access)), \(Rendering.entityTag), is_new, written.id IS NOT NULL, coalesce((SELECT seen AND NOT may FROM old), FALSE)
            FROM (SELECT TRUE AS one) AS answer LEFT JOIN written ON TRUE
            """
        }
        if try rows[0].decode(3, as: Bool.self) {
            return Written(rows: rows, isNew: try rows[0].decode(2, as: Bool.self))
        }
        if mustBeNew { throw HTTPProblem(.preconditionFailed, "There is an object with this id.", field: "_id") }
        throw try rows[0].decode(4, as: Bool.self)
            ? Access.refusal(.update) : HTTPProblem(.conflict, "The id is taken.", field: "_id")
    }

    private func update(
        _ id: ObjectID, doc: PostgresQuery, _ document: Document, if precondition: Precondition?, in scope: QueryScope
    ) async throws -> Written? {
        let access = scope.access
        let table = try scope.table
        var lists: PostgresQuery = ""
        if document.readers != .absent { lists.append(", readers = \(document.readers.names)") }
        if document.writers != .absent { lists.append(", writers = \(document.writers.names)") }
        let veil = try await veil(of: document.touched, scope)
        let rows = try await reading(of: scope) {
            """
            WITH \(try Self.old(id, scope, .update, veil)),
            changed AS (
                UPDATE \(table) AS stored SET doc = \(doc), updated = now(), version = stored.version + 1\(lists)
                -- The row is chosen before the document is made, so no operation reads a field that is hidden from the asker.
                FROM old WHERE stored.id = old.id AND old.may AND old.shows\(Self.precondition(precondition))
                RETURNING stored.*, \(Self.beforeNames)),
            written AS (SELECT *, 'u' AS kind FROM changed),
            \(try Self.relations(document, scope))\(try ChangeLog.append(in: scope))
            SELECT \(Rendering.object(access)), \(Rendering.entityTag), written.id IS NOT NULL, target.may, target.shows
            FROM (SELECT id AS old_id, may, shows FROM old) AS target LEFT JOIN written ON TRUE
            """
        }
        return try changed(rows, by: .update, veil)
    }

    /// Nil: no object that the asker may read; otherwise what the statement did, unless something held it back.
    ///
    /// - Throws: `forbidden` for an object that the asker may read and not change, `precondition-failed`.
    private func changed(_ rows: PostgresRows?, by operation: Access.Operation, _ veil: Access.Veil? = nil) throws
        -> Written?
    {
        guard let rows, let row = rows.first else { return nil }
        guard try row.decode(3, as: Bool.self) else { throw Access.refusal(operation) }
        if let veil, try !row.decode(4, as: Bool.self) { throw veil.refusal }
        guard try row.decode(2, as: Bool.self) else { throw HTTPProblem(.preconditionFailed) }
        return Written(rows: rows)
    }

    /// The object as it is before the write, locked, if the asker may read it; `may`: and change it, `shows`: and sees
    /// what the write depends on.
    private static func old(
        _ id: ObjectID, _ scope: QueryScope, _ operation: Access.Operation, _ veil: Access.Veil? = nil,
        includingRemoved: Bool = false
    ) throws -> PostgresQuery {
        let access = scope.access
        let conditions = [includingRemoved ? nil : "deleted IS NULL", access.seen].compactMap(\.self)
        return """
            old AS MATERIALIZED (
                SELECT id, doc, \(before), (\(access.changeable(by: operation) ?? "TRUE")) AS may, (\(veil?.condition ?? "TRUE")) AS shows
                FROM \(try scope.table)
                WHERE \((["id = \(id.text)"] + conditions).joined(separator: " AND ")) FOR UPDATE)
            """
    }

    private static let before: PostgresQuery =
        "updated AS before_updated, version AS before_version, readers AS before_readers, writers AS before_writers, doc AS before_doc"
    private static let beforeNames: PostgresQuery =
        "old.before_updated, old.before_version, old.before_readers, old.before_doc"
    /// Of an upsert: what was removed has no state before for those who follow.
    private static let upsertedBefore: PostgresQuery = """
        CASE WHEN old.deleted IS NULL THEN old.before_updated END AS before_updated, \
        CASE WHEN old.deleted IS NULL THEN old.before_version END AS before_version, \
        CASE WHEN old.deleted IS NULL THEN old.before_readers END AS before_readers, \
        CASE WHEN old.deleted IS NULL THEN old.before_doc END AS before_doc
        """
    private static let noBefore: PostgresQuery = """
        NULL::timestamptz AS before_updated, NULL::bigint AS before_version, NULL::text[] AS before_readers, NULL::jsonb AS before_doc
        """
    /// Of an upsert. What was removed and comes back is new to those who follow.
    private static let kind: PostgresQuery =
        "CASE WHEN u.is_new OR old.deleted IS NOT NULL THEN 'c' ELSE 'u' END AS kind"

    private static func precondition(_ precondition: Precondition?) -> PostgresQuery {
        guard let tags = precondition?.tags else { return "" }
        return " AND \(Rendering.entityTag(of: "old.before_version", "old.before_updated")) = ANY (\(tags))"
    }

    /// The new row has to be one that the rules let this asker create.
    private static func creatable(_ access: Access) -> PostgresQuery {
        access.creatable.map { " AND (\($0) OR storage.fail('MT403', 'create'))" } ?? ""
    }

    /// Fails the statement before a unique index could tell of what the asker does not see.
    private static func unveiled(_ veil: Access.Veil?) -> PostgresQuery {
        veil.map { " WHERE (\($0.condition) OR storage.fail('MT403', 'hidden'))" } ?? ""
    }

    /// A new object's document: operations have nothing to start from.
    private static func initial(_ document: Document) -> PostgresQuery {
        document.operations == nil ? document.stored : "storage.apply('{}', \(document.stored), TRUE)"
    }

    /// Members that come to and leave the relations of `written`.
    private static func relations(_ document: Document, _ scope: QueryScope) throws -> PostgresQuery {
        guard let operations = document.operations else { return "" }
        let table = try scope.space.own("_relations")
        var sql: PostgresQuery = ""
        if !operations.added.isEmpty {
            sql.append(
                """
                related AS (
                    INSERT INTO \(table) (collection, owner, key, related_collection, related)
                    SELECT \(scope.collection.text), written.id, member.key, member.collection, member.id
                    FROM written, \(members(operations.added)) ON CONFLICT DO NOTHING),

                """)
        }
        if !operations.removed.isEmpty {
            sql.append(
                """
                unrelated AS (
                    DELETE FROM \(table) AS r USING written, \(members(operations.removed))
                    WHERE r.collection = \(scope.collection.text) AND r.owner = written.id AND r.key = member.key
                        AND r.related_collection = member.collection AND r.related = member.id),

                """)
        }
        return sql
    }

    private static func members(_ members: [Operations.Member]) -> PostgresQuery {
        """
        unnest(\(members.map(\.key)), \(members.map(\.collection)), \(members.map(\.id))) AS member (key, collection, id)
        """
    }

    /// Readers or writers of an element of a bulk post; one that does not say keeps what is stored.
    private static func listing(_ name: String, kept: StaticString, default names: [String]?) -> PostgresQuery {
        """
        CASE WHEN jsonb_typeof(value->\(name)) = 'array' THEN ARRAY(SELECT jsonb_array_elements_text(value->\(name)))
        WHEN value ? \(name) THEN NULL WHEN old.id IS NOT NULL THEN \(unescaped: kept) ELSE \(names) END
        """
    }

    /// Readers or writers of a single upsert, as above.
    private static func listing(_ listing: Document.Listing, kept: StaticString, default names: [String]?)
        -> PostgresQuery
    {
        guard listing == .absent else { return "\(listing.names)" }
        return "CASE WHEN EXISTS (SELECT FROM old) THEN (SELECT \(unescaped: kept) FROM old) ELSE \(names) END"
    }

    // MARK: Fields

    /// - Throws: `forbidden` naming a field that nobody has written yet and the asker may not add.
    private func checkFields(_ names: Set<FieldName>, _ scope: QueryScope) async throws {
        guard scope.access.mayNotAddFields else { return }
        let remembered = try await rights.collections(of: scope.space)[scope.collection.text]?.fields ?? [:]
        guard names.contains(where: { remembered[$0] == nil }) else { return }
        // Another copy may have learned of it a moment ago.
        let known = try await rights.storedFields(of: scope.collection, in: scope.space)
        if let name = names.filter({ known[$0] == nil }).min() {
            throw HTTPProblem(.forbidden, "The collection's rules do not allow new fields.", field: name.text)
        }
    }

    /// For a write to an existing object: its operations depend on what the fields hold, and unique indexes on what
    /// other objects hold.
    ///
    /// - Throws: `forbidden` naming a field that is hidden from the asker in every object.
    private func veil(of touched: Document.Touched, _ scope: QueryScope) async throws -> Access.Veil? {
        let access = scope.access
        guard !access.hidesNothing else { return nil }
        let unique = try await rights.collections(of: scope.space)[scope.collection.text]?.unique ?? []
        return try access.veil(
            unique.filter { !$0.isDisjoint(with: touched.written) }.reduce(touched.operated) { $0.union($1) })
    }

    /// For a new object, whose operations start from nothing.
    private func veil(ofNew touched: Document.Touched, _ scope: QueryScope) async throws -> Access.Veil? {
        try await veil(of: Document.Touched(written: touched.written), scope)
    }

    /// Remembers fields and types that the collection has not had yet.
    private func learn(_ fields: [FieldName: Set<String>], _ scope: QueryScope) async throws {
        signal.written(in: scope.space)
        guard !fields.isEmpty else { return }
        let known = try await rights.collections(of: scope.space)[scope.collection.text]?.fields ?? [:]
        let news = fields.filter { name, types in
            known[name].map { !types.isSubset(of: $0) && $0.count < FieldType.maximumTypes }
                ?? (known.count < FieldType.maximumFields)
        }
        guard !news.isEmpty else { return }
        try await rights.learn(news, scope)
    }

    // MARK: Running

    /// Runs a statement that may read other collections, each of which is empty when it does not exist.
    private func reading(of scope: QueryScope, _ statement: (QueryScope) throws -> some ReadStatement) async throws
        -> PostgresRows?
    {
        try await spaces.prepare(scope.space)
        var scope = scope
        var first = try statement(scope)
        if first.others.contains(where: { !scope.rights.knows($0) }) {
            // One that another copy has just made, or given this name, has rules all the same.
            scope.rights = try await rights.complete(scope.rights, with: first.others, in: scope.space)
            first = try statement(scope)
        }
        do {
            return try await run(first, in: scope.space)
        } catch let error as PostgresError where error.isUndefinedTable {
            guard !first.others.isEmpty else { return nil }
            let all = first.others.union([scope.collection])
            let rows = try await run(
                "SELECT tablename::text FROM pg_tables WHERE schemaname = \(scope.space.schema) AND tablename = ANY (\(all.map(\.text)))",
                in: scope.space)
            let found = Set(try rows.map { try $0.decode(0, as: String.self) })
            guard found.contains(scope.collection.text) else { return nil }
            scope.missing = all.filter { !found.contains($0.text) }
            return try await run(try statement(scope), in: scope.space)
        }
    }

    private func run(_ statement: some ReadStatement, in space: AppSpace) async throws -> PostgresRows {
        guard statement.isCostly, transaction == nil else { return try await run(statement.sql, in: space) }
        // PostgreSQL's own limit, which counts the statement's time alone; on a connection of its own, so that nobody's
        // statement waits behind.
        do {
            return try await postgres.withTransaction(role: space.role) { transaction in
                try await transaction.executeScript("SET LOCAL statement_timeout = '\(Self.costlySeconds)s'")
                return try await transaction.query(statement.sql)
            }
        } catch let error as PostgresError {
            guard error.sqlState != "57014" else {
                throw HTTPProblem(
                    .limitExceeded, "The patterns of the filter take too long.", field: "$regex",
                    cause: error.description)
            }
            throw spaces.problem(error, in: space)
        }
    }

    /// For a filter with patterns, which may take for ever on one object.
    private static let costlySeconds = 3

    /// Reads a page as a small one first, because most are and the size is not known before. A larger page is read
    /// again once there is room for it in the budget of answers.
    ///
    /// - Throws: `unavailable`.
    private func readingPage(
        limit: Int?, of scope: QueryScope, _ read: (QueryScope) async throws -> PostgresRows?
    ) async throws -> PostgresRows? {
        guard let memory = RequestMemory.current else { return try await read(scope) }
        let kind = LargePages.Kind(space: scope.space, collection: scope.collection, limit: limit)
        if !largePages.contains(kind) {
            var small = scope
            small.pageSizeInBytes = Self.smallPageSizeInBytes
            let rows = try await read(small)
            guard let rows, rows.pageSizeInBytes == nil else { return rows }
        }
        try await memory.reserveAnswer(Self.maximumPageSizeInBytes)
        let rows = try await read(scope)
        largePages.note(kind, isLarge: rows?.pageSizeInBytes ?? .max > Self.smallPageSizeInBytes)
        return rows
    }

    /// Runs a statement on a table that may not exist: nil then.
    private func reading(of scope: QueryScope, _ statement: () throws -> PostgresQuery) async throws -> PostgresRows? {
        try await spaces.prepare(scope.space)
        do {
            return try await run(try statement(), in: scope.space)
        } catch let error as PostgresError where error.isUndefinedTable {
            return nil
        }
    }

    /// Runs a statement on a table, which is made when it is missing.
    private func writing(to scope: QueryScope, _ statement: () throws -> PostgresQuery) async throws -> PostgresRows {
        try await spaces.prepare(scope.space)
        do {
            return try await run(try statement(), in: scope.space)
        } catch let error as PostgresError where error.isUndefinedTable && transaction == nil {
            try await collections.create(scope.collection, of: scope.space)
            return try await run(try statement(), in: scope.space)
        } catch let error as PostgresError where error.isSerializationFailure && transaction == nil {
            return try await run(try statement(), in: scope.space)
        }
    }

    private func run(_ statement: PostgresQuery, in space: AppSpace) async throws -> PostgresRows {
        var statement = statement
        statement.role = space.role
        do {
            if let transaction { return try await transaction.query(statement) }
            return try await postgres.query(statement)
        } catch let error as PostgresError {
            throw spaces.problem(error, in: space)
        }
    }
}

extension PostgresRows {
    /// Of the page in cell 1 of the first row; nil: it is larger than its statement allowed, or there is none.
    fileprivate var pageSizeInBytes: Int? { first?.withBytes(1) { $0?.count } }
}

extension PostgresError {
    /// SQLSTATE 42P01: the collection was never written to, or was dropped.
    var isUndefinedTable: Bool { sqlState == "42P01" }

    /// SQLSTATE 22023 or 3F000: the role or schema is gone, as after a restore from an older backup. A further try
    /// makes it.
    var isMissingSpace: Bool { sqlState == "22023" || sqlState == "3F000" }

    /// What the client did that only PostgreSQL could notice.
    var clientProblem: (any Error)? {
        if isMissingSpace { return HTTPProblem(.unavailable, cause: description) }
        return switch sqlState {
        case "23505":
            HTTPProblem(.conflict, "An object with these values of a unique index exists.", cause: description)
        case "MT403": HTTPProblem(.forbidden, "The collection's rules do not allow this object.", cause: description)
        case "2201B": HTTPProblem(.invalidFilter, "This pattern is not valid.", field: "$regex", cause: description)
        case "54000", "54001":
            HTTPProblem(.limitExceeded, "The request is too large for the database.", cause: description)
        case "22P02", "22P05", "22003", "2200G":
            HTTPProblem(.invalidBody, "A value cannot be stored.", cause: description)
        case "MT409": HTTPProblem(.conflict, "The id of one of the objects is taken.", field: "_id")
        case "MT413": FileQuota.exceeded
        case "MT422": HTTPProblem(.invalidBody, "The stored value does not allow the operation.", cause: description)
        default: nil
        }
    }
}

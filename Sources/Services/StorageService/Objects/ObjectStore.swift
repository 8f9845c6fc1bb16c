import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// The objects of a collection. Every method runs a single SQL statement, under the app's own role, that also writes
/// the change log.
struct ObjectStore: Sendable {
    /// Larger pages are refused, because their complete text would have to be in memory, here and in PostgreSQL.
    ///
    /// The statement keeps a running size and leaves further rows out of the aggregate, so PostgreSQL's memory is
    /// limited, too.
    static let maximumPageSizeInBytes = 16 << 20
    /// Larger pages are only read once the process's budget for answers has room for them.
    static let smallPageSizeInBytes = 512 << 10
    /// The limit for reads that are started without a task. With the other members of a page, an answer must not exceed
    /// `RequestMemory.smallSizeInBytes`.
    private static let directSizeInBytes = RequestMemory.smallSizeInBytes - (8 << 10)

    let postgres: PostgresClient
    let spaces: Spaces
    let collections: CollectionStore
    let rights: RightsStore
    let signal: ChangeSignal
    let quota: ObjectQuota
    let advice = AdviceStore()
    private let largePages = LargePages()
    /// Reads whose answer has more than `directSizeInBytes`.
    private let largeAnswers = LargePages()
    /// The transaction of an all-or-nothing batch, in which statements then run.
    private(set) var transaction: PostgresTransaction?
    /// Whether the transaction will be rolled back, so that nothing may be recorded outside of it.
    private var isTrial = false

    init(
        postgres: PostgresClient, spaces: Spaces, collections: CollectionStore, rights: RightsStore,
        signal: ChangeSignal, quota: ObjectQuota
    ) {
        self.postgres = postgres
        self.spaces = spaces
        self.collections = collections
        self.rights = rights
        self.signal = signal
        self.quota = quota
    }

    /// The same store in a transaction, which must have the space's role. It does not create collections, so they must
    /// exist.
    func within(_ transaction: PostgresTransaction, isTrial: Bool = false) -> ObjectStore {
        var store = self
        store.transaction = transaction
        store.isTrial = store.isTrial || isTrial
        return store
    }

    var isInTransaction: Bool { transaction != nil }

    struct Page: Sendable {
        /// The number of objects in `rows`, or of all matches if the query requests the total.
        var count: Int
        /// One row, whose cell 1 contains the objects' JSON texts joined by commas; nil for none.
        var rows: PostgresRows?
        /// For lists with cursors, where the next page begins; `.some(nil)` if there is none.
        var cursor: String??
    }

    /// The result of a write to one object.
    struct Written: Sendable {
        /// Cell 0 is the object's JSON text, cell 1 its entity tag.
        var rows: PostgresRows
        var isNew = false

        var entityTag: EntityTag { get throws { EntityTag(text: try rows[0].decode(1)) } }

        /// The size of the object's JSON text.
        var sizeInBytes: Int { rows[0].withBytes(0) { $0?.count ?? 0 } }
    }

    // MARK: Reading

    /// A page of objects. A collection that does not exist counts as empty.
    ///
    /// - Throws: `forbidden`.
    func list(_ query: ListQuery, in scope: QueryScope) async throws -> Page {
        try scope.access.require(.find)
        if query.countsAll { try scope.access.require(.count) }
        let known = try await rights.collections(
            of: scope.space, including: query.include, from: scope.collection)
        let rows = try await readingPage(limit: query.limit, of: scope) { scope in
            let start = ContinuousClock.now
            defer { advice.record(query, in: scope, took: ContinuousClock.now - start) }
            return try await reading(of: scope) { try ListStatement(query, in: $0, known: known) }
        }
        if let rows, Self.mayBeStarted(query) {
            let kind = LargePages.Kind(scope, limit: query.limit)
            largeAnswers.record(kind, isLarge: rows.pageSizeInBytes ?? .max > Self.directSizeInBytes)
        }
        return try page(rows, of: query)
    }

    /// Whether the list needs no other rights or collections than those that `startListing` uses.
    private static func mayBeStarted(_ query: ListQuery) -> Bool { query.include.isEmpty && !query.countsAll }

    private func page(_ rows: PostgresRows?, of query: ListQuery) throws -> Page {
        let end: String?? = query.cursor == nil ? nil : .some(nil)
        guard let rows, let row = rows.first else { return Page(count: 0, rows: nil, cursor: end) }
        guard rows.pageSizeInBytes != nil else {
            throw ServiceError(
                .limitExceeded,
                "The page would have more than \(Self.maximumPageSizeInBytes) bytes. Lower limit, or set keys.",
                field: "limit")
        }
        var page = Page(count: try row.decode(0, as: Int.self), rows: rows, cursor: end)
        if query.cursor != nil, let position = try row.decode(2, as: String?.self) {
            let text = Cursor.text(position, order: query.completeOrder)
            guard text.utf8.count <= Cursor.maximumSizeInBytes else {
                throw ServiceError(
                    .limitExceeded, "The values of the order's fields are too long for a cursor.", field: "order")
            }
            page.cursor = .some(text)
        }
        return page
    }

    /// Starts to read a page, without a task. The caller must be allowed to list objects of the collection.
    ///
    /// - Parameter completion: As for `start`. Nil also if the page is large.
    /// - Returns: False if more has to be done first, or the list may take long.
    func startListing(
        _ query: ListQuery, in scope: QueryScope, usage: RequestUsage,
        completion: @escaping @Sendable (Result<Page?, any Error>) -> Void
    ) -> Bool {
        let kind = LargePages.Kind(scope, limit: query.limit)
        guard spaces.isPrepared(scope.space), Self.mayBeStarted(query), !largeAnswers.contains(kind),
            let known = rights.cachedCollections(of: scope.space)
        else { return false }
        var scope = scope
        scope.pageSizeInBytes = Self.directSizeInBytes
        guard let statement = try? ListStatement(query, in: scope, known: known), !statement.isCostly,
            statement.others.isEmpty
        else { return false }
        let start = ContinuousClock.now
        self.start(statement.sql, in: scope, usage: usage) { [scope] result in
            advice.record(query, in: scope, took: ContinuousClock.now - start)
            completion(result.map { rows in rows.flatMap { try? page($0, of: query) } })
        }
        return true
    }

    /// - Parameter completion: As for `PostgresClient.start`. Nil after an error of the statement, about which the
    ///   usual way knows more. After a timeout, or if the database is unavailable, the error: to wait once more would
    ///   double the time and the load.
    private func start(
        _ statement: PostgresQuery, in scope: QueryScope, usage: RequestUsage,
        completion: @escaping @Sendable (Result<PostgresRows?, any Error>) -> Void
    ) {
        var statement = statement
        statement.role = scope.space.role
        statement.timeLimit = scope.timeLimit()
        postgres.start(statement, usage: usage) { [statement] result in
            switch result {
            case .success(let rows): completion(.success(rows))
            case .failure(let error) where error.condition == .fault: completion(.success(nil))
            case .failure(let error): completion(.failure(spaces.problem(error, of: statement, in: scope.space)))
            }
        }
    }

    /// Nil if there is no such object. Only the parts of the query that determine how an object is shown are used.
    ///
    /// - Throws: `forbidden`.
    func find(_ id: ObjectID, _ query: ListQuery, in scope: QueryScope) async throws -> Written? {
        try scope.access.require(.get)
        let known = try await rights.collections(
            of: scope.space, including: query.include, from: scope.collection)
        let rows = try await reading(of: scope) { scope in
            Self.finding(
                id, try Shown(query, in: scope, known: known), includingDeleted: query.includesDeleted, in: scope,
                try scope.table)
        }
        guard let rows, !rows.isEmpty else { return nil }
        let written = Written(rows: rows)
        if query.include.isEmpty {
            let kind = LargePages.Kind(scope, limit: nil)
            largeAnswers.record(kind, isLarge: written.sizeInBytes > Self.directSizeInBytes)
        }
        return written
    }

    private static func finding(
        _ id: ObjectID, _ shown: Shown, includingDeleted: Bool, in scope: QueryScope, _ table: PostgresIdentifier
    ) -> Statement {
        let conditions = [
            "id = \(id.text)", includingDeleted ? nil : "deleted IS NULL", scope.access.readable(for: .get),
        ].compactMap(\.self)
        return Statement(
            """
            SELECT \(shown.object), \(Rendering.entityTag) FROM \(table) WHERE \(conditions.joined(separator: " AND "))
            """, others: shown.collections)
    }

    /// Starts to read an object, without a task. The caller must be allowed to read objects of the collection.
    ///
    /// - Parameter completion: As for `start`. Nil also if the object is large; `object-not-found` if there is none.
    /// - Returns: False if more has to be done first.
    func startFinding(
        _ id: ObjectID, in scope: QueryScope, usage: RequestUsage,
        completion: @escaping @Sendable (Result<Written?, any Error>) -> Void
    ) -> Bool {
        let kind = LargePages.Kind(scope, limit: nil)
        guard spaces.isPrepared(scope.space), !largeAnswers.contains(kind), let table = try? scope.table else {
            return false
        }
        let statement = Self.finding(id, Shown(in: scope), includingDeleted: false, in: scope, table)
        start(statement.sql, in: scope, usage: usage) { result in
            completion(
                result.flatMap { rows in
                    guard let rows else { return .success(nil) }
                    guard !rows.isEmpty else { return .failure(ServiceError(.objectNotFound)) }
                    let found = Written(rows: rows)
                    return .success(found.sizeInBytes <= Self.directSizeInBytes ? found : nil)
                })
        }
        return true
    }

    /// The result of an aggregation or of a query for distinct values: cell 0 is the number of rows, cell 1 contains
    /// their JSON texts joined by commas.
    ///
    /// - Throws: `forbidden`.
    func summarize(_ query: some SummaryQuery, in scope: QueryScope) async throws -> Page {
        try scope.access.require(.find)
        try scope.access.require(.count)
        let rows = try await readingPage(limit: nil, of: scope) { scope in
            let start = ContinuousClock.now
            defer { advice.record(query, in: scope, took: ContinuousClock.now - start) }
            return try await reading(of: scope) { try query.statement(in: $0) }
        }
        guard let rows, let row = rows.first else { return Page(count: 0, rows: nil) }
        guard rows.pageSizeInBytes != nil else {
            throw ServiceError(
                .limitExceeded, "The answer would have more than \(Self.maximumPageSizeInBytes) bytes. Lower limit.",
                field: "limit")
        }
        return Page(count: try row.decode(0, as: Int.self), rows: rows)
    }

    // MARK: Writing

    /// Stores an object. If one with the id exists, it is replaced, and restored if it was removed.
    ///
    /// - Throws: `forbidden`; `conflict` if the id belongs to an object that the caller may not change;
    ///   `precondition-failed` if it exists and `mustBeNew`.
    func create(_ document: Document, at id: ObjectID? = nil, mustBeNew: Bool = false, in scope: QueryScope)
        async throws -> Written
    {
        let access = scope.access
        try access.require(.create)
        let given = id ?? document.id
        let presets = try access.presetValues(updates: given != nil)
        let document = try presets.map { try document.without($0.presets.setByServer) } ?? document
        try await checkFields(document.touched.added, scope)
        let isWhole =
            document.operations == nil && presets?.create?.operations == nil
            && (given == nil || (access.hidesNothing && presets == nil))
        let (written, fields) = try await underSchema(scope) { schema in
            let new = try document.completed(by: schema, presets: presets?.create, isWhole: isWhole, for: access)
            let written = try await checkingAfterwards(isWhole ? nil : schema, scope) { store in
                let id = given ?? .make()
                let written =
                    if given == nil {
                        try await store.insert(new, at: id, presets, schema, in: scope)
                    } else {
                        try await store.put(id, new, mustBeNew: mustBeNew, presets, schema, in: scope)
                    }
                return (written, [id.text])
            }
            return (written, new.fields.merging(presets?.types ?? [:]) { $1 })
        }
        try await registerFields(fields.mapValues { [$0] }, scope)
        return written
    }

    /// Stores all objects of a JSON array, or none in case of an error. Ids are treated as in `create`.
    func createAll(_ documents: Documents, in scope: QueryScope) async throws -> Page {
        let access = scope.access
        try access.require(.create)
        let presets = try access.presetValues()
        let documents = try presets.map { try documents.without($0.presets.setByServer) } ?? documents
        try await checkFields(documents.touched.added, scope)
        let isWhole =
            presets.map { $0.create?.operations == nil && documents.ids.allSatisfy { $0 == nil } } ?? true
            && access.hidesNothing
        let (page, fields) = try await underSchema(scope) { schema in
            let new = try documents.completed(by: schema, presets: presets?.create, isWhole: isWhole, for: access)
            let ids = new.ids.map { ($0 ?? ObjectID.make()).text }
            let page = try await checkingAfterwards(isWhole ? nil : schema, scope) { store in
                (try await store.putAll(new, ids, presets, schema, in: scope), ids)
            }
            let types = (presets?.types ?? [:]).mapValues { Set([$0]) }
            return (page, new.fields.merging(types) { $0.union($1) })
        }
        try await registerFields(fields, scope)
        return page
    }

    private func putAll(
        _ documents: Documents, _ ids: [String], _ presets: FieldPresets.Values?, _ schema: CollectionSchema?,
        in scope: QueryScope
    ) async throws -> Page {
        let access = scope.access
        let fieldGuard = try await fieldGuard(ofNew: documents.touched, scope)
        let table = try scope.table
        guard Set(ids).count == ids.count else {
            throw ServiceError(.invalidBody, "Two objects in the request have the same id.", field: "_id")
        }
        let given = documents.ids.compactMap { $0?.text }
        let (readers, writers) = (access.defaultReaders, access.defaultWriters)
        let stored: PostgresQuery = "coalesce(CASE WHEN old.may AND old.deleted IS NULL THEN old.before_doc END, '{}')"
        let kept = access.kept(of: stored).map { "\($0) || " as PostgresQuery } ?? ""
        let sent: PostgresQuery = "\(kept)(value - \(SystemField.names))"
        let doc =
            presets.map { presets in
                presets.putting(sent, onto: stored, if: "coalesce(old.may AND old.deleted IS NULL, FALSE)")
            } ?? sent
        let rows = try await writing(to: scope) {
            """
            WITH item AS (
                SELECT (\(ids))[position] AS id, value FROM jsonb_array_elements(\(documents.json)) WITH ORDINALITY AS element (value, position)),
            -- Sorted, so that concurrent posts of the same ids cannot deadlock.
            old AS MATERIALIZED (
                SELECT id, deleted, \(Self.before), \(access.columns(for: .update))
                FROM \(table) WHERE id = ANY (\(given)) ORDER BY id FOR UPDATE),
            upserted AS (
                INSERT INTO \(table) AS stored (id, doc, readers, writers)
                SELECT id, doc, readers, writers FROM (
                    SELECT item.id, \(schema?.completed(doc) ?? doc) AS doc,
                        \(Self.listing("_readers", kept: "before_readers", default: readers)) AS readers,
                        \(Self.listing("_writers", kept: "before_writers", default: writers)) AS writers\(Self.rest(access, fieldGuard, "coalesce(old.may, FALSE)") { "CASE WHEN old.may THEN old.\($0) END" })
                    FROM item LEFT JOIN old ON old.id = item.id) AS new\(Self.ruleCheck(access, fieldGuard)) ORDER BY id
                ON CONFLICT (id) DO UPDATE SET doc = excluded.doc, updated = now(), deleted = NULL, version = stored.version + 1,
                    readers = excluded.readers, writers = excluded.writers
                RETURNING stored.*, stored.xmax = 0 AS is_new),
            written AS (
                SELECT u.*, \(Self.kind), \(Self.upsertedBefore) FROM upserted AS u LEFT JOIN old USING (id)
                WHERE (coalesce(may, TRUE) OR storage.fail(CASE WHEN seen THEN 'MT403' ELSE 'MT409' END, 'id'))
                    AND (u.is_new OR old.id IS NOT NULL OR storage.fail('40001', 'id'))),
            \(try ChangeLog.append(in: scope))
            SELECT count(*), string_agg(\(Rendering.object(access)), ',' ORDER BY array_position(\(ids), id)) FROM written
            """
        }
        return Page(count: try rows[0].decode(0, as: Int.self), rows: rows)
    }

    /// Replaces a stored object's document, except for fields hidden from the caller. Nil if there is no such object.
    ///
    /// - Throws: `forbidden`, `precondition-failed`.
    func replace(_ id: ObjectID, with document: Document, if precondition: Precondition?, in scope: QueryScope)
        async throws -> Written?
    {
        let access = scope.access
        try access.require(.update)
        let presets = try access.presetValues(creates: false)
        let document = try presets.map { try document.without($0.presets.kept) } ?? document
        try await checkFields(document.touched.added, scope)
        var kept = access.kept(of: "old.doc").map { kept -> PostgresQuery in "\(kept) || \(document.stored)" }
        if let presets { kept = presets.replacing("old.doc", with: kept ?? document.stored) }
        let doc = kept ?? document.stored
        let written = try await underSchema(scope) { schema in
            if let schema, kept == nil {
                try schema.check(stored: String(decoding: document.json.bytes, as: UTF8.self), for: access)
            }
            return try await checkingAfterwards(kept == nil ? nil : schema, scope) { store in
                let written = try await store.update(
                    id, doc: schema?.checked(doc) ?? doc, document, if: precondition, in: scope)
                return (written, written == nil ? [] : [id.text])
            }
        }
        let fields = document.fields.merging(presets?.types ?? [:]) { $1 }
        if written != nil { try await registerFields(fields.mapValues { [$0] }, scope) }
        return written
    }

    /// Sets the fields in `document`, applies its operations, and leaves all other fields unchanged. Nil if there is no
    /// such object. A change of only the lists is also possible if the stored document does not fit the schema.
    ///
    /// - Throws: `forbidden`, `precondition-failed`; `invalid-body` if a stored value does not support an operation.
    func change(
        _ id: ObjectID, by document: Document, if precondition: Precondition?, includingRemoved: Bool = false,
        in scope: QueryScope
    ) async throws -> Written? {
        let scope = scope.checking(document)
        try scope.access.require(.update)
        let presets = try scope.access.presetValues(creates: false)
        let document = try presets.map { try document.without($0.presets.kept) } ?? document
        try await checkFields(document.touched.added, scope)
        let changed: PostgresQuery =
            document.operations == nil
            ? "old.doc || \(document.stored)" : "storage.apply(old.doc, \(document.stored), FALSE)"
        let doc = presets?.updating(changed) ?? changed
        let isKept = document.setsOnlyLists && presets == nil
        let written = try await underSchema(scope) { schema in
            try await checkingAfterwards(isKept ? nil : schema, scope) { store in
                let written = try await store.update(
                    id, doc: schema?.checked(doc) ?? doc, document, if: precondition,
                    includingRemoved: includingRemoved, in: scope)
                return (written, written == nil ? [] : [id.text])
            }
        }
        let fields = document.fields.merging(presets?.types ?? [:]) { $1 }
        if written != nil { try await registerFields(fields.mapValues { [$0] }, scope) }
        return written
    }

    /// Marks an object as removed; it can still be read with `deleted=true`. Nil if there is no such object.
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

    /// Permanently deletes an object, removed or not, and its relations; returns false if there was none.
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
            -- Followers were already notified when the object was removed.
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

    private func insert(
        _ document: Document, at id: ObjectID, _ presets: FieldPresets.Values?, _ schema: CollectionSchema?,
        in scope: QueryScope
    ) async throws -> Written {
        let access = scope.access
        let table = try scope.table
        let readers = document.readers == .absent ? access.defaultReaders : document.readers.names
        let writers = document.writers == .absent ? access.defaultWriters : document.writers.names
        let fieldGuard = try await fieldGuard(ofNew: document.touched, scope)
        let initial = presets?.creating(Self.initial(document)) ?? Self.initial(document)
        let rows = try await writing(to: scope) {
            """
            WITH inserted AS (
                INSERT INTO \(table) (id, doc, readers, writers)
                SELECT id, doc, readers, writers FROM (
                    SELECT \(id.text)::text AS id, (\(schema?.completed(initial) ?? initial))::jsonb AS doc, \(readers)::text[] AS readers,
                        \(writers)::text[] AS writers\(Self.rest(access, fieldGuard))) AS new\
                    \(Self.ruleCheck(access, fieldGuard, mayReplace: false))
                RETURNING *),
            written AS (SELECT *, 'c' AS kind, \(Self.noBefore) FROM inserted),
            \(try Self.relations(document, scope))\(try ChangeLog.append(in: scope))
            SELECT \(Rendering.object(access)), \(Rendering.entityTag) FROM written
            """
        }
        return Written(rows: rows, isNew: true)
    }

    private func put(
        _ id: ObjectID, _ document: Document, mustBeNew: Bool, _ presets: FieldPresets.Values?,
        _ schema: CollectionSchema?, in scope: QueryScope
    ) async throws -> Written {
        let access = scope.access
        let table = try scope.table
        let readers = Self.listing(document.readers, kept: "before_readers", default: access.defaultReaders)
        let writers = Self.listing(document.writers, kept: "before_writers", default: access.defaultWriters)
        let stored: PostgresQuery = "coalesce((SELECT before_doc FROM old WHERE deleted IS NULL), '{}')"
        let kept = access.kept(of: stored).map { "\($0) || " as PostgresQuery }
        let fieldGuard = try await fieldGuard(ofNew: document.touched, scope)
        let sent: PostgresQuery = "\(kept ?? "")\(Self.initial(document))"
        let initial =
            presets?.putting(sent, onto: stored, if: "EXISTS (SELECT FROM old WHERE deleted IS NULL)") ?? sent
        let rows = try await writing(to: scope) {
            """
            WITH old AS MATERIALIZED (
                SELECT id, deleted, \(Self.before), \(access.columns(for: .update)) FROM \(table) WHERE id = \(id.text) FOR UPDATE),
            upserted AS (
                INSERT INTO \(table) AS stored (id, doc, readers, writers)
                SELECT id, doc, readers, writers FROM (
                    SELECT \(id.text)::text AS id, (\(schema?.completed(initial) ?? initial))::jsonb AS doc,
                        (\(readers))::text[] AS readers,
                        (\(writers))::text[] AS writers\(Self.rest(access, fieldGuard, "TRUE") { "(SELECT \($0) FROM old)" })
                    WHERE NOT EXISTS (SELECT FROM old WHERE NOT may\(mustBeNew ? " OR deleted IS NULL" as PostgresQuery : ""))
                    OFFSET 0) AS new\(Self.ruleCheck(access, fieldGuard))
                ON CONFLICT (id) DO UPDATE SET doc = excluded.doc, updated = now(), deleted = NULL, version = stored.version + 1,
                    readers = excluded.readers, writers = excluded.writers
                RETURNING stored.*, stored.xmax = 0 AS is_new),
            written AS (
                SELECT u.*, \(Self.kind), \(Self.upsertedBefore) FROM upserted AS u LEFT JOIN old ON TRUE
                -- Another transaction has just created it. This statement does not see it and must be repeated.
                WHERE (u.is_new OR old.id IS NOT NULL OR storage.fail('40001', 'id'))),
            \(try Self.relations(document, scope))\(try ChangeLog.append(in: scope))
            SELECT \(Rendering.object(access)), \(Rendering.entityTag), is_new, written.id IS NOT NULL, coalesce((SELECT seen AND NOT may FROM old), FALSE)
            FROM (SELECT TRUE AS one) AS answer LEFT JOIN written ON TRUE
            """
        }
        if try rows[0].decode(3, as: Bool.self) {
            return Written(rows: rows, isNew: try rows[0].decode(2, as: Bool.self))
        }
        if mustBeNew { throw ServiceError(.preconditionFailed, "An object with this id exists.", field: "_id") }
        throw try rows[0].decode(4, as: Bool.self)
            ? Access.refusal(.update) : ServiceError(.conflict, "The id is taken.", field: "_id")
    }

    private func update(
        _ id: ObjectID, doc: PostgresQuery, _ document: Document, if precondition: Precondition?,
        includingRemoved: Bool = false, in scope: QueryScope
    ) async throws -> Written? {
        let access = scope.access
        let table = try scope.table
        var lists: PostgresQuery = ""
        if document.readers != .absent { lists.append(", readers = \(document.readers.names)") }
        if document.writers != .absent { lists.append(", writers = \(document.writers.names)") }
        let fieldGuard = try await fieldGuard(of: document.touched, scope)
        let resultCheck = Self.resultCheck(access, doc, document, precondition)
        let rows = try await reading(of: scope) {
            """
            WITH \(try Self.old(id, scope, .update, fieldGuard, includingRemoved: includingRemoved)),
            changed AS (
                UPDATE \(table) AS stored SET doc = \(doc), updated = now(), version = stored.version + 1\(lists)
                -- The row is selected before the document is computed, so no operation reads a field hidden from the caller.
                FROM old WHERE stored.id = old.id AND old.may AND old.shows\(Self.precondition(precondition))\(resultCheck)
                RETURNING stored.*, \(Self.beforeNames)),
            -- To followers, a removed object is gone.
            written AS (SELECT *, 'u' AS kind FROM changed WHERE deleted IS NULL),
            \(try Self.relations(document, scope))\(try ChangeLog.append(in: scope))
            SELECT \(Rendering.object(access)), \(Rendering.entityTag), changed.id IS NOT NULL, target.may, target.shows
            FROM (SELECT id AS old_id, may, shows FROM old) AS target LEFT JOIN changed ON TRUE
            """
        }
        return try changed(rows, by: .update, fieldGuard)
    }

    /// Nil if there is no object that the caller may read; otherwise the statement's result if it was carried out.
    ///
    /// - Throws: `forbidden` for an object that the caller may read but not change, `precondition-failed`.
    private func changed(
        _ rows: PostgresRows?, by operation: Access.Operation, _ fieldGuard: Access.HiddenFieldGuard? = nil
    ) throws
        -> Written?
    {
        guard let rows, let row = rows.first else { return nil }
        guard try row.decode(3, as: Bool.self) else { throw Access.refusal(operation) }
        if let fieldGuard, try !row.decode(4, as: Bool.self) { throw fieldGuard.refusal }
        guard try row.decode(2, as: Bool.self) else { throw ServiceError(.preconditionFailed) }
        return Written(rows: rows)
    }

    /// Selects and locks the object before the write, if the caller may read it. `may`: whether the caller may change
    /// it. `shows`: whether the caller can see every field on which the write depends.
    private static func old(
        _ id: ObjectID, _ scope: QueryScope, _ operation: Access.Operation,
        _ fieldGuard: Access.HiddenFieldGuard? = nil,
        includingRemoved: Bool = false
    ) throws -> PostgresQuery {
        let access = scope.access
        let conditions = [includingRemoved ? nil : "deleted IS NULL", access.seen].compactMap(\.self)
        return """
            old AS MATERIALIZED (
                SELECT id, doc, \(before), (\(access.changeable(by: operation) ?? "TRUE")) IS TRUE AS may,
                    (\(fieldGuard?.condition ?? "TRUE")) IS TRUE AS shows
                FROM \(try scope.table)
                WHERE \((["id = \(id.text)"] + conditions).joined(separator: " AND ")) FOR UPDATE)
            """
    }

    private static let before = Access.conditionColumns { "\($0) AS before_\($0)" }
    private static let beforeNames: PostgresQuery =
        "old.before_updated, old.before_version, old.before_readers, old.before_doc"
    /// For an upsert. Followers see a removed object as absent, so its change has no previous state.
    private static let upsertedBefore: PostgresQuery = """
        CASE WHEN old.deleted IS NULL THEN old.before_updated END AS before_updated, \
        CASE WHEN old.deleted IS NULL THEN old.before_version END AS before_version, \
        CASE WHEN old.deleted IS NULL THEN old.before_readers END AS before_readers, \
        CASE WHEN old.deleted IS NULL THEN old.before_doc END AS before_doc
        """
    private static let noBefore: PostgresQuery = """
        NULL::timestamptz AS before_updated, NULL::bigint AS before_version, NULL::text[] AS before_readers, NULL::jsonb AS before_doc
        """
    /// For an upsert. Followers see a restored object as new.
    private static let kind: PostgresQuery =
        "CASE WHEN u.is_new OR old.deleted IS NOT NULL THEN 'c' ELSE 'u' END AS kind"

    private static func precondition(_ precondition: Precondition?) -> PostgresQuery {
        guard let tags = precondition?.tags else { return "" }
        return " AND \(Rendering.entityTag(of: "old.before_version", "old.before_updated")) = ANY (\(tags))"
    }

    /// Makes the statement fail if the rules do not allow the new rows, before a unique index could reveal hidden
    /// values or those of other objects.
    ///
    /// - Parameter mayReplace: Whether a row may replace an object, whose document is then `old_doc`.
    private static func ruleCheck(_ access: Access, _ fieldGuard: Access.HiddenFieldGuard?, mayReplace: Bool = true)
        -> PostgresQuery
    {
        var conditions: [PostgresQuery] = []
        if let fieldGuard { conditions.append("(\(fieldGuard.condition) OR storage.fail('MT403', 'hidden'))") }
        if let creatable = access.creatable {
            conditions.append("(\(creatable) OR storage.fail('MT403', 'create'))")
        }
        if mayReplace, let updatable = access.updatable {
            let update: PostgresQuery = "(SELECT \(updatable) FROM (SELECT doc AS new_doc) AS states)"
            conditions.append("(NOT may OR old_doc IS NULL OR \(update) OR storage.fail('MT403', 'update'))")
        }
        return conditions.isEmpty ? "" : " WHERE \(conditions.joined(separator: " AND "))"
    }

    /// The remaining columns of a new row, because conditions may name them.
    ///
    /// - Parameters:
    ///   - may: Whether the caller may replace the object that has the row's id.
    ///   - old: A column of that object, of those named in `before`; nil if there can be none.
    private static func rest(
        _ access: Access, _ fieldGuard: Access.HiddenFieldGuard?, _ may: PostgresQuery = "FALSE",
        old: ((PostgresQuery) -> PostgresQuery)? = nil
    ) -> PostgresQuery {
        guard fieldGuard != nil || access.creatable != nil || access.updatable != nil else { return "" }
        let common: PostgresQuery = "now() AS updated, NULL::timestamptz AS deleted, \(may) AS may"
        guard let old else { return ", now() AS created, 1::bigint AS version, \(common)" }
        let past = Access.conditionColumns.map { name -> PostgresQuery in
            "\(old(PostgresQuery(unescaped: "before_\(name)"))) AS \(PostgresQuery(unescaped: "old_\(name)"))"
        }
        return """
            , coalesce(\(old("before_created")), now()) AS created, coalesce(\(old("before_version")), 0) + 1 AS version, \
            \(common), \(past.joined(separator: ", "))
            """
    }

    /// Makes an update fail if the rules do not allow its result, before a unique index could reveal values of other
    /// objects. Applied only to a row that the caller may change. `old` is the row as it was locked. `stored` can be an
    /// earlier state, if this write had to wait for another one.
    private static func resultCheck(
        _ access: Access, _ doc: PostgresQuery, _ document: Document, _ precondition: Precondition?
    ) -> PostgresQuery {
        guard let updatable = access.updatable else { return "" }
        func list(_ listing: Document.Listing, _ kept: StaticString) -> PostgresQuery {
            listing == .absent ? "\(unescaped: kept)" : "\(listing.names)::text[]"
        }
        let past = Access.conditionColumns { "old.before_\($0) AS old_\($0)" }
        return """
             AND CASE WHEN old.may AND old.shows\(Self.precondition(precondition)) THEN (
                SELECT (\(updatable)) OR storage.fail('MT403', 'update')
                FROM (
                    SELECT old.id, old.before_created AS created, now() AS updated, NULL::timestamptz AS deleted,
                        old.before_version + 1 AS version,
                        \(list(document.readers, "old.before_readers")) AS readers,
                        \(list(document.writers, "old.before_writers")) AS writers,
                        \(past), (\(doc)) AS new_doc OFFSET 0) AS states
                CROSS JOIN LATERAL (SELECT states.new_doc) AS next (doc)) ELSE FALSE END
            """
    }

    /// A new object's document, to which operations apply as if all fields were absent.
    private static func initial(_ document: Document) -> PostgresQuery {
        document.operations == nil ? document.stored : "storage.apply('{}', \(document.stored), TRUE)"
    }

    /// The members that the write adds to and removes from relations.
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

    /// The readers or writers of an element of a bulk post; without a list, the stored ones are kept.
    private static func listing(_ name: String, kept: StaticString, default names: [String]?) -> PostgresQuery {
        """
        CASE WHEN jsonb_typeof(value->\(name)) = 'array' THEN ARRAY(SELECT jsonb_array_elements_text(value->\(name)))
        WHEN value ? \(name) THEN NULL WHEN old.id IS NOT NULL THEN \(unescaped: kept) ELSE \(names) END
        """
    }

    /// The readers or writers of a single upsert; without a list, the stored ones are kept.
    private static func listing(_ listing: Document.Listing, kept: StaticString, default names: [String]?)
        -> PostgresQuery
    {
        guard listing == .absent else { return "\(listing.names)" }
        return "CASE WHEN EXISTS (SELECT FROM old) THEN (SELECT \(unescaped: kept) FROM old) ELSE \(names) END"
    }

    // MARK: Fields

    /// - Throws: `forbidden` naming a new field if the caller may not add fields.
    private func checkFields(_ names: Set<FieldName>, _ scope: QueryScope) async throws {
        guard scope.access.mayNotAddFields else { return }
        let remembered = try await rights.collections(of: scope.space)[scope.collection.text]
        let declared = remembered?.schema?.fields ?? []
        var names = names.filter { remembered?.fields[$0] == nil && !declared.contains($0) }
        guard !names.isEmpty else { return }
        // The write is checked against the rules that were read when it began. So it may use the new `addField` only if
        // no other rule has changed.
        let rest = scope.access.rules.replacing(.addField, with: nil)
        if let changed = try await rights.changed(scope.collection, since: remembered, in: scope.space),
            changed.rules.replacing(.addField, with: nil) == rest
        {
            let current = scope.rights.replacing(changed.rules, of: scope.collection)
            guard current.access(to: scope.collection).mayNotAddFields else { return }
            names.subtract(changed.schema?.fields ?? [])
        }
        // Another copy may just have added a field.
        let known = try await rights.storedFields(of: [scope.collection], in: scope.space)[scope.collection.text] ?? [:]
        if let name = names.filter({ known[$0] == nil }).min() { throw scope.access.refusal(ofNew: name) }
    }

    /// The guard for a write to an existing object: operations depend on stored values, and unique indexes on those of
    /// other objects.
    ///
    /// - Throws: `forbidden` naming a field that every object hides from the caller.
    private func fieldGuard(
        of touched: Document.Touched, _ scope: QueryScope
    ) async throws -> Access.HiddenFieldGuard? {
        let access = scope.access
        guard !access.hidesNothing else { return nil }
        let unique = try await rights.collections(of: scope.space)[scope.collection.text]?.unique ?? []
        let written = touched.written.union(access.rules.presets?.setByServer ?? [])
        return try access.hiddenFieldGuard(
            unique.filter { !$0.isDisjoint(with: written) }.reduce(touched.operated) { $0.union($1) })
    }

    /// The guard for a new object, whose operations do not depend on stored values.
    private func fieldGuard(
        ofNew touched: Document.Touched, _ scope: QueryScope
    ) async throws -> Access.HiddenFieldGuard? {
        try await fieldGuard(of: Document.Touched(written: touched.written), scope)
    }

    /// Records fields and types that are new in the collection.
    func registerFields(_ fields: [FieldName: Set<String>], _ scope: QueryScope) async throws {
        guard !isTrial else { return }
        signal.written(in: scope.space)
        guard !fields.isEmpty else { return }
        let known = try await rights.collections(of: scope.space)[scope.collection.text]?.fields ?? [:]
        let newFields = fields.filter { name, types in
            known[name].map { !types.isSubset(of: $0) && $0.count < FieldType.maximumTypes }
                ?? (known.count < FieldType.maximumFields)
        }
        guard !newFields.isEmpty else { return }
        try await rights.registerFields(newFields, scope)
    }

    // MARK: Running

    /// Runs a statement that may read other collections. Those that do not exist count as empty.
    private func reading(of scope: QueryScope, _ statement: (QueryScope) throws -> some ReadStatement) async throws
        -> PostgresRows?
    {
        try await spaces.prepare(scope.space)
        var scope = scope
        var first = try statement(scope)
        if first.others.contains(where: { !scope.rights.knows($0) }) {
            // Another copy may just have created a collection, or given it this name; its rules apply nevertheless.
            scope.rights = try await rights.complete(scope.rights, with: first.others, in: scope.space)
            first = try statement(scope)
        }
        do {
            return try await run(first, in: scope)
        } catch let error as PostgresError where error.isUndefinedTable {
            guard !first.others.isEmpty else { return nil }
            let all = first.others.union([scope.collection])
            let rows = try await run(
                "SELECT tablename::text FROM pg_tables WHERE schemaname = \(scope.space.schema) AND tablename = ANY (\(all.map(\.text)))",
                in: scope.space)
            let found = Set(try rows.map { try $0.decode(0, as: String.self) })
            guard found.contains(scope.collection.text) else { return nil }
            scope.missing = all.filter { !found.contains($0.text) }
            return try await run(try statement(scope), in: scope)
        }
    }

    private func run(_ statement: some ReadStatement, in scope: QueryScope) async throws -> PostgresRows {
        let space = scope.space
        guard statement.isCostly, transaction == nil else {
            var sql = statement.sql
            sql.timeLimit = scope.timeLimit(reading: statement.others)
            return try await run(sql, in: space)
        }
        // Uses PostgreSQL's own timeout, which only counts the statement's time, on a separate connection, so that no
        // other statement waits for it.
        do {
            return try await postgres.withTransaction(role: space.role) { transaction in
                // The lock timeout is shorter, so that a wait for a lock is not taken for a slow pattern.
                try await transaction.executeScript(
                    """
                    SET LOCAL statement_timeout = '\(Self.costlySeconds)s';
                    SET LOCAL lock_timeout = '\(Self.costlySeconds - 1)s'
                    """)
                return try await transaction.query(statement.sql)
            }
        } catch let error as PostgresError {
            guard error.sqlState != "57014" else {
                throw ServiceError(
                    .limitExceeded, "The patterns of the filter take too long.", field: "$regex",
                    cause: error.description)
            }
            throw spaces.problem(error, in: space)
        }
    }

    /// For filters with patterns, which may take unlimited time for a single object.
    private static let costlySeconds = 3

    /// Reads a page as a small one first, because most are small and the size is not known in advance. A larger page is
    /// read again once the budget for answers has room for it.
    ///
    /// - Throws: `unavailable`.
    private func readingPage(
        limit: Int?, of scope: QueryScope, _ read: (QueryScope) async throws -> PostgresRows?
    ) async throws -> PostgresRows? {
        guard let memory = RequestMemory.current else { return try await read(scope) }
        let kind = LargePages.Kind(scope, limit: limit)
        if !largePages.contains(kind) {
            var small = scope
            small.pageSizeInBytes = Self.smallPageSizeInBytes
            let rows = try await read(small)
            guard let rows, rows.pageSizeInBytes == nil else { return rows }
        }
        try await memory.reserveAnswer(Self.maximumPageSizeInBytes)
        let rows = try await read(scope)
        largePages.record(kind, isLarge: rows?.pageSizeInBytes ?? .max > Self.smallPageSizeInBytes)
        return rows
    }

    /// Runs a statement on a table; nil if the table does not exist.
    private func reading(of scope: QueryScope, _ statement: () throws -> PostgresQuery) async throws -> PostgresRows? {
        try await spaces.prepare(scope.space)
        do {
            return try await run(try statement(), in: scope.space)
        } catch let error as PostgresError where error.isUndefinedTable {
            return nil
        }
    }

    /// Runs a write; once more if it fails because another copy has dropped the collection, and with it the rules that
    /// allowed the write.
    ///
    /// - Parameter write: Reads the caller's rights, unless they are current.
    func repeatingAfterDrop<T: Sendable>(in space: AppSchema, _ write: () async throws -> T) async throws -> T {
        do {
            return try await write()
        } catch let error as PostgresError where error.isMissingCollection {
            rights.forget(space)
            return try await write()
        }
    }

    /// Runs a statement that may add objects to a table. Creates the table if it does not exist, unless the rights
    /// contain rules of the collection: they were dropped with it, so they no longer allow anything.
    ///
    /// - Throws: `object-quota-exceeded`.
    private func writing(to scope: QueryScope, _ statement: () throws -> PostgresQuery) async throws -> PostgresRows {
        if scope.collection != .users { try quota.requireRoom(in: scope.space) }
        try await spaces.prepare(scope.space)
        do {
            return try await run(try statement(), in: scope.space)
        } catch let error as PostgresError
            where error.isUndefinedTable && transaction == nil && scope.rights.rules(of: scope.collection) == nil
        {
            try await collections.create(scope.collection, of: scope.space)
            // Another copy may have dropped the collection, whose fields must not count as known in the new one.
            rights.forget(scope.space)
            return try await run(try statement(), in: scope.space)
        } catch let error as PostgresError where error.isSerializationFailure && transaction == nil {
            return try await run(try statement(), in: scope.space)
        }
    }

    private func run(_ statement: PostgresQuery, in space: AppSchema) async throws -> PostgresRows {
        var statement = statement
        statement.role = space.role
        do {
            if let transaction { return try await transaction.query(statement) }
            return try await postgres.query(statement)
        } catch let error as PostgresError {
            throw spaces.problem(error, of: statement, in: space)
        }
    }
}

extension PostgresRows {
    /// The size of the page in cell 1 of the first row; nil if it exceeds the statement's limit or there is none.
    fileprivate var pageSizeInBytes: Int? { first?.withBytes(1) { $0?.count } }
}

extension PostgresError {
    /// SQLSTATE 42P01: the collection has never been written to, or was dropped.
    var isUndefinedTable: Bool { sqlState == "42P01" }

    /// `isUndefinedTable`, or SQLSTATE 25P02: an earlier statement of the transaction failed, such as an update of a
    /// table that is missing.
    var isMissingCollection: Bool { isUndefinedTable || sqlState == "25P02" }

    /// SQLSTATE 22023 or 3F000: the role or schema is missing, for example after restoring an older backup. Another
    /// attempt creates it.
    var isMissingSpace: Bool { sqlState == "22023" || sqlState == "3F000" }

    /// The client's error, if it is one that only PostgreSQL can detect.
    var clientProblem: (any Error)? {
        if isMissingSpace { return ServiceError(.unavailable, cause: description) }
        return switch sqlState {
        case "23505":
            ServiceError(.conflict, "An object with these values already exists in a unique index.", cause: description)
        case "MT403": ServiceError(.forbidden, "The collection's rules do not allow this object.", cause: description)
        case "2201B": ServiceError(.invalidFilter, "This pattern is not valid.", field: "$regex", cause: description)
        case "54000", "54001":
            ServiceError(.limitExceeded, "The request is too large for the database.", cause: description)
        case "22P02", "22P05", "22003", "2200G":
            ServiceError(.invalidBody, "A value cannot be stored.", cause: description)
        case "MT409": ServiceError(.conflict, "The id of one of the objects is taken.", field: "_id")
        case "MT413": FileQuota.exceeded
        case "MT422": ServiceError(.invalidBody, "The stored value does not support the operation.", cause: description)
        default: nil
        }
    }
}
